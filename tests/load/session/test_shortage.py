"""A load generator that lacks something of its machine says what: file descriptors, or a core."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from s3bench.load.engine.engine import run_delay_ns
from s3bench.load.operation import AttemptFailure, OperationKind
from s3bench.load.profile.profile import Job, Share
from s3bench.load.profile.sizes import fixed
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from tests.load.trial import BUCKET, attempt

JOB = Job(mix=(Share(kind=OperationKind.GET),), sizes=fixed(1000), threads=16, objects=20)
LARGE = Job(mix=(Share(kind=OperationKind.GET),), sizes=fixed(1024**2), threads=16, objects=20)
BURNERS = 6
BURN = "print(flush=True)\nwhile True: pass"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorEndpoint]:
    with EmulatorEndpoint(directory=tmp_path_factory.mktemp("server")) as server:
        server.arm(EmulatorSettings(buckets=(BUCKET,)))
        yield server


def worker() -> psutil.Process:
    """The one load worker that this process has started."""
    [found] = [each for each in psutil.Process().children() if "s3bench.load.engine.worker" in " ".join(each.cmdline())]
    return found


def test_descriptors_that_run_out_are_told_as_such(server: EmulatorEndpoint, tmp_path: Path) -> None:
    def take_descriptors() -> None:
        there = worker()
        limit = there.num_fds() + 8
        there.rlimit(psutil.RLIMIT_NOFILE, (limit, limit))

    phase_result = attempt(server.url, JOB, tmp_path, duration_s=1.0, before=take_descriptors).result
    assert {failure.label for failure in phase_result.whole.failures} == {str(AttemptFailure.DESCRIPTORS)}
    assert phase_result.whole.operations


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="the server needs a core of its own")
@pytest.mark.skipif(run_delay_ns() is None, reason="this kernel does not count run-queue delay")
def test_a_worker_starved_by_other_programs_is_no_busy_worker(server: EmulatorEndpoint, tmp_path: Path) -> None:
    core, *others = sorted(os.sched_getaffinity(0))
    for each in psutil.Process().children():
        each.cpu_affinity(others)
    with ExitStack() as stack:

        def burn() -> None:
            worker().cpu_affinity([core])
            for _ in range(BURNERS):
                burner = subprocess.Popen([sys.executable, "-c", BURN], stdout=subprocess.PIPE)
                stack.callback(burner.communicate)
                stack.callback(burner.kill)
                psutil.Process(burner.pid).cpu_affinity([core])
                assert burner.stdout is not None
                burner.stdout.readline()  # it has begun

        phase_result = attempt(server.url, LARGE, tmp_path, duration_s=2.0, before=burn).result
    assert phase_result.whole.bottleneck == "other programs"
    assert any("other programs on this machine had it" in warning for warning in phase_result.warnings)
    assert phase_result.whole.client_run_delay_share is not None
    assert phase_result.whole.client_run_delay_share > 0.3


@pytest.mark.parametrize(
    ("content", "expected"), [("120 4567 2\n", 4567), ("0 0 0\n", None), ("", None), ("what\n", None)]
)
def test_run_queue_delay_is_the_second_number_where_the_kernel_counts(
    content: str, expected: int | None, tmp_path: Path
) -> None:
    (tmp_path / "schedstat").write_text(content, encoding="ascii")
    assert run_delay_ns(tmp_path / "schedstat") == expected


def test_without_the_file_nothing_is_known_of_run_queue_delay(tmp_path: Path) -> None:
    assert run_delay_ns(tmp_path / "schedstat") is None
