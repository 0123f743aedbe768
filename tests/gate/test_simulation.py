"""The promises of the statistics, held against thousands of gates of known truth, with fixed seeds.

Each promise is a probability, so each test counts and compares with what the binomial distribution allows: a test that
keeps its promise fails for one seed in ten thousand, and seeds are fixed. The quick part sees a tenth of the campaign.
"""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats  # type: ignore[import-untyped]

from s3bench.gate.conclusion import conclude
from s3bench.gate.evidence import ClientCellEvidence, Role
from s3bench.gate.looks import Looks
from s3bench.gate.multiple_testing import decide_rows
from s3bench.gate.paired_series import PairedSeries
from s3bench.gate.policy import Policy
from s3bench.gate.row import GateRow, RowKind, Verdict
from tests.gate.simulated_gate import MEMORY, NOISES, TIME, ZONES, Outcome, all_pairs, log_runs, policy, run_gate

ABOVE = {Verdict.FAIL, Verdict.SMALL}
BELOW = {Verdict.PASS, Verdict.SMALL}
SIGMAS = (0.02, 0.05, 0.10)
NO_CHANGE = {TIME: (0.0,) * 3, MEMORY: (0.0,) * 3}
ON_EDGE = {TIME: (ZONES[TIME].d0,) * 3, MEMORY: (ZONES[MEMORY].d0,) * 3}
ON_CREEP_EDGE = {TIME: (ZONES[TIME].d0 / 2,) * 3, MEMORY: (ZONES[MEMORY].d0 / 2,) * 3}
ON_FAR_EDGE = {TIME: (ZONES[TIME].d1,) * 3, MEMORY: (ZONES[MEMORY].d1,) * 3}
SHARP = policy(false_alarm=0.01)
LOOSE = policy(false_alarm=0.05)
_CHANCE = 1e-4

campaign = pytest.mark.campaign
long = pytest.mark.timeout(900)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Gates to simulate: the noise of the machine, the sigma of its pairs, the true changes, and how many."""

    noise: str
    sigma: float
    gates: int

    def outcomes(self, worsenings: Mapping[str, Sequence[float]], rules: Policy) -> list[Outcome]:
        """Run the gates; the same setting gives the same ones."""
        rng = np.random.default_rng([self.gates, round(self.sigma * 1000), *self.noise.encode()])
        noise = NOISES[self.noise]
        return [run_gate(list(all_pairs(rng, noise, self.sigma, worsenings)), rules) for _ in range(self.gates)]


def most(trials: int, chance: float) -> int:
    """As many successes as chance allows."""
    return int(stats.binom.isf(_CHANCE, trials, chance))


def least(trials: int, chance: float) -> int:
    return int(stats.binom.ppf(_CHANCE, trials, chance))


def settings_of(gates: int, noises: Sequence[str] = tuple(NOISES), sigmas: Sequence[float] = SIGMAS) -> list[Setting]:
    return [Setting(noise=noise, sigma=sigma, gates=gates) for noise in noises for sigma in sigmas]


def exact_coverage(pairs: int) -> float:
    """What the interval of nominally 95 % covers: the sums of ranks are discrete, so it is a little more."""
    ways = np.ones(1)
    for rank in range(1, pairs + 1):
        ways = np.append(ways, np.zeros(rank)) + np.append(np.zeros(rank), ways)
    tails = np.cumsum(ways) / 2.0**pairs
    return 1 - 2 * float(tails[tails <= 0.025][-1])


def covered(noise: str, pairs: int, intervals: int) -> int:
    """How many plain 95 % intervals hold the true change, which is none."""
    rng = np.random.default_rng([pairs, intervals, *noise.encode()])
    hits = 0
    for _ in range(intervals // 3):  # three benchmarks take turns, as in a gate
        for baseline, candidate in np.exp(0.05 * log_runs(rng, NOISES[noise], 3, pairs)).transpose(0, 2, 1):
            series = PairedSeries(
                baseline=tuple(baseline.tolist()), candidate=tuple(candidate.tolist()), is_paired=True
            )
            hits += series.lower_bound(0.025) <= 0 <= series.upper_bound(0.025)
    return hits


def check_coverage(noise: str, pairs: int, intervals: int) -> None:
    hits = covered(noise, pairs, intervals)
    expected = exact_coverage(pairs)
    assert hits >= least(intervals, expected), f"{hits / intervals:.4f}"
    if NOISES[noise].trend is None:
        assert hits <= most(intervals, expected), f"{hits / intervals:.4f}"


def check_false_alarms(setting: Setting) -> None:
    """No change at all, and the default level: any FAIL of any kind."""
    outcomes = setting.outcomes(NO_CHANGE, SHARP)
    alarms = sum(bool(each.failed(RowKind.SIZE) or each.failed(RowKind.CREEP)) for each in outcomes)
    assert alarms <= most(setting.gates, SHARP.false_alarm), alarms


def check_false_alarms_on_the_edge(setting: Setting) -> None:
    """Every hypothesis true by a hair: all changes equal d0, and then their mean that of creep."""
    alarms = sum(bool(each.failed(RowKind.SIZE)) for each in setting.outcomes(ON_EDGE, LOOSE))
    assert alarms <= most(setting.gates, LOOSE.false_alarm), alarms
    outcomes = setting.outcomes(ON_CREEP_EDGE, LOOSE)
    alarms = sum(bool(each.failed(RowKind.SIZE) or each.failed(RowKind.CREEP)) for each in outcomes)
    assert alarms <= most(setting.gates, LOOSE.false_alarm), alarms


def check_misses(setting: Setting) -> None:
    """Changes of exactly d1 must not pass."""
    rows = [row for each in setting.outcomes(ON_FAR_EDGE, LOOSE) for row in each.rows if row.kind is RowKind.SIZE]
    missed = sum(row.verdict in BELOW for row in rows)
    assert missed <= most(len(rows), LOOSE.miss), f"{missed} of {len(rows)}"


def check_holm(setting: Setting) -> None:
    """Two benchmarks are far worse and rejected early, which makes it easier for the third, whose changes are d0."""
    mixture = {TIME: (0.5, 0.4, ZONES[TIME].d0), MEMORY: (0.4, 0.5, ZONES[MEMORY].d0)}
    outcomes = setting.outcomes(mixture, LOOSE)
    rejected = [{row.benchmark for row in each.failed(RowKind.SIZE)} for each in outcomes]
    assert sum({"benchmark-0", "benchmark-1"} <= names for names in rejected) == setting.gates
    assert sum("benchmark-2" in names for names in rejected) <= most(setting.gates, LOOSE.false_alarm)


def check_power(setting: Setting, worsening: float) -> None:
    """One benchmark of three is slower by `worsening`, d1 or more: SMALL is not enough."""
    outcomes = setting.outcomes({TIME: (worsening, 0.0, 0.0), MEMORY: (0.0,) * 3}, SHARP)
    caught = sum(decided(each.rows).get(("benchmark-0", TIME)) is Verdict.FAIL for each in outcomes)
    assert caught >= least(setting.gates, 0.95), f"{caught} of {setting.gates}"


def as_control(cell: ClientCellEvidence, role: Role) -> ClientCellEvidence:
    return replace(cell, name="control", role=role)


def check_small(setting: Setting) -> None:
    """One benchmark of three is slower by 4 %, between d0 and d1: 95 of 100 gates can tell, and controls are sound."""
    rng = np.random.default_rng([setting.gates, round(setting.sigma * 1000)])
    worsenings = {TIME: (0.04, 0.0, 0.0, 0.0, 0.2), MEMORY: (0.0,) * 5}
    verdicts = []
    for _ in range(setting.gates):
        *cells, negative, positive = all_pairs(rng, NOISES[setting.noise], setting.sigma, worsenings)
        controls = as_control(negative, Role.NEGATIVE_CONTROL), as_control(positive, Role.POSITIVE_CONTROL)
        outcome = run_gate([*cells, *controls], SHARP)
        verdicts.append(conclude(outcome.cells, SHARP, today=dt.date(2026, 11, 21)).verdict)
    assert Verdict.INVALID not in verdicts
    assert verdicts.count(Verdict.SMALL) >= least(setting.gates, 0.95), Counter(verdicts)


def withdrawn(setting: Setting, bias: float, rules: Policy) -> int:
    """How many gates a negative control withdraws whose one side is worse by `bias`."""
    rng = np.random.default_rng([setting.gates, round(setting.sigma * 1000), *setting.noise.encode()])
    biased = {TIME: (bias,), MEMORY: (0.0,)}
    count = 0
    for _ in range(setting.gates):
        (cell,) = all_pairs(rng, NOISES[setting.noise], setting.sigma, biased)
        outcome = run_gate([as_control(cell, Role.NEGATIVE_CONTROL)], rules)
        count += conclude(outcome.cells, rules, today=dt.date(2026, 11, 21)).verdict is Verdict.INVALID
    return count


def check_withdrawals(setting: Setting) -> None:
    """A control of two equal sides, and one whose true differences are d0, one metric either way."""
    for bias in (0.0, ZONES[TIME].d0, 1 / (1 + ZONES[TIME].d0) - 1):
        count = withdrawn(setting, bias, LOOSE)
        assert count <= most(setting.gates, LOOSE.false_alarm), f"{bias}: {count}"


def decided(rows: Iterable[GateRow]) -> dict[tuple[str, str], Verdict | None]:
    """The verdicts by benchmark and metric, those left out that are not reached."""
    return {
        (row.benchmark, row.metric): row.verdict
        for row in rows
        if row.kind is RowKind.SIZE and row.verdict is not Verdict.INCONCLUSIVE
    }


def check_consistency(outcome: Outcome, rules: Policy) -> None:
    """What one look has shown, the later ones still say; and at the end nobody is owed a pair."""
    for earlier, later in pairwise(outcome.after_looks):
        now = decided(later)
        assert all(now[row] in {verdict, Verdict.SMALL} for row, verdict in decided(earlier).items())
    decisions = decide_rows(outcome.cells, rules)
    assert decisions.rows == outcome.rows
    assert decisions.needs.undecided == frozenset()


@pytest.mark.parametrize(("pairs", "expected"), [(10, 0.9512), (40, 0.9503)])
def test_the_interval_is_a_little_wider_than_95_percent(pairs: int, expected: float) -> None:
    assert exact_coverage(pairs) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("pairs", [10, 40])
def test_intervals_cover_the_truth(noise: str, pairs: int) -> None:
    check_coverage(noise, pairs, 900)


@pytest.mark.parametrize("setting", settings_of(20, sigmas=(0.05,)), ids=str)
def test_no_change_raises_no_alarm(setting: Setting) -> None:
    check_false_alarms(setting)


@pytest.mark.parametrize("setting", settings_of(20, ("lognormal", "drift"), (0.05,)), ids=str)
def test_changes_on_the_edge_fail_no_more_often_than_stated(setting: Setting) -> None:
    check_false_alarms_on_the_edge(setting)


@pytest.mark.parametrize("setting", settings_of(20, ("bimodal", "t4"), (0.05,)), ids=str)
def test_changes_that_must_not_pass_pass_no_more_often_than_stated(setting: Setting) -> None:
    check_misses(setting)


@pytest.mark.parametrize("setting", settings_of(20, ("normal",), (0.05,)), ids=str)
def test_true_hypotheses_among_false_ones_are_kept(setting: Setting) -> None:
    check_holm(setting)


@pytest.mark.parametrize(("worsening", "sigma"), [(0.10, 0.08), (0.06, 0.04)])
def test_a_slowdown_of_this_size_is_caught(worsening: float, sigma: float) -> None:
    check_power(Setting(noise="normal", sigma=sigma, gates=20), worsening)


@pytest.mark.parametrize("gates", [80, pytest.param(240, marks=campaign)])
def test_a_suite_that_is_slower_all_over_is_caught_where_every_benchmark_passes(gates: int) -> None:
    setting = Setting(noise="normal", sigma=0.02, gates=gates)
    outcomes = setting.outcomes({TIME: (0.04,) * 3, MEMORY: (0.0,) * 3}, SHARP)
    assert sum(bool(each.failed(RowKind.CREEP)) for each in outcomes) >= least(setting.gates, 0.95)
    assert np.mean([each.mean_pairs for each in outcomes]) <= 30


@pytest.mark.parametrize("sigma", [0.005, 0.01, 0.02])
def test_a_change_between_the_limits_is_found_to_be_small(sigma: float) -> None:
    check_small(Setting(noise="normal", sigma=sigma, gates=12))


@pytest.mark.parametrize("bias", [-0.1, 0.1])
@pytest.mark.parametrize("sigma", [0.01, 0.05])
def test_a_control_that_favours_either_side_withdraws_the_verdict(sigma: float, bias: float) -> None:
    setting = Setting(noise="normal", sigma=sigma, gates=20)
    assert withdrawn(setting, bias, SHARP) >= least(setting.gates, 0.99)


@pytest.mark.parametrize("setting", settings_of(30, ("normal", "lognormal"), (0.05,)), ids=str)
def test_the_negative_control_withdraws_no_more_verdicts_than_stated(setting: Setting) -> None:
    check_withdrawals(setting)


@pytest.mark.parametrize("sigma", [0.02, 0.05])
def test_no_change_takes_half_of_the_pairs_at_most(sigma: float) -> None:
    outcomes = Setting(noise="normal", sigma=sigma, gates=20).outcomes(NO_CHANGE, SHARP)
    assert np.mean([each.mean_pairs for each in outcomes]) <= 20


@pytest.mark.parametrize("noise", NOISES)
def test_a_gate_that_gives_pairs_to_the_undecided_alone_ends_as_it_decided(noise: str) -> None:
    rng = np.random.default_rng(4)
    rules = policy(false_alarm=0.2, looks=Looks(pairs=(8, 16, 24, 40)))
    for _ in range(6):
        worsenings = {TIME: tuple(rng.uniform(-0.05, 0.15, 3)), MEMORY: tuple(rng.uniform(-0.02, 0.06, 3))}
        outcome = run_gate(list(all_pairs(rng, NOISES[noise], 0.06, worsenings)), rules)
        check_consistency(outcome, rules)


@pytest.mark.parametrize("noise", NOISES)
def test_judging_all_pairs_at_once_decides_as_judging_them_look_by_look(noise: str) -> None:
    rng = np.random.default_rng(5)
    cells = list(all_pairs(rng, NOISES[noise], 0.06, {TIME: (0.0, 0.06, 0.2), MEMORY: (0.0, 0.02, 0.2)}))
    stopping = decided(run_gate(cells, LOOSE).rows)
    assert decided(decide_rows(cells, LOOSE).rows) == stopping


@campaign
@long
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("pairs", [10, 40])
def test_campaign_intervals_cover_the_truth_within_one_percent(noise: str, pairs: int) -> None:
    hits = covered(noise, pairs, 6_000)
    assert 0.94 <= hits / 6_000 <= 0.96, hits
    check_coverage(noise, pairs, 6_000)


@campaign
@long
@pytest.mark.parametrize("setting", settings_of(200), ids=str)
def test_campaign_no_change_raises_no_alarm(setting: Setting) -> None:
    check_false_alarms(setting)


@campaign
@long
@pytest.mark.parametrize("setting", settings_of(250), ids=str)
def test_campaign_changes_on_the_edge_fail_no_more_often_than_stated(setting: Setting) -> None:
    check_false_alarms_on_the_edge(setting)


@campaign
@long
@pytest.mark.parametrize("setting", settings_of(150), ids=str)
def test_campaign_changes_that_must_not_pass_pass_no_more_often_than_stated(setting: Setting) -> None:
    check_misses(setting)


@campaign
@long
@pytest.mark.parametrize("setting", settings_of(300, sigmas=(0.05,)), ids=str)
def test_campaign_true_hypotheses_among_false_ones_are_kept(setting: Setting) -> None:
    check_holm(setting)


@campaign
@long
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("worsening", "sigma"), [(0.10, 0.08), (0.06, 0.04)])
def test_campaign_a_slowdown_of_this_size_is_caught(noise: str, worsening: float, sigma: float) -> None:
    check_power(Setting(noise=noise, sigma=sigma, gates=250), worsening)


@campaign
@long
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("sigma", [0.005, 0.01, 0.02])
def test_campaign_a_change_between_the_limits_is_found_to_be_small(noise: str, sigma: float) -> None:
    check_small(Setting(noise=noise, sigma=sigma, gates=120))


@campaign
@long
@pytest.mark.parametrize("setting", settings_of(400, sigmas=(0.02, 0.05)), ids=str)
def test_campaign_the_negative_control_withdraws_no_more_verdicts_than_stated(setting: Setting) -> None:
    check_withdrawals(setting)
