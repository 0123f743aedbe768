"""The verdict of a gate: what decides, in which order, and that PASS is earned."""

import datetime as dt
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from s3bench.gate.conclusion import Conclusion, conclude
from s3bench.gate.evidence import ClientCellEvidence, Role, Side
from s3bench.gate.looks import Looks
from s3bench.gate.policy import Policy
from s3bench.gate.row import RowKind, Verdict
from s3bench.gate.waiver import Waiver
from tests.gate.evidence_maker import failed, pair, paired, ratios, run, unpaired, wired

TODAY = dt.date(2026, 11, 21)
TIME_ALONE = Policy(metrics=("total_time",))
ONE_LOOK = Policy(metrics=("total_time",), looks=Looks(pairs=(40,)))
WITH_REQUESTS = Policy(metrics=("total_time",), exact=("requests",))

QUIET = paired(ratios(0.0, 0.01), name="quiet")
SLOW = paired(ratios(0.2, 0.01), name="slow")
SLIGHT = paired(ratios(0.04, 0.005), name="slight")
NOISY = paired(ratios(0.04, 0.2), name="noisy")
NEGATIVE = paired(ratios(0.0, 0.01), name="control", role=Role.NEGATIVE_CONTROL)
POSITIVE = paired(ratios(0.2, 0.01), name="control", role=Role.POSITIVE_CONTROL)
CONTROLS = (NEGATIVE, POSITIVE)
WAIVER = Waiver(
    benchmark="slow",
    metric="total_time",
    ceiling="25%",
    reason="bytes are hashed now",
    link="https://example.org/1",
    expires=TODAY,
)


def concluded(
    *cells: ClientCellEvidence,
    policy: Policy = TIME_ALONE,
    waivers: Sequence[Waiver] = (),
    same_program: bool = False,
    stopped: str = "",
) -> Conclusion:
    return conclude(cells, policy, waivers=waivers, today=TODAY, same_program=same_program, stopped=stopped)


def with_requests(baseline: int, candidate: int, runs: int = 10, name: str = "counted") -> ClientCellEvidence:
    pairs = tuple(pair(wired(PUT=baseline), wired(PUT=candidate), number) for number in range(runs))
    return ClientCellEvidence(name=name, pairs=pairs)


def test_a_gate_passes_when_every_change_is_below_its_limit() -> None:
    conclusion = concluded(QUIET, *CONTROLS)
    assert conclusion.verdict is Verdict.PASS
    assert conclusion.reasons == ("every change is below its limit: 1 rows",)
    assert conclusion.warnings == ()


def test_one_row_that_fails_fails_the_gate_and_is_the_reason() -> None:
    conclusion = concluded(NOISY, SLOW, SLIGHT, QUIET, *CONTROLS)
    assert conclusion.verdict is Verdict.FAIL
    assert conclusion.reasons[0].startswith("total_time of slow: at least +1")
    assert not any("noisy" in reason for reason in conclusion.reasons)


def test_one_row_that_cannot_be_reported_leaves_the_gate_open() -> None:
    conclusion = concluded(NOISY, SLIGHT, *CONTROLS)
    assert conclusion.verdict is Verdict.INCONCLUSIVE
    assert [reason.partition(":")[0] for reason in conclusion.reasons] == ["total_time of noisy"]


def test_a_small_change_makes_the_gate_small() -> None:
    conclusion = concluded(SLIGHT, QUIET, *CONTROLS, policy=ONE_LOOK)
    assert conclusion.verdict is Verdict.SMALL
    assert conclusion.reasons[0].startswith("total_time of slight: at least +")


def test_nothing_measured_is_no_pass() -> None:
    assert concluded().verdict is Verdict.INCONCLUSIVE
    assert concluded().reasons == ("no benchmark was measured on both sides",)
    assert concluded(*CONTROLS).verdict is Verdict.INCONCLUSIVE


def test_nothing_that_decides_is_no_pass() -> None:
    for exact in (("requests",), ("modules", "files"), ()):
        conclusion = concluded(QUIET, policy=Policy(metrics=(), exact=exact))
        assert conclusion.verdict is Verdict.INCONCLUSIVE
        assert conclusion.reasons == ("no metric that decides was observed in any run",)


@pytest.mark.parametrize("missing", [ClientCellEvidence(name="late"), unpaired([1.0], [], name="late")])
def test_a_benchmark_without_any_count_is_no_pass_beside_others_where_counts_alone_decide(
    missing: ClientCellEvidence,
) -> None:
    conclusion = concluded(with_requests(2, 2), missing, policy=Policy(metrics=(), exact=("requests",)))
    assert conclusion.verdict is Verdict.INCONCLUSIVE
    assert conclusion.reasons == ("requests of late: not measured",)


@pytest.mark.parametrize(("baseline", "candidate"), [([1.0] * 9, []), ([], [1.0] * 9)])
def test_a_missing_cell_is_no_pass(baseline: list[float], candidate: list[float]) -> None:
    missing = unpaired(baseline, candidate, name="gone")
    assert concluded(missing).verdict is Verdict.INCONCLUSIVE
    assert concluded(QUIET, missing).reasons[0].startswith("total_time of gone: no figures of the ")


def test_too_few_pairs_are_no_pass() -> None:
    conclusion = concluded(QUIET, paired(ratios(0.0, 0.001, 8), name="short"))
    assert conclusion.verdict is Verdict.INCONCLUSIVE
    assert conclusion.reasons == ("total_time of short: 8 pairs; the first look needs 10",)


def test_too_few_runs_of_documents_are_no_pass() -> None:
    assert concluded(unpaired([1.0] * 10, [1.0] * 10)).verdict is Verdict.PASS
    for baseline, candidate in ((9, 40), (40, 9)):
        assert concluded(unpaired([1.0] * baseline, [1.0] * candidate)).verdict is Verdict.INCONCLUSIVE


def test_figures_that_are_missing_are_no_pass() -> None:
    blind = ClientCellEvidence(name="blind", pairs=tuple(pair(run(peak_memory=None), run()) for _ in range(10)))
    conclusion = concluded(QUIET, blind, policy=Policy(metrics=("peak_memory",)))
    assert conclusion.verdict is Verdict.INCONCLUSIVE
    assert "peak_memory of blind: no peak_memory in any run of the baseline" in conclusion.reasons


def test_where_only_the_figures_are_missing_the_reasons_name_them_and_not_the_benchmarks() -> None:
    cells = [replace(QUIET, name=name) for name in ("one", "two")]
    conclusion = concluded(*cells, policy=Policy(metrics=("p95_memory",)))
    assert conclusion.verdict is Verdict.INCONCLUSIVE
    assert [reason.partition(": no p95_memory")[0] for reason in conclusion.reasons] == [
        "p95_memory of one",
        "p95_memory of two",
    ]


def test_the_same_program_twice_is_no_pass_and_is_reported() -> None:
    conclusion = concluded(QUIET, *CONTROLS, same_program=True)
    assert conclusion.verdict is Verdict.INCONCLUSIVE
    assert "same program" in conclusion.reasons[0]
    assert concluded(SLIGHT, same_program=True).verdict is Verdict.INCONCLUSIVE


def test_the_same_program_that_differs_from_itself_says_nothing_about_the_program() -> None:
    conclusion = concluded(SLOW, same_program=True)
    assert conclusion.verdict is Verdict.INVALID
    assert conclusion.reasons[0].startswith("the program differs from itself: total_time of ")


def test_a_stop_before_the_end_is_reported_beside_what_was_left_open() -> None:
    conclusion = concluded(paired(ratios(0.0, 0.01, 6)), stopped="--max-time 60 has passed")
    assert conclusion.verdict is Verdict.INCONCLUSIVE
    assert conclusion.reasons[-1] == "--max-time 60 has passed"


def test_a_gate_that_the_clock_ended_says_what_a_longer_one_would_settle() -> None:
    open_one = paired(ratios(0.0, 0.1, 12))
    for is_out_of_time, last in ((True, "1 more minute would be expected to settle 1 of 1 open row"), (False, "over")):
        conclusion = conclude([open_one], TIME_ALONE, today=TODAY, stopped="over", is_out_of_time=is_out_of_time)
        assert conclusion.reasons[-1] == last


def test_a_stop_when_all_was_decided_takes_no_pass_away() -> None:
    assert concluded(QUIET, *CONTROLS, stopped="time has passed").verdict is Verdict.PASS


@pytest.mark.parametrize("pairs", [0, 1, 9])
@pytest.mark.parametrize("role", [Role.NEGATIVE_CONTROL, Role.POSITIVE_CONTROL])
def test_a_control_that_did_not_come_to_its_end_is_no_pass(role: Role, pairs: int) -> None:
    worsening = 0.2 if role is Role.POSITIVE_CONTROL else 0.0
    control = paired(ratios(worsening, 0.01, pairs), name="control", role=role)
    other = NEGATIVE if role is Role.POSITIVE_CONTROL else POSITIVE
    conclusion = concluded(QUIET, control, other, stopped="time has passed")
    assert conclusion.verdict is Verdict.INCONCLUSIVE
    assert "total_time of control" in conclusion.reasons[0]


def test_a_negative_control_that_stays_open_to_the_end_takes_no_pass_away() -> None:
    noisy = paired(ratios(0.0, 0.3), name="control", role=Role.NEGATIVE_CONTROL)
    assert concluded(QUIET, noisy, POSITIVE).verdict is Verdict.PASS


@pytest.mark.parametrize("worsening", [0.2, -0.1])
@pytest.mark.parametrize("cells", [(), (QUIET,), (SLOW,), (NOISY,), (failed(QUIET),)])
def test_a_baseline_that_differs_from_itself_withdraws_every_verdict(
    cells: tuple[ClientCellEvidence, ...], worsening: float
) -> None:
    uneven = paired(ratios(worsening, 0.01), name="control", role=Role.NEGATIVE_CONTROL)
    conclusion = concluded(*cells, uneven, POSITIVE)
    assert conclusion.verdict is Verdict.INVALID
    assert conclusion.reasons[0].startswith("the baseline differs from itself: total_time of control: at least +")


def test_a_small_difference_of_the_baseline_from_itself_is_one_too() -> None:
    uneven = paired(ratios(0.04, 0.005), name="control", role=Role.NEGATIVE_CONTROL)
    assert concluded(QUIET, uneven, POSITIVE).verdict is Verdict.INVALID


@pytest.mark.parametrize(("worsening", "sigma"), [(0.0, 0.01), (0.04, 0.3)])
def test_a_planted_delay_that_was_not_found_withdraws_every_verdict(worsening: float, sigma: float) -> None:
    blind = paired(ratios(worsening, sigma), name="control", role=Role.POSITIVE_CONTROL)
    for benchmark in (QUIET, SLOW):
        conclusion = concluded(benchmark, NEGATIVE, blind)
        assert conclusion.verdict is Verdict.INVALID
        assert conclusion.reasons[0].startswith("a planted delay was not detected: total_time of control: ")


def test_a_planted_delay_found_to_be_small_was_found() -> None:
    small = paired(ratios(0.04, 0.005), name="control", role=Role.POSITIVE_CONTROL)
    assert concluded(QUIET, NEGATIVE, small).verdict is Verdict.PASS


def test_a_client_that_failed_withdraws_the_verdict_unless_it_is_fail_already() -> None:
    conclusion = concluded(failed(QUIET, Side.BASELINE), *CONTROLS)
    assert conclusion.verdict is Verdict.INVALID
    assert conclusion.reasons == ("quiet, baseline: the command exited 1: boom",)
    assert concluded(failed(NOISY)).verdict is Verdict.INVALID
    assert concluded(failed(QUIET), SLOW).verdict is Verdict.FAIL


def test_a_suite_that_is_slower_all_over_fails_the_gate() -> None:
    cells = [paired(ratios(0.035, 0.03, 20, turn=number), name=f"b{number}") for number in range(4)]
    conclusion = concluded(*cells)
    assert conclusion.verdict is Verdict.FAIL
    assert conclusion.reasons[0].startswith("total_time over all benchmarks: at least +")


def test_creep_that_cannot_be_reported_leaves_nothing_open() -> None:
    cells = [paired(ratios(0.0, 0.05, 10), name=f"b{number}") for number in range(4)]
    conclusion = concluded(*cells)
    assert {row.verdict for row in conclusion.rows if row.kind is RowKind.CREEP} == {Verdict.INCONCLUSIVE}
    assert conclusion.verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("candidate", "runs", "verdict"),
    [(2, 10, Verdict.PASS), (3, 10, Verdict.FAIL), (1, 10, Verdict.PASS)],
)
def test_exact_counts_decide_too(candidate: int, runs: int, verdict: Verdict) -> None:
    assert concluded(with_requests(2, candidate, runs), policy=WITH_REQUESTS).verdict is verdict


def test_an_unconfirmed_count_leaves_the_gate_open() -> None:
    few = with_requests(2, 3, 9)
    conclusion = concluded(few, policy=Policy(metrics=(), exact=("requests",)))
    assert conclusion.verdict is Verdict.INCONCLUSIVE
    assert "confirming it takes 10" in conclusion.reasons[0]


def test_what_decided_comes_first_and_what_only_informs_last() -> None:
    informing = ClientCellEvidence(
        name="cpu", pairs=tuple(pair(run(cpu_time=1.0), run(cpu_time=ratio)) for ratio in ratios(0.2, 0.01))
    )
    worse = paired(ratios(0.4, 0.01), name="worse")
    rows = concluded(QUIET, informing, SLIGHT, NOISY, SLOW, worse, *CONTROLS, policy=ONE_LOOK).rows
    reported = [(row.benchmark, row.verdict) for row in rows if row.kind is not RowKind.CREEP]
    assert reported[:4] == [
        ("worse", Verdict.FAIL),
        ("slow", Verdict.FAIL),
        ("noisy", Verdict.INCONCLUSIVE),
        ("slight", Verdict.SMALL),
    ]
    assert reported[-1] == ("cpu", None)
    assert {row.role for row in rows[-3:-1]} == {Role.NEGATIVE_CONTROL, Role.POSITIVE_CONTROL}


def test_a_waived_row_does_not_fail_and_is_counted() -> None:
    conclusion = concluded(SLOW, QUIET, *CONTROLS, waivers=[WAIVER, replace(WAIVER, benchmark="", ceiling="15%")])
    assert conclusion.verdict is Verdict.PASS
    assert conclusion.reasons == ("every change is below its limit: 3 rows, 2 of them waived",)
    slow = next(row for row in conclusion.rows if row.benchmark == "slow")
    assert slow.waived_by == "bytes are hashed now (https://example.org/1, until 2026-11-21)"
    assert [bool(row.waived_by) for row in conclusion.rows if row.kind is RowKind.CREEP] == [True]
    assert conclusion.warnings == ()


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        ({"expires": TODAY - dt.timedelta(days=1)}, "waiver for total_time of slow expired on 2026-11-20"),
        ({"ceiling": "19%"}, "waiver for total_time of slow has a ceiling of 19%, and the change is larger"),
        ({"benchmark": "other"}, "waiver for total_time of other covers no row of this gate"),
        ({"metric": "cpu_time"}, "waiver for cpu_time of slow covers no row of this gate"),
    ],
)
def test_a_waiver_that_does_not_fit_waives_nothing_and_is_reported(change: dict[str, object], warning: str) -> None:
    conclusion = concluded(SLOW, *CONTROLS, waivers=[replace(WAIVER, **change)])
    assert conclusion.verdict is Verdict.FAIL
    assert conclusion.warnings == (warning,)


def test_a_waiver_holds_on_its_last_day_and_after_it_no_more() -> None:
    for days, verdict in ((0, Verdict.PASS), (1, Verdict.PASS), (-1, Verdict.FAIL)):
        waiver = replace(WAIVER, expires=TODAY + dt.timedelta(days=days))
        assert concluded(SLOW, waivers=[waiver]).verdict is verdict


def test_a_small_change_can_be_waived_too() -> None:
    waiver = replace(WAIVER, benchmark="slight", ceiling="8%")
    conclusion = concluded(SLIGHT, *CONTROLS, policy=ONE_LOOK, waivers=[waiver])
    assert (conclusion.verdict, conclusion.warnings) == (Verdict.PASS, ())
    assert conclusion.reasons == ("every change is below its limit: 1 rows, 1 of them waived",)


def test_a_waiver_of_a_row_that_is_undecided_is_not_called_needless() -> None:
    conclusion = concluded(NOISY, *CONTROLS, policy=ONE_LOOK, waivers=[replace(WAIVER, benchmark="noisy")])
    assert (conclusion.verdict, conclusion.warnings) == (Verdict.INCONCLUSIVE, ())


def test_a_waiver_that_is_not_needed_is_reported() -> None:
    conclusion = concluded(paired(ratios(0.0, 0.01), name="slow"), waivers=[WAIVER])
    assert conclusion.verdict is Verdict.PASS
    assert conclusion.warnings == ("waiver for total_time of slow is no longer needed",)


def test_no_waiver_mends_a_control() -> None:
    uneven = paired(ratios(0.2, 0.01), name="slow", role=Role.NEGATIVE_CONTROL)
    conclusion = concluded(QUIET, uneven, POSITIVE, waivers=[WAIVER])
    assert conclusion.verdict is Verdict.INVALID
    assert conclusion.warnings == ("waiver for total_time of slow covers no row of this gate",)


def test_a_waiver_lets_an_exact_count_be_higher_by_so_many() -> None:
    waiver = replace(WAIVER, benchmark="counted", metric="requests", ceiling="2")
    assert concluded(with_requests(2, 4), policy=WITH_REQUESTS, waivers=[waiver]).verdict is Verdict.PASS
    assert concluded(with_requests(2, 5), policy=WITH_REQUESTS, waivers=[waiver]).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("ceiling", "verdict"),
    [("6%", Verdict.FAIL), ("74%", Verdict.PASS), ("1754", Verdict.FAIL), ("1755", Verdict.PASS)],
)
def test_a_ceiling_of_page_faults_is_not_lowered_by_one_run_of_the_baseline_that_had_many(
    ceiling: str, verdict: Verdict
) -> None:
    before = [2400] * 11 + [3900]
    pairs = (
        pair(
            run(minor_faults=faults, peak_memory=10 * 2**20),
            run(minor_faults=4100 + 10 * number, peak_memory=10 * 2**20),
            number,
        )
        for number, faults in enumerate(before)
    )
    cell = ClientCellEvidence(name="counted", pairs=tuple(pairs))
    waiver = replace(WAIVER, benchmark="counted", metric="minor_faults", ceiling=ceiling)
    faults_alone = Policy(metrics=(), exact=("minor_faults",))
    assert concluded(cell, policy=faults_alone).verdict is Verdict.FAIL
    assert concluded(cell, policy=faults_alone, waivers=[waiver]).verdict is verdict


def test_a_waiver_of_a_count_that_varies_holds_up_to_its_largest_increase() -> None:
    pairs = tuple(pair(wired(PUT=2), wired(PUT=3 + number % 3), number) for number in range(10))
    cell = ClientCellEvidence(name="counted", pairs=pairs)
    for ceiling, verdict in (("2", Verdict.FAIL), ("3", Verdict.PASS)):
        waiver = replace(WAIVER, benchmark="counted", metric="requests", ceiling=ceiling)
        assert concluded(cell, policy=WITH_REQUESTS, waivers=[waiver]).verdict is verdict
