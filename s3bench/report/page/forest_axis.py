"""The axis on which relative changes are drawn: a log scale of ratios to the baseline, marked in percent.

Verdicts are made on logarithms of ratios, and on this scale their intervals and zones are as wide as they are to them:
twice as slow lies as far to one side as twice as fast to the other.
"""

import math

import altair as alt

_PERCENT_STEPS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_TICKS_MAX = 9
_FACTORS = (1, 2, 5)
_LABEL = "datum.value == 1 ? '0%' : format(datum.value - 1, '+,.4~%')"


def change_ticks(low: float, high: float) -> list[float]:
    """Ratios to mark between `low` and `high`: steps of percent, or 1, 2, 5, 10 times where these are too many."""
    for step in _PERCENT_STEPS:
        first, last = math.ceil((low - 1) / step - 1e-9), math.floor((high - 1) / step + 1e-9)
        if last - first < _TICKS_MAX:
            return [round(1 + number * step, 6) for number in range(first, last + 1)]
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in (_FACTORS, _FACTORS[:1]):
        ratios = [factor * 10.0**power for power in decades for factor in factors]
        inside = [ratio for ratio in ratios if low <= ratio <= high]
        if len(inside) <= _TICKS_MAX:
            break
    return inside[:: math.ceil(len(inside) / _TICKS_MAX)] if inside else []


def change_scale(low: float, high: float) -> alt.Scale:
    """The log scale from the ratio `low` to the ratio `high`, no further."""
    return alt.Scale(type="log", domain=[low, high], nice=False)


def change_axis(low: float, high: float, *, title: str | list[str]) -> alt.Axis:
    """The axis of `change_scale`, its ratios labelled as changes in percent."""
    return alt.Axis(title=title, values=change_ticks(low, high), labelExpr=_LABEL, grid=False, labelOverlap=True)
