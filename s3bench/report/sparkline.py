"""A series as one line of bars, for terminals.

The idea and the name are Edward Tufte's ("Beautiful Evidence", 2006). Bars begin at zero, so that twice as high is
twice as much.
"""

import math
from collections.abc import Sequence

_BARS = " ▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float]) -> str:
    """One character a value: an eighth of the highest is one step, and only nothing is blank."""
    most = max(values, default=0.0)
    steps = len(_BARS) - 1
    return "".join(_BARS[max(1, round(value / most * steps)) if value > 0 else 0] for value in values)


def stretches(values: Sequence[float], *, count_max: int) -> tuple[int, tuple[float, ...]]:
    """The means of neighbours, as few of them to a stretch as leave `count_max` stretches; and how many those are.

    The last stretch may be shorter.
    """
    size = max(1, math.ceil(len(values) / count_max))
    parts = (values[start : start + size] for start in range(0, len(values), size))
    return size, tuple(math.fsum(part) / len(part) for part in parts)
