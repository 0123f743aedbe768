"""What a promise says, and what a run says about it."""

import msgspec
import pytest

from s3bench.errors import BadInput
from s3bench.load.aggregation.slo import MORE_OPERATIONS, Slo, SloMetric, SloOutcome, SloVerdict, parse_slo
from s3bench.load.operation import AttemptFailure
from s3bench.results.load import Failures, Latency, Load

COUNT = 100_000
WINDOW_S = 100.0


def latency(**known: float | None) -> Latency:
    figures: dict[str, float | None] = {
        "mean": 0.011, "min": 0.001, "p25": 0.005, "p50": 0.010, "p75": 0.015, "p90": 0.020, "p99": 0.040,
        "p999": 0.080, "max": 0.200,
    }  # fmt: skip
    return Latency(count=COUNT, **{**figures, **known})


def load(**known: object) -> Load:
    plain = Load(
        kind="get",
        operations=COUNT,
        attempts=COUNT,
        failed=0,
        retried=0,
        repeated=0,
        error_rate=0.0,
        operations_rate=1000.0,
        bytes_up=0,
        bytes_down=0,
        latency=latency(),
        first_byte=latency(p99=0.012),
        in_flight=10.0,
        in_flight_by_littles_law=10.0,
        client_cpu_share=0.2,
    )
    return msgspec.structs.replace(plain, **known)


def outcome(text: str, of: Load) -> SloOutcome:
    return parse_slo(text).holds(of, window_s=WINDOW_S).outcome


@pytest.mark.parametrize(
    ("outcome", "clause", "words", "sentence"),
    [
        (SloOutcome.HOLDS, "", "p99<50ms held", "p99<50ms held"),
        (SloOutcome.BROKEN, "p99<50ms", "p99 was 187 ms", "p99<50ms did not hold: p99 was 187 ms"),
        (
            SloOutcome.UNRESOLVED,
            "p99<50ms",
            "p99 needs 368 operations, and 112 succeeded",
            f"undecided: p99 needs 368 operations, and 112 succeeded; {MORE_OPERATIONS}",
        ),
        (
            SloOutcome.NO_EVIDENCE,
            "",
            "400.0/s were planned, and only 310.0/s ended",
            "undecided: 400.0/s were planned, and only 310.0/s ended",
        ),
    ],
)
def test_a_verdict_is_a_sentence(outcome: SloOutcome, clause: str, words: str, sentence: str) -> None:
    assert SloVerdict(outcome=outcome, clause=clause, words=words).sentence == sentence


def test_a_promise_is_read_with_its_units() -> None:
    slo = parse_slo("p99<50ms, ttfb.p99.9 < 20us,mean<1.5s,errors<0.1%")
    assert [(each.subject, each.figure, each.limit) for each in slo.clauses] == [
        (SloMetric.RESPONSE, "p99", 0.05),
        (SloMetric.FIRST_BYTE, "p99.9", pytest.approx(2e-5)),
        (SloMetric.RESPONSE, "mean", 1.5),
        (SloMetric.ERRORS, "", pytest.approx(0.001)),
    ]
    assert str(slo) == "p99<50ms,ttfb.p99.9 < 20us,mean<1.5s,errors<0.1%"


def test_operations_that_found_no_free_thread_are_no_evidence_against_the_server() -> None:
    starved = Failures(label=AttemptFailure.NO_THREAD, count=COUNT, retried=0, time_lost=0.0, body_bytes=0)
    known = {"response": latency(), "waiting_max": 9, "rate_planned": 2000.0, "error_rate": 0.5, "failed": COUNT}
    verdict = parse_slo("errors<1%").holds(load(**known, failures=(starved,)), window_s=WINDOW_S)
    assert (verdict.outcome, "add --threads" in verdict.words) == (SloOutcome.NO_EVIDENCE, True)
    refused = msgspec.structs.replace(starved, label=AttemptFailure.REFUSED)
    assert outcome("errors<1%", load(**known, failures=(refused,))) is SloOutcome.BROKEN


def test_the_greatest_time_is_at_least_the_age_of_what_was_unfinished() -> None:
    assert outcome("max<1s", load()) is SloOutcome.HOLDS
    assert outcome("max<1s", load(oldest=8.0)) is SloOutcome.BROKEN


def verdict_of(text: str, **known: object) -> SloVerdict:
    return parse_slo(text).holds(load(response=latency(), rate_planned=1000.0, **known), window_s=WINDOW_S)


def test_a_percentile_without_operations_that_were_overdue_at_the_end_shows_nothing() -> None:
    """A server that died 2.9 s before the end."""
    verdict = verdict_of("p99<50ms,errors<5%", unfinished=2900, oldest=2.9, oldest_attempt=2.9, late=0)
    words = "p99 does not have the 2,900 operations that were unfinished at the end, the oldest for 2.90 s"
    assert (verdict.outcome, verdict.clause, verdict.words) == (SloOutcome.NO_EVIDENCE, "p99<50ms", words)
    assert verdict_of("p90<50ms,errors<5%", unfinished=2900, oldest=2.9, late=2900).outcome is SloOutcome.HOLDS
    assert verdict_of("p99<5s,errors<5%", unfinished=2900, oldest=2.9, late=2900).outcome is SloOutcome.HOLDS


@pytest.mark.parametrize(
    ("unfinished", "oldest", "late"),
    [(30, 0.045, 30), (5000, 0.045, 5000), (30, 0.19, 30), (1500, 0.06, 1500), (1, 9.0, 0)],
)
def test_operations_that_are_in_flight_at_a_usual_end_do_not_matter(unfinished: int, oldest: float, late: int) -> None:
    known = {"unfinished": unfinished, "oldest": oldest, "oldest_attempt": oldest, "late": late}
    assert verdict_of("p99<50ms,ttfb.p99<20ms", **known).outcome is SloOutcome.HOLDS


def test_operations_in_flight_at_the_end_that_never_succeeded_may_be_errors() -> None:
    known = {"unfinished": 150, "oldest": 0.4, "oldest_attempt": 0.4}
    verdict = verdict_of("errors<0.1%", **known, late=20, waiting_max=10)
    words = "0 of 100,000 operations failed, and 120 more that were in flight at the end did not succeed afterwards"
    assert (verdict.outcome, verdict.words) == (SloOutcome.NO_EVIDENCE, words)
    assert verdict_of("errors<0.1%", **known, late=60).outcome is SloOutcome.HOLDS
    assert verdict_of("errors<0.1%", **known, late=20, waiting_max=100).outcome is SloOutcome.HOLDS, "they only waited"
    slow = known | {"oldest": 0.19}
    assert verdict_of("errors<0.1%", **slow, late=20).outcome is SloOutcome.HOLDS, "others took as long and succeeded"
    failed = {"failed": 60, "error_rate": 0.0006}
    assert verdict_of("errors<0.1%", **known, late=90, **failed).outcome is SloOutcome.NO_EVIDENCE, "together they are"


def test_first_bytes_that_never_came_are_missing_in_their_percentiles() -> None:
    known = {"unfinished": 3000, "oldest": 3.0, "oldest_attempt": 3.0}
    verdict = verdict_of("ttfb.p99<20ms,errors<9%", **known, late=100)
    assert (verdict.outcome, verdict.clause) == (SloOutcome.NO_EVIDENCE, "ttfb.p99<20ms")
    assert verdict_of("ttfb.p99<20ms,errors<9%", **known, late=3000).outcome is SloOutcome.HOLDS, "bodies were long"


def test_a_promise_without_a_word_on_errors_allows_one_in_a_thousand() -> None:
    assert str(parse_slo("p99<50ms")) == "p99<50ms,errors<0.1%"
    assert str(parse_slo("errors<5%")) == "errors<5%"


@pytest.mark.parametrize(
    "text",
    [
        "", "p99", "p99<", "p99<50", "p98<50ms", "p99>50ms", "p99<50ms,", "errors<1ms", "p99<5%", "ttfb.errors<1%",
        "p99<0ms", "errors<0%", "errors<101%", "p99<-5ms", "ttfb<5ms", "p99<.ms", "p99<1e3ms",
    ],
)  # fmt: skip
def test_a_wrong_promise_is_told_with_a_right_one(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_slo(text)
    assert "p99<50ms,errors<0.1%" in caught.value.fix


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("p50<11ms", False), ("p50<10ms", True), ("p75<16ms", False), ("p90<20.1ms", False), ("p99<40ms", True),
        ("p99<41ms", False), ("p99.9<80ms", True), ("p99.9<81ms", False), ("max<200ms", True), ("max<201ms", False),
        ("mean<11ms", True), ("mean<12ms", False), ("p25<6ms", False), ("ttfb.p99<12ms", True),
        ("ttfb.p99<13ms", False),
    ],
)  # fmt: skip
def test_each_figure_is_held_against_its_own(text: str, broken: bool) -> None:
    assert outcome(text, load()) is (SloOutcome.BROKEN if broken else SloOutcome.HOLDS)


def test_the_clause_that_broke_is_named() -> None:
    verdict = parse_slo("p50<1s,p99<30ms,errors<1%").holds(load(), window_s=WINDOW_S)
    assert (verdict.outcome, verdict.clause, verdict.words) == (SloOutcome.BROKEN, "p99<30ms", "p99 was 40.0 ms")


def test_response_times_count_where_there_was_a_plan() -> None:
    assert outcome("p99<50ms", load(response=latency(p99=1.9))) is SloOutcome.BROKEN


def test_errors_are_failed_operations_among_those_that_ended() -> None:
    failing = load(operations=99_000, failed=1000, error_rate=0.01)
    assert outcome("errors<1%", failing) is SloOutcome.BROKEN
    assert outcome("errors<1.01%", failing) is SloOutcome.HOLDS
    assert parse_slo("errors<0.5%").holds(failing, window_s=WINDOW_S).words == "1,000 of 100,000 operations failed"


def test_a_percentile_that_the_count_cannot_carry_is_unresolved() -> None:
    few = load(latency=latency(p999=None))
    verdict = parse_slo("p99.9<1s").holds(few, window_s=WINDOW_S)
    assert verdict.outcome is SloOutcome.UNRESOLVED
    assert "needs 3,688 operations" in verdict.words


def test_a_time_to_the_first_byte_is_named_in_the_verdict() -> None:
    assert parse_slo("ttfb.p99<10ms").holds(load(), window_s=WINDOW_S).words == "ttfb.p99 was 12.0 ms"


def test_a_lower_percentile_above_the_limit_breaks_a_promise_that_few_cannot_carry() -> None:
    few = load(latency=latency(p99=None, p90=0.06))
    verdict = parse_slo("p99<50ms").holds(few, window_s=WINDOW_S)
    assert (verdict.outcome, verdict.words) == (SloOutcome.BROKEN, "p90 alone was 60.0 ms")
    assert outcome("p99<60ms", few) is SloOutcome.BROKEN, "the limit itself does not hold"


def test_no_errors_among_few_show_no_low_rate_of_errors() -> None:
    few = load(operations=2999)
    assert outcome("errors<0.1%", few) is SloOutcome.UNRESOLVED
    assert outcome("errors<0.1%", load(operations=3000)) is SloOutcome.HOLDS
    assert outcome("errors<0.1%", load(operations=10, failed=1, error_rate=1 / 11)) is SloOutcome.BROKEN


def test_nothing_that_ended_shows_nothing() -> None:
    nothing = Latency(
        count=0, mean=None, min=None, p25=None, p50=None, p75=None, p90=None, p99=None, p999=None, max=None
    )
    idle = load(operations=0, operations_rate=0.0, latency=nothing, first_byte=nothing)
    assert outcome("p99<50ms", idle) is SloOutcome.UNRESOLVED
    assert outcome("max<50ms", idle) is SloOutcome.UNRESOLVED


def test_a_promise_broken_by_the_generator_is_no_evidence() -> None:
    for bottleneck, words in (
        ("client", "itself was the bottleneck"),
        ("other programs", "other programs took the cores"),
        ("connections", "too few threads"),
    ):
        verdict = parse_slo("p99<10ms").holds(load(bottleneck=bottleneck), window_s=WINDOW_S)
        assert verdict.outcome is SloOutcome.NO_EVIDENCE
        assert words in verdict.words
    assert outcome("p99<10ms", load(bottleneck="server")) is SloOutcome.BROKEN


def test_a_promise_kept_by_a_busy_generator_is_kept() -> None:
    assert outcome("p99<50ms", load(bottleneck="client", rate_planned=1000.0)) is SloOutcome.HOLDS


def test_a_rate_that_was_not_reached_shows_nothing_however_fast_the_answers() -> None:
    verdict = parse_slo("p99<50ms").holds(load(rate_planned=2000.0), window_s=WINDOW_S)
    words = "2,000.0/s were planned, and only 1,000.0/s ended"
    assert (verdict.outcome, verdict.words) == (SloOutcome.NO_EVIDENCE, words)
    assert outcome("p99<50ms", load(rate_planned=1050.0)) is SloOutcome.HOLDS


@pytest.mark.parametrize(("rate", "planned"), [(1.0, "1.0"), (0.2, "0.2"), (0.05, "0.1")])
def test_a_planned_rate_of_which_nothing_ended_shows_nothing(rate: float, planned: str) -> None:
    nothing = {
        "operations": 0,
        "operations_rate": 0.0,
        "error_rate": None,
        "latency": msgspec.structs.replace(
            latency(**dict.fromkeys(("mean", "min", "p25", "p50", "p75", "p90", "p99", "p999", "max"))), count=0
        ),
    }
    hanging = load(**nothing, rate_planned=rate, unfinished=5)
    verdict = parse_slo("p99<50ms").holds(hanging, window_s=WINDOW_S)
    assert verdict.outcome is SloOutcome.NO_EVIDENCE
    assert verdict.sentence == f"undecided: {planned}/s were planned, and only 0.0/s ended"
    not_begun = load(**nothing, rate_planned=0.05, unfinished=0)
    assert outcome("p99<50ms", not_begun) is SloOutcome.UNRESOLVED, "by chance none of 5 was planned"


def test_failed_operations_ended_too_where_a_rate_was_planned() -> None:
    failing = load(operations_rate=600.0, rate_planned=1000.0, operations=60_000, failed=40_000, error_rate=0.4)
    assert outcome("p99<50ms,errors<50%", failing) is SloOutcome.HOLDS
    assert outcome("errors<50%", load(operations=0, operations_rate=0.0, failed=9, error_rate=1.0)) is SloOutcome.BROKEN


def test_waiting_for_a_thread_is_not_the_servers_doing_but_slow_answers_are() -> None:
    waited = load(response=latency(p99=1.9), waiting_max=400, rate_planned=1000.0)
    verdict = parse_slo("p99<50ms").holds(waited, window_s=WINDOW_S)
    assert verdict.outcome is SloOutcome.NO_EVIDENCE
    assert "add --threads" in verdict.words
    slow = msgspec.structs.replace(waited, latency=latency(p99=1.5))
    assert outcome("p99<50ms", slow) is SloOutcome.BROKEN
    assert outcome("p99<50ms", msgspec.structs.replace(waited, waiting_max=0)) is SloOutcome.BROKEN


def test_what_waited_for_a_thread_before_it_hung_is_no_evidence_by_its_whole_age() -> None:
    """The server had the oldest attempt for half a second; the rest of the eight it waited for a thread."""
    waited = load(response=latency(max=3.0), waiting_max=400, rate_planned=1000.0, oldest=8.0, oldest_attempt=0.5)
    assert outcome("max<1s", waited) is SloOutcome.NO_EVIDENCE
    assert outcome("max<1s", msgspec.structs.replace(waited, oldest_attempt=7.0)) is SloOutcome.BROKEN


def test_a_promise_is_all_its_clauses() -> None:
    assert Slo(clauses=()).holds(load(), window_s=WINDOW_S).outcome is SloOutcome.HOLDS
    assert outcome("p50<1s,p99<1ms,mean<1s", load()) is SloOutcome.BROKEN


def test_what_is_unresolved_tells_for_how_long_it_would_have_to_run() -> None:
    few = load(operations=92, latency=msgspec.structs.replace(latency(p99=None, p999=None), count=92))
    verdict = parse_slo("p99<50ms,errors<50%").holds(few, window_s=WINDOW_S)
    assert verdict.outcome is SloOutcome.UNRESOLVED
    assert verdict.longer == pytest.approx(368 / 92)
    verdict = parse_slo("p99<50ms,errors<0.1%").holds(few, window_s=WINDOW_S)
    assert verdict.longer == pytest.approx(3000 / 92)
    assert verdict.words == "errors<0.1% needs 3,000 operations, and 92 ended", "the clause that needs the most"


def test_a_run_in_which_nothing_ended_would_have_to_be_much_longer() -> None:
    absent = dict.fromkeys(("mean", "min", "p25", "p50", "p75", "p90", "p99", "p999", "max"))
    nothing = msgspec.structs.replace(latency(**absent), count=0)
    idle = load(operations=0, operations_rate=0.0, latency=nothing)
    assert parse_slo("p99<50ms").holds(idle, window_s=WINDOW_S).longer == 3000
