"""The median of a sample and its 95 % confidence interval, of order statistics.

The number of values below the true median is binomial with one half, whatever the distribution (David & Nagaraja,
Order Statistics, 3rd edition, 7.1; Hollander & Wolfe, 3.6). Without numpy, which takes longer to load than everything
else that a table of medians needs.
"""

import math
from collections.abc import Sequence
from statistics import median

_PER_TAIL = 40  # the reciprocal of 2.5 % as a whole number: powers of two above 2^1023 are not floats


def median_interval(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    """The median of a sample and the ends of its 95 % interval, which are `None` below six values."""
    ordered, count = sorted(values), len(values)
    below = tail = 0
    while (tail := tail + math.comb(count, below)) * _PER_TAIL <= 2**count:
        below += 1
    if not below:
        return median(ordered), None, None
    return median(ordered), ordered[below - 1], ordered[-below]
