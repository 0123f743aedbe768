"""A log as a whole: files, folders, compressed ones, and lines that are broken."""

import gzip
import json
import os
from pathlib import Path

import pytest

from s3bench.errors import BadInput
from s3bench.load.access_log.log_format import AccessLogFormat
from s3bench.load.access_log.reading import read_log
from s3bench.load.operation import OperationKind
from tests.load.access_log import examples


def written(path: Path, *lines: str) -> Path:
    content = "".join(f"{line}\n" for line in lines).encode(errors="surrogateescape")
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", ["log", "log.gz"])
def test_a_log_is_read_line_by_line(tmp_path: Path, name: str) -> None:
    reading = read_log(written(tmp_path / name, *examples.IBM))
    assert [request.key for request in reading] == [line.split()[2] for line in examples.IBM]
    assert reading.format is AccessLogFormat.IBM
    assert (reading.report.lines, reading.report.requests, reading.report.broken) == (9, 9, 0)


def test_a_log_can_be_read_again_and_its_lines_are_counted_once(tmp_path: Path) -> None:
    reading = read_log(written(tmp_path / "log.gz", "rubbish", *examples.IBM))
    assert list(reading) == list(reading)
    assert (reading.report.lines, reading.report.requests, reading.report.broken) == (10, 9, 1)


def test_a_pipe_is_refused_because_what_is_read_of_it_is_gone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log")
    with pytest.raises(BadInput, match="neither a file nor a folder"):
        read_log(tmp_path / "log")


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    (tmp_path / "day").mkdir()
    written(tmp_path / "day" / "2.gz", "rubbish", *examples.IBM[4:])
    written(tmp_path / "day" / "1", *examples.IBM[:4])
    reading = read_log(tmp_path)
    assert [request.key for request in reading] == [line.split()[2] for line in examples.IBM]
    assert reading.report.words == ("day/2.gz line 1: not a line of an IBM object store trace",)


def test_lines_may_end_as_on_windows_and_the_last_need_not_end(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes("\r\n".join(examples.IBM).encode())
    reading = read_log(path)
    assert len(list(reading)) == 9
    assert not reading.report.broken


def test_a_file_of_cloudtrail_is_read_record_by_record(tmp_path: Path) -> None:
    path = tmp_path / "events.json.gz"
    records = {"Records": [examples.CLOUDTRAIL_GET, examples.CLOUDTRAIL_PUT]}
    path.write_bytes(gzip.compress(json.dumps(records, indent=2).encode()))
    reading = read_log(path)
    assert [request.kind for request in reading] == [OperationKind.GET, OperationKind.PUT]
    assert reading.format is AccessLogFormat.CLOUDTRAIL


def test_a_broken_file_of_cloudtrail_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "events.json"
    path.write_text(json.dumps({"Records": [examples.CLOUDTRAIL_GET]})[:-5])
    with pytest.raises(BadInput, match="the file of CloudTrail is broken"):
        read_log(path)
    path.write_text('{"Records": [' + "[" * 100_000)
    with pytest.raises(BadInput, match="the file of CloudTrail is broken"):
        read_log(path)


def test_broken_lines_are_counted_by_kind_with_the_first_line(tmp_path: Path) -> None:
    late = examples.s3_line("REST.GET.OBJECT", "k", time="99/Feb/2019:00:00:38 +0000", sent=1, size=1)
    good = examples.s3_line("REST.GET.OBJECT", "k", sent=1, size=1)
    reading = read_log(written(tmp_path / "log", good, "what?", "", late, good, "\udcff"))
    assert len(list(reading)) == 2
    assert reading.report.words == (
        "2 lines: not a line of an S3 server access log, first at line 2",
        "line 4: a time that cannot be read",
    )


def test_an_odd_line_is_skipped_and_the_rest_is_read(tmp_path: Path) -> None:
    audit, endless = examples.MINIO_AUDIT, examples.MINIO_AUDIT.replace("16438202ns", "9" * 400 + "s")
    reading = read_log(written(tmp_path / "log", audit, '{"x":' + "[" * 100_000, endless, audit))
    assert len(list(reading)) == 2
    assert reading.report.words == (
        "line 2: nested too deeply",
        "line 3: a time, a duration or a size that no request has",
    )


def test_a_hundred_broken_lines_are_the_limit_of_a_short_log(tmp_path: Path) -> None:
    reading = read_log(written(tmp_path / "log", *examples.IBM, *["?"] * 100))
    assert len(list(reading)) == 9
    reading = read_log(written(tmp_path / "log", *examples.IBM, *["?"] * 101))
    with pytest.raises(BadInput, match="101 of 110 lines are broken") as refused:
        list(reading)
    assert "first at line 10" in refused.value.why


def test_one_percent_of_broken_lines_is_the_limit_of_a_long_log(tmp_path: Path) -> None:
    good = examples.IBM * 2200
    reading = read_log(written(tmp_path / "log", *good, *["?"] * 200))
    assert len(list(reading)) == len(good)
    reading = read_log(written(tmp_path / "log", *good, *["?"] * 201))
    with pytest.raises(BadInput, match="201 of 20,001 lines are broken"):
        list(reading)


def test_a_log_of_which_no_line_is_understood_names_the_formats(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not understood") as refused:
        read_log(written(tmp_path / "log", "Dear diary,", "today nothing happened."))
    assert all(name in refused.value.fix for name in AccessLogFormat)
    reading = read_log(written(tmp_path / "log", *examples.IBM), AccessLogFormat.S3)
    with pytest.raises(BadInput, match="no line of it has a request"):
        list(reading)


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_an_empty_log_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "log"
    path.write_bytes(content)
    with pytest.raises(BadInput, match="the log is empty"):
        read_log(path)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_log(tmp_path / "missing")
    broken = tmp_path / "log.gz"
    broken.write_bytes(gzip.compress(b"x" * 1000)[:20])
    with pytest.raises(BadInput, match="cannot be read"):
        read_log(broken)
    whole = gzip.compress(b"x" * 1000)
    broken.write_bytes(whole[:10] + b"\x07" + whole[11:])  # after the header: a block of no known type (RFC 1951)
    with pytest.raises(BadInput, match="cannot be read") as refused:
        read_log(broken)
    assert "invalid block type" in refused.value.why
    broken.write_bytes(b"not compressed")
    with pytest.raises(BadInput, match="cannot be read"):
        read_log(broken)


def test_a_file_without_lines_is_read_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(bytes(5 * 1024**2))
    with pytest.raises(BadInput, match="not understood"):
        read_log(path)
