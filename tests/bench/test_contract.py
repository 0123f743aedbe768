"""The scripted bench keeps what the real one promises: both pass the same tests, the real one with real processes."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from s3bench.bench.endpoints import stub_server
from s3bench.bench.local import open_bench
from s3bench.bench.runner import Bench, ClientRunner, Conditions, Settings
from s3bench.clients.client import FoundClient
from s3bench.errors import ClientNotFound, MachineError
from s3bench.gate.live_cell import DELAY
from s3bench.results.measurement import Failure, Measurement
from s3bench.spec.definition import Definition
from tests.bench.scripted_bench import Run, ScriptedBench, failed, measured

DEFINITION = Definition(name="a", command=("s3api", "list-buckets"))
SETTINGS = Settings(interval_s=None, probes=False, timeout_s=20)
PROGRAM = """#!/bin/sh
case "$ACT" in
fail) echo boom >&2; exit 3 ;;
hang) sleep 60 ;;
interrupt) kill -INT "$HARNESS"; sleep 60 ;;
esac
"""


def script(run: Run) -> Measurement | Failure:
    """What PROGRAM does."""
    if not run.client.executable.exists():
        raise ClientNotFound(f"cannot execute `{run.client.executable}`")
    match run.conditions.env.get("ACT"):
        case "fail":
            return failed("exited 3", exit_code=3, why="boom")
        case "hang":
            return measured(60.0)
        case "interrupt":
            raise KeyboardInterrupt
        case _:
            return measured(0.01)


@dataclass(frozen=True)
class Place:
    """A bench, its clock, and a client of it."""

    bench: Bench
    now: Callable[[], float]
    client: FoundClient

    @contextmanager
    def runner(self) -> Iterator[ClientRunner]:
        with self.bench.workspace(DEFINITION.environment) as runner_of:
            yield runner_of(DEFINITION, self.client)


@pytest.fixture(scope="module")
def local_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with open_bench(stub_server(), parent=tmp_path_factory.mktemp("local")) as bench:
        yield bench


@pytest.fixture(params=["scripted", "local"])
def place(request: pytest.FixtureRequest, tmp_path: Path, local_bench: Bench) -> Place:
    program = tmp_path / "aws"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    client = FoundClient(kind="cli-classic", version="2.38.5", executable=program)
    if request.param == "scripted":
        bench = ScriptedBench(root=tmp_path / "scripted", script=script)
        return Place(bench, bench.now, client)
    return Place(local_bench, time.monotonic, client)


def act(what: str) -> Conditions:
    return Conditions(env={"ACT": what, "HARNESS": str(os.getpid())})


def test_what_prepares_a_run_is_called_once_and_what_it_raises_ends_the_run(place: Place) -> None:
    called: list[float] = []

    def refuse() -> None:
        raise MachineError("not ready")

    with place.runner() as runner:
        assert isinstance(
            runner.run_once(0, SETTINGS, "a", Conditions(prepare=lambda: called.append(place.now()))), Measurement
        )
        assert len(called) == 1
        assert called[0] <= place.now()
        with pytest.raises(MachineError, match="not ready"):
            runner.run_once(1, SETTINGS, "a", Conditions(prepare=refuse))
        assert isinstance(runner.run_once(1, SETTINGS, "a"), Measurement)


def test_a_run_is_measured_and_takes_its_time_on_the_clock(place: Place) -> None:
    with place.runner() as runner:
        started_s = place.now()
        outcome = runner.run_once(7, SETTINGS, "name")
        assert isinstance(outcome, Measurement), outcome
        assert outcome.iteration == 7
        assert 0 < outcome.total_time <= place.now() - started_s


def test_a_run_that_fails_says_how_and_the_next_one_runs(place: Place) -> None:
    with place.runner() as runner:
        outcome = runner.run_once(2, SETTINGS, "name", act("fail"))
        assert outcome == Failure(iteration=2, what="exited 3", exit_code=3, why="boom")
        assert isinstance(runner.run_once(3, SETTINGS, "name"), Measurement)


def test_a_run_that_takes_too_long_is_ended_without_an_exit_code(place: Place) -> None:
    with place.runner() as runner:
        started_s = place.now()
        outcome = runner.run_once(0, Settings(interval_s=None, probes=False, timeout_s=0.3), "name", act("hang"))
        assert isinstance(outcome, Failure)
        assert (outcome.what, outcome.exit_code) == ("timed out after 0.3 s", None)
        assert 0.3 <= place.now() - started_s < 20


def test_a_delay_in_front_of_the_command_line_counts(place: Place) -> None:
    with place.runner() as runner:
        outcome = runner.run_once(0, SETTINGS, "name", Conditions(prefix=(*DELAY, "0.2")))
        assert isinstance(outcome, Measurement), outcome
        assert outcome.total_time > 0.2


def test_ctrl_c_comes_through_and_leaves_a_bench_that_works(place: Place) -> None:
    with place.runner() as runner:
        with pytest.raises(KeyboardInterrupt):
            runner.run_once(0, SETTINGS, "name", act("interrupt"))
        assert isinstance(runner.run_once(0, SETTINGS, "name"), Measurement)


def test_a_client_that_cannot_be_executed_is_no_failure_of_a_run(place: Place) -> None:
    with place.runner() as runner:
        place.client.executable.unlink()
        with pytest.raises(ClientNotFound, match="cannot execute"):
            runner.run_once(0, SETTINGS, "name")


def test_a_workspace_is_shared_by_its_runners_and_gone_at_its_end(place: Place) -> None:
    with place.bench.workspace(DEFINITION.environment) as runner_of:
        first, second = runner_of(DEFINITION, place.client), runner_of(DEFINITION, place.client)
        with place.runner() as other:
            assert first.workspace is second.workspace is not other.workspace
            assert first.workspace.output.is_dir()
            assert first.workspace.root.parent == place.bench.root
    assert not first.workspace.root.exists()


def test_programs_are_read_without_a_change_of_them(place: Place) -> None:
    before = place.client.executable.read_bytes()
    place.bench.reload_programs([place.client])
    assert place.client.executable.read_bytes() == before


def test_the_size_of_the_stack_is_that_without_conditions(place: Place) -> None:
    with place.runner() as runner:
        size = runner.stack_size(SETTINGS)
        assert size.size_bytes > 100
        assert size.entries > 4
        padded = Conditions(stack=size)
        assert isinstance(runner.run_once(0, SETTINGS, "name", padded), Measurement)
