"""Takes out of a series of times what the machine explains: the speed of its core, and waits for a core.

Both were measured beside the client in the same runs. The slopes come from the steps between neighbouring releases,
with Huber's weights (`s3bench.stats.covariate`): a change of the client is a single step among all of them and hardly
moves a slope, however long it lasts.

A covariate that changed its level together with the client explains nothing: the machine may have been replaced, or the
client itself may slow the core down. So where the values of a covariate after a change are apart from all those before
it, the two sides are not adjusted to each other: each keeps its own level. A machine that becomes slower and faster
again has the same speeds on both sides, and is adjusted throughout. Rates of the speed probe are comparable within one
version of s3bench, so that a change of speed that came with a new version of it divides the series as well.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import msgspec
import numpy as np
from numpy.typing import NDArray

from s3bench.results.machine_speed import CLIENT_SLOPE
from s3bench.stats.covariate import Covariate, explained
from s3bench.stats.rank_sum import p_two_sided
from s3bench.trend.change_point import RELEASES_MIN, ChangePoint, find_changes

ADJUSTED_METRICS = frozenset({"cpu_time", "user_cpu_time", "system_cpu_time", "total_time", "throughput"})

_APART = 0.95  # of all pairs of a value before a change and one after it, so many differ in the same direction
_MOVED_LEVEL = 0.01
_DIRECTION_OF_WALL_TIMES = {"total_time": 1.0, "throughput": -1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFigures:
    """The machine during the runs of a release.

    `speed` is the rate of the speed probe, `cpu_share` the part of the total time that is CPU time. `lengthening` is
    the logarithm of the total time over what it would be without waits for a core. `s3bench` is the version.
    """

    speed: float | None
    cpu_share: float | None
    lengthening: float | None
    s3bench: str


class MachineChange(msgspec.Struct, frozen=True, kw_only=True):
    """A lasting change of the machine; the figures before and after it are not adjusted to each other.

    `index` (from 0) is the first release after it, `first` to `last` the interval; `words` describe it.
    """

    index: int
    first: int
    last: int
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdjustedFigures:
    """The figures without what the machine explains; as they were measured where a release has no covariates.

    A slope is the change of the figure's logarithm per change of the covariate's; 0 if nothing was adjusted for it.
    `noise_raw` and `noise` are the standard deviations of a release around its level, without and with the adjustment.
    `covariates` are the slowness of the machine and the lengthening by waits, as far as they are known.
    """

    figures: tuple[float, ...]
    speed_slope: float
    wait_slope: float
    noise_raw: float
    noise: float
    releases: int
    machine_changes: tuple[MachineChange, ...]
    covariates: tuple[tuple[float | None, ...], ...]

    @property
    def is_adjusted(self) -> bool:
        """Whether any figure may differ from what was measured."""
        return bool(self.speed_slope or self.wait_slope)

    def is_machine_moved(self, found: ChangePoint) -> bool:
        """Whether a covariate has another level after a change than before it, by the Mann-Whitney test."""
        start, stop = found.index - found.before, found.index + found.after
        sides = (
            (_known(values[start : found.index]), _known(values[found.index : stop])) for values in self.covariates
        )
        return any(p_two_sided(before, after) <= _MOVED_LEVEL for before, after in sides)


@dataclass(frozen=True, slots=True, kw_only=True)
class _MachineSeries:
    """A covariate of each release, `None` where unknown; it starts anew at `breaks`."""

    values: tuple[float | None, ...]
    expected_slope: float
    breaks: frozenset[int]
    changes: tuple[MachineChange, ...]

    def centred(self, releases: Sequence[int]) -> list[float]:
        """The values of `releases`, less the median of those between the same two breaks."""
        edges = sorted(self.breaks)
        groups: dict[int, list[float]] = {}
        stretches = [sum(edge <= release for edge in edges) for release in releases]
        known = [self.values[release] or 0.0 for release in releases]
        for stretch, value in zip(stretches, known, strict=True):
            groups.setdefault(stretch, []).append(value)
        middles = {stretch: median(values) for stretch, values in groups.items()}
        return [value - middles[stretch] for stretch, value in zip(stretches, known, strict=True)]


def adjusted(metric: str, figures: Sequence[float], machine: Sequence[MachineFigures | None]) -> AdjustedFigures | None:
    """The positive `figures` of `metric`, adjusted for the `machine` of each release.

    `None` for metrics that are not adjusted, and for fewer than ten releases with a covariate. Nothing is adjusted if
    it would not lessen the noise.
    """
    if metric not in ADJUSTED_METRICS:
        return None
    direction = _DIRECTION_OF_WALL_TIMES.get(metric)
    speed, wait = _speed(direction, machine), _wait(direction or 1.0, machine)
    covariates = tuple(series.values for series in (speed, wait) if series is not None)
    if direction is None:
        wait = None
    used = [series for series in (speed, wait) if series is not None]
    known = [release for release in range(len(figures)) if all(series.values[release] is not None for series in used)]
    if not used or len(known) < RELEASES_MIN:
        return None
    logs = np.log(figures)
    slopes = _slopes([float(logs[release]) for release in known], used, known)
    parts = np.zeros(logs.size)
    for slope, series in zip(slopes, used, strict=True):
        parts[known] += slope * np.array(series.centred(known))
    noise_raw, noise = _noise(logs), _noise(logs - parts)
    by_series = dict(zip(map(id, used), slopes, strict=True)) if noise < noise_raw else {}
    return AdjustedFigures(
        figures=tuple(np.exp(logs - parts).tolist()) if by_series else tuple(figures),
        speed_slope=by_series.get(id(speed), 0.0),
        wait_slope=by_series.get(id(wait), 0.0),
        noise_raw=noise_raw,
        noise=noise if by_series else noise_raw,
        releases=len(known),
        machine_changes=tuple(change for series in used for change in series.changes),
        covariates=covariates,
    )


def _noise(logs: NDArray[np.float64]) -> float:
    """The standard deviation of a release around its level, from the mean square of the steps between neighbours."""
    return math.sqrt(float((np.diff(logs) ** 2).mean()) / 2)


def _slopes(logs: Sequence[float], used: Sequence[_MachineSeries], known: Sequence[int]) -> tuple[float, ...]:
    """The slopes from the steps between neighbours that no break separates; 0 with too few of them."""
    breaks = frozenset().union(*(series.breaks for series in used))
    steps = [
        place
        for place, (before, after) in enumerate(pairwise(known))
        if not any(before < edge <= after for edge in breaks)
    ]
    if len(steps) < RELEASES_MIN - 1:
        return (0.0,) * len(used)
    covariates = []
    for series in used:
        values = [series.values[release] or 0.0 for release in known]
        differences = tuple(values[place + 1] - values[place] for place in steps)
        covariates.append(Covariate(differences=differences, expected_slope=series.expected_slope))
    return explained([logs[place + 1] - logs[place] for place in steps], covariates).slopes


def _speed(direction: float | None, machine: Sequence[MachineFigures | None]) -> _MachineSeries | None:
    """The slowness of the machine: the logarithm of one over its speed."""
    values = [None if each is None or not each.speed else -math.log(each.speed) for each in machine]
    shares = [each.cpu_share for each in machine if each is not None and each.cpu_share is not None]
    cpu_share = min(1.0, median(shares)) if shares else 1.0
    slope = CLIENT_SLOPE if direction is None else direction * CLIENT_SLOPE * cpu_share
    versions = [(release, each.s3bench) for release, each in enumerate(machine) if each is not None]
    renewed = frozenset(release for (_, before), (release, after) in pairwise(versions) if before != after)
    return _machine_series(values, slope, renewed, ("the machine became", "faster", "slower"))


def _wait(direction: float, machine: Sequence[MachineFigures | None]) -> _MachineSeries | None:
    """How far waits for a core lengthened the runs. CPU times are not adjusted for it: it shows a busy machine."""
    values = [None if each is None else each.lengthening for each in machine]
    return _machine_series(values, direction, frozenset(), ("waits for a core made runs", "shorter", "longer"))


def _machine_series(
    values: Sequence[float | None],
    expected_slope: float,
    renewed: frozenset[int],
    words: tuple[str, str, str],
) -> _MachineSeries | None:
    known = [(release, value) for release, value in enumerate(values) if value is not None]
    if len(known) < RELEASES_MIN or len({value for _, value in known}) == 1:
        return None
    levels = [value for _, value in known]
    middle = median(levels)
    found = find_changes([math.exp(value - middle) for value in levels]).points
    changes = tuple(
        _machine_change(point, [release for release, _ in known], words)
        for point in found
        if _are_apart(levels[: point.index], levels[point.index :])
        or any(known[point.first - 1][0] < edge <= known[point.last][0] for edge in renewed)
    )
    return _MachineSeries(
        values=tuple(values),
        expected_slope=expected_slope,
        breaks=frozenset(change.index for change in changes),
        changes=changes,
    )


def _machine_change(point: ChangePoint, releases: Sequence[int], words: tuple[str, str, str]) -> MachineChange:
    assert point.ratio is not None, "a covariate is searched for ratios"
    subject, less, more = words
    percent = f"{100 * abs(point.ratio - 1):.2g} %"
    return MachineChange(
        index=releases[point.index],
        first=releases[point.first],
        last=releases[point.last],
        words=f"{subject} {percent} {more if point.is_increase else less}",
    )


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _are_apart(before: Sequence[float], after: Sequence[float]) -> bool:
    """Whether the values on the two sides of a change hardly overlap (the probability of superiority)."""
    differences = np.subtract.outer(np.array(after), np.array(before))
    return max(float((differences > 0).mean()), float((differences < 0).mean())) >= _APART
