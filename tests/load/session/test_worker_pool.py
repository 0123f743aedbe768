"""The worker processes: started, listened to, and never left behind."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from s3bench.clients.environment import FAKE_CREDENTIALS
from s3bench.errors import MachineError
from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.message import BeginPhase, Keys, PhaseEnded, PreparePhase, RequestTarget
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import DataSet, Job, Manner, Phase, Share
from s3bench.load.profile.sizes import fixed
from s3bench.load.session import worker_pool
from s3bench.load.session.bucket import new_run, root_of
from s3bench.load.session.worker_pool import WorkerPool
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from s3bench.system.portable import IS_PORTABLE

RUN = new_run()
WAIT_S = 60.0


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RequestTarget]:
    with EmulatorEndpoint(directory=tmp_path_factory.mktemp("server")) as server:
        server.arm(EmulatorSettings(buckets=("data",)))
        keys = Keys(access_key=FAKE_CREDENTIALS.access_key, secret_key=FAKE_CREDENTIALS.secret_key)
        yield RequestTarget(
            addresses=((server.host, server.port),), hosts=(f"{server.host}:{server.port}",), bucket="data", keys=keys
        )


def orders(target: RequestTarget, workers: int, *, trace: str | None = None) -> tuple[PreparePhase, ...]:
    data = DataSet(run=RUN, root=root_of(RUN))
    return tuple(
        PreparePhase(worker=worker, workers=workers, target=target, manner=Manner(), data=data, trace=trace)
        for worker in range(workers)
    )


def begin(*, operations: int | None = None, duration_s: float | None = None) -> BeginPhase:
    job = Job(mix=(Share(kind=OperationKind.PUT),), sizes=fixed(1000), threads=4, operations=operations, objects=0)
    return BeginPhase(phase=Phase(name="put", jobs=(job,), duration_s=duration_s), first_numbers=(0,))


def children() -> list[psutil.Process]:
    return psutil.Process().children()


def test_workers_share_a_phase_and_end_by_themselves_with_the_context(
    target: RequestTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[object] = []
    monkeypatch.setattr("subprocess.Popen.kill", killed.append)
    before = {each.pid for each in children()}
    with WorkerPool(2, directory=tmp_path) as pool:
        pool.prepare(orders(target, 2))
        workers = [each for each in children() if each.pid not in before]
        assert len(workers) == 2
        reports = [report for report in pool.perform((begin(operations=101),) * 2) if report is not None]
        memory_bytes = pool.memory_bytes_max()
    _, alive = psutil.wait_procs(workers, timeout=0)
    assert (alive, killed) == ([], [])
    ended = sorted((each.worker, each.written) for each in reports if isinstance(each, PhaseEnded))
    assert ended == [(0, (51,)), (1, (50,))]
    streams = [stream for each in reports if isinstance(each, IntervalRecord) for stream in each.streams]
    assert sum(stream.operations for stream in streams) == 101
    assert memory_bytes is None or 2 * 10 * 1024**2 < memory_bytes < 300 * 1024**2


def test_stopped_workers_tell_what_they_did_until_then(target: RequestTarget, tmp_path: Path) -> None:
    with WorkerPool(1, directory=tmp_path) as pool:
        pool.prepare(orders(target, 1))
        pool.stop()  # too early, which does no harm
        ended = None
        for report in pool.perform((begin(duration_s=60.0),)):
            if isinstance(report, IntervalRecord) and report.second == 0:
                pool.stop()
            if isinstance(report, PhaseEnded):
                ended = report
    assert ended is not None
    assert ended.elapsed_ns < 30e9


@pytest.mark.skipif(IS_PORTABLE, reason="needs a policy of Linux's scheduler")
def test_the_coordinator_takes_no_core_from_a_worker_while_they_run(target: RequestTarget, tmp_path: Path) -> None:
    assert sys.platform == "linux"  # for the type checker
    with WorkerPool(1, directory=tmp_path) as pool:
        pool.prepare(orders(target, 1))
        policies = [os.sched_getscheduler(0) for _ in pool.perform((begin(operations=10),))]
    assert policies
    assert set(policies) == {os.SCHED_BATCH}
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_a_worker_that_dies_is_an_error_with_what_it_said_and_the_others_end(
    target: RequestTarget, tmp_path: Path
) -> None:
    before = {each.pid for each in children()}
    with WorkerPool(2, directory=tmp_path) as pool:
        pool.prepare(orders(target, 2))
        workers = [each for each in children() if each.pid not in before]
        reports = pool.perform((begin(duration_s=60.0),) * 2)
        assert isinstance(next(filter(None, reports)), IntervalRecord)
        os.kill(workers[0].pid, signal.SIGKILL)
        last: list[IntervalRecord | PhaseEnded | None] = []
        with pytest.raises(MachineError, match=r"load worker \d ended with exit code -9") as raised:
            last.extend(reports)
        assert "nothing to stderr" in str(raised.value.why)
        [survivor] = [report for report in last if isinstance(report, PhaseEnded)]
        assert f"load worker {1 - survivor.worker} " in raised.value.what
    _, alive = psutil.wait_procs(workers, timeout=WAIT_S)
    assert alive == []


def test_a_worker_that_does_not_answer_is_not_waited_for_when_another_one_failed(
    target: RequestTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pool, "_LAST_RECORDS_S", 0.5)
    before = {each.pid for each in children()}
    with WorkerPool(2, directory=tmp_path) as pool:
        pool.prepare(orders(target, 2))
        dead, silent = [each for each in children() if each.pid not in before]
        reports = pool.perform((begin(duration_s=60.0),) * 2)
        next(filter(None, reports))
        silent.suspend()
        dead.kill()
        with pytest.raises(MachineError, match="ended with exit code -9"):
            list(reports)
        silent.resume()


def test_a_worker_whose_trace_fills_the_disk_reports_that_and_what_was_measured(
    target: RequestTarget, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.csv.0"
    before = {each.pid for each in children()}
    with WorkerPool(1, directory=tmp_path) as pool:
        pool.prepare(orders(target, 1, trace=str(trace)))
        reports = pool.perform((begin(duration_s=60.0),))
        told = [next(filter(None, reports))]
        [worker] = [each for each in children() if each.pid not in before]
        worker.rlimit(psutil.RLIMIT_FSIZE, (trace.stat().st_size, -1))
        with pytest.raises(MachineError, match=r"the trace .* cannot be written"):
            told.extend(filter(None, reports))
    assert all(isinstance(report, IntervalRecord) for report in told)


def test_what_a_worker_cannot_do_is_told_by_its_own_words(target: RequestTarget, tmp_path: Path) -> None:
    there = tmp_path / "trace"
    there.touch()
    with (
        WorkerPool(1, directory=tmp_path) as pool,
        pytest.raises(MachineError, match=r"the trace .* cannot be written"),
    ):
        pool.prepare(orders(target, 1, trace=str(there)))
