"""Key distributions: chooses objects of the data set uniformly, one after the other, or few of them often (Zipf).

Works on vectors of object numbers, since operations are drawn in batches.
"""

from collections.abc import Callable
from math import gcd

import numpy as np
import numpy.typing as npt

from s3bench.load.profile.profile import ZIPF_OBJECTS_MAX, Job, KeyDistribution

Numbers = npt.NDArray[np.int64]
Choice = Callable[[int], Numbers]
"""Gives so many numbers of objects."""

_TABLE_MAX = 1 << 16
_GOLDEN = 0.6180339887498949


def chooser(job: Job, worker: int, workers: int, objects: int, generator: np.random.Generator) -> Choice:
    """The distribution over `objects` that the job asks for, for one worker of `workers`."""
    assert objects > 0, "there must be objects to choose from"
    if job.keys is KeyDistribution.SEQUENTIAL:
        return _Sequence(worker, workers, objects)
    if job.keys is KeyDistribution.ZIPF:
        zipf = Zipf(objects, job.zipf_exponent)
        return lambda count: zipf.numbers(generator.random(count))
    return lambda count: generator.integers(objects, size=count)


class _Sequence:
    """One worker's share of the objects, in order, again and again; of few objects workers may share one."""

    def __init__(self, worker: int, workers: int, objects: int) -> None:
        self._first = worker % objects
        self._step = workers
        self._length = len(range(self._first, objects, workers))
        self._next = 0

    def __call__(self, count: int) -> Numbers:
        places = (self._next + np.arange(count, dtype=np.int64)) % self._length
        self._next = (self._next + count) % self._length
        return self._first + places * self._step


class Zipf:
    """Zipf's law over a bounded number of objects: the object of rank r is chosen in proportion to r**-exponent.

    Uniform numbers are turned over by the inverse of the distribution function: from a table of the first 65,536 ranks,
    beyond by the integral of the density from half a rank below to half a rank above, whose relative error is below
    exponent * (exponent + 1) / (24 * rank**2), 1e-10 there. The ranking is the same for everybody, and ranks lie
    scattered: neighbours in rank are about 0.618 of all objects apart.
    """

    def __init__(self, objects: int, exponent: float) -> None:
        assert 0 < objects <= ZIPF_OBJECTS_MAX, "ranks times steps must fit into 63 bits"
        assert exponent >= 0, exponent
        self._objects = objects
        self._exponent = exponent
        self._table_size = min(objects, _TABLE_MAX)
        masses = np.cumsum(np.arange(1, self._table_size + 1, dtype=np.float64) ** -exponent)
        self._head = float(masses[-1])
        self._from = self._area(self._table_size + 0.5)
        self._total = self._head + float(self._area(objects + 0.5) - self._from)
        self._table = masses
        self._step = _step(objects)

    def ranks(self, uniform: npt.NDArray[np.float64]) -> Numbers:
        """The ranks, from 0, that belong to numbers from 0 to below 1."""
        mass = uniform * self._total
        ranks = np.searchsorted(self._table, mass, side="right").astype(np.int64)
        beyond = np.flatnonzero(ranks >= self._table_size)
        if len(beyond):
            ranks[beyond] = np.floor(self._inverse(self._from + mass[beyond] - self._head) - 0.5)
        result: Numbers = np.minimum(ranks, self._objects - 1)
        return result

    def numbers(self, uniform: npt.NDArray[np.float64]) -> Numbers:
        """The numbers of objects that belong to numbers from 0 to below 1."""
        numbers: Numbers = self.ranks(uniform) * self._step % self._objects
        return numbers

    def _area(self, rank: float) -> float:
        """The integral of x**-exponent up to `rank`, from 1."""
        slope = 1 - self._exponent
        return float(np.log(rank) if slope == 0 else np.expm1(slope * np.log(rank)) / slope)

    def _inverse(self, area: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        slope = 1 - self._exponent
        rank: npt.NDArray[np.float64] = np.exp(area if slope == 0 else np.log1p(slope * area) / slope)
        return rank


def _step(objects: int) -> int:
    """The step from rank to rank: about the golden section of all, and prime to their number so that each has one."""
    step = max(1, round(objects * _GOLDEN))
    while gcd(step, objects) != 1:
        step += 1
    return step
