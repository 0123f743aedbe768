"""The bins of latency histograms, and how many samples a percentile needs.

A bin is the exponent and the first eight bits of the mantissa of a double (IEEE 754), so that each power of two has 256
bins of equal width, as in HdrHistogram (http://hdrhistogram.org), but found by a shift instead of a loop. A value
differs from the middle of its bin by at most 0.2 %.
"""

import math
from itertools import pairwise

import msgspec

from s3bench.errors import BadInput

BINS_PER_OCTAVE = 256
OCTAVES = 44
"""From 1 ns to 4.9 hours; longer latencies count as that."""
BIN_COUNT = BINS_PER_OCTAVE * OCTAVES

PERCENTS = (25.0, 50.0, 75.0, 90.0, 99.0, 99.9)

_RISK = 0.025
_COUNT_MAX = 2**53  # exact in a double, and sums of it fit into 64 bits
_FIX = "pass the document as s3bench wrote it"


class Bins(msgspec.Struct, frozen=True, array_like=True):
    """A histogram to send or store: its non-empty bins in ascending order, and the exact extremes and sum.

    `min_ns`, `max_ns` and `sum_ns` are exact values of the samples; 0 without any.
    """

    indexes: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    min_ns: int = 0
    max_ns: int = 0
    sum_ns: int = 0


def suffices_for(count: int, percent: float) -> bool:
    """Whether `count` samples are enough for a percentile: whether its 95 % interval has an upper end among them.

    The largest of n samples exceeds the quantile p with probability 1 - p^n (David & Nagaraja, Order Statistics, 3rd
    edition, 7.1), which must be 97.5 %: 6 samples for the median, 36 for the 90th percentile, 368 for the 99th, 3,688
    for the 99.9th.
    """
    return count > 0 and (percent / 100) ** count <= _RISK


def samples_needed(percent: float) -> int:
    """The fewest samples that are enough for a percentile."""
    return max(1, math.ceil(math.log(_RISK) / math.log(percent / 100)))


def check_bins(part: Bins, *, before: int) -> None:
    """Raise `BadInput` for impossible bins, since a document may have been edited by hand.

    `before` is the number of samples counted already.
    """
    indexes = part.indexes
    is_ordered = all(before < after for before, after in pairwise(indexes))
    if (
        not is_ordered
        or len(indexes) != len(part.counts)
        or (indexes and not 0 <= indexes[0] <= indexes[-1] < BIN_COUNT)
    ):
        raise BadInput(
            "a histogram is invalid",
            f"it needs at most {BIN_COUNT:,} bins in ascending order, each with a count",
            _FIX,
        )
    if any(count < 0 for count in part.counts) or before + sum(part.counts) > _COUNT_MAX:
        raise BadInput("a histogram is invalid", f"it counts fewer than 0 or more than {_COUNT_MAX:,} samples", _FIX)
