"""The log of the stub inside a client's process, read as a wire log."""

import json
from pathlib import Path

import pytest

from s3bench.clients.inprocess import read_log
from s3bench.s3.wirelog import WireLog
from s3bench.spec.definition import Response

MS = 1_000_000


def read(folder: Path, *spans_ms: tuple[int, int], attempt: str = "", responses: tuple[Response, ...] = ()) -> WireLog:
    """Log a request for each start and end, answered by the first response, and read the log."""
    record = {
        **dict.fromkeys(("method", "path", "query", "byte_range", "file", "error"), ""),
        **dict.fromkeys(("status", "body_bytes", "wire_bytes", "response", "start", "end", "response_bytes"), 0),
        "attempt": attempt,
    }
    lines = (
        json.dumps({**record, "started_ns": start * MS, "body_ended_ns": start * MS, "ended_ns": end * MS})
        for start, end in spans_ms
    )
    (folder / "log").write_text("".join(f"{line}\n" for line in lines))
    return read_log(folder / "log", responses)


@pytest.mark.parametrize(
    ("spans_ms", "most"),
    [
        ((), 0),
        (((0, 5),), 1),
        (((0, 5), (5, 9)), 1),
        (((0, 9), (1, 2), (3, 4)), 2),
        (((3, 4), (0, 9), (1, 5)), 3),
        (((2, 2), (2, 2)), 1),
    ],
)
def test_requests_in_flight_are_those_that_have_started_and_not_ended(
    tmp_path: Path, spans_ms: tuple[tuple[int, int], ...], most: int
) -> None:
    log = read(tmp_path, *spans_ms)
    assert log.requests_in_flight_max == most
    assert [request.started_ns for request in log.requests] == sorted(start * MS for start, _ in spans_ms)


@pytest.mark.parametrize(
    ("attempt", "number"), [("", 1), ("attempt=1", 1), ("ttl=20260101T000000Z; attempt=3; max=5", 3)]
)
def test_the_attempt_is_the_one_of_the_header(tmp_path: Path, attempt: str, number: int) -> None:
    (request,) = read(tmp_path, (0, 1), attempt=attempt).requests
    assert request.attempt == number


def test_instances_that_no_request_took_are_left_over(tmp_path: Path) -> None:
    responses = (Response(instances=3), Response(), Response(instances=None))
    assert read(tmp_path, (0, 1), (1, 2), responses=responses).leftover == (
        "responses[0]: 1 of 3 instances unused",
        "responses[1]: 1 of 1 instances unused",
    )
