"""A node's reports: kept until they have arrived, bounded in number, and nobody waits."""

from s3bench.cluster.buffer import Buffer
from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.message import PhasePrepared


def record(second: int) -> IntervalRecord:
    return IntervalRecord(worker=0, second=second, length_ns=1)


def seconds(buffer: Buffer, number: int) -> list[int]:
    return [report.second for report in buffer.since(number).reports if isinstance(report, IntervalRecord)]


def test_reports_are_reported_again_until_they_have_arrived() -> None:
    buffer = Buffer()
    for second in range(3):
        buffer.add(record(second))
    assert seconds(buffer, 0) == [0, 1, 2]
    assert seconds(buffer, 0) == [0, 1, 2], "an answer may be lost on its way"
    assert seconds(buffer, 2) == [2]
    buffer.add(record(3))
    assert seconds(buffer, 3) == [3]


def test_records_without_room_are_counted_and_all_else_is_kept() -> None:
    buffer = Buffer(most=2)
    for second in range(5):
        buffer.add(record(second))
    buffer.add(PhasePrepared(pid=1))
    reported = buffer.since(0)
    assert seconds(buffer, 0) == [0, 1]
    assert reported.dropped == 3
    assert reported.reports[-1] == PhasePrepared(pid=1)
    buffer.since(3)
    buffer.add(record(9))
    assert seconds(buffer, 3) == [9], "there is room again"
