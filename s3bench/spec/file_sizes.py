"""The sizes of many files: exact or condensed into groups, and samples of them. Sizes are bytes.

Ranks count files in ascending order of size. A quantile is that of the nearest rank, so it is the size of a file
(Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996, definition 1).
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from itertools import count as count_from

from s3bench.units import counted, render_bytes

EXACT_SIZES_MAX = 256
"""Up to so many distinct sizes are kept as they are."""

_GROUPS_MAX = 200
_HALVINGS = 40
_GOLDEN = 0.6180339887498949
QUANTILES = (0.5, 0.9, 0.99)

SizeCounts = tuple[tuple[int, int], ...]
"""Sizes in ascending order, each with the number of files that have it."""


@dataclass(frozen=True, kw_only=True)
class FileSizes:
    """The sizes of at least one file."""

    counts: SizeCounts

    def __post_init__(self) -> None:
        assert self.counts
        assert all(count > 0 for _, count in self.counts)
        assert all(before < after for (before, _), (after, _) in pairwise(self.counts))

    @classmethod
    def of(cls, sizes: Counter[int]) -> "FileSizes":
        """The sizes that `sizes` counts."""
        return cls(counts=tuple(sorted((size, count) for size, count in sizes.items() if count)))

    @property
    def files(self) -> int:
        """The number of files."""
        return self._files_up_to[-1]

    @property
    def total_bytes(self) -> int:
        """The size of all files together."""
        return self._bytes_up_to[-1]

    @property
    def largest_bytes(self) -> int:
        """The size of the largest file."""
        return self.counts[-1][0]

    def quantile(self, share: float) -> int:
        """The size that `share` of the files do not exceed."""
        return self._at(self._rank(share))

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(size for size, _ in self.counts)

    @cached_property
    def _files_up_to(self) -> tuple[int, ...]:
        return tuple(accumulate(count for _, count in self.counts))

    @cached_property
    def _bytes_up_to(self) -> tuple[int, ...]:
        return tuple(accumulate(size * count for size, count in self.counts))

    def _rank(self, share: float) -> int:
        return max(0, math.ceil(share * self.files) - 1)

    def _at(self, rank: int) -> int:
        return self._sizes[bisect_right(self._files_up_to, rank)]

    def _bytes_before(self, rank: int) -> int:
        """The bytes of all files of lower ranks."""
        index = bisect_right(self._files_up_to, rank)
        if index == len(self.counts):
            return self.total_bytes
        missing = self._files_up_to[index] - rank
        return self._bytes_up_to[index] - missing * self._sizes[index]

    def condensed(self) -> "FileSizes":
        """At most a few hundred distinct sizes, with the same number of files, bytes, quantiles and largest file.

        Files next to each other in size form a group, whose sizes differ by a factor that is as small as the number of
        groups allows. Each gets the mean of its group, rounded down or up, so that bytes are preserved. The files at
        the ranks of `QUANTILES`, the smallest and the largest keep their sizes.
        """
        if len(self.counts) <= EXACT_SIZES_MAX:
            return self
        low, high = 0.0, math.log(self.largest_bytes + 1)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._groups(math.exp(middle)) is None else (low, middle)
        groups = self._groups(math.exp(high))
        assert groups is not None
        return FileSizes.of(self._means(groups))

    def _groups(self, factor: float) -> list[tuple[int, int]] | None:
        """Ranges of ranks within which sizes differ by at most `factor`; `None` if there are too many."""
        kept = sorted({0, self.files - 1, *(self._rank(share) for share in QUANTILES)})
        groups: list[tuple[int, int]] = []
        first = 0
        for end in kept:
            while first < end:
                reach = bisect_right(self._sizes, self._at(first) * factor) - 1
                beyond = min(end, max(first + 1, self._files_up_to[reach]))
                groups.append((first, beyond))
                first = beyond
                if len(groups) > _GROUPS_MAX:
                    return None
            groups.append((end, end + 1))
            first = end + 1
        return groups

    def _means(self, groups: Iterable[tuple[int, int]]) -> Counter[int]:
        sizes: Counter[int] = Counter()
        for first, end in groups:
            mean, larger = divmod(self._bytes_before(end) - self._bytes_before(first), end - first)
            sizes[mean + 1] += larger
            sizes[mean] += end - first - larger
        return sizes

    def sample(self, *, files_max: int, bytes_max: int) -> "FileSizes":
        """At most `files_max` files of about `bytes_max` bytes or fewer, but at least one file.

        Each stands for as many files next to each other in size and has their mean size, so that the bytes for each
        file stay as they are. If not even one file of that size is within `bytes_max`, it is made so small.
        """
        files = min(self.files, files_max)
        if self.total_bytes * files > bytes_max * self.files:
            files = max(1, bytes_max * self.files // self.total_bytes)
        if files == self.files and self.total_bytes <= bytes_max:
            return self
        ends = [number * self.files // files for number in range(files + 1)]
        sizes = (
            (self._bytes_before(end) - self._bytes_before(first)) // (end - first) for first, end in pairwise(ends)
        )
        return FileSizes.of(Counter(min(size, bytes_max) for size in sizes))


def error_between(sizes: FileSizes, changed: FileSizes) -> float:
    """The largest relative difference of a file's size in `changed`, rank by rank. Both have as many files."""
    assert sizes.files == changed.files
    left, right = list(sizes.counts), list(changed.counts)
    error = 0.0
    while left:
        (size, many), (other, others) = left.pop(), right.pop()
        error = max(error, abs(size - other) / size if size else float(other > 0))
        both = min(many, others)
        left += [(size, many - both)] * (many > both)
        right += [(other, others - both)] * (others > both)
    return error


def sample_words(whole: FileSizes, sample: FileSizes) -> str | None:
    """What a sample leaves out, in a sentence; `None` if it is the whole."""
    if sample == whole:
        return None
    return (
        f"a sample of {sample.files:,} of {whole.files:,} files and {render_bytes(sample.total_bytes)} of "
        f"{render_bytes(whole.total_bytes)}: each has the mean size of the files it stands for, so the largest has "
        f"{render_bytes(sample.largest_bytes)} instead of {render_bytes(whole.largest_bytes)}"
    )


def sizes_words(sizes: FileSizes) -> str:
    """`20 files of 4.0 KiB`; `5,000 files of 1.0 KiB to 2.0 GiB, median 40.0 KiB, 12.0 GiB in all`."""
    files = counted(sizes.files, "file")
    smallest = sizes.counts[0][0]
    if smallest == sizes.largest_bytes:
        return f"{files} of {render_bytes(smallest)}"
    return (
        f"{files} of {render_bytes(smallest)} to {render_bytes(sizes.largest_bytes)}, "
        f"median {render_bytes(sizes.quantile(0.5))}, {render_bytes(sizes.total_bytes)} in all"
    )


def in_turn(counts: SizeCounts) -> Iterator[int]:
    """Yield each size as often as it counts, small and large ones in turn, in the same order each time.

    Ranks of neighbours are about 0.618 of all apart (the golden section), so that every stretch has files of all sizes:
    clients transfer files in the order of their names, and with the largest at the end it alone would decide the time.
    """
    ends = tuple(accumulate(count for _, count in counts))
    files = ends[-1]
    step = next(step for step in count_from(max(1, round(files * _GOLDEN))) if math.gcd(step, files) == 1)
    return (counts[bisect_right(ends, number * step % files)][0] for number in range(files))
