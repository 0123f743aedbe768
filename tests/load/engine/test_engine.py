"""Whole phases: every kind of operation on our emulator, ends, retries, rates and outages, and what is counted."""

import dataclasses
import functools
import itertools
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import msgspec
import pytest

from s3bench.clients.environment import Credentials
from s3bench.load.engine.engine import WorkerEngine
from s3bench.load.engine.message import RequestTarget
from s3bench.load.operation import AttemptFailure, OperationKind
from s3bench.load.profile.profile import Arrivals, Layout, Manner, Rate, RateChange
from s3bench.load.profile.sizes import Sizes, fixed
from s3bench.load.session.target import find_target
from s3bench.results.histogram import Histogram
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from s3bench.system.wake_ups import CPU_LATENCY, TIMER_SLACK
from tests.load.phases import BUCKET, DATA, LIMIT_S, SMALL, Runner, Script, Scripted, request_on, response

CREDENTIALS = Credentials(access_key="AKIDEXAMPLE", secret_key="secret/example", token="a-token")
MIXED = Sizes(text="mixed", slots=tuple([0, 1, 15, 16, 1000, 70_000, 300_000, 4096] * 32))


@pytest.fixture(scope="module", params=["http", "https"])
def emulators(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[EmulatorEndpoint, RequestTarget]]:
    with EmulatorEndpoint(tls=request.param == "https", directory=tmp_path_factory.mktemp("emulator")) as endpoint:
        bundle = str(endpoint.ca_bundle) if endpoint.ca_bundle else None
        yield endpoint, find_target([endpoint.url], bucket=BUCKET, credentials=CREDENTIALS, ca_bundle=bundle)


@pytest.fixture
def emulator(emulators: tuple[EmulatorEndpoint, RequestTarget]) -> Runner:
    """Runs jobs on an empty emulator that verifies every signature and checksum."""
    endpoint, target = emulators
    endpoint.arm(
        EmulatorSettings(access_key=CREDENTIALS.access_key, secret_key=CREDENTIALS.secret_key, buckets=(BUCKET,))
    )
    return Runner(target=target)


def client(runner: Runner) -> Any:
    scheme = "https" if runner.target.tls else "http"
    return client_of(f"{scheme}://{runner.target.hosts[0]}", runner.target.ca_bundle)


@functools.cache
def client_of(url: str, ca_bundle: str | None) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id=CREDENTIALS.access_key,
        aws_secret_access_key=CREDENTIALS.secret_key,
        verify=ca_bundle or False,
    )


def keys(runner: Runner) -> list[str]:
    pages = client(runner).get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
    return [item["Key"] for page in pages for item in page.get("Contents", [])]


MANNERS = [
    Manner(timeout_s=LIMIT_S),
    Manner(timeout_s=LIMIT_S, signs_payload=True, checksum=True),
    Manner(timeout_s=LIMIT_S, keep_alive=False, verify=False),
]


@pytest.mark.parametrize("manner", MANNERS)
def test_what_is_written_is_what_is_read_back(emulator: Runner, manner: Manner) -> None:
    emulator.manner = manner
    emulator.fill(MIXED, 32)
    sizes = [len(client(emulator).get_object(Bucket=BUCKET, Key=key)["Body"].read()) for key in keys(emulator)[:8]]
    assert len(keys(emulator)) == 32
    assert set(sizes) <= set(MIXED.slots)
    for kind in (OperationKind.GET, OperationKind.RANGE, OperationKind.HEAD):
        outcome = emulator.run(emulator.job(kind, sizes=MIXED, objects=32, operations=40, threads=3, range_bytes=5000))
        assert (outcome.operations(kind), outcome.losses) == (40, {})
        assert (outcome.bytes_down() > 0) is (kind is not OperationKind.HEAD)


@pytest.mark.parametrize("manner", MANNERS[:2])
def test_multipart_uploads_make_whole_objects(emulator: Runner, manner: Manner) -> None:
    emulator.manner = manner
    sizes = fixed(12_000_000)
    job = emulator.job(OperationKind.MULTIPART, sizes=sizes, operations=2, threads=2, part_bytes=5 * 1024**2)
    outcome = emulator.run(job, first_number=0)
    assert outcome.losses == {}
    assert [
        outcome.operations(kind)
        for kind in (OperationKind.MULTIPART, OperationKind.MULTIPART_CREATE, OperationKind.MULTIPART_PART)
    ] == [
        2,
        2,
        6,
    ]
    assert outcome.bytes_up(OperationKind.MULTIPART) == outcome.bytes_up(OperationKind.MULTIPART_PART) == 24_000_000
    read = emulator.run(emulator.job(OperationKind.GET, sizes=sizes, objects=2, operations=2), manner=Manner())
    assert (read.operations(), read.losses) == (2, {})


def test_a_multipart_upload_that_fails_is_aborted(emulator: Runner) -> None:
    job = emulator.job(
        OperationKind.MULTIPART, sizes=fixed(2_000_000), operations=1, part_bytes=1_000_000
    )  # parts too small
    outcome = emulator.run(job)
    assert outcome.operations(OperationKind.MULTIPART) == 0
    assert outcome.operations(OperationKind.MULTIPART_ABORT) == 1
    assert {loss.count for loss in outcome.losses.values()} == {2}, "the completion's and the whole upload's"
    assert "Uploads" not in client(emulator).list_multipart_uploads(Bucket=BUCKET)
    assert outcome.ended.written == (0,)


def test_copies_lists_and_deletes(emulator: Runner) -> None:
    emulator.fill()
    copied = emulator.run(emulator.job(OperationKind.COPY, operations=10))
    listed = emulator.run(emulator.job(OperationKind.LIST, operations=5, list_keys=7, threads=2))
    assert (copied.losses, listed.losses) == ({}, {})
    assert (copied.operations(), listed.operations()) == (10, 5)
    assert listed.bytes_down() > 0
    assert len(keys(emulator)) == 30
    deleted = emulator.run(emulator.job(OperationKind.DELETE, threads=3))
    assert (deleted.operations(), deleted.losses) == (20, {}), "it ends when all is deleted"
    assert len(keys(emulator)) == 10


def test_a_mix_deletes_only_what_it_wrote(emulator: Runner) -> None:
    emulator.fill()
    outcome = emulator.run(
        emulator.job(OperationKind.GET, OperationKind.PUT, OperationKind.DELETE, operations=200, threads=4)
    )
    assert outcome.losses == {}
    assert outcome.operations() == 200
    put, deleted = outcome.operations(OperationKind.PUT), outcome.operations(OperationKind.DELETE)
    assert put >= deleted > 0
    assert len(keys(emulator)) == 20 + put - deleted


def test_overwriting_leaves_no_new_objects(emulator: Runner) -> None:
    emulator.fill()
    outcome = emulator.run(emulator.job(OperationKind.PUT, operations=30, overwrite=True))
    assert (outcome.losses, outcome.ended.written, len(keys(emulator))) == ({}, (0,), 20)


@pytest.mark.parametrize("manner", MANNERS)
def test_objects_that_are_overwritten_again_and_again_stay_what_they_are(emulator: Runner, manner: Manner) -> None:
    emulator.fill(MIXED)
    put = emulator.job(OperationKind.PUT, sizes=MIXED, operations=100, overwrite=True)
    outcome = emulator.run(put, manner=manner)
    assert (outcome.losses, outcome.operations(), len(keys(emulator))) == ({}, 100, 20)
    got = emulator.run(emulator.job(OperationKind.GET, sizes=MIXED, operations=100))
    assert (got.losses, got.operations()) == ({}, 100)


def test_layouts_and_virtual_hosts(emulator: Runner) -> None:
    emulator.data = msgspec.structs.replace(DATA, layout=Layout.WORKER)
    if not emulator.target.tls:  # no certificate is good for bucket.localhost
        port = emulator.target.addresses[0][1]
        emulator.target = msgspec.structs.replace(emulator.target, virtual_hosts=True, hosts=(f"localhost:{port}",))
    emulator.fill()
    outcome = emulator.run(emulator.job(OperationKind.GET, OperationKind.LIST, operations=20))
    assert outcome.losses == {}


def test_the_shares_of_two_workers_make_a_whole(emulator: Runner) -> None:
    outcomes = [
        emulator.run(
            emulator.job(OperationKind.PUT, operations=21, threads=3), worker=worker, workers=2, first_number=0
        )
        for worker in range(2)
    ]
    assert [outcome.operations() for outcome in outcomes] == [11, 10]
    assert len(keys(emulator)) == 21


def test_swapped_and_missing_objects_are_caught(emulator: Runner) -> None:
    emulator.fill(SMALL, 3)
    names = sorted(keys(emulator))
    bodies = [client(emulator).get_object(Bucket=BUCKET, Key=name)["Body"].read() for name in names]
    client(emulator).put_object(Bucket=BUCKET, Key=names[0], Body=bodies[1])
    client(emulator).put_object(Bucket=BUCKET, Key=names[1], Body=bodies[1][:-1])
    client(emulator).delete_object(Bucket=BUCKET, Key=names[2])
    outcome = emulator.run(emulator.job(OperationKind.GET, objects=3, operations=60))
    assert set(outcome.losses) == {AttemptFailure.CORRUPT, "404 NoSuchKey"}
    assert (outcome.operations(), outcome.bytes_down(), outcome.failed) == (0, 0, 60)


def test_wrong_keys_are_refused(emulator: Runner) -> None:
    wrong = msgspec.structs.replace(emulator.target.keys, secret_key="wrong")
    emulator.target = msgspec.structs.replace(emulator.target, keys=wrong)
    outcome = emulator.run(emulator.job(OperationKind.PUT, operations=2))
    assert {label: loss.count for label, loss in outcome.losses.items()} == {"403 SignatureDoesNotMatch": 2}


def test_repeated_reads_are_told_from_first_ones(emulator: Runner) -> None:
    emulator.fill()
    outcome = emulator.run(emulator.job(OperationKind.GET, operations=100, threads=2))
    assert sum(stream.repeated for record in outcome.records for stream in record.streams) >= 80


def serving(body: bytes = b"abc", *, wait_s: float = 0.0) -> Script:
    never = threading.Event()

    def script(sock: socket.socket, number: int) -> None:
        while True:
            request_on(sock)
            never.wait(wait_s)
            sock.sendall(response(body))

    return script


def test_a_phase_ends_on_time_with_a_record_for_each_second_and_one_for_the_rest() -> None:
    with Scripted(serving(wait_s=0.002)) as server:
        outcome = server.runner.run(server.runner.job(OperationKind.GET, threads=2), duration_s=1.25)
    assert [record.second for record in outcome.records] == [0, 1]
    assert [record.length_ns for record in outcome.records] == [10**9, 250_000_000]
    assert outcome.ended.elapsed_ns == 1_250_000_000
    assert outcome.ended.late == outcome.ended.unfinished <= 2
    assert all(record.in_flight_max <= 2 for record in outcome.records)
    assert outcome.law == pytest.approx(1, abs=0.05)


def test_seconds_without_an_event_have_records() -> None:
    with Scripted(serving(wait_s=1.3)) as server:
        outcome = server.runner.run(server.runner.job(OperationKind.GET, operations=1))
    assert [record.second for record in outcome.records] == [0, 1]
    assert outcome.records[0].streams == ()
    assert outcome.records[0].in_flight_ns == pytest.approx(10**9, rel=0.1)
    assert outcome.records[0].wait_ns > 0.8 * 10**9


def test_what_is_in_flight_at_the_end_is_accounted_for() -> None:
    release = threading.Event()

    def script(sock: socket.socket, number: int) -> None:
        request_on(sock)
        if number == 0:
            release.wait(0.4)
            sock.sendall(response())
        request_on(sock)

    with Scripted(script) as server:
        outcome = server.runner.run(
            server.runner.job(OperationKind.GET, threads=3), duration_s=0.2, manner=Manner(verify=False, timeout_s=0.5)
        )
    assert (outcome.ended.unfinished, outcome.ended.late) == (3, 1)
    assert (outcome.operations(), outcome.losses) == (0, {})


def test_a_stop_ends_a_phase_early() -> None:
    with Scripted(serving(wait_s=0.001)) as server:
        runner = server.runner
        outcome = runner.run(
            runner.job(OperationKind.GET, threads=2),
            duration_s=60,
            during=lambda engine: engine.loop.call_at(time.monotonic_ns() + 200_000_000, Stopper(engine), 0),
        )
    assert 0.1e9 < outcome.ended.elapsed_ns < 5e9
    assert sum(record.length_ns for record in outcome.records) == outcome.ended.elapsed_ns


@dataclasses.dataclass
class Stopper:
    engine: WorkerEngine

    def on_time(self, ticket: int) -> None:
        del ticket
        self.engine.stop()


def failing(times: int, status: str = "503 Slow Down") -> Script:
    """Fails the first `times` requests of all connections, then serves."""
    count = itertools.count()

    def script(sock: socket.socket, number: int) -> None:
        while True:
            request_on(sock)
            sock.sendall(response(b"no", status) if next(count) < times else response(b"yes"))

    return script


def test_retries_are_counted_with_the_time_they_cost() -> None:
    with Scripted(failing(2)) as server:
        outcome = server.runner.run(
            server.runner.job(OperationKind.GET, operations=2),
            manner=Manner(verify=False, retries=3, backoff_s=0.05),
        )
    loss = outcome.losses["503"]
    assert (outcome.operations(), loss.count, loss.retried, loss.body_bytes) == (2, 2, 2, 4)
    assert loss.lost_ns >= 150_000_000, "50 ms and then twice as long"
    assert outcome.response().max_ns >= 150_000_000 > outcome.service().max_ns
    assert outcome.law == pytest.approx(1, abs=0.05)


def test_retries_end_and_leave_a_failed_operation() -> None:
    with Scripted(failing(100)) as server:
        outcome = server.runner.run(
            server.runner.job(OperationKind.GET, operations=2), manner=Manner(verify=False, retries=2, backoff_s=0.001)
        )
    loss = outcome.losses["503"]
    assert (outcome.operations(), loss.count, loss.retried, outcome.failed) == (0, 6, 4, 2)


def test_what_the_request_is_to_blame_for_is_not_retried() -> None:
    with Scripted(failing(1, "404 Not Found")) as server:
        outcome = server.runner.run(
            server.runner.job(OperationKind.GET, operations=2), manner=Manner(verify=False, retries=2)
        )
    assert (outcome.losses["404"].count, outcome.losses["404"].retried) == (1, 0)


def test_in_open_loop_waiting_counts_from_the_plan() -> None:
    """One thread and a server that takes 50 ms, at a planned 40 a second: half of them wait longer and longer."""
    with Scripted(serving(wait_s=0.05)) as server:
        job = server.runner.job(OperationKind.GET, rate=Rate(per_s=40, arrivals=Arrivals.CONSTANT))
        outcome = server.runner.run(job, duration_s=1.0)
    operations, mean_ns = outcome.operations(), outcome.service().mean_ns or 0
    assert (operations <= 20, mean_ns >= 50e6) == (True, True)
    assert 1e9 - 2 * mean_ns < operations * mean_ns < 1.02e9, "its one thread is never idle, and waiting is no service"
    last_planned_ns = (operations - 1) * 25e6
    assert outcome.response().max_ns == pytest.approx(operations * mean_ns - last_planned_ns, abs=30e6)
    assert outcome.response().max_ns > 400e6
    assert max(record.waiting_max for record in outcome.records) >= 15
    assert outcome.law == pytest.approx(1, abs=0.05)


@pytest.mark.skipif(not TIMER_SLACK.exists(), reason="this kernel has no timer slack to set")
def test_wake_ups_are_prompt_in_open_loop_and_as_usual_in_closed_loop() -> None:
    slacks = []

    def script(sock: socket.socket, number: int) -> None:
        while request_on(sock):
            slacks.append(TIMER_SLACK.read_text(encoding="ascii"))
            sock.sendall(response())

    before = TIMER_SLACK.read_text(encoding="ascii")
    with Scripted(script) as server:
        runner = server.runner
        opened = runner.run(runner.job(OperationKind.GET, rate=Rate(per_s=50)), duration_s=0.1)
        assert {int(slack) for slack in slacks} == {1}
        slacks.clear()
        closed = runner.run(runner.job(OperationKind.GET, operations=3))
    assert set(slacks) == {before} == {TIMER_SLACK.read_text(encoding="ascii")}
    assert opened.ended.cores_awake is os.access(CPU_LATENCY, os.W_OK)
    assert closed.ended.cores_awake is None


def test_in_open_loop_a_rate_that_changes_is_kept_in_each_of_its_stretches() -> None:
    changes = (RateChange(after_s=1.0, per_s=0.0), RateChange(after_s=2.0, per_s=100.0))
    with Scripted(serving()) as server:
        job = server.runner.job(
            OperationKind.GET, rate=Rate(per_s=30, arrivals=Arrivals.CONSTANT, changes=changes), threads=4
        )
        outcome = server.runner.run(job, duration_s=3.0)
    by_second = [sum(stream.operations for stream in record.streams) for record in outcome.records[:3]]
    assert by_second == [pytest.approx(expected, abs=3) for expected in (30, 0, 100)]


PLANNED = Rate(per_s=100, arrivals=Arrivals.CONSTANT, changes=(RateChange(after_s=1.0, per_s=0.0),))
"""100 operations in the first second, and none after it: a run of more than a second begins them all."""


def test_in_open_loop_what_is_refused_fails_when_it_is_due() -> None:
    with Scripted(serving()) as server:
        runner = server.runner
    outcome = runner.run(runner.job(OperationKind.GET, rate=PLANNED), duration_s=1.2)
    assert {label: loss.count for label, loss in outcome.losses.items()} == {AttemptFailure.REFUSED: 100}
    assert (outcome.ended.waiting, max(record.waiting_max for record in outcome.records) < 10) == (0, True)


def test_in_open_loop_a_retry_holds_no_thread_while_it_waits() -> None:
    with Scripted(serving()) as server:
        runner = server.runner
    manner = Manner(verify=False, retries=1, backoff_s=0.3)
    outcome = runner.run(runner.job(OperationKind.GET, rate=PLANNED), duration_s=1.2, manner=manner)
    loss = outcome.losses[AttemptFailure.REFUSED]
    assert (loss.retried, outcome.ended.waiting) == (100, 0)
    assert loss.count - loss.retried == pytest.approx(90, abs=3), "those whose second attempt was due before the end"
    assert outcome.failed + outcome.ended.unfinished == 100
    assert outcome.ended.oldest_ns == pytest.approx(300_000_000, rel=0.2)


def test_in_open_loop_a_retry_ends_well_and_counts_from_the_plan() -> None:
    with Scripted(failing(3)) as server:
        manner = Manner(verify=False, retries=2, backoff_s=0.05)
        outcome = server.runner.run(
            server.runner.job(OperationKind.GET, operations=20, rate=PLANNED), manner=manner, duration_s=5
        )
    assert (outcome.operations(), outcome.losses["503"].retried, outcome.failed) == (20, 3, 0)
    assert outcome.response().max_ns >= 50_000_000 > outcome.service().max_ns
    assert outcome.law == pytest.approx(1, abs=0.05)


def test_in_open_loop_an_upload_goes_on_with_the_part_that_failed() -> None:
    failed = itertools.count()

    def script(sock: socket.socket, number: int) -> None:
        while True:
            request = request_on(sock)
            if request.startswith(b"POST") and b"uploads" in request.partition(b" HTTP")[0]:
                sock.sendall(response(b"<UploadId>one</UploadId>"))
            elif b"partNumber=2" in request and next(failed) == 0:
                sock.sendall(response(b"no", "503 Slow Down"))
            else:
                sock.sendall(response(b"", "200 OK", 'ETag: "1"'))

    with Scripted(script) as server:
        job = server.runner.job(
            OperationKind.MULTIPART, sizes=fixed(2000), part_bytes=1000, operations=3, rate=PLANNED, threads=2
        )
        outcome = server.runner.run(job, manner=Manner(verify=False, retries=1), duration_s=5)
    assert (outcome.operations(OperationKind.MULTIPART), outcome.operations(OperationKind.MULTIPART_PART)) == (3, 6)
    assert (outcome.losses["503"].count, outcome.failed, outcome.ended.written) == (1, 0, (3,))


def test_in_open_loop_only_an_upload_as_a_whole_and_its_first_request_count_from_the_plan() -> None:
    def script(sock: socket.socket, number: int) -> None:
        while True:
            request = request_on(sock)
            time.sleep(0.02)
            sock.sendall(response(b"<UploadId>one</UploadId>" * (b"uploads" in request), "200 OK", 'ETag: "1"'))

    with Scripted(script) as server:
        job = server.runner.job(
            OperationKind.MULTIPART, sizes=fixed(3000), part_bytes=1000, operations=3, rate=PLANNED, threads=1
        )
        outcome = server.runner.run(job, duration_s=5)
    streams = {s.kind: s for t in outcome.records for s in t.streams}
    for kind in (OperationKind.MULTIPART_PART, OperationKind.MULTIPART_COMPLETE):
        assert streams[kind].response == streams[kind].service
    responses = {kind: Histogram.merged((stream.response,)) for kind, stream in streams.items()}
    assert responses[OperationKind.MULTIPART].max_ns > 3 * 5 * 20_000_000 - 2 * 10_000_000, "waited for two others"
    assert responses[OperationKind.MULTIPART_CREATE].max_ns > (2 * 5 + 1) * 20_000_000 - 2 * 10_000_000


@pytest.mark.parametrize("retries", [0, 1])
def test_an_upload_in_open_loop_is_as_old_as_its_plan(retries: int) -> None:
    """Whether its part is in flight at the end, after it has waited for a thread, or waits for a retry that is late."""
    begun = itertools.count()

    def script(sock: socket.socket, number: int) -> None:
        while True:
            request = request_on(sock)
            if not request.startswith(b"POST"):
                sock.sendall(response(b"no", "503 Slow Down") if retries else b"")
            elif retries or next(begun):
                sock.sendall(response(b"<UploadId>one</UploadId>"))
            else:
                time.sleep(0.2)
                sock.sendall(response(b"no", "503 Slow Down"))

    with Scripted(script) as server:
        job = server.runner.job(
            OperationKind.MULTIPART, sizes=fixed(2000), operations=2 - retries, rate=PLANNED, threads=1
        )
        manner = Manner(verify=False, timeout_s=0.6, retries=retries, backoff_s=20.0)
        outcome = server.runner.run(job, manner=manner, duration_s=0.5)
    assert 0.4e9 < outcome.ended.oldest_ns <= 0.5e9


def test_operations_of_all_jobs_wait_together() -> None:
    never = threading.Event()

    def script(sock: socket.socket, number: int) -> None:
        request_on(sock)
        never.wait(LIMIT_S)

    with Scripted(script) as server:
        job = server.runner.job(OperationKind.GET, rate=PLANNED, threads=1)
        outcome = server.runner.run(job, job, manner=Manner(verify=False, timeout_s=0.6), duration_s=0.5)
        never.set()
    assert outcome.ended.waiting > 90
    assert max(record.waiting_max for record in outcome.records) > 60, "looked at once in a tenth of a second"


def test_no_more_operations_wait_than_there_are_to_be_done() -> None:
    with Scripted(serving(wait_s=0.3)) as server:
        rate = Rate(per_s=1000, arrivals=Arrivals.CONSTANT)
        outcome = server.runner.run(server.runner.job(OperationKind.GET, rate=rate, operations=3), duration_s=5.0)
    assert (outcome.operations(), outcome.ended.waiting) == (3, 0)
    assert max(record.waiting_max for record in outcome.records) == 2


def silent(sock: socket.socket, number: int) -> None:
    request_on(sock)
    sock.recv(1)  # until the client gives up


def refusing(sock: socket.socket, number: int) -> None:
    while True:
        request_on(sock)
        sock.sendall(response(b"no", "503 Slow Down"))


def unread(sock: socket.socket, number: int) -> None:
    sock.recv(1)
    time.sleep(0.4)  # the client has given up by then


@pytest.mark.parametrize(
    ("kind", "size_bytes", "script", "count"),
    [
        (OperationKind.PUT, 1000, silent, 3),
        (OperationKind.PUT, 100_000, silent, 3),
        (OperationKind.COPY, 1000, silent, 3),
        (OperationKind.GET, 1000, silent, 0),
        (OperationKind.PUT, 1000, refusing, 0),
        (OperationKind.PUT, 32 * 1024**2, unread, 0),  # which no server can complete
    ],
)
def test_writes_that_were_sent_and_had_no_response_are_counted(
    kind: OperationKind, size_bytes: int, script: Script, count: int
) -> None:
    with Scripted(script) as server:
        job = server.runner.job(kind, sizes=fixed(size_bytes), threads=3, operations=3)
        outcome = server.runner.run(job, manner=Manner(verify=False, timeout_s=0.2), duration_s=0.5)
    assert (outcome.failed, outcome.ended.unanswered) == (3, count)


@pytest.mark.parametrize(("kind", "count"), [(OperationKind.PUT, 2), (OperationKind.GET, 0)])
def test_a_write_that_is_repeated_at_once_since_its_connection_closed_had_no_response(
    kind: OperationKind, count: int
) -> None:
    def script(sock: socket.socket, number: int) -> None:
        request_on(sock)
        sock.sendall(response(b"x" * 1000 if kind is OperationKind.GET else b""))
        request_on(sock)  # and closes without an answer

    with Scripted(script) as server:
        outcome = server.runner.run(server.runner.job(kind, operations=3))
    assert (outcome.operations(), outcome.failed, outcome.ended.unanswered) == (3, 0, count)


def test_a_write_that_is_given_up_at_the_end_had_no_response_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("s3bench.load.engine.engine.LATE_S_MAX", 0.1)
    with Scripted(silent) as server:
        outcome = server.runner.run(server.runner.job(OperationKind.PUT, threads=2), duration_s=0.2)
    assert (outcome.ended.unfinished, outcome.ended.unanswered) == (2, 2)


def test_in_open_loop_what_waits_too_long_for_a_thread_fails_and_says_so() -> None:
    """A server that takes requests and never answers: both threads are held until each of them times out."""
    never = threading.Event()

    def script(sock: socket.socket, number: int) -> None:
        request_on(sock)
        never.wait(LIMIT_S)

    with Scripted(script) as server:
        job = server.runner.job(OperationKind.PUT, rate=PLANNED, threads=2)
        outcome = server.runner.run(job, manner=Manner(verify=False, timeout_s=0.2), duration_s=1.0)
        never.set()
    held, waited = outcome.losses[AttemptFailure.TIMEOUT], outcome.losses[AttemptFailure.NO_THREAD]
    assert 6 <= held.count <= 10
    assert (waited.retried, waited.lost_ns, waited.body_bytes) == (0, 0, 0)
    assert held.count + waited.count + outcome.ended.unfinished + outcome.ended.waiting == 100
    assert outcome.ended.waiting <= 22, "no operation waits for longer than the limit"
    assert outcome.ended.oldest_ns <= 450_000_000
    assert outcome.ended.written == (0,)


def test_in_open_loop_thousands_that_are_due_can_fail_at_once() -> None:
    """A connection to a broadcast address fails before connect(2) returns: each ends before the next one begins."""
    target = RequestTarget(addresses=(("255.255.255.255", 9),), hosts=("nowhere",), bucket=BUCKET)
    runner = Runner(target=target, manner=Manner(verify=False))
    rate = Rate(per_s=1e7, arrivals=Arrivals.CONSTANT)
    outcome = runner.run(runner.job(OperationKind.GET, operations=5000, rate=rate), duration_s=20)
    assert {label: loss.count for label, loss in outcome.losses.items()} == {AttemptFailure.UNREACHABLE: 5000}


def test_what_found_no_free_thread_takes_no_object() -> None:
    never = threading.Event()

    def script(sock: socket.socket, number: int) -> None:
        while True:
            request_on(sock)
            for byte in response():
                sock.sendall(bytes((byte,)))
                never.wait(0.01)

    with Scripted(script) as server:
        job = server.runner.job(OperationKind.PUT, OperationKind.HEAD, rate=PLANNED, operations=70)
        outcome = server.runner.run(job, manner=Manner(verify=False, idle_timeout_s=0.1), duration_s=5)
    assert set(outcome.losses) == {AttemptFailure.NO_THREAD}
    assert outcome.operations() + outcome.failed == 70
    assert outcome.ended.written == (outcome.operations(OperationKind.PUT),)
    kinds = {stream.kind for record in outcome.records for stream in record.streams if stream.losses}
    assert kinds == {OperationKind.PUT, OperationKind.HEAD}


def test_a_plan_far_beyond_what_can_be_done_fails_for_want_of_threads_and_goes_on() -> None:
    with Scripted(serving()) as server:
        job = server.runner.job(OperationKind.GET, rate=Rate(per_s=1e5, arrivals=Arrivals.CONSTANT))
        outcome = server.runner.run(job, manner=Manner(verify=False, timeout_s=0.2), duration_s=1.5)
    assert outcome.ended.elapsed_ns == 1_500_000_000
    assert sum(stream.operations for stream in outcome.records[1].streams) > 50
    assert outcome.operations() + outcome.failed + outcome.ended.unfinished + outcome.ended.waiting == 150_000


def test_in_closed_loop_pauses_are_neither_in_flight_nor_lost() -> None:
    with Scripted(serving()) as server:
        runner = server.runner
    outcome = runner.run(runner.job(OperationKind.GET, threads=4), duration_s=1.0)
    loss = outcome.losses[AttemptFailure.REFUSED]
    assert 4 <= loss.count < 100
    assert outcome.records[0].paused_ns == pytest.approx(4e9, rel=0.1)
    assert loss.paused_ns == pytest.approx(4e9, rel=0.3), "but for the last pauses, which the end cuts"
    assert outcome.records[0].in_flight_ns < 0.1e9
    assert (outcome.records[0].served, outcome.records[0].wanted) == (0, 1023)


def test_tenths_of_a_second_show_when_requests_succeeded_and_failed() -> None:
    with Scripted(failing(1)) as server:
        job = server.runner.job(OperationKind.GET, operations=3, rate=Rate(per_s=5, arrivals=Arrivals.CONSTANT))
        outcome = server.runner.run(job, duration_s=1.0)
    (record,) = outcome.records
    assert (record.failed, record.served.bit_count(), record.served & 1) == (1, 2, 0)


def test_in_open_loop_a_fast_server_is_asked_as_planned() -> None:
    with Scripted(serving()) as server:
        job = server.runner.job(OperationKind.GET, rate=Rate(per_s=100, arrivals=Arrivals.CONSTANT), threads=8)
        outcome = server.runner.run(job, duration_s=1.0)
    assert 95 <= outcome.operations() <= 100
    assert (outcome.response().mean_ns or 0) < 50e6


def test_a_plan_far_beyond_what_can_be_done_ends_at_its_time_and_tells_what_was_not_begun() -> None:
    with Scripted(serving()) as server:
        job = server.runner.job(OperationKind.GET, rate=Rate(per_s=1e8, arrivals=Arrivals.CONSTANT))
        outcome = server.runner.run(job, duration_s=0.1)
    assert outcome.ended.elapsed_ns == 100_000_000
    assert outcome.operations() + outcome.ended.unfinished + outcome.ended.waiting == 10_000_000
    assert outcome.operations()


def test_a_ramp_starts_threads_one_after_the_other() -> None:
    with Scripted(serving(wait_s=0.01)) as server:
        outcome = server.runner.run(server.runner.job(OperationKind.GET, threads=4), duration_s=0.8, ramp_s=0.8)
        assert server.accepted == 4
    assert outcome.records[0].in_flight_ns < 0.75 * 4 * 0.8e9


def test_a_server_that_dies_and_comes_back_leaves_an_outage_and_no_hang() -> None:
    with Scripted(serving(wait_s=0.001)) as server:
        runner, port = server.runner, server.port
        again = threading.Timer(0.3, server.__exit__)
        again.start()
        revived: list[Scripted] = []

        def revive() -> None:
            listener = socket.create_server(("127.0.0.1", port))
            listener.close()
            fresh = Scripted(serving(wait_s=0.001), port=port)
            revived.append(fresh.__enter__())

        back = threading.Timer(0.9, revive)
        back.start()
        outcome = runner.run(runner.job(OperationKind.GET, threads=4), duration_s=2.6)
        back.join(LIMIT_S)
        for fresh in revived:
            fresh.__exit__()
    assert outcome.ended.elapsed_ns == 2_600_000_000
    assert 4 <= outcome.losses[AttemptFailure.REFUSED].count < 100, "threads wait before they try again"
    assert outcome.records[0].streams
    assert sum(stream.operations for stream in outcome.records[2].streams) > 0, "it goes on afterwards"


def test_jobs_run_side_by_side_and_are_told_apart() -> None:
    with Scripted(serving()) as server:
        runner = server.runner
        outcome = runner.run(runner.job(OperationKind.GET, operations=10), runner.job(OperationKind.HEAD, operations=0))
        assert {stream.job for record in outcome.records for stream in record.streams} == {0}
    assert outcome.operations() == 10


def test_two_hundred_connections_at_once() -> None:
    with Scripted(serving()) as server:
        outcome = server.runner.run(server.runner.job(OperationKind.GET, threads=200, operations=1000))
    assert (outcome.operations(), outcome.losses) == (1000, {})


def test_workers_without_a_thread_have_nothing_to_do_and_the_others_do_it_all(emulator: Runner) -> None:
    job = emulator.job(OperationKind.PUT, operations=7)
    done = [emulator.run(job, worker=worker, workers=3, first_number=0) for worker in range(3)]
    assert [outcome.ended.written for outcome in done] == [(7,), (0,), (0,)]


def test_a_rate_is_not_shared_out_to_workers_without_a_thread(emulator: Runner) -> None:
    emulator.fill()
    job = emulator.job(OperationKind.GET, rate=Rate(per_s=100, arrivals=Arrivals.CONSTANT))
    first, second = (emulator.run(job, worker=worker, workers=2, duration_s=0.3) for worker in range(2))
    assert first.operations() + first.ended.unfinished + first.ended.waiting == 30
    assert second.operations() + second.ended.unfinished + second.ended.waiting == 0
    assert not any(record.waiting_max for record in second.records)


def test_jobs_of_one_thread_each_are_done_by_different_workers(emulator: Runner) -> None:
    emulator.fill()
    planned = Rate(per_s=100, arrivals=Arrivals.CONSTANT)
    jobs = (
        emulator.job(OperationKind.PUT, operations=5),
        emulator.job(OperationKind.GET, operations=6),
        emulator.job(OperationKind.HEAD, operations=7, rate=planned),
    )
    done = [emulator.run(*jobs, worker=worker, workers=4, first_number=5000, duration_s=20) for worker in range(4)]
    kinds = (OperationKind.PUT, OperationKind.GET, OperationKind.HEAD)
    assert [[outcome.operations(kind) for kind in kinds] for outcome in done] == [
        [5, 0, 0], [0, 6, 0], [0, 0, 7], [0, 0, 0],
    ]  # fmt: skip
    assert [outcome.ended.written for outcome in done] == [(5, 0, 0), (0, 0, 0), (0, 0, 0), (0, 0, 0)]


def test_what_the_workers_write_in_a_second_job_has_no_gap(emulator: Runner) -> None:
    jobs = (emulator.job(OperationKind.HEAD, objects=1), emulator.job(OperationKind.PUT, operations=7, threads=2))
    first_of_jobs = 3 * 10**7
    for worker in range(3):
        emulator.run(*jobs, worker=worker, workers=3, first_number=first_of_jobs, duration_s=0.3)
    numbers = sorted(int(key.rpartition("/")[2]) for key in keys(emulator))
    first = first_of_jobs + 10**6
    assert [number for number in numbers if number >= first_of_jobs] == list(range(first, first + 7))


def test_addresses_are_told_by_whether_a_connection_to_them_was_made(emulator: Runner) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen
        dead = unused.getsockname()
        emulator.target = msgspec.structs.replace(
            emulator.target, addresses=(*emulator.target.addresses, dead), hosts=emulator.target.hosts * 2
        )
        outcome = emulator.run(emulator.job(OperationKind.PUT, operations=10, threads=4))
    host, port = emulator.target.addresses[0]
    assert (outcome.ended.reached, outcome.ended.unreached) == ((f"{host}:{port}",), (f"127.0.0.1:{dead[1]}",))


def test_an_address_that_no_connection_was_for_is_neither_reached_nor_unreached(emulator: Runner) -> None:
    emulator.target = msgspec.structs.replace(
        emulator.target, addresses=(("::1", 9), *emulator.target.addresses), hosts=emulator.target.hosts * 2
    )
    outcome = emulator.run(emulator.job(OperationKind.PUT, operations=10))  # on one connection
    assert (outcome.operations(), len(outcome.ended.reached), outcome.ended.unreached) == (10, 1, ())


def test_a_list_of_existing_objects_goes_through_the_pages_below_their_prefix(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("".join(f"logs/{number}\n" for number in range(5)), encoding="utf-8")
    asked: list[tuple[list[str], list[str]]] = []

    def script(sock: socket.socket, number: int) -> None:
        while True:
            query = parse_qs(urlsplit(request_on(sock).split(b" ")[1].decode()).query)
            asked.append((query["prefix"], query.get("start-after", [])))
            sock.sendall(response(b"<ListBucketResult/>"))

    with Scripted(script) as server:
        runner = server.runner
        runner.data = msgspec.structs.replace(DATA, key_file=str(file), existing="logs/")
        runner.run(runner.job(OperationKind.LIST, objects=5, list_keys=2, operations=4))
    assert asked == [(["logs/"], []), (["logs/"], ["logs/1"]), (["logs/"], ["logs/3"]), (["logs/"], [])]
