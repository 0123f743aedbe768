"""Faults, the answers of gates to them, and what follows for the gate."""

import datetime as dt
from collections.abc import Sequence

import msgspec
import pytest

from s3bench.gate.conclusion import conclude
from s3bench.gate.evidence import ClientCellEvidence, Role
from s3bench.gate.exact_metric import DEFAULT_EXACT
from s3bench.gate.planted_fault import (
    MEMORY_SHARES,
    WORK_SHARES,
    FaultCounts,
    FaultKind,
    FaultVerdict,
    PlantedFault,
    SelfTest,
    count_verdicts,
    encode_self_test,
    failed_requirements,
    fault_verdict,
    faults_for,
    smallest_caught,
)
from s3bench.gate.policy import Policy
from s3bench.gate.record import ProgramIdentity
from s3bench.gate.row import Verdict
from tests.gate.evidence_maker import pair, paired, ratios, wired

POLICY = Policy(exact=DEFAULT_EXACT)
MIB = 1 << 20
NOTHING = PlantedFault(kind=FaultKind.WORK, amount=0.0)
MORE_WORK = PlantedFault(kind=FaultKind.WORK, amount=0.2, share=0.20, is_required=True)
MORE_MEMORY = PlantedFault(kind=FaultKind.MEMORY, amount=10.0 * MIB, share=0.10, is_required=True)
ONE_REQUEST = PlantedFault(kind=FaultKind.REQUEST, amount=1, is_required=True)


def answer(
    verdict: Verdict = Verdict.FAIL,
    found_in: Sequence[str] = ("total_time",),
    *,
    pairs: int = 20,
    sigma: float | None = 0.05,
) -> FaultVerdict:
    return FaultVerdict(
        round=1,
        seed=1,
        verdict=verdict,
        reasons=("because",),
        found_in=tuple(found_in),
        pairs=pairs,
        sigma=sigma,
        elapsed_s=1.0,
    )


def read(fault: PlantedFault, *cells: ClientCellEvidence) -> FaultVerdict:
    """What a gate with these cells says, the fault in the first of them."""
    conclusion = conclude(cells, POLICY, today=dt.date(2026, 11, 21))
    return fault_verdict(fault, cells[0], conclusion, POLICY, round=3, seed=7, elapsed_s=1.5)


CONTROLS = (
    paired(ratios(0.0, 0.001), role=Role.NEGATIVE_CONTROL),
    paired(ratios(0.2, 0.001), role=Role.POSITIVE_CONTROL),
)
SLOWER = paired(ratios(0.2, 0.01))
LARGER = paired(ratios(0.0, 0.001), ratios(0.1, 0.001))


class TestFaults:
    def test_all_sizes_are_shares_of_what_the_client_takes(self) -> None:
        faults, left_out = faults_for(POLICY, usual_s=2.0, usual_bytes=100.0 * MIB)
        assert [(fault.title, fault.amount) for fault in faults if fault.kind is FaultKind.WORK] == [
            *(("0% more work", 0.0), ("3% more work", 0.06), ("6% more work", 0.12)),
            *(("10% more work", 0.2), ("20% more work", 0.4)),
        ]
        assert [(fault.title, fault.amount / MIB) for fault in faults if fault.kind is FaultKind.MEMORY] == [
            ("1% more memory", 1.0), ("3% more memory", 3.0), ("5% more memory", 5.0), ("10% more memory", 10.0)
        ]  # fmt: skip
        assert [fault.title for fault in faults[-2:]] == ["1 more request", "1 more import"]
        assert left_out == ()

    def test_the_largest_sizes_a_request_and_an_import_are_required(self) -> None:
        faults, _ = faults_for(POLICY, usual_s=1.0, usual_bytes=1.0)
        assert [fault.title for fault in faults if fault.is_required] == [
            *("20% more work", "10% more memory", "1 more request", "1 more import")
        ]

    def test_what_no_metric_would_show_is_left_out_and_reported(self) -> None:
        policy = Policy(metrics=("peak_memory",), exact=("modules",))
        faults, left_out = faults_for(policy, usual_s=1.0, usual_bytes=1.0)
        assert {fault.title for fault in faults if not fault.share} == {"0% more work", "1 more import"}
        assert {fault.kind for fault in faults if fault.share} == {FaultKind.MEMORY}
        assert left_out == (
            "work: none of the gating metrics would show it",
            "request: none of the gating metrics would show it",
        )

    def test_memory_is_left_out_where_it_is_not_known(self) -> None:
        faults, left_out = faults_for(POLICY, usual_s=1.0, usual_bytes=None)
        assert FaultKind.MEMORY not in {fault.kind for fault in faults}
        assert left_out == ("memory: the client's peak memory is unknown here",)

    def test_every_share_is_tried(self) -> None:
        faults, _ = faults_for(POLICY, usual_s=1.0, usual_bytes=1.0)
        assert len(faults) == len(WORK_SHARES) + len(MEMORY_SHARES) + 2 == len(set(faults))


class TestAnswer:
    def test_more_work_is_caught_by_the_time(self) -> None:
        reported = read(MORE_WORK, SLOWER, *CONTROLS)
        assert (reported.verdict, reported.found_in, reported.is_caught) == (Verdict.FAIL, ("total_time",), True)
        assert (reported.round, reported.seed, reported.elapsed_s, reported.pairs) == (3, 7, 1.5, 40)
        assert reported.sigma == pytest.approx(0.01, rel=0.2)

    def test_more_memory_is_caught_by_the_peak_with_its_own_sigma(self) -> None:
        reported = read(MORE_MEMORY, LARGER, *CONTROLS)
        assert (reported.verdict, reported.found_in) == (Verdict.FAIL, ("peak_memory",))
        assert reported.sigma == pytest.approx(0.001, rel=0.2)

    def test_a_fail_of_another_metric_has_not_caught_it(self) -> None:
        reported = read(MORE_WORK, LARGER, *CONTROLS)
        assert (reported.verdict, reported.found_in, reported.is_caught) == (Verdict.FAIL, (), False)

    def test_a_fail_of_another_benchmark_has_not_caught_it(self) -> None:
        clean = paired(ratios(0.0, 0.001), name="first")
        reported = read(MORE_WORK, clean, SLOWER, *CONTROLS)
        assert (reported.verdict, reported.found_in) == (Verdict.FAIL, ())

    def test_one_more_request_is_caught_by_the_requests(self) -> None:
        cell = msgspec.structs.replace(
            SLOWER, pairs=tuple(pair(wired(PUT=1), wired(PUT=1, GET=1), number) for number in range(10))
        )
        reported = read(ONE_REQUEST, cell, *CONTROLS)
        assert (reported.verdict, reported.found_in, reported.sigma) == (Verdict.FAIL, ("requests",), None)

    def test_any_fail_is_a_false_alarm_where_nothing_was_planted(self) -> None:
        assert read(NOTHING, LARGER, *CONTROLS).found_in == ("peak_memory",)
        assert not read(NOTHING, paired(ratios(0.0, 0.001)), *CONTROLS).is_caught

    def test_a_verdict_that_was_withdrawn_has_caught_nothing(self) -> None:
        broken = paired(ratios(0.2, 0.001), role=Role.NEGATIVE_CONTROL)
        reported = read(MORE_WORK, SLOWER, broken, CONTROLS[1])
        assert (reported.verdict, reported.found_in, reported.is_caught) == (Verdict.INVALID, ("total_time",), False)


class TestTally:
    def test_answers_are_counted_with_wilsons_interval(self) -> None:
        answers = [
            *(answer(pairs=20, sigma=0.04), answer(pairs=10, sigma=0.05), answer(pairs=40, sigma=None)),
            answer(Verdict.PASS, (), pairs=40, sigma=0.09),
            answer(Verdict.FAIL, ()),
            *(answer(Verdict.SMALL, ()), answer(Verdict.INVALID), answer(Verdict.INCONCLUSIVE, ())),
        ]
        reported = count_verdicts(MORE_WORK, answers)
        assert (reported.gates, reported.caught, reported.passed) == (8, 3, 1)
        assert reported.others == {"FAIL elsewhere": 1, "INCONCLUSIVE": 1, "INVALID": 1, "SMALL": 1}
        assert (reported.low, reported.high) == pytest.approx((0.137, 0.694), abs=0.001)
        assert (reported.pairs, reported.sigma, reported.found_in) == (20, 0.05, ("total_time",))
        assert not reported.is_always_caught

    def test_no_answers_say_nothing(self) -> None:
        reported = count_verdicts(MORE_WORK, [])
        assert (reported.gates, reported.low, reported.high, reported.pairs, reported.sigma) == (
            0,
            0.0,
            1.0,
            None,
            None,
        )
        assert not reported.is_always_caught


def work(share: float, caught: int, gates: int = 2) -> FaultCounts:
    answers = [answer()] * caught + [answer(Verdict.PASS, ())] * (gates - caught)
    return count_verdicts(
        PlantedFault(kind=FaultKind.WORK, share=share, amount=share, is_required=share == 0.20), answers
    )


class TestWhatFollows:
    @pytest.mark.parametrize(
        ("caught", "smallest"),
        [
            ((2, 2, 2), 0.03),
            ((1, 2, 2), 0.06),
            ((2, 1, 2), 0.20),  # that the smaller one was caught every time was luck
            ((2, 2, 1), None),
        ],
    )
    def test_the_smallest_that_was_always_caught_has_no_larger_one_that_was_not(
        self, caught: tuple[int, ...], smallest: float | None
    ) -> None:
        tallies = [work(0.0, 0), *(work(share, count) for share, count in zip((0.03, 0.06, 0.20), caught, strict=True))]
        found = smallest_caught(tallies, FaultKind.WORK)
        assert (found.fault.share if found else None) == smallest
        assert smallest_caught(tallies, FaultKind.MEMORY) is None

    def test_a_size_that_was_not_planted_says_nothing(self) -> None:
        found = smallest_caught([work(0.03, 0, 0), work(0.06, 2), work(0.20, 0, 0)], FaultKind.WORK)
        assert found
        assert found.fault.share == 0.06

    def test_a_gate_is_believed_that_catches_what_it_has_to_and_raises_no_false_alarm(self) -> None:
        assert failed_requirements([work(0.0, 0), work(0.03, 0), work(0.10, 1), work(0.20, 2)]) == ()

    def test_a_false_alarm_a_miss_and_what_was_never_planted_are_failed_requirements(self) -> None:
        tallies = [
            work(0.0, 1),
            work(0.20, 1),
            count_verdicts(MORE_MEMORY, []),
            count_verdicts(ONE_REQUEST, [answer()]),
        ]
        assert failed_requirements(tallies) == (
            "1 of 2 gates FAILed with nothing planted",
            "20% more work was caught in only 1 of 2 gates",
            "10% more memory was not tried: the self-test ended early",
        )

    def test_no_gate_is_believed_before_one_had_nothing_planted(self) -> None:
        assert failed_requirements([work(0.0, 0, 0), work(0.20, 2)]) == (
            "0% more work was not tried: the self-test ended early",
        )


def made(*tallies: FaultCounts) -> SelfTest:
    return SelfTest(
        s3bench="0.1.0",
        started_at="2026-11-21T00:00:00.000Z",
        policy=POLICY,
        client=ProgramIdentity(label="crt-python@1", name="crt-python", version="1"),
        benchmarks=("s3.cp.upload",),
        calibrating_runs=15,
        usual_s=0.1,
        usual_bytes=1e8,
        rounds=2,
        tallies=tallies,
    )


def test_a_record_keeps_everything_through_json() -> None:
    test = made(work(0.0, 0), work(0.20, 1)).concluded()
    assert (test.is_believed, test.reasons) == (False, ("20% more work was caught in only 1 of 2 gates",))
    text = encode_self_test(test)
    assert msgspec.json.decode(text, type=SelfTest) == test
    reported = msgspec.json.decode(text)
    assert (reported["self_test_version"], reported["tallies"][1]["caught"], reported["tallies"][1]["gates"]) == (
        1,
        1,
        2,
    )


def test_a_test_with_gates_left_tells_that_it_was_stopped_and_where() -> None:
    assert made(work(0.0, 0), work(0.20, 1, 1)).stopped_by("interrupted").stopped == "interrupted after 3 of 4 gates"
    assert not made(work(0.0, 0), work(0.20, 1)).stopped_by("interrupted").stopped
