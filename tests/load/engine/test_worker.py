"""A worker's process, through the pool that starts it: what it answers, and when it ends."""

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil
import pytest

from s3bench.clients.environment import Credentials
from s3bench.errors import MachineError
from s3bench.load.engine.channel import coordinator_channel
from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.message import (
    BeginPhase,
    Order,
    PhaseEnded,
    PhasePrepared,
    PhaseReady,
    PreparePhase,
    Report,
    RequestTarget,
    StartPhase,
    StopPhase,
)
from s3bench.load.engine.objects import FAR
from s3bench.load.engine.worker import Contents
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import Job, Manner, Phase, Rate, Share
from s3bench.load.session.target import find_target
from s3bench.load.session.worker_pool import WorkerPool
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from s3bench.system.channel import Channel
from tests.load.phases import BUCKET, DATA, LIMIT_S, SMALL


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RequestTarget]:
    with EmulatorEndpoint(directory=tmp_path_factory.mktemp("emulator")) as endpoint:
        endpoint.arm(EmulatorSettings(buckets=(BUCKET,)))
        yield find_target([endpoint.url], bucket=BUCKET, credentials=Credentials(access_key="a", secret_key="b"))


def orders(target: RequestTarget, workers: int, *, trace: str | None = None) -> tuple[PreparePhase, ...]:
    return tuple(
        PreparePhase(worker=worker, workers=workers, target=target, manner=Manner(), data=DATA, trace=trace)
        for worker in range(workers)
    )


def begin(kind: OperationKind, *, operations: int | None = None, duration_s: float | None = None) -> BeginPhase:
    rate = None if duration_s is None else Rate(per_s=50)
    job = Job(mix=(Share(kind=kind),), sizes=SMALL, threads=4, operations=operations, objects=20, rate=rate)
    return BeginPhase(phase=Phase(jobs=(job,), duration_s=duration_s), first_numbers=(0,))


def test_two_workers_share_phase_after_phase(target: RequestTarget, tmp_path: Path) -> None:
    with WorkerPool(2, directory=tmp_path) as pool:
        pool.prepare(orders(target, 2))
        for kind in (OperationKind.PUT, OperationKind.GET):
            reports = list(pool.perform((begin(kind, operations=20),) * 2))
            records = [report for report in reports if isinstance(report, IntervalRecord)]
            assert sum(stream.operations for record in records for stream in record.streams) == 20
            assert not any(stream.losses for record in records for stream in record.streams)
            assert {report.worker for report in reports if isinstance(report, PhaseEnded)} == {0, 1}
            assert all(record.cpu_ns > 0 for record in records)


def test_new_objects_of_a_reused_run_are_below_another_root(target: RequestTarget) -> None:
    [plain] = orders(target, 1)
    prepare = msgspec.structs.replace(plain, new_root="s3bench/ba9876543210/")
    [job] = begin(OperationKind.PUT).phase.jobs
    read, written = Contents(prepare).of(job)
    assert read.key(0) == Contents(plain).of(job)[0].key(0)
    assert read.key(0).startswith(DATA.root)
    assert written.key(FAR).startswith("s3bench/ba9876543210/")


def test_a_stop_ends_a_phase(target: RequestTarget, tmp_path: Path) -> None:
    with WorkerPool(1, directory=tmp_path) as pool:
        pool.prepare(orders(target, 1))
        ended = None
        for report in pool.perform((begin(OperationKind.PUT, duration_s=60),)):
            if isinstance(report, IntervalRecord):
                pool.stop()
            if isinstance(report, PhaseEnded):
                ended = report
        assert ended is not None
        assert ended.elapsed_ns < LIMIT_S * 1e9
        assert ended.unfinished == ended.late


def test_each_worker_writes_its_own_trace(target: RequestTarget, tmp_path: Path) -> None:
    with WorkerPool(1, directory=tmp_path) as pool:
        pool.prepare(orders(target, 1, trace=str(tmp_path / "trace.0")))
        list(pool.perform((begin(OperationKind.PUT, operations=20),)))
        pool.prepare(orders(target, 1, trace=str(tmp_path / "trace.0")))
        list(pool.perform((begin(OperationKind.GET, operations=5),)))
        assert len((tmp_path / "trace.0").read_text(encoding="utf-8").splitlines()) == 1 + 20 + 5


def test_what_a_worker_cannot_do_is_told(target: RequestTarget, tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("", encoding="utf-8")
    with WorkerPool(1, directory=tmp_path) as pool, pytest.raises(MachineError, match="trace"):
        pool.prepare(orders(target, 1, trace=str(tmp_path / "trace")))


@contextlib.contextmanager
def alone() -> Iterator[tuple[subprocess.Popen[bytes], Channel[Order, Report], socket.socket]]:
    """A worker without a pool."""
    ours, theirs = socket.socketpair()
    with (
        ours,
        theirs,
        subprocess.Popen(
            [sys.executable, "-m", "s3bench.load.engine.worker"],
            stdin=theirs.fileno(),
            start_new_session=True,
        ) as process,
    ):
        theirs.close()
        try:
            yield process, coordinator_channel(ours), ours
        finally:
            process.kill()


def test_it_ends_with_the_coordinator(target: RequestTarget) -> None:
    with alone() as (process, channel, ours):
        channel.send(orders(target, 1)[0], limit_s=LIMIT_S)
        channel.receive(limit_s=LIMIT_S)
        ours.close()
        assert process.wait(LIMIT_S) == 0


def test_it_ends_with_the_coordinator_in_the_middle_of_a_phase(target: RequestTarget) -> None:
    with alone() as (process, channel, ours):
        channel.send(orders(target, 1)[0], limit_s=LIMIT_S)
        channel.receive(limit_s=LIMIT_S)
        channel.send(begin(OperationKind.PUT, duration_s=600), limit_s=LIMIT_S)
        assert channel.receive(limit_s=LIMIT_S) == PhaseReady(worker=0)
        channel.send(StartPhase(start_ns=time.monotonic_ns()), limit_s=LIMIT_S)
        assert isinstance(channel.receive(limit_s=LIMIT_S), IntervalRecord)
        ours.close()
        assert process.wait(LIMIT_S) == 0


def test_a_stop_that_comes_too_late_is_ignored(target: RequestTarget) -> None:
    with alone() as (_, channel, _ours):
        channel.send(StopPhase(), limit_s=LIMIT_S)
        channel.send(orders(target, 1)[0], limit_s=LIMIT_S)
        assert isinstance(channel.receive(limit_s=LIMIT_S), PhasePrepared)


def test_a_worker_that_is_killed_is_missed(target: RequestTarget, tmp_path: Path) -> None:
    others = psutil.Process().children()
    with WorkerPool(1, directory=tmp_path) as pool:
        pool.prepare(orders(target, 1))
        reports = pool.perform((begin(OperationKind.PUT, duration_s=60),))
        next(reports)
        (worker,) = (child for child in psutil.Process().children() if child not in others)
        worker.kill()
        with pytest.raises(MachineError, match="load worker 0"):
            list(reports)
