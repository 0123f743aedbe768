"""Many tests at once, for information: p-values adjusted so that few of those shown are false.

Owns the correction. Which tests belong together is the caller's to say; tests that decide share their level otherwise
(Holm's procedure, `judgement`).
"""

from collections.abc import Sequence


def benjamini_hochberg(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p-values in the input's order: of those at most q, a share of q is false on average.

    Step-up; for tests that are independent or rise together (Benjamini & Hochberg, Journal of the Royal Statistical
    Society B 57, 1995).
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
