"""What counts and what does not: the measured window, and the sums of all workers over it."""

import random

import pytest

from s3bench.load.engine.interval_record import IntervalRecord
from tests.load.aggregations import MS, aggregation, ended, phase, told
from tests.load.simulated import NS, Operation, closed_loop


def test_the_window_goes_from_the_warm_up_to_the_last_partial_second() -> None:
    end_ns = 4_300 * MS
    loop = closed_loop(length_ns=10 * MS, end_ns=end_ns)
    found = aggregation(loop, phase(warmup_s=1.0), end_ns=end_ns).measure()
    counted = [each for each in loop if NS <= each.end_ns < end_ns]
    assert found.window_s == 3.3
    assert found.whole.operations == len(counted)
    assert found.whole.operations_rate == pytest.approx(len(counted) / 3.3)
    assert found.whole.bytes_down == 1000 * len(counted)
    assert found.cpu_s == pytest.approx(3.3 / 4)
    assert (found.contradiction, found.warnings) == ("", ())


def test_a_warm_up_of_part_of_a_second_is_a_whole_one() -> None:
    loop = closed_loop(length_ns=10 * MS, end_ns=3 * NS)
    assert aggregation(loop, phase(warmup_s=0.2), end_ns=3 * NS).measure().window_s == 2.0


def test_the_window_ends_with_the_last_worker_though_others_ended_before() -> None:
    given = [
        IntervalRecord(0, 0, NS),
        IntervalRecord(1, 0, NS),
        IntervalRecord(0, 1, NS // 4),
        IntervalRecord(1, 1, NS // 2),
    ]
    assert told(phase(), given, ended(0), ended(1), workers=2).window_s == 1.5


def test_all_workers_together_are_one_whose_operations_are_theirs() -> None:
    end_ns = 3 * NS
    chance = random.Random(1)
    loop = [
        Operation(start_ns=start, end_ns=start + chance.randrange(MS, 400 * MS), worker=number % 2)
        for number, start in enumerate(sorted(chance.randrange(end_ns) for _ in range(3000)))
    ]
    alone = [Operation(start_ns=each.start_ns, end_ns=each.end_ns) for each in loop]
    two = aggregation(loop, phase(), end_ns=end_ns, workers=2).measure().whole
    one = aggregation(alone, phase(), end_ns=end_ns).measure().whole
    assert two.bins == one.bins
    assert two.latency == one.latency
    assert (two.operations, two.bytes_down, two.unfinished) == (one.operations, one.bytes_down, one.unfinished)
    assert two.in_flight == pytest.approx(one.in_flight)
    assert [each.operations for each in two.seconds] == [each.operations for each in one.seconds]


def test_planned_operations_that_wait_are_added_over_the_workers_of_one_second() -> None:
    given = [
        IntervalRecord(0, 0, NS, waiting_max=9),
        IntervalRecord(0, 1, NS, waiting_max=3),
        IntervalRecord(0, 2, NS, waiting_max=1),
        IntervalRecord(1, 0, NS, waiting_max=9),
        IntervalRecord(1, 1, NS, waiting_max=4),
        IntervalRecord(1, 2, NS, waiting_max=2),
    ]
    assert told(phase(warmup_s=1), given, ended(0), ended(1), workers=2).whole.waiting_max == 7
