"""Benjamini-Hochberg: p-values of many tests adjusted so that few of the reported changes are false.

Used for information. Tests that decide a gate use Holm's procedure instead (`s3bench.gate.multiple_testing`).
"""

from collections.abc import Sequence


def benjamini_hochberg(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p-values in the order of the input: rejecting those of at most q keeps the false discovery rate at q.

    Step-up procedure for independent or positively dependent tests (Benjamini & Hochberg, Journal of the Royal
    Statistical Society B 57, 1995).
    """
    assert all(0 <= p_value <= 1 for p_value in p_values), "a p-value is a probability"
    adjusted = [0.0] * len(p_values)
    smallest = 1.0
    count = len(p_values)
    by_size = sorted(range(count), key=p_values.__getitem__)
    for rank in range(count, 0, -1):
        index = by_size[rank - 1]
        smallest = min(smallest, p_values[index] * count / rank)
        adjusted[index] = smallest
    return tuple(adjusted)
