"""Order statistics of all pairwise sums, without storing them all.

Works on the Walsh averages of one sample and on the differences between two: the k-th smallest, the median, and how
many lie above or below a value. `signed_rank` and `rank_sum` build their tests on it.

Ten thousand values per side have 10^8 differences, so large sets are never stored. They form a matrix with sorted rows:
a binary search per row counts, and the weighted median of the row medians is the pivot of the selection (Johnson &
Mizoguchi, SIAM Journal on Computing 7, 1978). Every result is one of the rounded sums itself, so that selecting and
counting agree to the last bit.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

_STORED_SUMS_MAX = 65_536  # 512 KiB; up to here storing all sums is faster than searching


def finite_sample(values: Sequence[float]) -> NDArray[np.float64]:
    """A copy of `values` as an array; each must be finite (a failed run has no value and is left out)."""
    sample = np.array(values, dtype=np.float64)
    assert sample.ndim == 1, "a sample is a flat sequence"
    assert np.isfinite(sample).all(), "every value of a sample is finite"
    return sample


def sorted_sample(values: Sequence[float]) -> NDArray[np.float64]:
    """As `finite_sample`, in ascending order."""
    sample = finite_sample(values)
    sample.sort()
    return sample


class PairwiseSums:
    """The sums `offsets[i] + values[j]` for all i and all `j >= starts[i]`; `values` are in ascending order."""

    def __init__(
        self, offsets: NDArray[np.float64], values: NDArray[np.float64], starts: NDArray[np.intp] | None = None
    ) -> None:
        self._offsets = offsets
        self._values = values
        self._starts = np.zeros(offsets.size, dtype=np.intp) if starts is None else starts
        self.size = offsets.size * values.size - (0 if starts is None else int(starts.sum()))
        self._stored: NDArray[np.float64] | None = None
        if self.size <= _STORED_SUMS_MAX:
            if starts is None:
                self._stored = np.add.outer(offsets, values).ravel()
            else:
                rows, columns = upper_triangle(offsets.size, above=0)
                self._stored = offsets[rows] + values[columns]

    @classmethod
    def walsh_averages(cls, sample: NDArray[np.float64]) -> Self:
        """The averages `(x_i + x_j) / 2` for all `i <= j`, n(n+1)/2 of them, of a sorted sample."""
        halves = 0.5 * sample
        return cls(halves, halves, np.arange(sample.size, dtype=np.intp))

    @classmethod
    def differences(cls, first: NDArray[np.float64], second: NDArray[np.float64]) -> Self:
        """All `second_j - first_i` of two sorted samples."""
        negated = -first[::-1]
        # A row costs more than a column.
        return cls(negated, second) if first.size <= second.size else cls(second, negated)

    def count_above(self, limit: float) -> int:
        """How many sums are greater than `limit`; equal ones are not."""
        if self._stored is not None:
            return int(np.count_nonzero(self._stored > limit))
        ends = self._search(limit, self._starts, self._row_ends(), inclusive=True)
        return self.size - int((ends - self._starts).sum())

    def count_below(self, limit: float) -> int:
        """How many sums are less than `limit`; equal ones are not."""
        if self._stored is not None:
            return int(np.count_nonzero(self._stored < limit))
        ends = self._search(limit, self._starts, self._row_ends(), inclusive=False)
        return int((ends - self._starts).sum())

    def nth(self, rank: int) -> float:
        """The sum with `rank` others before it in ascending order: 0 is the smallest, `size - 1` the largest."""
        assert 0 <= rank < self.size, f"rank {rank} of {self.size} sums"
        if self._stored is not None:
            return float(np.partition(self._stored, rank)[rank])
        return self._select(rank)

    def median(self) -> float:
        """The middle sum, or the mean of the two in the middle."""
        assert self.size, "an empty sample has no median"
        low, high = (self.size - 1) // 2, self.size // 2
        if self._stored is not None:
            partitioned = np.partition(self._stored, (low, high))
            return float(0.5 * partitioned[low] + 0.5 * partitioned[high])
        lower = self._select(low)
        return lower if low == high else 0.5 * lower + 0.5 * self._select(high)

    def _row_ends(self) -> NDArray[np.intp]:
        return np.full(self._offsets.size, self._values.size, dtype=np.intp)

    def _select(self, rank: int) -> float:
        """`nth` for too many sums to store: each round keeps the columns `low[i]:high[i]` of each row i."""
        low, high = self._starts, self._row_ends()
        while int((high - low).sum()) > _STORED_SUMS_MAX:
            pivot = self._pivot(low, high)
            below = self._search(pivot, low, high, inclusive=False)
            if rank < int((below - self._starts).sum()):
                high = below
                continue
            upto = self._search(pivot, low, high, inclusive=True)
            if rank < int((upto - self._starts).sum()):
                return pivot
            low = upto
        widths = high - low
        rows = np.repeat(np.arange(widths.size), widths)
        columns = np.arange(rows.size) - np.repeat(np.cumsum(widths) - widths - low, widths)
        rank_left = rank - int((low - self._starts).sum())
        return float(np.partition(self._offsets[rows] + self._values[columns], rank_left)[rank_left])

    def _pivot(self, low: NDArray[np.intp], high: NDArray[np.intp]) -> float:
        """The weighted median of the row medians: at least a quarter of the remaining sums lies on each side."""
        open_rows = np.flatnonzero(high > low)
        middles = (low[open_rows] + high[open_rows]) // 2
        medians = self._offsets[open_rows] + self._values[middles]
        order = np.argsort(medians)
        weights = np.cumsum((high - low)[open_rows][order])
        return float(medians[order][np.searchsorted(weights, weights[-1] / 2)])

    def _search(
        self, limit: float, low: NDArray[np.intp], high: NDArray[np.intp], *, inclusive: bool
    ) -> NDArray[np.intp]:
        """Per row, the first column in `low[i]:high[i]` whose sum is not below `limit` (`inclusive`: is above it).

        Compares the rounded sums themselves: searching `values` for `limit - offset` would round another way.
        """
        while (rows := np.flatnonzero(low < high)).size:
            low, high = low.copy(), high.copy()
            middles = (low[rows] + high[rows]) // 2
            sums = self._offsets[rows] + self._values[middles]
            before = sums <= limit if inclusive else sums < limit
            low[rows[before]] = middles[before] + 1
            high[rows[~before]] = middles[~before]
        return low


@lru_cache(maxsize=128)
def upper_triangle(size: int, *, above: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """All pairs i, j below `size` with `j >= i + above`."""
    return np.triu_indices(size, k=above)
