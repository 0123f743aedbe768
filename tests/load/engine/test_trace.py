"""The lines of attempts: every one of them, in order, with the values that were counted."""

import contextlib
import csv
import itertools
import resource
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from s3bench.errors import BadInput, MachineError
from s3bench.load.engine.trace import COLUMNS, Attempt, Trace, join_traces, part_of
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import Manner
from tests.load.phases import DATA, SMALL, Scripted, request_on, response


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_attempt_is_a_line(tmp_path: Path) -> None:
    count = itertools.count()

    def script(sock: socket.socket, number: int) -> None:
        while True:
            request_on(sock)
            sock.sendall(response(b"no", "503 Slow Down") if next(count) == 1 else response(b"abc"))

    path = tmp_path / "trace.csv"
    with Scripted(script) as server, Trace(str(path), worker=3) as trace:
        manner = Manner(verify=False, retries=1, backoff_s=0.001)
        outcome = server.runner.run(
            server.runner.job(OperationKind.GET, operations=3), manner=manner, trace=trace, name='GET, "warm"'
        )
    lines = rows(path)
    assert tuple(lines[0]) == COLUMNS
    assert [line["outcome"] for line in lines] == ["200", "503", "200", "200"]
    assert [line["attempt"] for line in lines] == ["1", "1", "2", "1"]
    assert {line["phase"] for line in lines} == {'GET, "warm"'}
    assert {line["kind"] for line in lines} == {"get"}
    assert {line["worker"] for line in lines} == {"3"}
    assert {line["connection"] for line in lines} == {"0"}
    assert [line["key"] for line in lines] == [DATA.of(SMALL).root + line["number"].zfill(8) for line in lines]
    assert [line["bytes"] for line in lines] == ["3", "2", "3", "3"]
    for line in lines:
        times = [int(line[name]) for name in ("planned_ns", "started_ns", "first_byte_ns", "ended_ns")]
        assert times == sorted(times)
        assert times[0] > 0
    ended = [int(line["ended_ns"]) - int(line["started_ns"]) for line in lines if line["outcome"] == "200"]
    assert sum(ended) == outcome.service().sum_ns, "the trace and the counts are of the same clock readings"


def test_an_attempt_without_a_first_byte_has_none(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    with Scripted(lambda *_: None) as server, Trace(str(path), worker=3) as trace:
        server.runner.run(server.runner.job(OperationKind.GET, operations=1), trace=trace)
    (line,) = rows(path)
    assert line["first_byte_ns"] == ""
    assert line["outcome"] in {"connection closed", "connection reset"}


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(BadInput, match="cannot be written"), Trace(str(path), worker=0):
        pass
    assert path.read_text(encoding="utf-8") == "mine"


@contextlib.contextmanager
def files_limited_to(size_bytes: int) -> Iterator[None]:
    """As on a full disk, no file grows beyond `size_bytes` (setrlimit(2))."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_the_machines_fault_and_ends_the_trace_alone(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    line: Attempt = (1, 2, 3, 4, "get", 5, "k" * 1000, 6, "200", 1, 0)
    with Trace(str(path), worker=0) as trace:
        trace.note(line)
        trace.flush()
        for _ in range(100):
            trace.note(line)
        with files_limited_to(50_000), pytest.raises(MachineError, match="cannot be written") as raised:
            trace.flush()
        assert str(path) in raised.value.what
        assert f"on the disk of {tmp_path}" in raised.value.why
        trace.begin("next", 0)
        trace.note(line)
        trace.flush()
    assert [row["key"] for row in rows(path)] == ["k" * 1000], "whole lines, and none after the gap"


def test_what_cannot_be_joined_stays_in_its_part(tmp_path: Path) -> None:
    whole = tmp_path / "trace.csv"
    for worker in range(2):
        with Trace(str(part_of(whole, worker)), worker=worker) as trace:
            for _ in range(30):
                trace.note((1, 2, 3, 4, "get", 5, "k" * 1000, 6, "200", 1, 0))
    with files_limited_to(50_000), pytest.raises(MachineError, match="could not be joined") as raised:
        join_traces(whole, workers=2)
    assert str(part_of(whole, 1)) in raised.value.fix
    assert [line["worker"] for line in rows(whole)] == ["0"] * 30
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["trace.csv", "trace.csv.1"]


def test_many_waiting_lines_are_told(tmp_path: Path) -> None:
    with Trace(str(tmp_path / "trace.csv"), worker=0) as trace:
        for _ in range(200_000):
            trace.note((1, 2, 3, 4, "get", 5, "k", 6, "200", 1, 0))
        assert trace.is_full
        trace.flush()
        assert not trace.is_full


class CountingTrace(Trace):
    """Tells how many lines were written together at most."""

    def begin(self, phase: str, start_ns: int) -> None:
        super().begin(phase, start_ns)
        self.waiting = self.most = 0
        noted = self.note

        def note(attempt: Attempt) -> None:
            noted(attempt)
            self.waiting += 1
            self.most = max(self.most, self.waiting)

        self.note = note

    def flush(self) -> None:
        super().flush()
        self.waiting = 0


def test_no_operation_waits_for_hundreds_of_lines_to_be_written(tmp_path: Path) -> None:
    def script(sock: socket.socket, number: int) -> None:
        while True:
            request_on(sock)
            sock.sendall(response(b"abc"))

    with Scripted(script) as server, CountingTrace(str(tmp_path / "trace.csv"), worker=0) as trace:
        job = server.runner.job(OperationKind.GET, operations=500, threads=2)
        server.runner.run(job, manner=Manner(verify=False), trace=trace)
    assert len(rows(tmp_path / "trace.csv")) == 500
    assert trace.most < 100


def test_the_files_of_all_workers_become_one(tmp_path: Path) -> None:
    whole = tmp_path / "trace.csv"
    for worker in (0, 2):
        with Trace(str(part_of(whole, worker)), worker=worker) as trace:
            trace.begin("get", 0)
            trace.note((1, 2, 3, 4, "get", worker, "k", 6, "200", 1, 0))
    join_traces(whole, workers=3)
    assert [(line["worker"], line["number"]) for line in rows(whole)] == [("0", "0"), ("2", "2")]
    assert list(tmp_path.iterdir()) == [whole]
