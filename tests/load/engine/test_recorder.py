"""Counting: what is appended is what is told, second by second, and nothing twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.load.engine.interval_record import Loss, Stream
from s3bench.load.engine.loop import EngineLoop
from s3bench.load.engine.message import RequestTarget
from s3bench.load.engine.recorder import SECOND_NS, SLOT_NS, IntervalCounter, IntervalRecorder
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import Manner
from s3bench.results.histogram import Histogram

TARGET = RequestTarget(addresses=(("127.0.0.1", 1),), hosts=("127.0.0.1:1",), bucket="bucket")
LATENCIES = st.lists(st.integers(1, 10**11), max_size=50)


def told_by(lane: IntervalCounter) -> Stream | None:
    """What a lane has counted, its latencies in bins."""
    stream = lane.take()
    return None if stream is None else stream()


@given(LATENCIES, LATENCIES)
def test_what_is_appended_is_what_is_told(quick: list[int], slow: list[int]) -> None:
    lane = IntervalCounter(0, OperationKind.GET)
    lane.quick.extend(quick)
    lane.service.extend(slow)
    lane.first_byte.extend([1] * len(slow))
    lane.response.extend([2 * latency for latency in slow])
    stream = told_by(lane)
    if stream is None:
        assert not quick + slow
        return
    expected = Histogram()
    expected.add(quick + slow)
    assert stream.operations == len(quick + slow)
    assert stream.service == expected.bins()
    assert stream.response.sum_ns == sum(quick) + 2 * sum(slow)
    assert stream.first_byte.sum_ns == sum(quick) + len(slow)


def test_what_was_told_is_forgotten() -> None:
    lane = IntervalCounter(2, OperationKind.PUT)
    append = lane.quick.append
    append(5)
    lane.bytes_up += 7
    lane.lose("503", retried=True, lost_ns=3, body_bytes=4)
    first = told_by(lane)
    assert first is not None
    assert (first.job, first.kind, first.bytes_up, first.losses) == (
        2,
        OperationKind.PUT,
        7,
        (Loss("503", 1, 1, 3, 4),),
    )
    assert told_by(lane) is None
    append(6)
    second = told_by(lane)
    assert second is not None
    assert (second.operations, second.service.sum_ns, second.bytes_up, second.losses) == (1, 6, 0, ())


def test_time_lost_later_is_added_without_another_attempt() -> None:
    lane = IntervalCounter(0, OperationKind.GET)
    lane.lose("503", retried=True, lost_ns=3, body_bytes=0)
    lane.lose_time("503", 10)
    lane.lose("timeout", retried=False, lost_ns=1, body_bytes=0)
    stream = told_by(lane)
    assert stream is not None
    assert stream.losses == (Loss("503", 1, 1, 13, 0), Loss("timeout", 1, 0, 1, 0))


@pytest.mark.parametrize(
    ("kind", "up", "down"), [(OperationKind.GET, 0, 7), (OperationKind.PUT, 7, 0), (OperationKind.HEAD, 0, 0)]
)
def test_a_success_that_turns_out_to_have_failed_is_taken_back_though_it_was_told(
    kind: OperationKind, up: int, down: int
) -> None:
    lane = IntervalCounter(0, kind)
    lane.quick.append(5)
    lane.bytes_up += up
    lane.bytes_down += down
    told = told_by(lane)
    lane.withdraw("surplus bytes", 7)
    later = told_by(lane)
    assert told is not None
    assert later is not None
    assert told.operations + later.operations == 0
    assert (told.bytes_up + later.bytes_up, told.bytes_down + later.bytes_down) == (0, 0)
    assert later.losses == (Loss("surplus bytes", 1, 0, 0, 7),)
    assert later.service.counts == (), "its latency was told"


def test_a_second_has_what_its_tenths_showed_as_far_as_they_were_looked_at_in_time() -> None:
    with EngineLoop(TARGET, Manner(), None) as loop:
        recorder = IntervalRecorder(loop, worker=0, start_ns=0)
        lane = recorder.lane(0, OperationKind.GET)
        lane.quick.append(5)
        recorder.mark(SLOT_NS, is_wanted=True)
        lane.lose("503", retried=False, lost_ns=0, body_bytes=0)
        recorder.mark(2 * SLOT_NS, is_wanted=False)
        recorder.mark(6 * SLOT_NS, is_wanted=True)  # the worker did not run for four tenths
        recorder.mark(7 * SLOT_NS, is_wanted=True)
        recorder.mark(12 * SLOT_NS, is_wanted=True)
        loop.now_ns = 12 * SLOT_NS
        first = recorder.end_second().record()
        lane.quick.append(5)
        end = recorder.end(12 * SLOT_NS + 1, is_wanted=True)
    assert end is not None
    rest = end.record()
    assert (first.served, first.failed, first.wanted) == (0b1, 0b10, 0b1000001)
    assert (rest.served, rest.failed, rest.wanted) == (0b100, 0, 0b100)


def test_seconds_begin_at_the_start_of_the_phase() -> None:
    with EngineLoop(TARGET, Manner(), None) as loop:
        start_ns = loop.now_ns
        cpu = iter(range(0, 10_000, 100))
        recorder = IntervalRecorder(loop, worker=3, start_ns=start_ns, cpu_ns=lambda: next(cpu))
        recorder.lane(0, OperationKind.GET).quick.append(5)
        loop.in_flight = 2
        loop.flight_ns += 2 * SECOND_NS  # as a wait of 2.5 s from the start does, up to half of the third second
        loop.flight_ns += 2 * SECOND_NS + SECOND_NS
        loop.now_ns = start_ns + 2 * SECOND_NS + SECOND_NS // 2
        first, second = recorder.end_second().record(), recorder.end_second().record()
        end = recorder.end(start_ns + 2 * SECOND_NS + SECOND_NS // 2)
    assert end is not None
    rest = end.record()
    assert [record.second for record in (first, second, rest)] == [0, 1, 2]
    assert [record.length_ns for record in (first, second, rest)] == [SECOND_NS, SECOND_NS, SECOND_NS // 2]
    assert [record.in_flight_ns for record in (first, second, rest)] == [2 * SECOND_NS, 2 * SECOND_NS, SECOND_NS]
    assert [record.cpu_ns for record in (first, second, rest)] == [100, 100, 100]
    assert [len(record.streams) for record in (first, second, rest)] == [1, 0, 0]
    assert first.worker == 3


def test_bins_are_made_of_one_stream_at_a_time_and_hold_nothing_of_the_next_second() -> None:
    with EngineLoop(TARGET, Manner(), None) as loop:
        recorder = IntervalRecorder(loop, worker=0, start_ns=loop.now_ns)
        lanes = [recorder.lane(0, kind) for kind in (OperationKind.GET, OperationKind.PUT, OperationKind.HEAD)]
        for latency_ns, lane in enumerate(lanes, 1):
            lane.quick.append(latency_ns)
        loop.now_ns += SECOND_NS
        second = recorder.end_second()
        for lane in lanes:
            lane.quick.append(1000)
        assert [second.bin_one(), second.bin_one(), second.bin_one()] == [True, True, False]
        record = second.record()
    assert [stream.kind for stream in record.streams] == [lane.kind for lane in lanes]
    assert [stream.service.sum_ns for stream in record.streams] == [1, 2, 3]


def test_a_phase_that_ends_with_a_second_has_no_rest() -> None:
    with EngineLoop(TARGET, Manner(), None) as loop:
        recorder = IntervalRecorder(loop, worker=0, start_ns=loop.now_ns)
        loop.now_ns += SECOND_NS
        end_ns = recorder.due_ns
        recorder.end_second()
        assert recorder.end(end_ns) is None


def test_operations_that_begin_within_a_batch_are_in_flight_from_their_own_start() -> None:
    with EngineLoop(TARGET, Manner(), None) as loop:
        before_ns = loop.integral_ns(loop.now_ns)
        loop.enter()
        loop.gap_ns += 400  # it started so much later than the batch was known
        loop.flight_ns += 1000
        loop.now_ns += 1000
        loop.leave(loop.now_ns + 300)  # and its end was known so much later than the next batch
        assert loop.integral_ns(loop.now_ns) - before_ns == 1000 - 400 + 300
        assert loop.in_flight == 0


def test_the_most_that_were_in_flight_are_those_of_each_second() -> None:
    with EngineLoop(TARGET, Manner(), None) as loop:
        recorder = IntervalRecorder(loop, worker=0, start_ns=loop.now_ns)
        for _ in range(3):
            loop.enter()
        for _ in range(2):
            loop.leave(loop.now_ns)
        loop.now_ns += 2 * SECOND_NS
        most = [recorder.end_second().record().in_flight_max for _ in range(2)]
    assert most == [3, 1], "one of the three is still in flight"


@pytest.mark.parametrize("kind", [OperationKind.GET, OperationKind.PUT])
def test_lanes_are_kept_apart_by_job_and_kind(kind: OperationKind) -> None:
    with EngineLoop(TARGET, Manner(), None) as loop:
        recorder = IntervalRecorder(loop, worker=0, start_ns=loop.now_ns)
        assert recorder.lane(0, kind) is recorder.lane(0, kind)
        assert recorder.lane(0, kind) is not recorder.lane(1, kind)
        assert recorder.lane(0, kind) is not recorder.lane(0, OperationKind.HEAD)
