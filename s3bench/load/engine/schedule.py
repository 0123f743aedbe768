"""When operations of an open loop are to start, and how totals are shared out among workers.

The planned times follow from the rate and a seed alone, so that no response, however late, moves them.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from s3bench.load.profile.profile import Arrivals, Phase, RateChange

_BATCH = 1024
_NS_PER_S = 1e9
_NEVER_NS = 2.0**62  # 146 years: larger times would overflow 64 bits


def planned_batches(
    rate_per_s: float,
    arrivals: Arrivals,
    *,
    seed: int,
    worker: int = 0,
    workers: int = 1,
    ramp_s: float = 0.0,
    changes: Sequence[RateChange] = (),
) -> Iterator[list[int]]:
    """Yield one worker's planned starts without end, in nanoseconds since the phase's start, ascending, in batches.

    `rate_per_s` is that of all workers together. Of a constant rate each takes every `workers`-th start; of Poisson
    arrivals each has its own with a `workers`-th of the rate, and together they are Poisson arrivals again (Kingman,
    Poisson Processes, 2.2). Over `ramp_s` the rate rises linearly from nothing. With `changes`, which cannot be
    combined with a ramp, it is another one from each of them on. Starts after 146 years are moved there.
    """
    assert rate_per_s > 0 or changes, rate_per_s
    assert not (ramp_s and changes), "a rate that changes has no ramp"
    changing = _ChangingRate(rate_per_s, changes) if changes else None
    assert 0 <= worker < workers, (worker, workers)
    for counts in _counts(arrivals, seed, worker, workers):
        with np.errstate(over="ignore"):  # what overflows lies beyond all clocks
            times_s = _time_of(counts, rate_per_s, ramp_s) if changing is None else changing.time_of(counts)
            starts_ns = np.minimum(times_s * _NS_PER_S, _NEVER_NS)
        yield starts_ns.astype(np.int64).tolist()


def share_of(total: int, index: int, count: int) -> int:
    """The share of `total` that number `index` of `count` gets: as even as possible, and all add up to `total`."""
    return total // count + (index < total % count)


def first_workers(phase: Phase, workers: int) -> tuple[int, ...]:
    """For each job, the worker that gets its first share: the one after that with the last thread of the job before.

    So the threads of all jobs together are spread as evenly as possible, also where each job has few.
    """
    before = accumulate((job.threads for job in phase.jobs[:-1]), initial=0)
    return tuple(threads % max(1, workers) for threads in before)


def _counts(arrivals: Arrivals, seed: int, worker: int, workers: int) -> Iterator[npt.NDArray[np.float64]]:
    """Yield, for this worker's starts, how many starts of all workers are expected before each, batch by batch."""
    if arrivals is Arrivals.CONSTANT:
        steps = np.arange(_BATCH, dtype=np.float64) * workers
        first = worker
        while True:
            yield first + steps
            first += _BATCH * workers
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence((seed, worker))))
    before = 0.0
    while True:
        counts = before + np.cumsum(generator.exponential(workers, _BATCH))
        yield counts
        before = float(counts[-1])


def _time_of(counts: npt.NDArray[np.float64], rate_per_s: float, ramp_s: float) -> npt.NDArray[np.float64]:
    """Give the seconds after which as many starts are expected: the inverse of the integral of the rate.

    Within the ramp the rate is `rate_per_s * t / ramp_s` and its integral `rate_per_s * t**2 / (2 * ramp_s)`; half of
    what the full rate would have started is missing afterwards.
    """
    evenly = counts / rate_per_s
    if not ramp_s:
        return evenly
    ramped = np.sqrt(2 * ramp_s * np.minimum(evenly, ramp_s / 2))
    times: npt.NDArray[np.float64] = ramped + np.maximum(evenly - ramp_s / 2, 0)
    return times


class _ChangingRate:
    """A rate that is constant between its changes; a stretch may have the rate 0."""

    def __init__(self, rate_per_s: float, changes: Sequence[RateChange]) -> None:
        self._since_s = np.array([0.0, *(change.after_s for change in changes)])
        self._per_s = np.array([rate_per_s, *(change.per_s for change in changes)])
        planned = self._per_s[:-1] * np.diff(self._since_s)
        self._before = np.concatenate(([0.0], np.cumsum(planned)))  # starts expected before each stretch

    def time_of(self, counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Give the seconds after which as many starts are expected: infinitely many where that is never.

        A count that is reached just before a stretch without starts belongs to the stretch after it.
        """
        stretch = np.searchsorted(self._before, counts, side="right") - 1
        per_s = self._per_s[stretch]
        with np.errstate(divide="ignore", invalid="ignore"):
            times: npt.NDArray[np.float64] = self._since_s[stretch] + (counts - self._before[stretch]) / per_s
        times[per_s == 0] = np.inf
        return times
