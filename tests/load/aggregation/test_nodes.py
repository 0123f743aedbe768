"""Nodes beside each other: which of them lag behind, and what chance excuses."""

import pytest

from s3bench.load.aggregation.nodes import STRAGGLER_S, Pace, node_name, stragglers, thread_shares
from s3bench.load.profile.profile import Phase
from tests.load.aggregations import job, phase


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ({0: 1000, 1: 1000, 2: 499}, {2}),
        ({0: 1000, 1: 1000, 2: 501}, set()),
        ({0: 10, 1: 10, 2: 4}, set()),
        ({0: 10, 1: 10, 2: 0}, {2}),
        ({0: 1000, 1: 0}, set()),
        ({0: 0, 1: 0, 2: 0}, set()),
        ({}, set()),
    ],
)
def test_a_straggler_is_far_below_the_median_and_not_by_chance(operations: dict[int, int], expected: set[int]) -> None:
    assert stragglers(operations, [5] * len(operations)) == expected


@pytest.mark.parametrize(
    ("operations", "shares", "expected"),
    [
        ({0: 1000, 1: 1000, 2: 0}, (1, 1, 0), set()),
        ({0: 1000, 1: 1000, 2: 1000, 3: 0, 4: 0}, (1, 1, 1, 0, 1), {4}),
        ({0: 2000, 1: 2000, 2: 990}, (2, 2, 1), set()),
        ({0: 2000, 1: 2000, 2: 490}, (2, 2, 1), {2}),
        ({0: 990, 1: 1000, 2: 1000}, (2, 1, 1), {0}),
    ],
)
def test_nodes_are_compared_by_what_each_thread_does_and_one_without_a_thread_is_no_straggler(
    operations: dict[int, int], shares: tuple[int, ...], expected: set[int]
) -> None:
    assert stragglers(operations, shares) == expected


@pytest.mark.parametrize(
    ("of", "workers", "expected"),
    [
        (phase(job(threads=2)), 3, (1, 1, 0)),
        (phase(job(threads=7)), 3, (3, 2, 2)),
        (phase(job(threads=7)), 6, (3, 2, 2)),
        (phase(job(threads=4, rate=100)), 3, (4 / 3, 4 / 3, 4 / 3)),
        (phase(job(threads=4, operations=3000)), 3, (4 / 3, 4 / 3, 4 / 3)),
        (phase(job(threads=2, rate=100)), 3, (1, 1, 0)),
        (phase(job(threads=2), job(threads=2)), 3, (2, 1, 1)),
    ],
)
def test_a_planned_rate_is_shared_among_workers_and_all_else_among_threads(
    of: Phase, workers: int, expected: tuple[float, ...]
) -> None:
    assert thread_shares(of, workers=workers, nodes=3) == pytest.approx(expected)


def test_only_the_last_seconds_and_nodes_that_are_there_count() -> None:
    pace = Pace(shares=(1, 1, 1, 1))
    pace.add([1000, 1000, 0, 1000])
    assert pace.stragglers() == {2}
    for _ in range(STRAGGLER_S):
        pace.add([1000, 1000, 1000, 0])
    assert pace.stragglers() == {3}
    assert pace.stragglers(frozenset({3})) == set()


def test_nodes_are_numbered_from_one_for_people() -> None:
    assert node_name(0) == "node-1"
