"""Real Ray, two nodes on one machine: a suite gives what one machine gives, and nothing outlasts its driver."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path

import psutil
import pytest

import s3bench
from s3bench.errors import ExitCode
from s3bench.results.document import parse_document
from tests.cluster.raylab import WAIT_S, ClusterRun, RayLab, lab_or_skip
from tests.cluster.suite.suites import upload, written

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(180)]

_ITERATIONS = 4  # more than the warm-up and one iteration
ROOT = str(Path(s3bench.__file__).parent.parent)


@pytest.fixture(scope="module")
def lab() -> Iterator[RayLab]:
    with lab_or_skip(2) as lab:
        yield lab


def children() -> list[psutil.Process]:
    """The units that run now in the network of this thread, and the clients under them."""
    found, here = [], Path("/proc/thread-self/ns/net").readlink()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            words = process.cmdline()
            if "--chunk-id" in words and ROOT in words and Path(f"/proc/{process.pid}/ns/net").readlink() == here:
                found += [process, *process.children(recursive=True)]
    return found


class Run(ClusterRun):
    """`s3bench run` on the cluster."""

    def __init__(self, lab: RayLab, output: Path, *arguments: str) -> None:
        super().__init__(lab.start("run", "--cluster", "auto", "-o", str(output), *arguments), output)

    def wait_for_units(self, count: int) -> None:
        """Wait until so many nodes measure."""
        self.wait_until(lambda: sum(_measures(process) for process in children()) >= count, "no unit began")

    def wait_for_measurements(self, units: int) -> None:
        """Wait until so many nodes have ended iterations: each has started the client `_ITERATIONS` times."""
        started: dict[int, set[int]] = {}

        def is_so() -> bool:
            for process in filter(_measures, children()):
                with suppress(psutil.NoSuchProcess):
                    started.setdefault(process.ppid(), set()).add(process.pid)
            return sum(len(pids) >= _ITERATIONS for pids in started.values()) >= units

        self.wait_until(is_so, "no iteration ended")


def _measures(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE and process.name().startswith("s5cmd")
    return False


def gone_after_s(limit_s: float) -> float:
    """How long it takes until no unit and no client is left."""
    begun_s = time.monotonic()
    while children():
        assert time.monotonic() < begun_s + limit_s, children()
        time.sleep(0.02)
    return time.monotonic() - begun_s


Start = Callable[..., Run]


@pytest.fixture
def run(lab: RayLab, tmp_path: Path) -> Iterator[Start]:
    numbers = count()
    with ExitStack() as stack:
        yield lambda *arguments: stack.enter_context(Run(lab, tmp_path / f"{next(numbers)}.json", *arguments))


@pytest.fixture
def suite(tmp_path: Path) -> str:
    return str(written(tmp_path, *(upload("up", size) for size in (1000, 2000, 3000, 4000, 5000))))


@pytest.fixture
def endless(tmp_path: Path) -> tuple[str, ...]:
    file = written(tmp_path, *(upload("up", size, clients=["s5cmd"]) for size in (1000, 2000, 3000)))
    return str(file), "-n", "100000"


def test_a_suite_gives_what_one_machine_gives_and_no_pair_is_split(
    run: Start, lab: RayLab, suite: str, tmp_path: Path
) -> None:
    running = run(suite, "-n", "2", "--nodes", "2")
    code, said = running.ended()
    assert code == ExitCode.DONE, said
    plain = lab.start("run", suite, "-n", "2", "-o", str(tmp_path / "plain.json"))
    assert plain.communicate(timeout=WAIT_S)[1] is not None
    alone = parse_document((tmp_path / "plain.json").read_bytes(), source="plain")
    shared = running.document
    assert [result.identity for result in shared.results] == [result.identity for result in alone.results]
    assert [len(result.measurements) for result in shared.results] == [2] * 10
    assert shared.clients == alone.clients
    assert [unit["chunk_id"] for unit in running.cluster["units"]] == list(range(5)), "each definition is on one node"
    assert {unit["node"] for unit in running.cluster["units"]} == {"node-1", "node-2"}
    assert running.cluster["engine"] == "ray"
    assert not any("niceness" in warning for warning in shared.warnings) or os.geteuid() != 0


def test_more_equal_nodes_than_there_are_are_refused(run: Start, suite: str) -> None:
    code, said = run(suite, "--nodes", "3").ended()
    assert code == ExitCode.BAD_INPUT
    assert "the cluster has at most 2 equal machines" in said


def test_ctrl_c_ends_every_unit_within_a_second_and_keeps_what_was_measured(
    run: Start, endless: tuple[str, ...]
) -> None:
    running = run(*endless)
    running.wait_for_measurements(2)
    running.process.send_signal(signal.SIGINT)
    assert gone_after_s(WAIT_S) < 1.0 + 0.5, "half a second until the driver's next turn"
    code, said = running.ended()
    assert code == ExitCode.INTERRUPTED, said
    results = running.document.results
    assert {result.status for result in results} == {"running"}, "as of one machine: what has begun, and is not done"
    assert all(result.measurements for result in results)


def test_a_driver_that_is_killed_leaves_nothing_behind(run: Start, endless: tuple[str, ...]) -> None:
    running = run(*endless)
    running.wait_for_units(2)
    os.kill(running.process.pid, signal.SIGKILL)
    assert gone_after_s(WAIT_S) < 3.0


def test_a_driver_that_stands_still_leaves_nothing_behind_after_its_lease(run: Start, endless: tuple[str, ...]) -> None:
    running = run(*endless)
    running.wait_for_units(2)
    os.kill(running.process.pid, signal.SIGSTOP)  # its connections stay: only its lease tells
    assert 5.0 < gone_after_s(WAIT_S) < 15.0
    os.kill(running.process.pid, signal.SIGCONT)
    running.wait_for_units(1)
    running.process.send_signal(signal.SIGINT)
    code, said = running.ended()
    assert code == ExitCode.INTERRUPTED
    assert "the driver did not call for 10 s" in running.document.results[0].errors[0].why, said


def test_a_run_right_after_another_waits_for_no_core_and_finds_all_nodes(run: Start, tmp_path: Path) -> None:
    file = written(tmp_path, *(upload("up", size, clients=["s5cmd"]) for size in (1000, 2000)))
    for _ in range(2):
        running = run(str(file), "-n", "1")
        code, said = running.ended()
        assert code == ExitCode.DONE, said
        assert len(running.cluster["nodes"]) == 2


def test_the_unit_of_a_node_that_is_lost_is_an_error_and_the_other_one_does_the_rest(
    run: Start, lab: RayLab, tmp_path: Path
) -> None:
    file = written(tmp_path, *(upload("up", size, clients=["s5cmd"]) for size in (1000, 2000, 3000, 4000)))
    running = run(str(file), "-n", "60")
    running.wait_for_units(2)
    with lab.node_lost(1):
        code, said = running.ended()
    assert code == ExitCode.CLIENT_FAILED, said
    results = running.document.results
    assert len(results) == 4
    [lost] = [result for result in results if result.errors]
    assert "was lost" in lost.errors[0].what
    assert all(len(result.measurements) == 60 for result in results if result is not lost)
    assert gone_after_s(WAIT_S) < 5.0
