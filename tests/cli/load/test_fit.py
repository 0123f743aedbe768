"""`s3bench load --fit`: a log becomes a profile, a page and a summary, and nothing is overwritten."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from s3bench.cli.main import s3bench_command
from s3bench.errors import BadInput
from s3bench.load.profile.file import parse_profile

LINE = (
    "owner secret-bucket [01/Mar/2026:00:{minute:02}:{second:02} +0000] 192.0.2.3 secret-user ID REST.{kind}.OBJECT "
    'secret-key-{key} "GET /secret-bucket/secret-key-{key} HTTP/1.1" 200 - {size} {size} 12 11 "-" "secret-agent" - '
    "h - - - - - -\n"
)


def lines() -> Iterator[str]:
    for n in range(1200):
        kind = "PUT" if n % 4 == 0 else "GET"
        yield LINE.format(minute=n // 60, second=n % 60, kind=kind, key=n % 50, size=4096)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "access.log"
    path.write_text("".join(lines()))
    return path


def load(*arguments: str | Path) -> Result:
    return CliRunner().invoke(s3bench_command, ["load", *map(str, arguments)], catch_exceptions=True)


def refusal(*arguments: str | Path) -> BadInput:
    error = load(*arguments).exception
    assert isinstance(error, BadInput), error
    return error


def test_a_log_becomes_a_profile_that_load_can_run(log: Path, tmp_path: Path) -> None:
    profile = tmp_path / "profile.yaml"
    done = load("--fit", log, "-o", profile)
    assert done.exit_code == 0
    assert "mix: get 75.00 %, put 25.00 %" in done.stdout
    shown = load(profile, "--show-profile")
    assert shown.exit_code == 0
    [phase] = parse_profile(shown.stdout, "shown").profile.phases
    assert [job.name for job in phase.jobs] == ["reads", "writes"]
    assert phase.duration_s == 1200


def test_without_a_file_the_profile_is_printed_and_nothing_else(log: Path) -> None:
    done = load("--fit", log)
    assert parse_profile(done.stdout, "printed").profile.phases


def test_nothing_that_is_written_names_a_key_a_bucket_or_an_address(log: Path, tmp_path: Path) -> None:
    done = load("--fit", log, "-o", tmp_path / "p.yaml", "--html", tmp_path / "p.html", "--json")
    assert done.exit_code == 0
    for text in (done.stdout, (tmp_path / "p.yaml").read_text(), (tmp_path / "p.html").read_text()):
        assert "secret" not in text
        assert "192.0.2.3" not in text


def test_the_model_is_printed_as_json(log: Path) -> None:
    found = json.loads(load("--fit", log, "--json").stdout)
    assert found["requests"] == 1200
    assert [job["name"] for job in found["jobs"]] == ["reads", "writes"]


def test_files_that_exist_are_kept_unless_forced(log: Path, tmp_path: Path) -> None:
    profile, page = tmp_path / "p.yaml", tmp_path / "p.html"
    page.write_text("mine")
    assert "will not be overwritten" in refusal("--fit", log, "-o", profile, "--html", page).what
    assert not profile.exists()
    assert load("--fit", log, "-o", profile, "--html", page, "--force").exit_code == 0
    assert page.read_text() != "mine"


def test_a_part_of_a_log_can_be_fitted(log: Path) -> None:
    found = json.loads(load("--fit", log, "--from", "2026-03-01T00:05:00Z", "--for", "10m", "--json").stdout)
    assert found["requests"] == 600
    nothing = refusal("--fit", log, "--from", "2026-03-01T02:00:00Z")
    assert "no request of the log" in nothing.what
    assert "--from, --to and --for" in nothing.why
    backwards = refusal("--fit", log, "--from", "2026-03-01T00:05:00Z", "--to", "2026-03-01T00:04:00Z")
    assert backwards.what == "--to is not after --from"


@pytest.mark.parametrize("name", ["access.log", "access.log.gz"])
def test_a_length_of_a_log_begins_with_its_earliest_request(tmp_path: Path, name: str) -> None:
    whole, late_first = list(lines()), tmp_path / name
    content = "".join([*whole[600:], "broken\n", *whole[:600]]).encode()
    late_first.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    done = load("--fit", late_first, "--for", "1m", "--json")
    found = json.loads(done.stdout)
    assert (found["requests"], found["arrivals"]["length_s"]) == (60, 60)
    assert "warning: line 601: not a line" in done.stderr


def test_an_even_load_is_one_rate_by_a_clock_in_whole_seconds(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    path.write_text(
        "".join(
            f'[06/Feb/2019:00:00:{number // 200:02} +0000] "GET /b/k{number % 50} HTTP/1.1" 200 10 {took_s:.3f}\n'
            for number in range(2400)
            for took_s in [(2 + number % 19) / 1000]
        )
    )
    log_format = '[$time_local] "$request" $status $body_bytes_sent $request_time'
    found = json.loads(load("--fit", path, "--nginx-format", log_format, "--json").stdout)
    assert found["jobs"][0]["rates"] == [{"after_s": 0.0, "per_s": 200.0}]
    assert found["threads"] == 16


def test_broken_lines_are_counted_and_named(log: Path) -> None:
    log.write_text("".join(lines()) + "broken\n")
    assert "line 1,201: not a line of an S3 server access log" in load("--fit", log).stderr


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--rate", "5"), "--fit cannot be combined with --rate"),
        (("--endpoint-url", "http://127.0.0.1:9"), "--fit cannot be combined with --endpoint-url"),
        (("--calibrate",), "--fit cannot be combined with --calibrate"),
        (("--log-format", "cloudtrail"), "the log is not understood"),
    ],
)
def test_what_has_nothing_to_do_with_a_fit_is_refused(log: Path, arguments: tuple[str, ...], what: str) -> None:
    assert what in refusal("--fit", log, *arguments).what


def test_a_log_and_a_profile_cannot_both_be_given(log: Path) -> None:
    assert "cannot be combined with PROFILE" in refusal("profile.yaml", "--fit", log).what


@pytest.mark.parametrize("content", ["", "nothing of a log\n" * 50])
def test_what_is_no_log_is_refused_with_the_formats_that_are_read(tmp_path: Path, content: str) -> None:
    path = tmp_path / "log"
    path.write_text(content)
    error = refusal("--fit", path, "-o", tmp_path / "p.yaml")
    assert "S3 server access log" in error.fix
    assert not (tmp_path / "p.yaml").exists()


@pytest.mark.parametrize("option", ["--html=p.html"])
def test_options_of_a_fit_need_one(option: str) -> None:
    assert "needs --fit" in refusal(option).what
