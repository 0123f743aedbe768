"""Nodes beside each other: which of them lag behind, and what chance excuses."""

import pytest

from s3bench.load.aggregation.nodes import STRAGGLER_S, Pace, node_name, stragglers


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
    assert stragglers(operations) == expected


def test_only_the_last_seconds_and_nodes_that_are_there_count() -> None:
    pace = Pace(nodes=4)
    pace.add([1000, 1000, 0, 1000])
    assert pace.stragglers() == {2}
    for _ in range(STRAGGLER_S):
        pace.add([1000, 1000, 1000, 0])
    assert pace.stragglers() == {3}
    assert pace.stragglers(frozenset({3})) == set()


def test_nodes_are_numbered_from_one_for_people() -> None:
    assert node_name(0) == "node-1"
