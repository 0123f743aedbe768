"""What a gate has explained after a FAIL: which changes, in which order, within which time."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from s3bench.bench.runner import Settings
from s3bench.errors import MachineError
from s3bench.gate.conclusion import Conclusion
from s3bench.gate.conclusion import conclude as conclude_gate
from s3bench.gate.evidence import ClientCellEvidence, Side
from s3bench.gate.explaining import LIMIT_S, Explaining, failed_rows
from s3bench.gate.live import GateRules, GateStatus, run_gate
from s3bench.gate.looks import Looks
from s3bench.gate.policy import Policy
from s3bench.gate.row import GateRow, RowKind, Verdict
from s3bench.profiling.explanation import Explanation
from s3bench.profiling.observed_change import ObservedChange
from s3bench.results.measurement import Failure, Measurement
from s3bench.spec.definition import Definition
from tests.bench.scripted_bench import Run, ScriptedBench, client, measured

ONE, TWO = (Definition(name=name, command=("s3", "ls")) for name in ("one", "two"))
TODAY = dt.date(2026, 1, 1)
RULES = GateRules(
    policy=Policy(metrics=("total_time",), looks=Looks(pairs=(10,)), false_alarm=0.05),
    settings=Settings(interval_s=None),
    seed=1,
    has_controls=False,
)


def row(metric: str, change: float | None = 0.1, *, benchmark: str = "one", **facts: object) -> GateRow:
    kind = facts.pop("kind", RowKind.SIZE)
    verdict = facts.pop("verdict", Verdict.FAIL)
    return GateRow(benchmark=benchmark, metric=metric, kind=kind, verdict=verdict, change=change, **facts)  # type: ignore[arg-type]


def test_of_a_benchmark_one_change_of_time_and_one_of_memory_is_explained_the_largest_first() -> None:
    rows = [
        row("total_time", 0.1),
        row("cpu_time", 0.2),
        row("peak_memory", 0.5),
        row("requests", None, kind=RowKind.EXACT),
        row("total_time", 0.3, benchmark="two"),
    ]
    assert [(each.benchmark, each.metric) for each in failed_rows(rows)] == [
        ("one", "peak_memory"),
        ("two", "total_time"),
        ("one", "total_time"),
    ]


def test_counts_are_explained_where_nothing_else_fails_and_instructions_before_others() -> None:
    rows = [row("modules", None, kind=RowKind.EXACT), row("instructions", 0.05, kind=RowKind.INSTRUCTIONS)]
    assert [each.metric for each in failed_rows(rows)] == ["instructions"]


def test_page_faults_are_no_memory_and_are_explained_where_instructions_are_not() -> None:
    faults, instructions = row("minor_faults", 0.04), row("instructions", 0.09, kind=RowKind.INSTRUCTIONS)
    assert [each.metric for each in failed_rows([faults, instructions])] == ["instructions"]
    assert [each.metric for each in failed_rows([row("modules", None, kind=RowKind.EXACT), faults])] == ["minor_faults"]
    assert [each.metric for each in failed_rows([faults, row("peak_memory", 0.02)])] == ["peak_memory"]


@pytest.mark.parametrize("facts", [{"verdict": Verdict.PASS}, {"waived_by": "known"}, {"kind": RowKind.INFORMING}])
def test_what_does_not_fail_the_gate_is_not_explained(facts: dict[str, object]) -> None:
    assert failed_rows([row("total_time", **facts)]) == []


def slower(*names: str) -> Callable[[Run], Measurement | Failure]:
    """The candidate is a tenth slower in these benchmarks."""

    def answer(run: Run) -> Measurement:
        is_slower = run.client.version == Side.CANDIDATE and run.definition.name in names
        return measured(1.1 if is_slower else 1.0)

    return answer


@pytest.fixture
def bench(tmp_path: Path) -> ScriptedBench:
    return ScriptedBench(root=tmp_path, script=slower("one", "two"))


Gate = Callable[..., list[GateStatus]]


@pytest.fixture
def gate(bench: ScriptedBench, tmp_path: Path) -> Gate:
    """Runs a gate whose verdict is FAIL if any row is, and explains it with `explain`."""
    clients = {side: client(tmp_path, side.value) for side in Side}

    def run(
        explain: Callable[[ObservedChange], Explanation],
        *definitions: Definition,
        verdict: Verdict | None = None,
        deadline_s: float | None = None,
    ) -> list[GateStatus]:
        def conclude(cells: tuple[ClientCellEvidence, ...], is_over: bool) -> Conclusion:
            found = conclude_gate(cells, RULES.policy, today=TODAY, is_out_of_time=is_over)
            return found if verdict is None else replace(found, verdict=verdict)

        explaining = Explaining(explain=explain, conclude=conclude, deadline_s=deadline_s)
        return list(run_gate(bench, definitions, clients, RULES, None, now=bench.now, explaining=explaining))

    return run


def explained(change: ObservedChange) -> Explanation:
    return Explanation(benchmark=change.benchmark, metric=change.metric, change=change.change or 0.0)


def test_every_change_that_fails_is_explained_after_the_last_pair(bench: ScriptedBench, gate: Gate) -> None:
    pairs = []

    def explain(change: ObservedChange) -> Explanation:
        pairs.append(len(bench.runs))
        return explained(change)

    statuses = gate(explain, ONE, TWO)
    assert [each.benchmark for each in statuses[-1].explanations] == ["one", "two"]
    assert pairs == [len(bench.runs)] * 2
    assert statuses[-1].explanations[0].change == pytest.approx(0.1, rel=0.01)
    assert statuses[-1].explaining == 0


def test_nothing_is_explained_where_the_gate_does_not_fail(gate: Gate) -> None:
    assert gate(explained, ONE, verdict=Verdict.INVALID)[-1].explanations == ()


@pytest.mark.parametrize("error", [MachineError("no profiler", "it is not there"), ValueError("broken output")])
def test_what_cannot_be_explained_is_a_warning_and_the_next_is_explained(gate: Gate, error: Exception) -> None:
    def explain(change: ObservedChange) -> Explanation:
        if change.benchmark == "one":
            raise error
        return explained(change)

    last = gate(explain, ONE, TWO)[-1]
    assert [each.benchmark for each in last.explanations] == ["two"]
    (warning,) = last.warnings
    assert "total_time of one was not explained" in warning
    assert str(error.args[0] if error.args else error).partition("\n")[0] in warning


def test_after_the_limit_no_other_change_is_begun(bench: ScriptedBench, gate: Gate) -> None:
    def explain(change: ObservedChange) -> Explanation:
        bench.now_s += LIMIT_S
        return explained(change)

    last = gate(explain, ONE, TWO)[-1]
    assert len(last.explanations) == 1
    assert last.warnings == ("no time was left to explain 1 of 2 changes",)


def test_a_time_limit_of_the_gate_is_kept(gate: Gate) -> None:
    last = gate(explained, ONE, deadline_s=0.0)[-1]
    assert last.explanations == ()
    assert last.warnings == ("no time was left to explain 1 of 1 changes",)
