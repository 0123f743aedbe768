"""Latencies counted in log-linear bins: any number of them in little memory, merged by addition, exact to 0.2 %.

Owns the bins, the percentiles and the rule for how many samples a percentile needs. A bin is the exponent and the first
eight bits of the mantissa of a double (IEEE 754), so that each power of two has 256 bins of equal width: the idea of
HdrHistogram (http://hdrhistogram.org), found by a shift instead of a loop.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Self

import msgspec
import numpy as np
import numpy.typing as npt

from s3bench.errors import BadInput

BINS_PER_OCTAVE = 256
OCTAVES = 44
"""From 1 ns to 4.9 hours; what is longer counts as that."""

PERCENTS = (25.0, 50.0, 75.0, 90.0, 99.0, 99.9)

_SHIFT = 52 - 8
_OFFSET = 1023 << 8
_BINS = BINS_PER_OCTAVE * OCTAVES
_RISK = 0.025
_COUNT_MAX = 2**53  # exact in a double, and sums of it fit into 64 bits
_FIX = "give the document as s3bench wrote it"


class Bins(msgspec.Struct, frozen=True, array_like=True):
    """A histogram on its way or at rest: the bins that are not empty, in ascending order, and the exact extremes.

    `min_ns`, `max_ns` and `sum_ns` are of the samples themselves; 0 without any.
    """

    indexes: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    min_ns: int = 0
    max_ns: int = 0
    sum_ns: int = 0


class Histogram:
    """Counts samples, in nanoseconds. Its memory is that of the octaves between its extremes."""

    __slots__ = ("_counts", "_first", "count", "max_ns", "min_ns", "sum_ns")

    def __init__(self) -> None:
        self._counts: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._first = 0  # the bin that `_counts` begins with
        self.count = 0
        self.min_ns = 0
        self.max_ns = 0
        self.sum_ns = 0

    @classmethod
    def merged(cls, parts: Iterable[Bins]) -> Self:
        """The histogram of all samples of `parts` together. Raises `BadInput` for bins that nobody could count."""
        whole = cls()
        for part in parts:
            _check(part, before=whole.count)
            whole.merge(part)
        return whole

    def add(self, samples_ns: Sequence[int] | npt.NDArray[np.int64]) -> None:
        """Count `samples_ns`; an `array('q')` is not copied."""
        if not len(samples_ns):
            return
        samples = np.asarray(samples_ns, np.int64)
        bins = _bin_of(samples)
        self._cover(int(bins.min()), int(bins.max()))
        self._counts += np.bincount(bins - self._first, minlength=len(self._counts))
        self._widen(len(samples), int(samples.min()), int(samples.max()), int(samples.sum()))

    def merge(self, part: Bins) -> None:
        """Count the samples of another histogram as well."""
        if not part.indexes:
            return
        counts = np.array(part.counts, np.int64)
        self._cover(part.indexes[0], part.indexes[-1])
        self._counts[np.array(part.indexes, np.intp) - self._first] += counts
        self._widen(int(counts.sum()), part.min_ns, part.max_ns, part.sum_ns)

    def join(self, other: "Histogram") -> None:
        """Count the samples of another histogram as well; cheaper than `merge`, which has to unpack them."""
        if not other.count:
            return
        first, counts = other.dense()
        self._cover(first, first + len(counts) - 1)
        place = first - self._first
        self._counts[place : place + len(counts)] += counts
        self._widen(other.count, other.min_ns, other.max_ns, other.sum_ns)

    def dense(self) -> tuple[int, npt.NDArray[np.int64]]:
        """The first bin there is room for, and the counts from that one on; they are not to be changed."""
        return self._first, self._counts

    def bins(self) -> Bins:
        """The histogram in a form that can be sent, kept and merged."""
        places = np.flatnonzero(self._counts)
        indexes = (places + self._first).tolist()
        return Bins(tuple(indexes), tuple(self._counts[places].tolist()), self.min_ns, self.max_ns, self.sum_ns)

    def percentile_ns(self, percent: float) -> float | None:
        """The smallest value that is not below `percent` of the samples; `None` where they are too few to tell.

        Nearest rank, to half a bin (0.2 %).
        """
        return self._at(percent) if carries(self.count, percent) else None

    @property
    def mean_ns(self) -> float | None:
        """The exact mean; `None` of nothing."""
        return self.sum_ns / self.count if self.count else None

    def _at(self, percent: float) -> float:
        # In whole numbers: 99.9 is no exact double, and a rank may not slip by one for that.
        rank = max(1, -(-self.count * round(percent * 1000) // 100_000))
        index = self._first + int(np.searchsorted(np.cumsum(self._counts), rank))
        return min(max(_middle_ns(index), float(self.min_ns)), float(self.max_ns))

    def _cover(self, first: int, last: int) -> None:
        """Make room for the bins from `first` to `last`, by whole octaves."""
        if not 0 <= first <= last < _BINS:
            raise IndexError(f"bins {first} to {last} of {_BINS}")
        end = self._first + len(self._counts)
        if len(self._counts) and self._first <= first and last < end:
            return
        if len(self._counts):
            first, last = min(first, self._first), max(last, end - 1)
        octave, octaves = first // BINS_PER_OCTAVE, last // BINS_PER_OCTAVE - first // BINS_PER_OCTAVE + 1
        wider = np.zeros(octaves * BINS_PER_OCTAVE, np.int64)
        offset = self._first - octave * BINS_PER_OCTAVE
        wider[offset : offset + len(self._counts)] = self._counts
        self._counts, self._first = wider, octave * BINS_PER_OCTAVE

    def _widen(self, count: int, min_ns: int, max_ns: int, sum_ns: int) -> None:
        self.min_ns = min(self.min_ns, min_ns) if self.count else min_ns
        self.max_ns = max(self.max_ns, max_ns)
        self.sum_ns += sum_ns
        self.count += count


def carries(count: int, percent: float) -> bool:
    """Whether `count` samples bound a percentile from above: whether its 95 % interval has an upper end among them.

    The largest of n samples exceeds the quantile p with probability 1 - p^n (David & Nagaraja, Order Statistics, 3rd
    edition, 7.1), which must be 97.5 %: 6 samples for the median, 36 for the 90th percentile, 368 for the 99th, 3,688
    for the 99.9th.
    """
    return count > 0 and (percent / 100) ** count <= _RISK


def samples_needed(percent: float) -> int:
    """The fewest samples that carry a percentile."""
    return max(1, math.ceil(math.log(_RISK) / math.log(percent / 100)))


def _bin_of(samples_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    bits = np.maximum(samples_ns, 1).astype(np.float64).view(np.int64)
    bins: npt.NDArray[np.int64] = np.minimum((bits >> _SHIFT) - _OFFSET, _BINS - 1)
    return bins


def _middle_ns(index: int) -> float:
    octave, step = divmod(index, BINS_PER_OCTAVE)
    return float(2.0**octave * (1 + (step + 0.5) / BINS_PER_OCTAVE))


def _check(part: Bins, *, before: int) -> None:
    """Bins of a document may have been changed by hand; `before` samples were counted already."""
    indexes = part.indexes
    is_ordered = all(before < after for before, after in pairwise(indexes))
    if not is_ordered or len(indexes) != len(part.counts) or (indexes and not 0 <= indexes[0] <= indexes[-1] < _BINS):
        raise BadInput(
            "a histogram is broken",
            f"its bins are not {_BINS:,} at most in ascending order, each with a count",
            _FIX,
        )
    if any(count < 0 for count in part.counts) or before + sum(part.counts) > _COUNT_MAX:
        raise BadInput("a histogram is broken", f"it counts fewer than 0 or more than {_COUNT_MAX:,} samples", _FIX)
