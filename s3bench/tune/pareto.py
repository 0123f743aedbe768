"""Which settings no other beats in both time and memory: the Pareto front.

Owns what it means to be beaten. Pure.
"""

from collections.abc import Sequence

from s3bench.tune.answer import Figures


def pareto_front(figures: Sequence[Figures]) -> tuple[Figures, ...]:
    """Those of which no other is better in `value` or `peak_memory` and at least as good in the other one.

    By rising value, and so by falling memory; of equals all are kept. What was capped, what failed, and what has no
    value or no memory known is left out.
    """
    known = [
        (each.value, each.peak_memory, each)
        for each in figures
        if each.value is not None and each.peak_memory is not None and not each.was_capped and not each.failures
    ]
    front: list[tuple[float, int, Figures]] = []
    for value, memory, each in sorted(known, key=lambda item: item[:2]):
        if not front or memory < front[-1][1] or (value, memory) == front[-1][:2]:
            front.append((value, memory, each))
    return tuple(each for *_, each in front)
