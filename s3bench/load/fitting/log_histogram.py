"""Counts whole numbers, such as sizes in bytes, in bins that are at most 0.8 % wide, in bounded memory.

A bin is a power of two and the seven bits after its first, as in HdrHistogram (http://hdrhistogram.org); numbers below
256 have bins of their own. Each bin knows the sum of its numbers and stands for their mean, so that a size which many
objects share is kept exactly. There are at most 7,296 bins of numbers below 2**63.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from s3bench.load.profile.sizes import SLOTS, Sizes, fixed, parse_sizes
from s3bench.units import exact_bytes

_BITS = 8


class LogHistogram:
    """How often each number occurred, by bin."""

    def __init__(self) -> None:
        self._bins: dict[int, list[int]] = {}
        self.count = 0

    def add(self, number: int) -> None:
        """Count a number, 0 or more."""
        shift = max(0, number.bit_length() - _BITS)
        index = (shift << _BITS) + (number >> shift)
        found = self._bins.get(index)
        if found is None:
            self._bins[index] = [1, number]
        else:
            found[0] += 1
            found[1] += number
        self.count += 1

    @property
    def mean(self) -> float:
        """The mean of all numbers, exactly; 0 without any."""
        return sum(total for _, total in self._bins.values()) / self.count if self.count else 0.0

    def quantiles(self, shares: Sequence[float]) -> tuple[int, ...]:
        """The numbers that these shares of all do not exceed, each within its bin; there must be numbers."""
        means, counts = self.steps()
        ends = np.cumsum(counts)
        places = np.searchsorted(ends, np.asarray(shares) * ends[-1], side="left")
        return tuple(round(means[min(place, len(means) - 1)]) for place in places.tolist())

    def steps(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """The means of the bins, ascending, and their counts."""
        bins = [self._bins[index] for index in sorted(self._bins)]
        means = np.array([total / count for count, total in bins])
        return means, np.array([count for count, _ in bins], dtype=np.int64)

    def sizes(self, *, largest: int | None = None) -> Sizes:
        """The numbers as the sizes of a profile, in equally frequent slots.

        A slot has the size in the middle of its share, so that it is one that occurred. The last one has the mean of
        its share, so that few large objects keep their bytes. What is above `largest` is made that.
        """
        slots = self.quantiles([(slot + 0.5) / SLOTS for slot in range(SLOTS - 1)])
        all_slots = [*slots, max(slots[-1], round(self._mean_above((SLOTS - 1) / SLOTS)))]
        return sizes_of(min(size, largest) if largest is not None else size for size in all_slots)

    def _mean_above(self, share: float) -> float:
        """The mean of the numbers above a share of all."""
        means, counts = self.steps()
        ends = np.cumsum(counts, dtype=np.float64)
        within = np.clip(ends - share * ends[-1], 0.0, counts)
        return float((means * within).sum() / within.sum())


def sizes_of(slots: Iterable[int]) -> Sizes:
    """The sizes with these slots, in the notation of profiles."""
    weights = Counter(slots)
    if len(weights) == 1:
        return fixed(next(iter(weights)))
    return parse_sizes(", ".join(f"{_text_of(size)}:{weight}" for size, weight in sorted(weights.items())))


def _text_of(size_bytes: int) -> str:
    """A size, in KiB or more if it is a whole number of them."""
    return exact_bytes(size_bytes).removesuffix("B") if size_bytes % 1024 else exact_bytes(size_bytes)


def ks_distance(first: LogHistogram, second: LogHistogram) -> float:
    """The largest difference between the distribution functions of two histograms (Kolmogorov and Smirnov)."""
    (a, a_counts), (b, b_counts) = first.steps(), second.steps()
    at = np.union1d(a, b)
    shares = [
        np.concatenate(([0.0], np.cumsum(counts) / counts.sum()))[np.searchsorted(means, at, side="right")]
        for means, counts in ((a, a_counts), (b, b_counts))
    ]
    return float(np.abs(shares[0] - shares[1]).max())
