"""Key distributions: chooses objects of the data set uniformly, one after the other, or few of them often (Zipf).

Works on vectors of object numbers, since operations are drawn in batches.
"""

from collections.abc import Callable, Sequence
from math import gcd

import numpy as np
import numpy.typing as npt

from s3bench.load.engine.objects import slot_of
from s3bench.load.profile.profile import ZIPF_OBJECTS_MAX, Job, KeyDistribution

Numbers = npt.NDArray[np.int64]
Choice = Callable[[int], Numbers]
"""Gives so many numbers of objects."""

_TABLE_MAX = 1 << 16
_CANDIDATES_MAX = 1 << 14
_GOLDEN = 0.6180339887498949


def chooser(job: Job, worker: int, workers: int, objects: int, generator: np.random.Generator) -> Choice:
    """The distribution over `objects` that the job asks for, for one worker of `workers`."""
    assert objects > 0, "there must be objects to choose from"
    if job.keys is KeyDistribution.SEQUENTIAL:
        return _Sequence(worker, workers, objects)
    if job.keys is KeyDistribution.ZIPF:
        zipf = Zipf(objects, job.zipf_exponent, popular_sizes=job.popular_sizes, slots=job.sizes.slots)
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
    scattered: neighbours in rank are about 0.618 of all objects apart. `popular_sizes` are those of the first ranks:
    each takes the place of the object that is nearest in size, by the `slots` of the sizes, among the first 16,384.
    """

    def __init__(
        self, objects: int, exponent: float, *, popular_sizes: Sequence[int] = (), slots: Sequence[int] = (0,)
    ) -> None:
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
        swapped = _swapped(popular_sizes[:objects], slots, objects, self._step) if len(slots) > 1 else {}
        self._swapped_from = np.array(sorted(swapped), dtype=np.int64)
        self._swapped_to = np.array([swapped[number] for number in sorted(swapped)], dtype=np.int64)

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
        if len(self._swapped_from):
            places = np.minimum(np.searchsorted(self._swapped_from, numbers), len(self._swapped_from) - 1)
            numbers = np.where(self._swapped_from[places] == numbers, self._swapped_to[places], numbers)
        return numbers

    def _area(self, rank: float) -> float:
        """The integral of x**-exponent up to `rank`, from 1."""
        slope = 1 - self._exponent
        return float(np.log(rank) if slope == 0 else np.expm1(slope * np.log(rank)) / slope)

    def _inverse(self, area: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        slope = 1 - self._exponent
        rank: npt.NDArray[np.float64] = np.exp(area if slope == 0 else np.log1p(slope * area) / slope)
        return rank


def _swapped(sizes_bytes: Sequence[int], slots: Sequence[int], objects: int, step: int) -> dict[int, int]:
    """The objects that change places so that those of the first ranks have these sizes, as nearly as others have."""
    if not sizes_bytes:
        return {}
    candidates = np.arange(min(objects, _CANDIDATES_MAX), dtype=np.int64) * step % objects
    known = np.log1p([slots[slot_of(number)] for number in candidates.tolist()])
    is_free = np.ones(len(candidates), dtype=np.bool_)
    taken: dict[int, int] = {}  # the object of each place
    place_of: dict[int, int] = {}
    for rank, size_bytes in enumerate(sizes_bytes[: len(candidates)]):
        nearest = int(np.where(is_free, np.abs(known - np.log1p(size_bytes)), np.inf).argmin())
        is_free[nearest] = False
        place, wanted = rank * step % objects, int(candidates[nearest])
        former, other = taken.get(place, place), place_of.get(wanted, wanted)
        taken[place], taken[other] = wanted, former
        place_of[wanted], place_of[former] = place, other
    return taken


def _step(objects: int) -> int:
    """The step from rank to rank: about the golden section of all, and prime to their number so that each has one."""
    step = max(1, round(objects * _GOLDEN))
    while gcd(step, objects) != 1:
        step += 1
    return step
