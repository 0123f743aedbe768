"""Up to which second all have told, whoever told first and whoever leaves."""

from hypothesis import given
from hypothesis import strategies as st

from s3bench.load.aggregation.progress import PhaseProgress


def test_a_second_is_complete_when_the_last_worker_has_told_of_it() -> None:
    progress = PhaseProgress(2)
    progress.reported(0, 0)
    progress.reported(0, 1)
    assert progress.complete() == 0
    progress.reported(1, 0)
    assert progress.complete() == 1


def test_nothing_is_expected_of_those_that_left() -> None:
    progress = PhaseProgress(2)
    progress.reported(0, 4)
    progress.left(1)
    progress.reported(1, 9)
    assert progress.complete() == 5
    progress.left(0)
    assert progress.complete() is None


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20), st.booleans())))
def test_it_is_the_least_of_what_those_that_are_left_have_told(events: list[tuple[int, int, bool]]) -> None:
    progress, following = PhaseProgress(4), dict.fromkeys(range(4), 0)
    for worker, second, leaves in events:
        if leaves:
            progress.left(worker)
            following.pop(worker, None)
        else:
            progress.reported(worker, second)
            if worker in following:
                following[worker] = max(following[worker], second + 1)
        assert progress.complete() == (min(following.values()) if following else None)
