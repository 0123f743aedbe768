"""The bins in which latencies are counted, and how many samples a percentile needs.

A bin is the exponent and the first eight bits of the mantissa of a double (IEEE 754), so that each power of two has 256
bins of equal width: the idea of HdrHistogram (http://hdrhistogram.org), found by a shift instead of a loop. A value
differs from the middle of its bin by at most 0.2 %. `s3bench.results.histogram` counts, in numpy.
"""

import math
from itertools import pairwise

import msgspec

from s3bench.errors import BadInput

BINS_PER_OCTAVE = 256
OCTAVES = 44
"""From 1 ns to 4.9 hours; what is longer counts as that."""
BIN_COUNT = BINS_PER_OCTAVE * OCTAVES

PERCENTS = (25.0, 50.0, 75.0, 90.0, 99.0, 99.9)

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


def check_bins(part: Bins, *, before: int) -> None:
    """Refuse bins that nobody could count: a document may have been changed by hand.

    `before` samples were counted already. Raises `BadInput`.
    """
    indexes = part.indexes
    is_ordered = all(before < after for before, after in pairwise(indexes))
    if (
        not is_ordered
        or len(indexes) != len(part.counts)
        or (indexes and not 0 <= indexes[0] <= indexes[-1] < BIN_COUNT)
    ):
        raise BadInput(
            "a histogram is broken",
            f"its bins are not {BIN_COUNT:,} at most in ascending order, each with a count",
            _FIX,
        )
    if any(count < 0 for count in part.counts) or before + sum(part.counts) > _COUNT_MAX:
        raise BadInput("a histogram is broken", f"it counts fewer than 0 or more than {_COUNT_MAX:,} samples", _FIX)
