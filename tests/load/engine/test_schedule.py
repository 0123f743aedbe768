from itertools import chain, islice, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from s3bench.load.engine.schedule import first_workers, planned_batches, share_of
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import Arrivals, Job, Phase, RateChange, Share
from s3bench.load.profile.sizes import fixed

S = 1_000_000_000


def starts(
    count: int,
    rate_per_s: float,
    arrivals: Arrivals,
    *,
    seed: int,
    worker: int = 0,
    workers: int = 1,
    ramp_s: float = 0.0,
    changes: tuple[RateChange, ...] = (),
) -> list[int]:
    batches = planned_batches(
        rate_per_s, arrivals, seed=seed, worker=worker, workers=workers, ramp_s=ramp_s, changes=changes
    )
    return list(islice(chain.from_iterable(batches), count))


def test_a_constant_rate_has_equal_gaps_from_the_start_on() -> None:
    assert starts(5, 4.0, Arrivals.CONSTANT, seed=1) == [0, S // 4, S // 2, 3 * S // 4, S]


@given(st.integers(1, 7), st.sampled_from([0.0, 2.5]))
def test_workers_of_a_constant_rate_interleave_to_the_whole_rate(workers: int, ramp_s: float) -> None:
    together = sorted(
        start
        for worker in range(workers)
        for start in starts(300, 1000.0, Arrivals.CONSTANT, seed=1, worker=worker, workers=workers, ramp_s=ramp_s)
    )
    assert together == starts(300 * workers, 1000.0, Arrivals.CONSTANT, seed=9, ramp_s=ramp_s)


def test_a_constant_rate_does_not_drift_in_a_day() -> None:
    rate_per_s = 700.0
    last = next(islice(chain.from_iterable(planned_batches(rate_per_s, Arrivals.CONSTANT, seed=1)), 3_000_000, None))
    assert last == int(3_000_000 / rate_per_s * S)


def test_poisson_arrivals_have_exponential_gaps_of_the_workers_share() -> None:
    found = starts(20_000, 900.0, Arrivals.POISSON, seed=5, worker=1, workers=3)
    gaps_s = np.diff([0, *found]) / S
    assert stats.kstest(gaps_s, stats.expon(scale=1 / 300).cdf).pvalue > 0.001
    assert abs(stats.pearsonr(gaps_s[1:], gaps_s[:-1])[0]) < 0.03


def test_poisson_workers_together_are_poisson_arrivals_of_the_whole_rate() -> None:
    seconds = 40
    together = [
        start
        for worker in range(4)
        for start in starts(12_000, 1000.0, Arrivals.POISSON, seed=11, worker=worker, workers=4)
        if start < seconds * S
    ]
    counts = np.bincount(np.array(together) * 10 // S, minlength=seconds * 10)  # in tenths of a second: mean 100
    dispersion = ((counts - 100) ** 2 / 100).sum()
    assert 0.0005 < stats.chi2(len(counts)).cdf(dispersion) < 0.9995


@given(st.sampled_from(Arrivals), st.floats(0.1, 1e6), st.floats(0, 100), st.integers(0, 2**64 - 1))
def test_starts_ascend(arrivals: Arrivals, rate_per_s: float, ramp_s: float, seed: int) -> None:
    found = starts(1500, rate_per_s, arrivals, seed=seed, worker=1, workers=2, ramp_s=ramp_s)
    assert found[0] >= 0
    assert all(earlier <= later for earlier, later in pairwise(found))


def test_the_same_seed_gives_the_same_starts_and_another_worker_or_seed_others() -> None:
    def poisson(seed: int, worker: int) -> tuple[int, ...]:
        return tuple(starts(2000, 50.0, Arrivals.POISSON, seed=seed, worker=worker, workers=2))

    assert poisson(1, 0) == poisson(1, 0)
    assert len({poisson(1, 0), poisson(1, 1), poisson(2, 0)}) == 3


def test_during_a_ramp_the_rate_rises_linearly_and_half_is_missing_afterwards() -> None:
    found = np.array(starts(4000, 100.0, Arrivals.CONSTANT, seed=1, ramp_s=10.0))
    for second in range(1, 11):  # the integral of 10 t is 5 t**2
        assert np.count_nonzero(found < second * S) == pytest.approx(5 * second**2, abs=1)
    assert np.count_nonzero(found < 20 * S) == pytest.approx(500 + 1000, abs=1)
    assert np.diff(found[600:]).tolist() == pytest.approx([S / 100] * 3399, abs=1)


def test_a_poisson_ramp_has_uniform_squares_of_its_times() -> None:
    found = np.array(starts(50_000, 2000.0, Arrivals.POISSON, seed=3, ramp_s=20.0)) / S
    within = found[found < 20]
    assert len(within) == pytest.approx(20_000, rel=0.03)
    assert stats.kstest((within / 20) ** 2, stats.uniform.cdf).pvalue > 0.001


@given(st.integers(0, 10**12), st.integers(1, 100))
def test_shares_are_even_and_add_up(total: int, count: int) -> None:
    shares = [share_of(total, index, count) for index in range(count)]
    assert sum(shares) == total
    assert max(shares) - min(shares) <= 1


@given(st.lists(st.integers(1, 50), min_size=1, max_size=8), st.integers(1, 20))
def test_the_threads_of_several_jobs_together_are_shared_as_evenly_as_those_of_one(
    threads: list[int], workers: int
) -> None:
    jobs = tuple(Job(mix=(Share(kind=OperationKind.GET),), sizes=fixed(1), threads=each) for each in threads)
    first = first_workers(Phase(jobs=jobs), workers)
    shares = [
        sum(share_of(job.threads, (worker - each) % workers, workers) for job, each in zip(jobs, first, strict=True))
        for worker in range(workers)
    ]
    assert shares == [share_of(sum(threads), worker, workers) for worker in range(workers)]


@pytest.mark.parametrize("rate_per_s", [1e-12, 1e-300, 5e-324])
@pytest.mark.parametrize("ramp_s", [0.0, 10.0])
def test_starts_that_no_clock_reaches_lie_far_in_the_future(rate_per_s: float, ramp_s: float) -> None:
    for arrivals in Arrivals:
        planned = starts(5000, rate_per_s, arrivals, seed=1, ramp_s=ramp_s)
        assert planned == sorted(planned)
        assert planned[0] >= 0
        assert planned[1] > 10**17


CHANGES = (RateChange(after_s=2.0, per_s=0.0), RateChange(after_s=5.0, per_s=4.0), RateChange(after_s=7.0, per_s=1.0))


def test_a_rate_that_changes_holds_until_the_next_change() -> None:
    found = starts(18, 2.0, Arrivals.CONSTANT, seed=1, changes=CHANGES)
    seconds = [0.0, 0.5, 1.0, 1.5, *(5 + n / 4 for n in range(8)), 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
    assert found == [round(second * S) for second in seconds]


def test_after_a_last_rate_of_0_nothing_starts_any_more() -> None:
    found = starts(3000, 10.0, Arrivals.POISSON, seed=1, changes=(RateChange(after_s=100.0, per_s=0.0),))
    begun = [start for start in found if start < 10**9 * S]
    assert 900 < len(begun) < 1100
    assert max(begun) < 100 * S


def test_a_start_that_is_due_when_the_rate_becomes_0_never_comes() -> None:
    changes = (RateChange(after_s=1.0, per_s=0.0),)
    found = starts(15, 10.0, Arrivals.CONSTANT, seed=1, changes=changes)
    assert found[:10] == [number * S // 10 for number in range(10)]
    assert min(found[10:]) > 10**9 * S


def test_a_phase_can_begin_with_a_pause() -> None:
    found = starts(2000, 0.0, Arrivals.POISSON, seed=1, changes=(RateChange(after_s=3.0, per_s=100.0),))
    assert 3 * S < found[0] < 4 * S


def test_poisson_workers_of_a_changing_rate_together_have_its_rate_at_every_time() -> None:
    changes = (RateChange(after_s=20.0, per_s=100.0), RateChange(after_s=40.0, per_s=1000.0))
    together = [
        start
        for worker in range(3)
        for start in starts(12_000, 400.0, Arrivals.POISSON, seed=5, worker=worker, workers=3, changes=changes)
        if start < 60 * S
    ]
    counts = np.bincount(np.array(together) // S, minlength=60)
    expected = np.repeat([400.0, 100.0, 1000.0], 20)
    assert 0.0005 < stats.chi2(60).cdf(((counts - expected) ** 2 / expected).sum()) < 0.9995
