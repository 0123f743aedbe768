"""From sums to figures: failures, percentiles, kinds and jobs, stalls, doubts and refusals."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.load.aggregation.bottleneck import Yardsticks
from s3bench.load.aggregation.phase_aggregation import PhaseAggregation
from s3bench.load.engine.interval_record import IntervalRecord, Loss, Stream
from s3bench.load.operation import AttemptFailure, OperationKind
from s3bench.load.profile.profile import Job, Rate, RateChange, Share
from s3bench.load.profile.sizes import fixed
from s3bench.results.bins import Bins
from s3bench.results.histogram import Histogram
from tests.load.aggregations import MS, aggregation, bins, ended, job, phase, told
from tests.load.simulated import NS, Operation, closed_loop, records


def test_percentiles_are_of_the_samples_and_none_that_the_count_cannot_carry() -> None:
    lengths = [number * MS for number in range(1, 101)]
    loop = [Operation(start_ns=0, end_ns=length) for length in lengths]
    latency = aggregation(loop, phase(job(threads=100)), end_ns=NS).measure().whole.latency
    assert (latency.count, latency.min, latency.max) == (100, 0.001, 0.1)
    assert latency.mean == pytest.approx(0.0505)
    assert (latency.p25, latency.p50, latency.p90) == pytest.approx((0.025, 0.05, 0.09), rel=0.005)
    assert (latency.p99, latency.p999) == (None, None)


def test_an_operation_that_succeeds_on_its_third_attempt_is_one_operation_of_three_attempts() -> None:
    tries = [
        Operation(start_ns=0, end_ns=100 * MS, label="503 SlowDown", retried=True),
        Operation(start_ns=100 * MS, end_ns=250 * MS, label="timeout", retried=True),
        Operation(start_ns=250 * MS, end_ns=300 * MS),
    ]
    load = aggregation(tries, phase(), end_ns=NS).measure().whole
    assert (load.operations, load.failed, load.attempts, load.retried, load.error_rate) == (1, 0, 3, 2, 0.0)
    assert [(each.label, each.count, each.time_lost) for each in load.failures] == [
        ("503 SlowDown", 1, 0.1),
        ("timeout", 1, 0.15),
    ]
    assert load.in_flight_by_littles_law == load.in_flight == 0.3


def test_failures_count_no_bytes_and_lose_their_time() -> None:
    loop = [
        Operation(start_ns=n * MS, end_ns=(n + 1) * MS, label="" if n % 10 == 0 else "500 InternalError")
        for n in range(1000)
    ]
    found = aggregation(loop, phase(), end_ns=NS)
    load = found.measure().whole
    assert (load.operations, load.failed, load.error_rate) == (100, 899, 899 / 999)
    assert load.bytes_down == 100_000
    assert load.failures[0].body_bytes == 899_000
    assert load.failures[0].time_lost == pytest.approx(0.899)
    assert found.failures == {"500 InternalError": 899}


def test_attempts_that_were_tried_again_are_no_failures_of_operations() -> None:
    found = aggregation([Operation(start_ns=0, end_ns=MS, label="503 SlowDown", retried=True)], phase(), end_ns=NS)
    assert found.failures == {}


def test_several_kinds_have_a_load_each_and_one_together() -> None:
    end_ns = 2 * NS
    loop = closed_loop(length_ns=10 * MS, end_ns=end_ns, threads=2) + closed_loop(
        length_ns=40 * MS, end_ns=end_ns, threads=2, kind=OperationKind.PUT
    )
    found = aggregation(loop, phase(job(OperationKind.GET, OperationKind.PUT)), end_ns=end_ns).measure()
    get, put = found.parts
    assert (found.whole.kind, get.kind, put.kind) == ("all", "get", "put")
    assert found.whole.operations == get.operations + put.operations
    assert (found.whole.bytes_down, found.whole.bytes_up) == (get.bytes_down, put.bytes_up)
    assert found.whole.in_flight_by_littles_law == pytest.approx(
        get.in_flight_by_littles_law + put.in_flight_by_littles_law
    )
    assert Histogram.merged((get.bins, put.bins)).bins() == found.whole.bins
    for part in found.parts:
        assert (part.in_flight, part.waiting_max, part.unfinished, part.late, part.connects) == (None,) * 5
        assert (part.seconds, part.stalls, part.bottleneck) == ((), (), "")


def test_a_kind_that_was_never_drawn_has_a_load_of_nothing() -> None:
    parts = (
        aggregation([Operation(start_ns=0, end_ns=MS)], phase(job(OperationKind.GET, OperationKind.DELETE)), end_ns=NS)
        .measure()
        .parts
    )
    assert [(part.kind, part.operations, part.latency.p50) for part in parts] == [("get", 1, None), ("delete", 0, None)]


def test_requests_of_a_multipart_upload_are_shown_but_counted_once() -> None:
    upload = Stream(0, OperationKind.MULTIPART, operations=1, bytes_up=16, service=bins(NS // 2))
    parts = Stream(
        0,
        OperationKind.MULTIPART_PART,
        operations=2,
        bytes_up=16,
        service=bins(NS // 4, NS // 4),
        losses=(Loss("timeout", 1, 1),),
    )
    found = told(
        phase(job(OperationKind.MULTIPART)), [IntervalRecord(0, 0, NS, (upload, parts), in_flight_ns=NS // 2)], ended()
    )
    assert (found.whole.kind, found.whole.operations, found.whole.bytes_up, found.whole.attempts) == ("all", 1, 16, 1)
    assert [(part.kind, part.operations) for part in found.parts] == [("multipart", 1), ("multipart.part", 2)]
    assert found.parts[1].failures[0].label == "timeout"
    assert found.contradiction == ""


def test_jobs_that_share_a_name_are_told_apart() -> None:
    jobs = (job(name="job1"), job(OperationKind.PUT, name="job1"), job(name="job2"), job(name="job2"), job())
    loop = [Operation(start_ns=0, end_ns=MS, job=number, kind=each.kinds[0]) for number, each in enumerate(jobs)]
    found = aggregation(loop, phase(*jobs), end_ns=NS).measure()
    assert [part.job for part in found.parts] == ["job1", "job1", "job2 3", "job2 4", "job 5"]
    assert len({(part.job, part.kind) for part in found.parts}) == 5
    assert found.whole.job == ""


def test_cold_and_repeated_reads_are_told_apart() -> None:
    loop = [Operation(start_ns=n * MS, end_ns=(n + 1) * MS, repeated=n > 2) for n in range(10)]
    load = aggregation(loop, phase(), end_ns=NS).measure().whole
    assert (load.operations, load.repeated) == (10, 7)


def test_operations_in_flight_at_the_end_are_told_and_do_not_count() -> None:
    loop = [Operation(start_ns=0, end_ns=MS), Operation(start_ns=999 * MS, end_ns=2 * NS)]
    load = aggregation(loop, phase(), end_ns=NS).measure().whole
    assert (load.operations, load.unfinished, load.late) == (1, 1, 1)


def test_open_loop_responses_count_from_the_plan_and_latencies_from_the_start() -> None:
    loop = [
        Operation(planned_ns=n * 10 * MS, start_ns=n * 10 * MS + 50 * MS, end_ns=n * 10 * MS + 52 * MS)
        for n in range(90)
    ]
    load = aggregation(loop, phase(job(rate=100.0)), end_ns=NS).measure().whole
    assert load.response is not None
    assert load.response.p50 == pytest.approx(0.052, rel=0.005)
    assert load.latency.p50 == pytest.approx(0.002, rel=0.005)
    assert load.rate_planned == 100.0


def test_responses_that_are_the_latencies_are_left_out() -> None:
    load = aggregation(closed_loop(length_ns=MS, end_ns=NS), phase(), end_ns=NS).measure().whole
    assert (load.response, load.response_bins, load.rate_planned) == (None, Bins(), None)


def test_a_planned_rate_is_split_by_the_weights_and_unknown_beside_a_closed_loop() -> None:
    mixed = Job(
        mix=(Share(kind=OperationKind.GET, weight=3), Share(kind=OperationKind.PUT)),
        sizes=fixed(1),
        rate=Rate(per_s=100),
        threads=4,
    )
    found = aggregation([], phase(mixed), end_ns=NS).measure()
    assert (found.whole.rate_planned, *(part.rate_planned for part in found.parts)) == (100, 75, 25)
    assert aggregation([], phase(mixed, job(OperationKind.HEAD)), end_ns=NS).measure().whole.rate_planned is None


def test_the_planned_rate_of_one_that_changes_is_its_mean_in_the_measured_window() -> None:
    rate = Rate(per_s=100, changes=(RateChange(after_s=2, per_s=0), RateChange(after_s=3, per_s=500)))
    changing = Job(mix=(Share(kind=OperationKind.GET),), sizes=fixed(1), rate=rate, threads=4)
    found = aggregation([], phase(changing, warmup_s=1.0), end_ns=4 * NS).measure()
    assert found.whole.rate_planned == pytest.approx((100 + 0 + 500) / 3)


@pytest.mark.parametrize(("warmup_s", "mean"), [(0.0, 150.0), (1.0, (150 + 2 * 200) / 3), (2.0, 200.0)])
def test_the_planned_rate_of_a_ramp_is_its_mean_in_the_measured_window(warmup_s: float, mean: float) -> None:
    ramped = msgspec.structs.replace(phase(job(rate=200.0), warmup_s=warmup_s), ramp_s=2.0)
    found = aggregation([], ramped, end_ns=4 * NS).measure()
    assert found.whole.rate_planned == pytest.approx(mean)


@pytest.mark.parametrize(("warmup_s", "mean"), [(0.0, 100 / 4), (1.0, 50 / 3), (3.0, 0.0)])
def test_no_more_operations_are_planned_than_the_job_has(warmup_s: float, mean: float) -> None:
    limited = phase(job(rate=50.0, operations=100), warmup_s=warmup_s)
    found = aggregation([], limited, end_ns=4 * NS).measure()
    assert found.whole.rate_planned == pytest.approx(mean)


def test_a_job_that_waits_for_its_last_operation_has_done_what_was_planned() -> None:
    loop = [Operation(planned_ns=n * 20 * MS, start_ns=n * 20 * MS, end_ns=n * 20 * MS + MS) for n in range(99)]
    loop.append(Operation(planned_ns=2 * NS, start_ns=2 * NS, end_ns=4 * NS - MS))
    found = aggregation(loop, phase(job(rate=50.0, operations=100)), end_ns=4 * NS).measure()
    assert found.whole.operations == 100
    assert not [warning for warning in found.warnings if "were planned" in warning]


def test_a_ramp_that_ran_as_planned_has_no_warning() -> None:
    """200 a second over a ramp of 2 s are 200 starts within it, and 400 in the 2 s after it."""
    starts = [round(NS * (n / 50) ** 0.5) for n in range(200)]
    starts += [2 * NS + n * 5 * MS for n in range(400)]
    loop = [Operation(planned_ns=start, start_ns=start, end_ns=start + MS) for start in starts]
    ramped = msgspec.structs.replace(phase(job(rate=200.0)), ramp_s=2.0)
    found = aggregation(loop, ramped, end_ns=4 * NS).measure()
    assert (found.whole.operations, found.whole.rate_planned, found.warnings) == (600, 150.0, ())


def test_seconds_in_which_nothing_ended_are_stalled() -> None:
    """A server that stalls from 2 s to 4.2 s, with operations of 5 ms before and after."""
    before = closed_loop(length_ns=5 * MS, end_ns=2 * NS)
    held = [Operation(start_ns=2 * NS, end_ns=4_200 * MS) for _ in range(4)]
    after = [
        Operation(start_ns=each.start_ns + 4_200 * MS, end_ns=each.end_ns + 4_200 * MS)
        for each in closed_loop(length_ns=5 * MS, end_ns=800 * MS)
    ]
    loop = [each for each in before if each.end_ns <= 2 * NS] + held + after
    load = aggregation(loop, phase(), end_ns=5 * NS).measure().whole
    assert load.stalls == (3,)
    assert [each.second for each in load.seconds if each.stalled] == [3]
    assert [each.second for each in load.seconds] == [0, 1, 2, 3, 4]


def test_large_objects_that_take_seconds_are_no_stalls_but_a_dead_server_is_one() -> None:
    slow = closed_loop(length_ns=3 * NS, end_ns=12 * NS, threads=1)
    assert aggregation(slow, phase(job(threads=1)), end_ns=12 * NS).measure().whole.stalls == ()
    hung = [Operation(start_ns=0, end_ns=60 * NS)]
    assert aggregation(hung, phase(), end_ns=3 * NS).measure().whole.stalls == (0, 1, 2)


def test_silence_is_unusual_beside_the_time_of_a_request_however_long_uploads_of_many_take() -> None:
    """Uploads of four parts take 2 s, each part 50 ms: 2 s in which no part ends are an outage."""
    requests = Stream(0, OperationKind.MULTIPART_PART, operations=40, bytes_up=40, service=bins(*[50 * MS] * 40))
    uploads = Stream(0, OperationKind.MULTIPART, operations=10, bytes_up=40, service=bins(*[2 * NS] * 10))
    every = (1 << 10) - 1
    busy = [
        IntervalRecord(0, second, NS, (uploads, requests), in_flight_ns=2 * NS, served=every, wanted=every)
        for second in (0, 1, 4)
    ]
    silent = [IntervalRecord(0, second, NS, (), in_flight_ns=NS, wanted=every) for second in (2, 3)]
    given = sorted((*busy, *silent), key=lambda record: record.second)
    load = told(phase(job(OperationKind.MULTIPART)), given, ended()).whole
    assert (load.stalls, load.without_service) == ((2, 3), 2.0)


def test_a_rare_operation_that_crosses_a_second_is_no_stall() -> None:
    crossing = [Operation(start_ns=1_999 * MS, end_ns=2_001 * MS)]
    assert aggregation(crossing, phase(), end_ns=4 * NS).measure().whole.stalls == ()


@pytest.mark.parametrize("clock", [0.5, 2.0])
def test_figures_that_contradict_littles_law_are_refused(clock: float) -> None:
    loop = closed_loop(length_ns=10 * MS, end_ns=3 * NS)
    found = aggregation(loop, phase(), end_ns=3 * NS, clock=clock).measure()
    assert "Little's law" in found.contradiction


def test_nothing_was_in_flight_before_a_phase_without_a_warm_up_that_could_excuse_a_contradiction() -> None:
    loop = closed_loop(length_ns=900 * MS, end_ns=2 * NS)
    assert "Little's law" in aggregation(loop, phase(), end_ns=2 * NS, clock=2.0).measure().contradiction


SPANS = st.lists(st.tuples(st.integers(0, 4 * NS), st.integers(MS, 3 * NS), st.booleans()), min_size=1, max_size=40)


@given(SPANS, st.integers(1, 3), st.sampled_from([0.0, 1.0]))
def test_no_true_aggregation_is_refused(spans: list[tuple[int, int, bool]], workers: int, warmup_s: float) -> None:
    loop = [
        Operation(start_ns=start, end_ns=start + length, worker=number % workers, label="" if good else "timeout")
        for number, (start, length, good) in enumerate(spans)
    ]
    good_only = [each for each in loop if not each.label]
    end_ns = 4_500 * MS
    assert (
        aggregation(good_only, phase(warmup_s=warmup_s), end_ns=end_ns, workers=workers).measure().contradiction == ""
    )
    assert aggregation(loop, phase(), end_ns=end_ns, workers=workers).measure().contradiction == ""


def test_a_server_that_hangs_to_the_end_is_no_contradiction() -> None:
    loop = [each for each in closed_loop(length_ns=5 * MS, end_ns=2 * NS) if each.end_ns <= 2 * NS]
    loop += [Operation(start_ns=2 * NS, end_ns=90 * NS) for _ in range(4)]
    given = records(loop, end_ns=5 * NS)
    assert told(phase(), given, ended(unfinished=4, open_ns=12 * NS)).contradiction == ""
    assert "Little's law" in told(phase(), given, ended(unfinished=4)).contradiction


def test_one_operation_that_hangs_from_the_start_is_no_contradiction_where_its_time_is_told() -> None:
    loop = [*closed_loop(length_ns=5 * MS, end_ns=5 * NS, threads=3), Operation(start_ns=0, end_ns=90 * NS)]
    given = records(loop, end_ns=5 * NS)
    assert told(phase(), given, ended(unfinished=4, late=3, open_ns=5 * NS + 15 * MS)).contradiction == ""
    assert "Little's law" in told(phase(), given, ended(unfinished=4, late=3)).contradiction


def test_time_that_is_lost_after_a_failure_is_no_further_failure() -> None:
    """The wait for the next attempt may end in a later second than the attempt that failed."""
    given = [
        IntervalRecord(
            0, 0, NS, (Stream(0, OperationKind.GET, losses=(Loss("timeout", 1, 1, NS // 2),)),), in_flight_ns=NS
        ),
        IntervalRecord(
            0, 1, NS, (Stream(0, OperationKind.GET, losses=(Loss("timeout", 0, 0, NS // 2),)),), in_flight_ns=0
        ),
    ]
    made = PhaseAggregation(phase(), workers=1)
    for record in given:
        made.add(record)
    assert made.status().failures == ()
    (failures,) = made.measure().whole.failures
    assert (failures.count, failures.retried, failures.time_lost) == (1, 1, 1.0)


def test_operations_that_found_no_free_thread_fail_and_are_told() -> None:
    starved = Stream(0, OperationKind.GET, operations=1, service=bins(MS), losses=(Loss(AttemptFailure.NO_THREAD, 3),))
    found = told(phase(), [IntervalRecord(0, 0, NS, (starved,), in_flight_ns=MS)], ended())
    assert (found.whole.failed, found.whole.error_rate, found.contradiction) == (3, 0.75, "")
    assert any(each.startswith("3 planned operations found no free thread") for each in found.warnings)


def test_pauses_are_time_lost_and_no_operations_in_flight() -> None:
    refused = Stream(0, OperationKind.GET, losses=(Loss("connection refused", 1, 0, MS, 0, NS // 2),))
    load = told(phase(), [IntervalRecord(0, 0, NS, (refused,), in_flight_ns=MS, paused_ns=2 * NS)], ended()).whole
    assert (load.failures[0].time_lost, load.in_flight, load.pausing) == (0.501, 0.001, 2.0)
    assert load.seconds[0].pausing == 2.0


def test_the_oldest_of_all_workers_is_told() -> None:
    old, young = (
        msgspec.structs.replace(ended(worker), oldest_ns=age * NS, oldest_attempt_ns=age * MS)
        for worker, age in enumerate((8, 2))
    )
    load = told(phase(), [IntervalRecord(0, 0, NS), IntervalRecord(1, 0, NS)], old, young, workers=2).whole
    assert (load.oldest, load.oldest_attempt) == (8.0, 0.008)


@pytest.mark.parametrize(
    ("workers", "together"), [((True, True), True), ((True, False), False), ((True, None), True), ((None, None), None)]
)
def test_cores_are_awake_if_those_of_all_workers_are(workers: tuple[bool | None, ...], together: bool | None) -> None:
    all_ended = [msgspec.structs.replace(ended(number), cores_awake=awake) for number, awake in enumerate(workers)]
    load = told(phase(), [IntervalRecord(0, 0, NS), IntervalRecord(1, 0, NS)], *all_ended, workers=2).whole
    assert load.cores_awake is together


def test_a_full_link_is_told_by_its_busier_direction() -> None:
    loop = closed_loop(length_ns=MS, end_ns=NS)
    made = aggregation(loop, phase(), end_ns=NS)
    assert made.measure(Yardsticks(link_bytes_per_s=4e6)).whole.bottleneck == "network"


def test_bytes_of_both_directions_do_not_fill_a_link_that_neither_fills() -> None:
    gets_and_puts = phase(job(OperationKind.GET, OperationKind.PUT))
    loop = [
        *closed_loop(length_ns=2 * MS, end_ns=NS),
        *closed_loop(length_ns=2 * MS, end_ns=NS, kind=OperationKind.PUT),
    ]
    made = aggregation(loop, gets_and_puts, end_ns=NS)
    assert made.measure(Yardsticks(link_bytes_per_s=2e6)).whole.bottleneck == "network"
    assert made.measure(Yardsticks(link_bytes_per_s=3e6)).whole.bottleneck == ""


def test_the_last_part_of_a_second_is_too_short_to_be_stalled() -> None:
    before = [each for each in closed_loop(length_ns=5 * MS, end_ns=NS) if each.end_ns < NS]
    loop = before + [Operation(start_ns=NS, end_ns=3 * NS) for _ in range(4)]
    assert aggregation(loop, phase(), end_ns=1_950 * MS).measure().whole.stalls == ()
    assert aggregation(loop, phase(), end_ns=2 * NS).measure().whole.stalls == (1,)


def test_a_phase_that_ended_in_its_warm_up_measured_nothing() -> None:
    loop = closed_loop(length_ns=MS, end_ns=NS // 2)
    found = aggregation(loop, phase(warmup_s=1.0), end_ns=NS // 2).measure()
    assert found.contradiction == (
        "nothing was measured: the phase ended before the first whole second after its warm-up"
    )
    assert (found.window_s, found.whole.operations, found.whole.operations_rate) == (0.0, 0, 0.0)


def test_a_phase_without_a_warm_up_that_ended_at_once_did_not_end_in_a_warm_up() -> None:
    found = told(phase(), [], ended())
    assert found.contradiction == "nothing was measured: the phase ended before its first record"


def test_a_worker_that_did_not_come_to_its_end_is_told() -> None:
    loop = closed_loop(length_ns=MS, end_ns=NS, workers=2)
    found = told(phase(), records(loop, end_ns=NS, workers=2), ended(0), workers=2)
    assert found.warnings == ("1 of 2 workers did not report their end: their operations are missing",)


def test_what_hung_on_a_worker_that_did_not_come_to_its_end_is_no_contradiction() -> None:
    loop = closed_loop(length_ns=MS, end_ns=2 * NS, workers=1)
    hung = [Operation(start_ns=0, end_ns=60 * NS, worker=1) for _ in range(4)]
    given = records([*loop, *hung], end_ns=2 * NS, workers=2)
    assert told(phase(), given, ended(0), workers=2).contradiction == ""
    assert "Little's law" in told(phase(), given, ended(0), ended(1), workers=2).contradiction


def test_a_session_that_could_not_be_renewed_is_told_once() -> None:
    loop = closed_loop(length_ns=MS, end_ns=NS, workers=2)
    failed = [msgspec.structs.replace(ended(worker), session_error="503 SlowDown") for worker in (0, 1)]
    (warning,) = told(phase(), records(loop, end_ns=NS, workers=2), *failed, workers=2).warnings
    assert warning.endswith("fail once it has expired: 503 SlowDown")


@pytest.mark.parametrize(("late_ns", "nodes", "count"), [(100 * MS, 2, 0), (101 * MS, 2, 1), (NS, 1, 0)])
def test_nodes_that_did_not_begin_together_are_told(late_ns: int, nodes: int, count: int) -> None:
    made = PhaseAggregation(phase(), workers=2, nodes=nodes)
    for worker, begun_ns in enumerate((MS, MS + late_ns)):
        made.add(IntervalRecord(worker, 0, NS))
        made.end(msgspec.structs.replace(ended(worker), begun_ns=begun_ns))
    doubts = [each for each in made.measure().warnings if "did not start together" in each]
    assert len(doubts) == count


def test_a_generator_near_its_ceiling_says_that_the_figures_are_its_own() -> None:
    made = aggregation(closed_loop(length_ns=4 * MS, end_ns=NS), phase(), end_ns=NS)
    found = made.measure(Yardsticks(ceiling=1100.0))
    assert (found.whole.bottleneck, found.whole.ceiling) == ("client", 1100.0)
    assert "add --workers" in found.warnings[0]
    assert made.measure(Yardsticks(ceiling=5000.0)).whole.bottleneck == ""


def test_the_busiest_worker_counts_for_the_clients_share() -> None:
    given = [
        IntervalRecord(0, 0, NS, cpu_ns=NS // 10, wait_ns=NS),
        IntervalRecord(1, 0, NS, cpu_ns=19 * NS // 20, wait_ns=NS // 20),
    ]
    found = told(phase(), given, ended(0), ended(1), workers=2)
    assert found.whole.client_cpu_share == 0.95
    assert found.whole.bottleneck == "client"


def test_the_worker_that_waited_longest_for_a_core_counts_for_the_whole_and_on_each_node_its_own() -> None:
    made = PhaseAggregation(phase(), workers=4, nodes=2)
    for worker, delay_ns in enumerate((10 * MS, 300 * MS, 20 * MS, None)):
        made.add(IntervalRecord(worker, 0, NS, wait_ns=NS))
        made.end(msgspec.structs.replace(ended(worker), elapsed_ns=NS, run_delay_ns=delay_ns))
    found = made.measure()
    assert found.whole.client_run_delay_share == 0.3
    assert [node.load.client_run_delay_share for node in found.nodes] == [0.02, 0.3]
    assert told(phase(), [IntervalRecord(0, 0, NS)], ended()).whole.client_run_delay_share is None


def test_an_address_without_a_connection_is_named() -> None:
    whole = phase(job())
    up, down, other = "10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"

    def warnings(*connected: tuple[tuple[str, ...], tuple[str, ...]]) -> tuple[str, ...]:
        ends = [
            msgspec.structs.replace(ended(worker), reached=reached, unreached=unreached)
            for worker, (reached, unreached) in enumerate(connected)
        ]
        return told(whole, records([], end_ns=NS, workers=2), *ends, workers=2).warnings

    assert warnings(((up,), (down,)), ((up,), (other, down))) == (
        f"no connection was made to {down}, {other}: these figures are those of the other addresses",
    )
    assert warnings(((up,), (down,)), ((down,), (up,))) == (), "each was reached by another worker"
    assert warnings(((), (down,)), ((), (down,))) == (), "where nothing was reached all failed"


def test_planned_operations_that_had_not_started_are_told_apart_from_those_in_flight() -> None:
    end = msgspec.structs.replace(ended(unfinished=2), waiting=322)
    found = told(phase(job(rate=100.0)), records(closed_loop(length_ns=10 * MS, end_ns=NS), end_ns=NS), end)
    assert found.whole.unfinished == 324
    assert any(
        each.startswith("322 planned operations had not started at the end, and 2 were in flight; ")
        for each in found.warnings
    )


def test_where_no_operation_ended_no_share_of_them_failed() -> None:
    found = aggregation([Operation(start_ns=0, end_ns=3 * NS)], phase(), end_ns=2 * NS).measure().whole
    assert (found.operations, found.failed, found.error_rate) == (0, 0, None)
