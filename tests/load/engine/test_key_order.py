"""The order of operations on one key: a write excludes all others, reads overlap."""

from hypothesis import given
from hypothesis import strategies as st

from s3bench.load.engine.key_order import KeyOrder


def test_reads_overlap_and_a_write_waits_for_them() -> None:
    order: KeyOrder[str] = KeyOrder()
    assert order.enter(1, "a", writes=False)
    assert order.enter(1, "b", writes=False)
    assert not order.enter(1, "c", writes=True)
    assert not order.enter(1, "d", writes=False), "a read does not overtake a write that waits"
    assert order.enter(2, "e", writes=True), "another key is free"
    assert len(order) == 2
    assert list(order.waiting()) == ["c", "d"]
    assert order.leave(1, writes=False) == []
    assert order.leave(1, writes=False) == ["c"]
    assert order.leave(1, writes=True) == ["d"]
    assert order.leave(1, writes=False) == []
    assert len(order) == 0


def test_all_reads_after_a_write_begin_together() -> None:
    order: KeyOrder[int] = KeyOrder()
    order.enter(1, 0, writes=True)
    for number in (1, 2, 3):
        order.enter(1, number, writes=False)
    order.enter(1, 4, writes=True)
    assert order.leave(1, writes=True) == [1, 2, 3]


@given(writes=st.lists(st.booleans(), max_size=30), data=st.data())
def test_operations_begin_in_order_and_no_write_overlaps(writes: list[bool], data: st.DataObject) -> None:
    order: KeyOrder[int] = KeyOrder()
    running: list[int] = []
    begun: list[int] = []

    def begin(numbers: list[int]) -> None:
        running.extend(numbers)
        begun.extend(numbers)
        assert len(running) == 1 or not any(writes[number] for number in running)

    for number, each in enumerate(writes):
        if order.enter(7, number, writes=each):
            begin([number])
        for _ in range(data.draw(st.integers(0, len(running)))):
            if not running:
                break
            ended = running.pop(data.draw(st.integers(0, len(running) - 1)))
            begin(order.leave(7, writes=writes[ended]))
    while running:
        ended = running.pop()
        begin(order.leave(7, writes=writes[ended]))
    assert begun == list(range(len(writes)))
