"""What is kept of the wire log and the samples for charts."""

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from s3bench.bench.runner import Settings
from s3bench.results.measurement import Measurement, UsageFacts
from s3bench.results.timeline import REQUESTS_MAX, RequestSpan, SeriesFacts, UsageSeries
from s3bench.run.facts import measure_run, read_milestones
from s3bench.run.process import PeakSource, ProcessRecord
from s3bench.s3.wirelog import InjectedFault, TransferEngine, WireLog, WireRequest

STARTED_NS = 5_000_000_000
RECORD = ProcessRecord(
    pid=1,
    exit_code=0,
    started_ns=STARTED_NS,
    ended_ns=STARTED_NS + 2_000_000_000,
    usage=UsageFacts(user_cpu_s=0.5, system_cpu_s=0.25, peak_memory_bytes=4096),
    peak_memory_source=PeakSource.KERNEL,
    process_count=1,
    sampler_cpu_s=0.01,
    speed=None,
    series=SeriesFacts(at_s=(0.001, 1.0), rss_bytes=(1024, 4096), cpu_s=(0.0, 0.4995), interval_s=0.001, cores=2),
    warnings=(),
)
PART = WireRequest(
    method="PUT",
    path="/bucket/key",
    query="partNumber=1&uploadId=u",
    byte_range="",
    connection=3,
    attempt=2,
    engine=TransferEngine.CRT,
    started_ns=STARTED_NS + 100_000_400,
    body_ended_ns=STARTED_NS + 200_000_000,
    response_started_ns=STARTED_NS + 300_000_000,
    ended_ns=STARTED_NS + 400_000_000,
    status=200,
    body_bytes=8 << 20,
    wire_bytes=(8 << 20) + 100,
    response_bytes=0,
    checksums={},
    file="",
    served_start=0,
    served_end=0,
    complete=True,
    error="",
)


def measured(*requests: WireRequest, keeps: bool = True, record: ProcessRecord = RECORD) -> Measurement:
    log = WireLog(
        requests=requests,
        leftover=(),
        connections=1,
        connections_open_max=1,
        requests_in_flight_max=1,
        server_cpu_s=0.0,
        faults=(),
    )
    return measure_run(record, log, {}, iteration=0, keeps_timeline=keeps)


def the_span(request: WireRequest) -> RequestSpan:
    (span,) = measured(request).requests
    return span


def test_a_request_counts_from_the_spawn_in_microseconds() -> None:
    assert the_span(PART) == RequestSpan(
        connection=3,
        kind="PUT partNumber",
        start=0.1,
        body_end=0.2,
        first_byte=0.3,
        end=0.4,
        bytes_up=8 << 20,
        bytes_down=0,
        status=200,
        attempt=2,
        fault="",
        error="",
    )


def test_a_request_that_was_never_answered_has_neither_status_nor_first_byte() -> None:
    error = "the client closed the connection: PUT /bucket/key?X-Amz-Signature=secret, 10 bytes of its body received"
    cut = the_span(msgspec.structs.replace(PART, status=0, fault=InjectedFault.RESET, error=error))
    assert (cut.status, cut.first_byte, cut.end, cut.fault) == (None, None, 0.4, "reset")
    assert cut.error == error.replace("X-Amz-Signature=secret", "***")
    assert len(the_span(msgspec.structs.replace(PART, error="x" * 10_000)).error) == 200


def test_without_sockets_there_is_no_connection() -> None:
    assert the_span(msgspec.structs.replace(PART, connection=0)).connection is None


def test_requests_beyond_the_bound_are_counted() -> None:
    kept = measured(*[PART] * (REQUESTS_MAX + 3))
    assert (len(kept.requests), kept.requests_left_out) == (REQUESTS_MAX, 3)


def test_the_engine_is_that_of_the_requests_that_moved_object_data() -> None:
    lookup = answered(method="HEAD", query="", engine=TransferEngine.PYTHON)
    assert measured(lookup, PART).engine == "crt"
    assert measured(lookup).engine == "python", "where none moved any, of all"


def test_the_largest_part_is_one_of_object_data() -> None:
    listing = answered(method="GET", path="/bucket", query="list-type=2", body_bytes=0, response_bytes=9 << 20)
    batch = answered(method="POST", path="/bucket", query="delete", body_bytes=9 << 20)
    small = answered(body_bytes=5 << 20)
    wire = measured(listing, batch, PART, small).wire
    assert wire is not None
    assert wire.part_size_max == 8 << 20
    alone = measured(listing, batch).wire
    assert alone is not None
    assert alone.part_size_max == 0


def in_turn(*requests: WireRequest) -> Iterator[WireRequest]:
    """The requests, each after the end of the one before."""
    for number, request in enumerate(requests):
        began_ns = number * 1000
        yield msgspec.structs.replace(request, started_ns=began_ns, body_ended_ns=began_ns, ended_ns=began_ns + 1000)


def attempts(*requests: WireRequest) -> list[int]:
    """The attempts of the requests, each as the client tells it: the first."""
    told = (msgspec.structs.replace(request, attempt=1) for request in requests)
    return [span.attempt for span in measured(*told).requests]


def retries(*requests: WireRequest) -> int:
    counts = measured(*requests).wire
    assert counts is not None
    return counts.retries


def answered(status: int = 200, **changes: Any) -> WireRequest:
    return msgspec.structs.replace(PART, status=status, **changes)


@pytest.mark.parametrize(
    "failed",
    [
        answered(503, attempt=1),
        answered(500, attempt=1),
        answered(429, attempt=1),
        answered(0, attempt=1),
        answered(attempt=1, complete=False),
        answered(attempt=1, error="cut off"),
    ],
)
def test_a_request_like_one_that_failed_is_another_attempt_also_if_the_client_tells_none(failed: WireRequest) -> None:
    assert attempts(*in_turn(failed, failed, answered(), answered())) == [1, 2, 3, 1]
    assert retries(*in_turn(failed, answered(attempt=1))) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"method": "HEAD"},
        {"path": "/bucket/other"},
        {"query": "partNumber=2&uploadId=u"},
        {"byte_range": "bytes=0-1"},
    ],
)
def test_a_request_for_something_else_is_not(other: dict[str, str]) -> None:
    assert attempts(*in_turn(answered(503), answered(**other))) == [1, 1]


def test_nor_is_one_that_began_before_the_other_had_failed() -> None:
    first, _ = in_turn(answered(503), answered())
    during = msgspec.structs.replace(first, status=200, started_ns=first.ended_ns - 1, ended_ns=first.ended_ns + 1)
    assert attempts(first, during) == [1, 1]


def test_one_after_a_request_that_the_client_gave_up_is_another_attempt_although_the_server_learns_that_late() -> None:
    lost, again = in_turn(answered(error="cut off", complete=False), answered())
    late = msgspec.structs.replace(lost, ended_ns=again.ended_ns + 1)
    assert attempts(late, again) == [1, 2]


@pytest.mark.parametrize("query", ["delete", "delete="])
def test_a_delete_of_many_objects_is_another_attempt_only_if_the_client_tells(query: str) -> None:
    failed, second = in_turn(*[answered(503, method="POST", query=query, attempt=1)] * 2)
    assert attempts(failed, second) == [1, 1]
    assert retries(failed, msgspec.structs.replace(second, attempt=2)) == 1


@pytest.mark.parametrize("status", [200, 206, 304, 404, 412, 416])
def test_nor_is_one_after_a_response_that_no_client_tries_again(status: int) -> None:
    assert attempts(*in_turn(answered(status), answered())) == [1, 1]


def test_a_client_that_tells_more_attempts_is_believed() -> None:
    assert retries(PART) == 1


def test_samples_are_kept_where_there_are_some_and_what_observing_cost_in_any_case() -> None:
    assert measured().series == UsageSeries(at=(0.001, 1.0), memory=(1024, 4096), cores=(None, 0.5))
    unsampled = measured(record=replace(RECORD, series=None))
    assert (unsampled.series, unsampled.harness.sampler_cpu_time) == (None, RECORD.sampler_cpu_s)


def test_a_milestone_counts_from_the_spawn_when_it_was_reached_first(tmp_path: Path) -> None:
    probes = tmp_path / "probes"
    probes.write_text(f"exit {STARTED_NS + 10}\nexit {STARTED_NS + 2_000_000_000}\n", "utf-8")
    assert read_milestones(probes, started_ns=STARTED_NS) == {"exit": 1e-8}
    assert read_milestones(tmp_path / "absent", started_ns=STARTED_NS) == {}


def test_lines_of_the_probes_that_the_client_spoiled_are_no_milestones(tmp_path: Path) -> None:
    probes = tmp_path / "probes"
    probes.write_bytes(b"garbage\nfoo 1\nexit\nexit x\n\xff 1\nexit " + str(STARTED_NS + 10).encode() + b"\n")
    assert read_milestones(probes, started_ns=STARTED_NS) == {"exit": 1e-8}


@pytest.mark.parametrize("kind", ["directory", "pipe", "link"])
def test_what_is_no_file_of_the_probes_is_not_read(tmp_path: Path, kind: str) -> None:
    probes, other = tmp_path / "probes", tmp_path / "other"
    other.write_text(f"exit {STARTED_NS + 10}\n", "utf-8")
    make = {"directory": probes.mkdir, "pipe": partial(os.mkfifo, probes), "link": partial(probes.symlink_to, other)}
    make[kind]()
    assert read_milestones(probes, started_ns=STARTED_NS) == {}


def test_nothing_is_kept_unasked() -> None:
    unasked = measured(PART, keeps=False)
    assert (unasked.series, unasked.requests, unasked.requests_left_out) == (None, (), 0)
    assert not Settings().keeps_timeline
    assert not Settings(keeps_timeline=True).unobserved().keeps_timeline


@pytest.mark.parametrize("keeps", [True, False])
def test_the_figures_are_the_same_with_and_without(keeps: bool) -> None:
    measurement = measure_run(RECORD, None, {}, iteration=0, keeps_timeline=keeps)
    assert measurement.max_cpu == pytest.approx(0.5)
    assert (measurement.series is not None) is keeps
