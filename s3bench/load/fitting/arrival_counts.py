"""Counts arrivals in bins of time, in bounded memory, whatever their order.

A bin is a second wide, or a power of two of seconds where there would be too many. Counts are kept for several groups
of operations at once.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

BINS_MAX = 1 << 17
"""The most bins with arrivals: 36 hours of seconds. They take 20 MB."""

DAY_S = 86_400
_LEVELS_MAX = 1 << 20  # bins of an array, empty ones included

Counts = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivalSeries:
    """Arrivals over time: `counts` of each group by bin, and the seconds of each bin that the log covers.

    Bins are `width_s` wide and begin `since_s` after the epoch; of a log longer than a day they are those of one day,
    from midnight (UTC) on, which `days` days are added up in.
    """

    width_s: float
    since_s: float
    counts: Counts
    covered_s: Counts
    days: float = 1.0


class ArrivalCounts:
    """The arrivals of `groups` groups. Times are in seconds since the epoch, or since the start of a trace."""

    def __init__(self, groups: int, *, bins_max: int = BINS_MAX) -> None:
        self._groups = groups
        self._bins_max = bins_max
        self._bins: dict[int, list[int]] = {}
        self._width_s = 1
        self._has_fractions = False
        self.first_s = np.inf
        self.last_s = -np.inf

    @property
    def resolution_s(self) -> float:
        """What the times of the log are rounded down to: a second, or nothing."""
        return 0.0 if self._has_fractions else 1.0

    @property
    def span_s(self) -> float:
        """The length of the log."""
        return float(self.last_s - self.first_s) + self.resolution_s

    def add(self, at_s: float, group: int) -> None:
        """Count an arrival."""
        index = int(at_s // self._width_s)
        found = self._bins.get(index)
        if found is None:
            found = self._bins[index] = [0] * self._groups
            if len(self._bins) > self._bins_max:
                self._coarsen()
                found = self._bins[int(at_s // self._width_s)]
        found[group] += 1
        if at_s < self.first_s:  # noqa: PLR1730 (min and max take longer, for each of millions of lines)
            self.first_s = at_s
        if at_s > self.last_s:  # noqa: PLR1730 (the same)
            self.last_s = at_s
        if not self._has_fractions and at_s != int(at_s):
            self._has_fractions = True

    def series(self) -> ArrivalSeries:
        """The counts over time, empty bins included; there must be arrivals."""
        while self.span_s / self._width_s > _LEVELS_MAX:
            self._coarsen()
        width_s, until_s = self._width_s, float(self.last_s) + self.resolution_s
        first = int(self.first_s // width_s)
        length = max(1, int(np.ceil(until_s / width_s)) - first)
        counts = np.zeros((self._groups, length))
        for index, found in self._bins.items():
            counts[:, min(index - first, length - 1)] += found
        begins_s = (first + np.arange(length)) * float(width_s)
        covered_s = np.minimum(begins_s + width_s, until_s) - np.maximum(begins_s, self.first_s)
        series = ArrivalSeries(
            width_s=float(width_s), since_s=float(self.first_s), counts=counts, covered_s=np.maximum(covered_s, 1e-9)
        )
        return series if self.span_s <= DAY_S else _folded(series, first)

    def _coarsen(self) -> None:
        """Make bins twice as wide, until there are few enough."""
        while True:
            self._width_s *= 2
            bins: dict[int, list[int]] = {}
            for index, found in self._bins.items():
                wider = bins.setdefault(index // 2, [0] * self._groups)
                for group, count in enumerate(found):
                    wider[group] += count
            self._bins = bins
            if len(bins) <= self._bins_max:
                return


def _folded(series: ArrivalSeries, first: int) -> ArrivalSeries:
    """All days as one: bins that begin in the same part of the day are added up.

    A day has no whole number of bins that are wider than 128 s, so its parts are a little wider than these.
    """
    length = max(1, int(DAY_S // series.width_s))
    width_s = DAY_S / length
    begins_s = (first + np.arange(series.counts.shape[1])) * series.width_s
    places = (begins_s % DAY_S / width_s).astype(np.int64)
    counts = np.zeros((len(series.counts), length))
    covered_s = np.zeros(length)
    for group, found in enumerate(series.counts):
        np.add.at(counts[group], places, found)
    np.add.at(covered_s, places, series.covered_s)
    return ArrivalSeries(
        width_s=width_s,
        since_s=0.0,
        counts=counts,
        covered_s=covered_s,
        days=float(series.covered_s.sum()) / DAY_S,
    )
