"""A suite's units: a definition with all its clients, each the chunk of its number."""

from pathlib import Path

import pytest

from s3bench.clients.plan import plan_runs
from s3bench.clients.registry import known_clients
from s3bench.cluster.suite.work_queue import WorkQueue
from s3bench.spec.parse import read_definitions
from tests.cluster.suite.suites import chunks, units_of, upload, written


@pytest.mark.parametrize("select", [None, "b or s5cmd", "s5cmd"])
def test_a_unit_is_what_its_chunk_number_runs_by_hand(tmp_path: Path, select: str | None) -> None:
    file = written(tmp_path, upload("a", 1), upload("b", 1, clients=["boto3-classic"]), upload("b", 2))
    units = units_of(file, select=select)
    assert len(units) == (2 if select == "s5cmd" else 3)
    for unit in units:
        by_hand = plan_runs(
            read_definitions(file, known_clients()),
            clients=(),
            select=select,
            num_chunks=len(units),
            chunk_id=unit.chunk,
            iterations=1,
            warmup=0,
        )
        assert by_hand.cells == unit.cells
        assert len({cell.definition for cell in unit.cells}) == 1


def test_a_free_node_takes_the_next_unit_and_a_busy_one_none(tmp_path: Path) -> None:
    units = units_of(written(tmp_path, *(upload("a", size) for size in range(1, 5))))
    queue = WorkQueue(units, [3, 5])
    assert queue.assign() == ((3, units[0]), (5, units[1]))
    assert queue.assign() == ()
    assert queue.finish(5) is units[1]
    assert queue.assign() == ((5, units[2]),)
    assert queue.doing == {3: units[0], 5: units[2]}
    assert not queue.is_over


def test_a_node_that_is_removed_takes_its_unit_with_it_and_gets_no_other(tmp_path: Path) -> None:
    units = units_of(written(tmp_path, *(upload("a", size) for size in range(1, 5))))
    queue = WorkQueue(units, [0, 1, 2])
    assert queue.remove(2) is None
    queue.assign()
    assert queue.remove(0) is units[0]
    queue.finish(1)
    assert queue.assign() == ((1, units[2]),)
    assert queue.remove(1) is units[2]
    assert queue.is_over, "nobody is there to do the last one"
    assert chunks(queue.clear()) == [3]


def test_it_is_over_when_nothing_waits_and_nothing_is_done(tmp_path: Path) -> None:
    units = units_of(written(tmp_path, upload("a", 1), upload("a", 2)))
    queue = WorkQueue(units, [0])
    queue.assign()
    assert chunks(queue.clear()) == [1]
    assert not queue.is_over
    queue.finish(0)
    assert queue.is_over
