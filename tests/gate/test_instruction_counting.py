"""Counting instructions at the end of a live gate: which benchmarks, how many runs, and within which time."""

from collections import Counter as Tally
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import pytest

from s3bench.bench.runner import Settings
from s3bench.gate.evidence import ClientCellEvidence, Role, Side
from s3bench.gate.inspection import Counter
from s3bench.gate.instruction_counting import LIMIT_S, InstructionCounting, reserved_s
from s3bench.gate.live import GateRules, GateStatus, run_gate
from s3bench.gate.looks import Looks
from s3bench.gate.policy import Policy
from s3bench.results.measurement import Failure, Measurement
from s3bench.run.inspection import Unavailable
from s3bench.spec.definition import Definition
from tests.bench.scripted_bench import Run, ScriptedBench, client, failed, measured

ONE, TWO = (Definition(name=name, command=("s3", "ls")) for name in ("one", "two"))
WAVE = (0.2, -0.2, 0.1, -0.15, 0.05, -0.05, 0.15, -0.1)
COUNTED_S = 10.0
RULES = GateRules(
    policy=Policy(metrics=("total_time",), looks=Looks(pairs=(10,)), false_alarm=0.05),
    settings=Settings(interval_s=None),
    seed=1,
    has_controls=False,
)


@dataclass(frozen=True)
class FakeCounter:
    """Reads what the script wrote."""

    warnings: tuple[str, ...] = ("addresses vary",)
    name: str = "fake"

    @property
    def env(self) -> Mapping[str, str]:
        return {}

    def prefix(self, output_directory: Path) -> tuple[str, ...]:
        return "counter", str(output_directory / "count")

    def read(self, output_directory: Path) -> int:
        return int((output_directory / "count").read_text())


def is_counted(run: Run) -> bool:
    return "counter" in run.conditions.prefix


def script(
    counts: Mapping[str, tuple[int, ...]] | None = None, *, noisy: tuple[str, ...] = ("one",)
) -> Callable[[Run], Measurement | Failure]:
    """Benchmarks of which the `noisy` ones cannot be decided; `counts` are those of a side, in turn."""
    numbers: Tally[tuple[str, str]] = Tally()
    turns: Tally[tuple[str, str]] = Tally()

    def answer(run: Run) -> Measurement:
        key = run.definition.name, run.client.version
        if is_counted(run):
            told = (counts or {}).get(run.client.version, (1_000_000,))
            Path(run.conditions.prefix[-1]).write_text(f"{told[turns[key] % len(told)]}")
            turns[key] += 1
            return measured(COUNTED_S)
        numbers[key] += 1
        share = 1.0 if run.definition.name in noisy else 0.01
        turn = numbers[key] * 3 + (run.client.version == Side.CANDIDATE)
        return measured(1.0 + share * WAVE[turn % len(WAVE)] + numbers[key] * 1e-6)

    return answer


@pytest.fixture
def bench(tmp_path: Path) -> ScriptedBench:
    return ScriptedBench(root=tmp_path, script=script())


Gate = Callable[..., list[GateStatus]]


@pytest.fixture
def gate(bench: ScriptedBench, tmp_path: Path) -> Gate:
    clients = {side: client(tmp_path, side.value) for side in Side}

    def run(
        *definitions: Definition,
        counter: FakeCounter | Unavailable | None = None,
        deadline_s: float | None = None,
        pairs_end_s: float | None = None,
    ) -> list[GateStatus]:
        counting = InstructionCounting(
            directory=tmp_path / "instructions",
            deadline_s=deadline_s,
            find=lambda: cast("Counter | Unavailable", counter or FakeCounter()),
        )
        rules = replace(RULES, deadline_s=pairs_end_s)
        return list(run_gate(bench, definitions, clients, rules, None, now=bench.now, counting=counting))

    return run


def counts(statuses: list[GateStatus], side: Side, name: str = "one") -> list[int | None]:
    (cell,) = (each for each in statuses[-1].cells if each.name == name and each.role is Role.BENCHMARK)
    assert isinstance(cell, ClientCellEvidence)
    return [each.instructions for each in cell.inspections(side)]


def test_a_benchmark_whose_time_is_undecided_is_counted_twice_a_side_and_no_other(
    bench: ScriptedBench, gate: Gate
) -> None:
    statuses = gate(ONE, TWO)
    assert [run.definition.name for run in bench.runs if is_counted(run)] == ["one"] * 4
    assert [counts(statuses, side) for side in Side] == [[1_000_000] * 2] * 2
    assert counts(statuses, Side.BASELINE, "two") == []
    assert statuses[-1].warnings == ("addresses vary",)
    assert [each.counting for each in statuses[-4:]] == [1, 1, 1, 0]


def test_nothing_is_looked_for_where_every_time_is_decided(bench: ScriptedBench, gate: Gate) -> None:
    bench.script = script(noisy=())
    statuses = gate(ONE, counter=Unavailable(reason="must not be asked"))
    assert not any(is_counted(run) for run in bench.runs)
    assert statuses[-1].warnings == ()


def test_counts_that_leave_the_change_open_are_made_five_times(bench: ScriptedBench, gate: Gate) -> None:
    bench.script = script({"candidate": (1_000_000, 1_030_000)})
    statuses = gate(ONE)
    assert [len(counts(statuses, side)) for side in Side] == [5, 5]


def test_where_nothing_counts_the_reason_is_a_warning(bench: ScriptedBench, gate: Gate) -> None:
    statuses = gate(ONE, counter=Unavailable(reason="no valgrind", fix="install it"))
    assert statuses[-1].warnings == ("instructions were not counted where time is undecided: no valgrind; install it",)
    assert not any(is_counted(run) for run in bench.runs)


def test_a_client_that_fails_while_it_is_counted_is_no_failure_of_the_benchmark(
    bench: ScriptedBench, gate: Gate
) -> None:
    usual = script()
    bench.script = lambda run: failed("exited 132", 132) if is_counted(run) else usual(run)
    last = gate(ONE)[-1]
    assert last.cells[0].failures == ()
    assert last.warnings[1:] == ("instructions of one could not be counted: the baseline failed in fake: exited 132",)


def test_it_counts_three_minutes_at_most_where_the_gate_has_no_end(bench: ScriptedBench, gate: Gate) -> None:
    bench.script = script({"candidate": (1_000_000, 1_030_000)}, noisy=("one", "two"))
    gate(ONE, TWO)
    start_s = next(run.at_s for run in bench.runs if is_counted(run))
    assert bench.now_s - start_s <= LIMIT_S


def test_the_time_of_the_gate_is_kept_and_what_was_not_counted_is_named(bench: ScriptedBench, gate: Gate) -> None:
    bench.script = script(noisy=("one", "two"))
    statuses = gate(ONE, TWO, pairs_end_s=12.0, deadline_s=60.0)
    assert sorted(len(counts(statuses, Side.CANDIDATE, name)) for name in ("one", "two")) == [0, 2]
    assert statuses[-1].warnings[1].startswith("no time was left to count instructions of ")
    assert bench.now_s <= 60.0


def test_a_run_that_is_counted_ends_in_time_whatever_timeout_its_definition_has(
    bench: ScriptedBench, gate: Gate
) -> None:
    gate(replace(ONE, timeout_s=50.0), pairs_end_s=12.0, deadline_s=60.0)
    first, *_, last = (run for run in bench.runs if is_counted(run))
    for run in (first, last):
        assert run.settings.timeout_of(run.definition) == 60.0 - run.at_s


def test_the_time_set_aside_is_used_when_that_of_the_pairs_has_passed(bench: ScriptedBench, gate: Gate) -> None:
    statuses = gate(ONE, pairs_end_s=12.0, deadline_s=100.0)
    assert len(counts(statuses, Side.CANDIDATE)) == 2
    assert statuses[-1].is_out_of_time


def test_a_fifth_of_the_time_is_set_aside_and_three_minutes_at_most() -> None:
    assert (reserved_s(100.0), reserved_s(600.0), reserved_s(7200.0)) == (20.0, 120.0, LIMIT_S)
