"""Memory and CPU over time: windows that can be trusted, thinned without losing a peak."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.results.timeline import POINTS_MAX, SeriesFacts, UsageSeries, cores_in_use, thinned
from tests.results.series import series

STEPS = st.lists(
    st.tuples(st.floats(1e-6, 3), st.floats(0, 8), st.integers(0, 1 << 40)), min_size=1, max_size=3 * POINTS_MAX
)


def stepped(steps: list[tuple[float, float, int]], cores: int) -> SeriesFacts:
    """Samples of which each comes some seconds after the one before, with CPU seconds used and bytes held."""
    at_s, cpu_s, rss_bytes = [0.0], [0.0], [0.0]
    for passed, used, held in steps:
        at_s.append(at_s[-1] + passed)
        cpu_s.append(cpu_s[-1] + used)
        rss_bytes.append(held)
    return series(at_s, cpu_s, rss_bytes, cores=cores)


def test_cores_are_cpu_seconds_over_seconds() -> None:
    assert cores_in_use(series([0.0, 1.0, 2.0, 4.0], [0.1, 0.6, 2.6, 3.6])) == [0.5, 2.0, 0.5]


def test_one_sample_or_none_shows_no_cores() -> None:
    assert cores_in_use(series([], [])) == []
    assert cores_in_use(series([0.0], [0.5])) == []


def test_a_late_sample_and_the_next_are_one_window() -> None:
    # The sample due at 1 s came at 1.99 s; 10 ms of CPU clock noise in the 10 ms that follow would read as a core.
    assert cores_in_use(series([0.0, 1.99, 2.0, 3.0], [0.0, 1.0, 1.01, 1.5])) == [
        pytest.approx(1.0 / 1.99),
        pytest.approx(0.5 / 1.01),
    ]


def test_more_cores_than_there_are_means_that_the_window_before_got_too_little() -> None:
    assert cores_in_use(series([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 1.5, 5.0], cores=2)) == [1.0, 2.0]
    assert cores_in_use(series([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 1.0, 6.0], cores=2)) == [2.0]
    assert cores_in_use(series([0.0, 1.0, 2.0, 3.0], [0.0, 3.0, 3.5, 4.0], cores=2)) == [1.75, 0.5]
    assert cores_in_use(series([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 1.5, 5.0], cores=4)) == [1.0, 0.5, 3.5]


def test_a_cpu_clock_that_loses_a_process_never_shows_negative_cores() -> None:
    assert cores_in_use(series([0.0, 1.0, 2.0], [0.0, 1.0, 0.5])) == [1.0, 0.0]


@given(STEPS, st.integers(1, 4))
def test_no_window_shows_more_cores_than_there_are(steps: list[tuple[float, float, int]], cores: int) -> None:
    assert all(0 <= rate <= cores for rate in cores_in_use(stepped(steps, cores)))


def test_a_short_series_is_kept_whole() -> None:
    samples = series([0.25, 1.25, 2.25], [0.1, 0.6, 2.6], [10.0, 30.0, 20.0])
    assert thinned(samples) == UsageSeries(at=(0.25, 1.25, 2.25), memory=(10, 30, 20), cores=(None, 0.5, 2.0))


def test_of_no_samples_nothing_is_kept_and_of_one_its_memory() -> None:
    assert thinned(series([], [])) is None
    assert thinned(series([0.5], [0.25], [10.0])) == UsageSeries(at=(0.5,), memory=(10,), cores=(None,))


def test_a_long_series_has_a_point_in_each_part_of_the_time() -> None:
    seconds = [float(second) for second in range(1000)]
    kept = thinned(series(seconds, [second / 2 for second in seconds], seconds))
    assert kept is not None
    assert len(kept.at) == POINTS_MAX
    assert all(20 <= after - before <= 30 for before, after in pairwise(kept.at))
    assert set(kept.cores[1:]) == {0.5}


def test_the_peak_between_two_points_stands_at_the_later_one() -> None:
    memory = [10.0] * 1000
    memory[501] = 99.0
    kept = thinned(series([float(second) for second in range(1000)], [0.0] * 1000, memory))
    assert kept is not None
    place = kept.memory.index(99)
    assert kept.at[place - 1] < 501 <= kept.at[place]
    assert kept.memory.count(99) == 1


def test_the_last_stretch_is_joined_until_it_shows_no_more_cores_than_there_are() -> None:
    kept = thinned(series([0.0, 1.0, 2.0, 3.0], [0.0, 0.0, 0.0, 6.0], [1.0, 5.0, 2.0, 3.0]))
    assert kept == UsageSeries(at=(0.0, 3.0), memory=(1, 5), cores=(None, 2.0))
    too_near = thinned(series([0.0, 1.0, 2.0, 2.25], [0.0, 0.0, 1.0, 1.75], [1.0, 5.0, 7.0, 3.0]))
    assert too_near == UsageSeries(at=(0.0, 1.0, 2.25), memory=(1, 5, 7), cores=(None, 0.0, 1.4))


def test_where_the_clocks_contradict_each_other_to_the_end_no_cores_are_reported() -> None:
    kept = thinned(series([0.0, 1.0], [0.0, 9.0], [1.0, 2.0]))
    assert kept == UsageSeries(at=(0.0, 1.0), memory=(1, 2), cores=(None, None))


def test_points_are_distinguished_to_the_millisecond() -> None:
    samples = SeriesFacts(
        at_s=[0.0, 0.0006, 0.0018, 0.0021, 0.0044],
        cpu_s=[0.0] * 5,
        rss_bytes=[1.0, 2.0, 3.0, 9.0, 4.0],
        interval_s=0.0003,
        cores=1,
    )
    assert thinned(samples) == UsageSeries(at=(0.0, 0.002, 0.004), memory=(1, 3, 9), cores=(None, 0.0, 0.0))


@given(STEPS, st.integers(1, 4))
def test_thinning_keeps_the_ends_and_the_peak_and_invents_no_cores(
    steps: list[tuple[float, float, int]], cores: int
) -> None:
    samples = stepped(steps, cores)
    kept = thinned(samples)
    assert kept is not None
    assert len(kept.at) == len(kept.memory) == len(kept.cores) <= POINTS_MAX
    assert (kept.at[0], kept.at[-1]) == (0.0, round(samples.at_s[-1], 3))
    assert list(kept.at) == sorted(kept.at)
    assert max(kept.memory) == max(samples.rss_bytes)
    assert kept.cores[0] is None
    assert all(used is None or 0 <= used <= cores for used in kept.cores)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=3 * POINTS_MAX))
def test_all_cpu_seconds_are_in_the_points(used_s: list[float]) -> None:
    samples = stepped([(1.0, used, 0) for used in used_s], cores=1)
    kept = thinned(samples)
    assert kept is not None
    reported = zip(pairwise(kept.at), kept.cores[1:], strict=True)
    assert sum((after - before) * (cores or 0) for (before, after), cores in reported) == pytest.approx(
        samples.cpu_s[-1], abs=0.005 * len(used_s) + 0.01
    )
