"""Many tests at once: p-values adjusted so that their number raises no false alarm.

Owns the two corrections. Which tests belong together is the caller's to say.
"""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p-values in the input's order: rejecting those at most alpha keeps the chance of any false one at alpha.

    Step-down; asks nothing of how the tests depend on each other (Holm, Scandinavian Journal of Statistics 6, 1979).
    """
    _check(p_values)
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return tuple(adjusted)


def benjamini_hochberg(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p-values in the input's order: of those at most q, a share of q is false on average.

    Step-up; for tests that are independent or rise together (Benjamini & Hochberg, Journal of the Royal Statistical
    Society B 57, 1995).
    """
    _check(p_values)
    adjusted = [0.0] * len(p_values)
    smallest = 1.0
    count = len(p_values)
    by_size = sorted(range(count), key=p_values.__getitem__)
    for rank in range(count, 0, -1):
        index = by_size[rank - 1]
        smallest = min(smallest, p_values[index] * count / rank)
        adjusted[index] = smallest
    return tuple(adjusted)


def _check(p_values: Sequence[float]) -> None:
    assert all(0 <= p_value <= 1 for p_value in p_values), "a p-value is a probability"
