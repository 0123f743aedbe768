"""The rules of a gate, declared before it runs."""

import pytest

from s3bench.errors import BadInput
from s3bench.gate.indifference_zone import MEMORY_INDIFFERENCE_ZONE, TIME_INDIFFERENCE_ZONE, IndifferenceZone
from s3bench.gate.looks import Looks, Spending
from s3bench.gate.multiple_testing import decide_rows
from s3bench.gate.policy import GATING_METRICS, Policy, check_gating
from s3bench.gate.row import RowKind, Verdict
from s3bench.results.metrics import METRICS_BY_NAME
from tests.gate.evidence_maker import paired, ratios


def test_wall_time_and_peak_memory_decide_by_default() -> None:
    assert Policy().metrics == GATING_METRICS == ("total_time", "peak_memory")


def test_one_false_alarm_in_a_hundred_gates_is_the_default() -> None:
    assert (Policy().false_alarm, Policy().miss) == (0.01, 0.05)


def test_a_declared_zone_goes_before_the_units_own() -> None:
    mine = IndifferenceZone(d0=0.1, d1=0.2, floor=0.0)
    policy = Policy(zones={"total_time": mine})
    assert policy.indifference_zone("total_time") == mine
    assert policy.indifference_zone("cpu_time") == TIME_INDIFFERENCE_ZONE
    assert policy.indifference_zone("peak_memory") == MEMORY_INDIFFERENCE_ZONE
    assert policy.indifference_zone("wire.requests") is None


def test_every_other_metric_of_a_size_informs_but_never_the_harness() -> None:
    policy = Policy(metrics=("cpu_time",))
    assert "total_time" in policy.informational
    assert "throughput" in policy.informational
    assert "cpu_time" not in policy.informational
    assert "wire.requests" not in policy.informational
    assert not any(name.startswith("harness.") for name in policy.informational)


@pytest.mark.parametrize("benchmarks", [1, 2, 6])
@pytest.mark.parametrize("metrics", [("total_time",), GATING_METRICS])
def test_every_metric_of_every_benchmark_and_of_their_mean_is_a_test(benchmarks: int, metrics: tuple[str, ...]) -> None:
    policy = Policy(metrics=metrics)
    cells = [paired(ratios(0.0, 0.01, 10), name=f"b{number}") for number in range(benchmarks)]
    rows = [row for row in decide_rows(cells, policy).rows if row.level is not None]
    assert policy.tests_by_size(benchmarks) == len(rows)
    assert sum(row.level or 1.0 for row in rows) == pytest.approx(policy.false_alarm)


@pytest.mark.parametrize(("weights", "shares"), [({}, (0.5, 0.5)), ({"peak_memory": 0.25}, (0.8, 0.2))])
def test_false_alarms_are_shared_by_the_weights_of_metrics(
    weights: dict[str, float], shares: tuple[float, float]
) -> None:
    policy = Policy(alarm_weights=weights, metrics=GATING_METRICS)
    rows = decide_rows([paired(ratios(0.0, 0.01, 10))], policy).rows
    levels = {row.metric: row.level for row in rows if row.kind is RowKind.SIZE and row.metric in GATING_METRICS}
    assert levels == pytest.approx({"total_time": shares[0] * 0.01, "peak_memory": shares[1] * 0.01})


def test_what_a_rejected_test_had_of_the_false_alarms_goes_to_the_others_by_their_weights() -> None:
    policy = Policy(alarm_weights={"peak_memory": 0.25}, metrics=GATING_METRICS)
    rows = decide_rows([paired(ratios(0.0, 0.01, 20), memories=(2.0,) * 20)], policy).rows
    levels = {row.metric: row.level for row in rows if row.metric in GATING_METRICS}
    assert levels == pytest.approx({"total_time": 0.01, "peak_memory": 0.002})


def test_a_record_from_before_the_weights_has_none() -> None:
    assert Policy().of_record(2).alarm_weights == {}
    assert Policy().of_record(3) == Policy()


@pytest.mark.parametrize("pairs", [(4,), (6, 8), (8,), (10,), (12,), (6, 10), (10, 20, 40)])
@pytest.mark.parametrize("benchmarks", [1, 2, 6])
def test_it_can_fail_something_exactly_when_the_clearest_regression_fails(
    pairs: tuple[int, ...], benchmarks: int
) -> None:
    policy = Policy(metrics=("total_time",), looks=Looks(pairs=pairs, spending=Spending.BY_USE))
    cells = [paired(ratios(1.0, 0.0, pairs[-1]), name=f"b{number}") for number in range(benchmarks)]
    verdicts = {row.verdict for row in decide_rows(cells, policy).rows if row.kind is RowKind.SIZE}
    assert policy.can_fail_by_size(benchmarks) is (Verdict.FAIL in verdicts)


@pytest.mark.parametrize("benchmarks", [1, 2, 5, 6, 40])
def test_the_pairs_that_a_fail_needs_suffice_and_two_fewer_do_not(benchmarks: int) -> None:
    def can_fail(pairs: int) -> bool:
        return Policy(looks=Looks(pairs=(pairs,), spending=Spending.BY_USE)).can_fail_by_size(benchmarks)

    needed = Policy().pairs_to_fail(benchmarks)
    assert needed % 2 == 0
    assert can_fail(needed)
    assert not can_fail(needed - 2)


def test_counts_alone_can_fail_with_any_number_of_pairs() -> None:
    assert Policy(metrics=(), looks=Looks(pairs=(2,), spending=Spending.BY_USE)).can_fail_by_size(6)


@pytest.mark.parametrize(
    ("metrics", "shows"),
    [
        (("peak_memory", "total_time"), True),
        (("throughput",), True),
        (("milestones.first_request",), True),
        (("peak_memory", "cpu_time"), False),
        ((), False),
    ],
)
def test_a_delay_before_the_program_shows_in_times_from_its_spawn_alone(
    metrics: tuple[str, ...], *, shows: bool
) -> None:
    assert Policy(metrics=metrics).shows_delay is shows


def test_gating_metrics_are_kept_in_their_order_and_once_each() -> None:
    assert check_gating(("throughput", "total_time", "throughput")) == ("throughput", "total_time")


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("total_tme", "did you mean total_time?"),
        ("wire.requests", "use one of"),
        ("harness.turnaround_time", "use one of"),
        ("zzz", "use one of"),
    ],
)
def test_a_metric_that_cannot_gate_is_reported_with_the_nearest_that_can(name: str, fix: str) -> None:
    with pytest.raises(BadInput) as caught:
        check_gating(("total_time", name))
    assert repr(name) in caught.value.what
    assert fix in caught.value.fix or "did you mean" in caught.value.fix


def test_every_metric_that_informs_may_gate() -> None:
    informational = Policy(metrics=()).informational
    assert check_gating(informational) == informational
    assert set(informational) < set(METRICS_BY_NAME)
