"""What pairs and inspections show of a change by themselves: counts, and phases between milestones."""

from msgspec.structs import replace

from s3bench.gate.exact_metric import CountChange, Difference
from s3bench.gate.known_causes import changed_phases, counted_causes
from s3bench.gate.row import GateRow, RowKind
from s3bench.profiling.explanation import CauseKind
from s3bench.results.measurement import Measurement, Milestones
from tests.gate.evidence_maker import paired, run

TITLE = "one"


def exact(metric: str, *changes: CountChange) -> GateRow:
    return GateRow(benchmark=TITLE, metric=metric, kind=RowKind.EXACT, changes=changes)


def more(name: str, before: int, after: int) -> CountChange:
    return CountChange(name=name, difference=Difference.MORE, baseline=(before, before), candidate=(after, after))


def started(imports_done: float, client_created: float, total_time: float) -> Measurement:
    return run(total_time, milestones=Milestones(imports_done=imports_done, client_created=client_created))


def test_counts_that_differ_are_requests_imports_and_system_calls() -> None:
    rows = [
        exact("requests", more("HEAD", 0, 1)),
        exact("modules", more("csv", 0, 1)),
        exact("system_calls", more("newfstatat", 12, 212)),
        exact("minor_faults", more("minor faults", 1, 2)),
    ]
    assert [(cause.kind, cause.place, cause.counts) for cause in counted_causes(rows, TITLE)] == [
        (CauseKind.REQUEST, "HEAD", (0.0, 1.0)),
        (CauseKind.IMPORT, "csv", (0.0, 1.0)),
        (CauseKind.SYSTEM_CALL, "newfstatat", (12.0, 212.0)),
    ]


def test_counts_of_another_benchmark_are_not_told() -> None:
    assert counted_causes([exact("requests", more("HEAD", 0, 1))], "two") == ()


def test_the_phase_that_grew_is_told_with_its_interval_and_no_other() -> None:
    cell = paired([1.0] * 10)
    pairs = tuple(
        replace(
            pair,
            baseline=started(0.3 + 0.001 * number, 0.5 + 0.001 * number, 1.0),
            candidate=started(0.34 + 0.001 * number, 0.54 + 0.001 * number, 1.04),
        )
        for number, pair in enumerate(cell.pairs)
    )
    (cause,) = changed_phases(replace(cell, pairs=pairs))
    assert cause.kind is CauseKind.PHASE
    assert cause.place == "start to imports_done"
    assert cause.change is not None
    assert abs(cause.change - 0.04) < 1e-9


def test_a_phase_that_varies_as_much_as_it_changes_is_not_told() -> None:
    cell = paired([1.0] * 10)
    pairs = tuple(
        replace(
            pair,
            baseline=started(0.3, 0.5, 1.0),
            candidate=started(0.3 + (0.02 if number % 2 else -0.02), 0.5, 1.0),
        )
        for number, pair in enumerate(cell.pairs)
    )
    assert changed_phases(replace(cell, pairs=pairs)) == ()


def test_few_pairs_tell_no_phase() -> None:
    cell = paired([1.0] * 4)
    pairs = tuple(
        replace(pair, baseline=started(0.3, 0.5, 1.0), candidate=started(0.6, 0.8, 1.3)) for pair in cell.pairs
    )
    assert changed_phases(replace(cell, pairs=pairs)) == ()
