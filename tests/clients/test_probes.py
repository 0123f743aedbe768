"""The probes, outside of any client: milestones, the aws-cli plug-in, the stub inside the process."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl

import pytest
from botocore.awsrequest import AWSPreparedRequest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.clients.driver import DRIVER
from s3bench.clients.inprocess import check_in_process, read_log, write_script
from s3bench.clients.probes.s3bench_probe import plugin
from s3bench.clients.probes.s3bench_probe.milestones import MilestoneLog
from s3bench.clients.probes.s3bench_probe.stubbing import Raw, Stub, fits, slice_of
from s3bench.errors import BadInput
from s3bench.s3.protocol.ranges import Unsatisfiable, parse_range
from s3bench.spec.definition import FileBody, RequestMatch, Response


def lines(path: Path) -> dict[str, int]:
    return {name: int(at) for name, at in (line.split() for line in path.read_text().splitlines())}


def test_a_milestone_is_marked_the_first_time_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S3BENCH_PROBE_FILE", str(tmp_path / "m"))
    milestones = MilestoneLog()
    milestones.mark("one", 123)
    milestones.mark("one", 456)
    milestones.mark("two")
    assert lines(tmp_path / "m")["one"] == 123
    assert list(lines(tmp_path / "m")) == ["one", "two"]


def test_without_a_probe_file_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("S3BENCH_PROBE_FILE", raising=False)
    monkeypatch.chdir(tmp_path)
    MilestoneLog().mark("one")
    assert list(tmp_path.iterdir()) == []


def test_the_plug_in_marks_what_the_cli_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S3BENCH_PROBE_FILE", str(tmp_path / "m"))
    monkeypatch.setattr(plugin, "atexit", SimpleNamespace(register=lambda mark, name: ends.append((mark, name))))
    ends: list[tuple[Any, str]] = []
    hooks: dict[str, Any] = {}
    plugin.awscli_initialize(SimpleNamespace(register_last=hooks.__setitem__))
    assert list(lines(tmp_path / "m")) == ["imports_done"]
    for event in ("building-command-table.main", "creating-client-class", "before-call", "before-call"):
        hooks[event](event_name=event, anything="else")
    mark, name = ends[0]
    mark(name)
    assert list(lines(tmp_path / "m")) == [
        "imports_done", "plugins_loaded", "client_created", "first_client_invocation", "exit"
    ]  # fmt: skip


def test_the_probes_import_nothing_of_s3bench_and_little_else() -> None:
    code = (
        "import sys; before = set(sys.modules); import s3bench_probe.plugin; print(sorted(set(sys.modules) - before))"
    )
    loaded = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=DRIVER.parent, capture_output=True, text=True, check=True
    ).stdout
    assert "'s3bench'" not in loaded
    assert "s3bench_probe.stubbing" not in loaded
    assert "s3bench_probe.milestones" in loaded


METHODS = st.sampled_from(["GET", "PUT", "HEAD"])
PATHS = st.text("ab/*.", max_size=6).map(lambda text: f"/{text}")
QUERIES = st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from(["", "1", "2"])), max_size=2)
MATCHES = st.builds(RequestMatch, method=st.none() | METHODS, path=st.none() | PATHS, query=QUERIES.map(tuple))


@given(match=MATCHES, method=METHODS, path=PATHS.map(lambda text: text.replace("*", "q")), query=QUERIES)
def test_a_match_fits_inside_the_process_as_it_does_at_the_server(
    match: RequestMatch, method: str, path: str, query: Any
) -> None:
    raw = "&".join(f"{name}={value}" for name, value in query)
    told = {"method": match.method, "path": match.path, "query": list(match.query)}
    fit = fits(told, method, path, raw) is not None
    given_pairs = dict(parse_qsl(raw, keep_blank_values=True))
    pattern = None if match.path is None else ".*".join(map(re.escape, match.path.split("*")))
    assert fit == (
        match.method in {None, method}
        and (pattern is None or re.fullmatch(pattern, path) is not None)
        and all(name in given_pairs and value in {"", given_pairs[name]} for name, value in match.query)
    )


@given(
    header=st.from_regex(r"bytes=[0-9]{0,3}-[0-9]{0,3}", fullmatch=True)
    | st.sampled_from(["", "bytes=0-1,3-4", "x=0-1"]),
    size_bytes=st.integers(1, 500),
)
def test_a_range_is_cut_inside_the_process_as_at_the_server(header: str, size_bytes: int) -> None:
    start, end, status = slice_of(header, size_bytes)
    try:
        expected = parse_range(header, size_bytes)
    except Unsatisfiable:
        assert status == 416
    else:
        assert status == (206 if expected else 200)
        assert (start, end) == ((expected.start, expected.end) if expected else (0, size_bytes))


class Box:
    """A script, its stub and the log, for one test."""

    def __init__(self, folder: Path, *responses: Response) -> None:
        self.responses = responses
        self.log = folder / "log"
        write_script(folder / "script", responses, workspace=folder, log=self.log)
        self.stub = Stub(json.loads((folder / "script").read_text()))

    def send(self, method: str, url: str, body: Any = None, **headers: str) -> Any:
        return self.stub.send(AWSPreparedRequest(method, f"http://127.0.0.1:9{url}", headers, body, False))


def test_responses_are_given_in_order_and_what_is_left_is_told(tmp_path: Path) -> None:
    box = Box(tmp_path, Response(body="one"), Response(status_code=404, instances=3))
    assert box.send("GET", "/").content == b"one"
    assert box.send("GET", "/").status_code == 404
    assert read_log(box.log, box.responses).leftover == ("responses[1]: 2 of 3 instances unused",)


def test_a_request_without_a_response_is_an_error_that_names_it(tmp_path: Path) -> None:
    box = Box(tmp_path)
    assert box.send("GET", "/bucket/key?x=1").status_code == 400
    assert read_log(box.log, ()).requests[0].error == "no response left for GET /bucket/key?x=1"


def test_ranges_of_a_file_are_served_by_match(tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(bytes(range(100)))
    box = Box(tmp_path, Response(match=RequestMatch(path="/b/*"), body=FileBody(file="body"), instances=None))
    part = box.send("GET", "/b/k", Range="bytes=10-19")
    assert (part.status_code, part.headers["Content-Range"]) == (206, "bytes 10-19/100")
    assert part.raw.read(4) + part.content == bytes(range(10, 20))
    head = box.send("HEAD", "/b/k")
    assert (head.headers["Content-Length"], head.content) == ("100", b"")
    request = read_log(box.log, box.responses).requests[0]
    assert (request.file, request.served_start, request.served_end, request.response_bytes) == ("body", 10, 20, 10)


def test_a_star_in_a_file_name_is_what_it_stands_for_in_the_path(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "a").write_bytes(b"aaa")
    box = Box(tmp_path, Response(match=RequestMatch(path="/b/p/*"), body=FileBody(file="dir/*"), instances=None))
    assert box.send("GET", "/b/p/a").content == b"aaa"


@pytest.mark.parametrize("body", [b"x" * 3000, "x" * 3000, io.BytesIO(b"x" * 3000), (b"x" * 1000 for _ in range(3))])
def test_every_body_is_read_to_its_end(body: Any, tmp_path: Path) -> None:
    box = Box(tmp_path, Response())
    box.send("PUT", "/b/k", body)
    request = read_log(box.log, box.responses).requests[0]
    assert (request.body_bytes, request.wire_bytes) == (3000, 3000)
    if isinstance(body, io.BytesIO):
        assert body.tell() == 3000


def test_a_framed_body_counts_what_it_carries(tmp_path: Path) -> None:
    box = Box(tmp_path, Response())
    box.send("PUT", "/b/k", b"x" * 3044, **{"x-amz-decoded-content-length": "3000"})
    request = read_log(box.log, box.responses).requests[0]
    assert (request.body_bytes, request.wire_bytes) == (3000, 3044)


def test_a_raw_response_is_read_in_pieces_to_its_end() -> None:
    raw = Raw(io.BytesIO(b"0123456789"), 8)
    assert raw.read(3) == b"012"
    assert list(raw.stream(4)) == [b"3456", b"7"]
    assert raw.read(1) == b""


@pytest.mark.parametrize("kind", ["cli-crt", "boto3-crt", "crt-python", "s5cmd"])
def test_what_does_not_go_through_botocore_cannot_be_stubbed_inside(kind: str) -> None:
    with pytest.raises(BadInput, match="cannot be stubbed"):
        check_in_process(kind)
    check_in_process("boto3-classic")
