"""Real nodes of a suite without an engine: units are ordinary runs, and none outlasts whoever wanted it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest

from s3bench.cluster.suite.message import FoundHere, MissingHere, UnitOutcome, decode_look, decode_outcome
from s3bench.cluster.suite.node import LEASE_S, SuiteNode
from s3bench.errors import ExitCode
from s3bench.results.document import Document, Status, parse_document
from s3bench.run.owner import sweep
from tests.cluster.clock import Clock
from tests.cluster.suite.suites import upload, written
from tests.processes import await_end

Start = Callable[..., SuiteNode]

FILE = "definitions/0/suite.json"
FOREVER = ("run", FILE, "-n", "100000", "--num-chunks", "1", "--chunk-id", "0")
WAIT_S = 60.0


@pytest.fixture
def suite(tmp_path: Path) -> dict[str, bytes]:
    return {FILE: written(tmp_path, upload("up", 1000, clients=["s5cmd"])).read_bytes()}


@pytest.fixture
def start(
    suite: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., SuiteNode]]:
    monkeypatch.setenv("S3BENCH_TMPDIR", str(tmp_path))
    with ExitStack() as stack:

        def started(**options: Callable[[], float]) -> SuiteNode:
            node = SuiteNode(**options)
            stack.callback(node.close)
            node.prepare(suite)
            return node

        yield started


Processes = Callable[[], list[psutil.Process]]


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    """The processes of a unit, once it measures: its `s3bench run` first. This process starts no other."""
    before = set(psutil.Process().children())

    def of_the_unit() -> list[psutil.Process]:
        wait_for(lambda: list(tmp_path.glob("s3bench-*/0.json")))
        [unit] = set(psutil.Process().children()) - before
        return [unit, *unit.children(recursive=True)]

    return of_the_unit


def wait_for(is_there: Callable[[], object]) -> None:
    until_s = time.monotonic() + WAIT_S
    while not is_there():
        assert time.monotonic() < until_s
        time.sleep(0.02)


def ended(node: SuiteNode, chunk: int = 0) -> tuple[UnitOutcome, Document]:
    wait_for(lambda: node.outcome(chunk) is not None)
    outcome = decode_outcome(node.outcome(chunk) or b"")
    return outcome, parse_document(outcome.document, source="outcome")


def test_a_unit_hides_its_keys_and_when_stopped_keeps_what_it_measured_and_leaves_nothing_behind(
    start: Start, processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "the-nodes-own")
    node = start()
    node.begin(0, FOREVER, {"AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "very-secret"})
    child, *helpers = processes()
    pids = [each.pid for each in (child, *helpers)]
    assert len(pids) > 1
    environment = child.environ()
    assert environment["AWS_SECRET_ACCESS_KEY"] == "very-secret"
    assert "AWS_PROFILE" not in environment
    for process in (child, *helpers):
        with suppress(psutil.NoSuchProcess):  # clients come and go
            assert "very-secret" not in str(process.cmdline())
    node.stop()
    node.stop()
    await_end(*pids)
    outcome, document = ended(node)
    assert outcome.exit_code == ExitCode.INTERRUPTED
    assert "the driver did not call" not in outcome.said
    assert b"very-secret" not in outcome.document + outcome.said.encode()
    [result] = document.results
    assert result.status is Status.RUNNING
    assert len(result.measurements) > 0
    assert len(list(tmp_path.glob("s3bench-*"))) == 1, "that of the node itself"
    node.close()
    assert list(tmp_path.glob("s3bench-*")) == []


def test_a_driver_that_asks_keeps_the_unit_going_and_without_one_it_ends_and_says_why(
    start: Start, processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "the-nodes-own")
    clock = Clock()
    node = start(now_s=clock)
    node.begin(0, FOREVER, {})
    clock.s += 0.9 * LEASE_S
    assert node.outcome(0) is None
    clock.s += 0.9 * LEASE_S
    unit = processes()
    assert all(each.is_running() for each in unit), "it measures"
    assert unit[0].environ()["AWS_PROFILE"] == "the-nodes-own", "without keys, a node keeps its own environment"
    assert node.outcome(0) is None
    clock.s += 1.01 * LEASE_S
    await_end(*(each.pid for each in unit))
    outcome, document = ended(node)
    assert outcome.exit_code == ExitCode.INTERRUPTED
    assert outcome.said == "the driver did not call for 10 s"
    assert len(document.results[0].measurements) > 0


def test_a_unit_ends_with_the_nodes_process_however_that_ends(suite: dict[str, bytes], tmp_path: Path) -> None:
    program = (
        "import signal; from s3bench.cluster.suite.node import LEASE_S, SuiteNode; node = SuiteNode(); "
        f"node.prepare({suite!r}); node.begin(0, {FOREVER!r}, {{}}); signal.pause()"
    )
    environment = {**os.environ, "S3BENCH_TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", program], env=environment) as process:
        wait_for(lambda: list(tmp_path.glob("s3bench-*/0.json")))
        pids = [each.pid for each in psutil.Process(process.pid).children(recursive=True)]
        process.kill()
    await_end(*pids)
    [left] = tmp_path.glob("s3bench-*")
    assert sweep(tmp_path) == (left,), "as the next run does there"


def test_a_node_tells_the_clients_that_it_finds_and_why_it_does_not(start: Start) -> None:
    here, missing = decode_look(start().look(("s5cmd", "s5cmd@0.0.1"))).clients
    assert isinstance(here, FoundHere)
    assert here.label == f"s5cmd@{here.version}"
    assert len(here.digest) == 16
    assert isinstance(missing, MissingHere)
    assert "is not installed" in missing.why


def test_a_run_that_refuses_its_input_is_reported_and_has_no_document(start: Start) -> None:
    node = start()
    node.begin(0, ("run", "missing.json"), {})
    wait_for(lambda: node.outcome(0) is not None)
    outcome = decode_outcome(node.outcome(0) or b"")
    assert (outcome.exit_code, outcome.document) == (ExitCode.BAD_INPUT, b"")
    assert "missing.json" in outcome.said


def test_a_unit_does_not_run_at_the_niceness_of_rays_workers() -> None:
    program = "from s3bench.cluster.priority import lower_niceness; print(lower_niceness())"
    reported = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, preexec_fn=lambda: os.nice(15)
    )
    assert json.loads(reported.stdout) == (0 if os.geteuid() == 0 else os.nice(0) + 15)
