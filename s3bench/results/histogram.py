"""Latency histograms with log-linear bins: bounded memory, merged by addition, exact to 0.2 %."""

from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from s3bench.results.bins import BIN_COUNT, BINS_PER_OCTAVE, Bins, check_bins, suffices_for

_SHIFT = 52 - 8
_OFFSET = 1023 << 8


class Histogram:
    """A histogram of samples in nanoseconds. Its memory depends on the octaves between its extremes."""

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
        """The histogram of all samples of `parts`. Raises `BadInput` for impossible bins."""
        whole = cls()
        for part in parts:
            check_bins(part, before=whole.count)
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
        """Add the samples of another histogram."""
        if not part.indexes:
            return
        counts = np.array(part.counts, np.int64)
        self._cover(part.indexes[0], part.indexes[-1])
        self._counts[np.array(part.indexes, np.intp) - self._first] += counts
        self._widen(int(counts.sum()), part.min_ns, part.max_ns, part.sum_ns)

    def join(self, other: "Histogram") -> None:
        """Add the samples of another histogram; cheaper than `merge`, which has to unpack them."""
        if not other.count:
            return
        first, counts = other.dense()
        self._cover(first, first + len(counts) - 1)
        place = first - self._first
        self._counts[place : place + len(counts)] += counts
        self._widen(other.count, other.min_ns, other.max_ns, other.sum_ns)

    def dense(self) -> tuple[int, npt.NDArray[np.int64]]:
        """The first allocated bin, and the counts from there on; they must not be modified."""
        return self._first, self._counts

    def bins(self) -> Bins:
        """The histogram in a form to send, store and merge."""
        places = np.flatnonzero(self._counts)
        indexes = (places + self._first).tolist()
        return Bins(tuple(indexes), tuple(self._counts[places].tolist()), self.min_ns, self.max_ns, self.sum_ns)

    def percentile_ns(self, percent: float) -> float | None:
        """The percentile by nearest rank, exact to half a bin (0.2 %); `None` for too few samples."""
        return self._at(percent) if suffices_for(self.count, percent) else None

    @property
    def mean_ns(self) -> float | None:
        """The exact mean; `None` without samples."""
        return self.sum_ns / self.count if self.count else None

    def _at(self, percent: float) -> float:
        # In whole numbers, since 99.9 is not an exact double and the rank must not be off by one.
        rank = max(1, -(-self.count * round(percent * 1000) // 100_000))
        index = self._first + int(np.searchsorted(np.cumsum(self._counts), rank))
        return min(max(_middle_ns(index), float(self.min_ns)), float(self.max_ns))

    def _cover(self, first: int, last: int) -> None:
        """Allocate the bins from `first` to `last`, in whole octaves."""
        if not 0 <= first <= last < BIN_COUNT:
            raise IndexError(f"bins {first} to {last} of {BIN_COUNT}")
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


def _bin_of(samples_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    bits = np.maximum(samples_ns, 1).astype(np.float64).view(np.int64)
    bins: npt.NDArray[np.int64] = np.minimum((bits >> _SHIFT) - _OFFSET, BIN_COUNT - 1)
    return bins


def _middle_ns(index: int) -> float:
    octave, step = divmod(index, BINS_PER_OCTAVE)
    return float(2.0**octave * (1 + (step + 0.5) / BINS_PER_OCTAVE))
