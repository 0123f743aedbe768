"""Describes the trend of one metric over releases: its figures, its change points in words, warnings.

If a reference release was measured together with each release, on the same machine in the same hour, the figures are
ratios to it, so that the speed of the machine cancels out. Otherwise they are plain values, from which
`s3bench.trend.adjustment` takes out what the machine explains, where that was measured.

A change is a ratio, such as "8 % slower". Shares, such as the error rate, and counts of which one is 0 have no ratios:
a healthy release has no errors. Their changes are differences; of shares in percentage points.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from s3bench.results.metrics import Direction, Metric, Unit, render_figure
from s3bench.trend.adjustment import AdjustedFigures, MachineChange, MachineFigures, adjusted
from s3bench.trend.change_point import RELEASES_MIN, ChangePoint, Changes, find_changes
from s3bench.units import counted

_LABEL_CHARACTERS_MAX = 60
_BACK_AND_FORTH = 3
_MAY_BE_0 = frozenset({Unit.SHARE, Unit.COUNT})
_WHOLE_PERCENT_FROM = 0.10  # from here on, percent without decimals


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPoint:
    """One release and its figure in the metric's unit (`release_value` of its runs).

    `label` is its version, commit or date, `reference` the figure of the reference release that was measured together
    with it, or `None`. `beside` is what was measured of the machine in the same runs, and `machine` its fingerprint,
    the same for all points of a series.
    """

    label: str
    value: float
    machine: str = ""
    reference: float | None = None
    beside: MachineFigures | None = None


class TrendChange(msgspec.Struct, frozen=True, kw_only=True):
    """One change point with labels, a description and warnings.

    The change came with one of `releases`, its confidence interval; `last_before` is the release before them.
    """

    point: ChangePoint
    last_before: str
    releases: tuple[str, ...]
    is_worse: bool | None
    words: str
    warnings: tuple[str, ...] = msgspec.field(name="doubts")


class TrendAdjustment(msgspec.Struct, frozen=True, kw_only=True):
    """How far the figures were adjusted for the machine, and what the figures show as measured.

    Slopes are changes of the figure's logarithm per change of the covariate's, 0 where nothing was adjusted for it.
    `noise_raw` and `noise` are the standard deviations of a release around its level, without and with the adjustment,
    relative to the figure. `releases` is the number of releases with covariates. Each of `machine_changes` divides the
    series: the figures before and after it are not adjusted to each other.
    """

    speed_slope: float
    wait_slope: float
    noise_raw: float
    noise: float
    releases: int
    figures_raw: tuple[float, ...]
    changes_raw: tuple[TrendChange, ...]
    machine_changes: tuple[MachineChange, ...]

    @property
    def words(self) -> str:
        """What was gained, and the changes as measured, in one line."""
        causes = (("the speed of the machine", self.speed_slope), ("waits for a core", self.wait_slope))
        names = " and ".join(name for name, slope in causes if slope)
        raw = "; ".join(change.words for change in self.changes_raw) or "no change"
        noise = f"noise {_percent(self.noise_raw)} % to {_percent(self.noise)} %"
        return f"adjusted for {names}: {noise}; as measured: {raw}"


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """The points that are used and their figures, in order, the changes among them, and warnings.

    `figures` are ratios to the reference if `is_ratio`, else values in the metric's unit, adjusted for the machine if
    there is an `adjustment`. `is_tested` is false if there are too few releases to find any change.
    """

    metric: Metric
    points: tuple[TrendPoint, ...]
    figures: tuple[float, ...]
    is_ratio: bool
    is_tested: bool = msgspec.field(name="are_judged")
    changes: tuple[TrendChange, ...]
    warnings: tuple[str, ...] = msgspec.field(name="doubts")
    adjustment: TrendAdjustment | None = None

    @property
    def words(self) -> str:
        """The changes, one per line, or a line that there is none or that there are too few releases."""
        if self.changes:
            return "\n".join(change.words for change in self.changes)
        count = counted(len(self.points), "release")
        return f"no change found in {count}" if self.is_tested else f"too few to find a change: {count}"


def trend_of(metric: Metric, points: Sequence[TrendPoint], *, adjusts: bool = True) -> Trend:
    """The trend of `points`, which are in the order of the releases.

    Figures that cannot be are left out with a warning: those below 0, and of 0 all but shares and counts. Ratios to the
    reference are used if at least half of the releases have one; the others are then left out with a warning. With
    `adjusts`, other figures are adjusted for the machine.
    """
    known = [point for point in points if _is_figure(metric, point.value)]
    has_ratios = metric.unit is not Unit.SHARE and all(point.value for point in known)
    beside = [point for point in known if point.reference is not None and _is_positive(point.reference)]
    is_ratio = has_ratios and bool(beside) and 2 * len(beside) >= len(known)
    kept = tuple(beside if is_ratio else known)
    measured = tuple(point.value / (point.reference or 1.0) if is_ratio else point.value for point in kept)
    is_comparable = adjusts and not is_ratio
    adjusted_to = adjusted(metric.name, measured, [point.beside for point in kept]) if is_comparable else None

    def changes_of(found: Changes, adjusted_to: AdjustedFigures | None) -> tuple[TrendChange, ...]:
        return tuple(_change(metric, kept, point, adjusted_to) for point in found.points)

    figures = adjusted_to.figures if adjusted_to else measured
    found = find_changes(figures, has_ratios=has_ratios)
    adjustment = None
    if adjusted_to is not None and adjusted_to.is_adjusted:
        raw = find_changes(measured)
        adjustment = _adjustment(adjusted_to, measured, changes_of(raw, None))
    left_out = _left_out(metric, len(points) - len(known), len(known) - len(kept))
    if beside and not has_ratios:
        left_out += ("the reference release is not used: a share, or a count of 0, has no ratio to it",)
    warnings = (*_warnings(kept, found, is_ratio=is_ratio), *_machine_warnings(metric, kept, adjusted_to))
    return Trend(
        metric=metric,
        points=kept,
        figures=figures,
        is_ratio=is_ratio,
        is_tested=len(kept) >= RELEASES_MIN,
        changes=changes_of(found, adjusted_to),
        warnings=(*left_out, *warnings),
        adjustment=adjustment,
    )


def _adjustment(found: AdjustedFigures, measured: tuple[float, ...], raw: tuple[TrendChange, ...]) -> TrendAdjustment:
    return TrendAdjustment(
        speed_slope=found.speed_slope,
        wait_slope=found.wait_slope,
        noise_raw=found.noise_raw,
        noise=found.noise,
        releases=found.releases,
        figures_raw=measured,
        changes_raw=raw,
        machine_changes=found.machine_changes,
    )


def _is_figure(metric: Metric, value: float) -> bool:
    """Whether a release can have this figure: no errors and no retries are figures, and a time of 0 is none."""
    return _is_positive(value) or (value == 0 and metric.unit in _MAY_BE_0)


def _is_positive(value: float) -> bool:
    return math.isfinite(value) and value > 0


def _change(
    metric: Metric,
    points: Sequence[TrendPoint],
    found: ChangePoint,
    adjusted_to: AdjustedFigures | None,
) -> TrendChange:
    releases = tuple(point.label for point in points[found.first : found.last + 1])
    since = _printable(releases[0])
    if len(releases) > 1:
        between = " or " if len(releases) == 2 else " to "  # noqa: PLR2004 (one or the other)
        since += between + _printable(releases[-1])
    is_worse = None
    if metric.direction is not Direction.NEUTRAL:
        is_worse = found.is_increase is (metric.direction is Direction.LOWER)
    return TrendChange(
        point=found,
        last_before=points[found.first - 1].label,
        releases=releases,
        is_worse=is_worse,
        words=f"since {since}: {_size(metric, found)}",
        warnings=_change_warnings(points, found, adjusted_to),
    )


def _size(metric: Metric, found: ChangePoint) -> str:
    """`8 % slower (6 to 10 %)`, or `31 points more (30 to 32 points)`; an end that too few releases bound is open."""
    sign = 1 if found.is_increase else -1
    word = _word(metric, is_more=found.is_increase)
    if found.ratio is None:
        middle, ends = found.difference or 0.0, (found.difference_low, found.difference_high)
        number, unit = (_points, " points") if metric.unit is Unit.SHARE else (_count, "")
    else:
        middle, ends = found.ratio - 1, (_relative(found.ratio_low), _relative(found.ratio_high))
        number, unit = _percent, " %"
    near, far = (None if end is None else number(sign * end + 0.0) for end in ends[::sign])
    amount = number(sign * middle)
    size = f"{amount}{unit.removesuffix('s') if amount == '1' else unit} {word}" if middle else f"{word} on average"
    if near is not None and far is not None:
        return f"{size} ({near} to {far}{unit})"
    if near is not None:
        return f"{size} (at least {near}{unit})"
    if far is not None:
        return f"{size} (at most {far}{unit})"
    return f"{size} (too few releases to bound it)"


def _word(metric: Metric, *, is_more: bool) -> str:
    if metric.direction is Direction.HIGHER:
        return "higher" if is_more else "lower"
    if metric.unit is Unit.SECONDS and "cpu" not in metric.name:
        return "slower" if is_more else "faster"
    return "more" if is_more else "less"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}" if abs(share) >= _WHOLE_PERCENT_FROM else f"{100 * share:.1f}"


def _relative(ratio: float | None) -> float | None:
    return None if ratio is None else ratio - 1


def _points(share: float) -> str:
    return f"{100 * share:.3g}"


def _count(difference: float) -> str:
    return render_figure(difference, Unit.COUNT)


def _change_warnings(
    points: Sequence[TrendPoint], found: ChangePoint, adjusted_to: AdjustedFigures | None
) -> tuple[str, ...]:
    near = points[found.first - 1 : found.last + 1]
    machine_changes = adjusted_to.machine_changes if adjusted_to else ()
    is_moved = any(change.first <= found.last + 1 and found.first <= change.last + 1 for change in machine_changes)
    warnings = []
    if is_moved:
        warnings.append("the machine changed at the same time and may be the cause")
    elif adjusted_to is not None and adjusted_to.is_machine_moved(found):
        warnings.append("the machine was faster or busier on one side of this change, which may be the cause of a part")
    versions = {point.beside.s3bench for point in near if point.beside is not None}
    if adjusted_to is not None and adjusted_to.speed_slope and len(versions) > 1:
        warnings.append("s3bench, which measures the speed of the machine, changed at the same time: see --no-adjust")
    return tuple(warnings)


def _machine_warnings(metric: Metric, points: Sequence[TrendPoint], found: AdjustedFigures | None) -> tuple[str, ...]:
    if found is None:
        return ()
    warnings = [
        f"since {_printable(points[change.index].label)} {change.words}: the figures before and after it are not "
        "adjusted to each other"
        for change in found.machine_changes
    ]
    if found.is_adjusted and found.releases < len(points):
        without = counted(len(points) - found.releases, "release")
        warnings.append(f"{without} without the speed of the machine: {metric.name} there is as measured")
    return tuple(warnings)


def _left_out(metric: Metric, without_figure: int, without_reference: int) -> tuple[str, ...]:
    warnings = []
    if without_figure:
        least = "below 0" if metric.unit in _MAY_BE_0 else "of 0"
        warnings.append(f"{counted(without_figure, 'release')} left out: without a figure, or with one {least}")
    if without_reference:
        warnings.append(f"{counted(without_reference, 'release')} left out: no reference release was measured with it")
    return tuple(warnings)


def _warnings(points: Sequence[TrendPoint], found: Changes, *, is_ratio: bool) -> tuple[str, ...]:
    warnings = []
    if len(points) < RELEASES_MIN:
        warnings.append(f"{counted(len(points), 'release')}: finding a change needs at least {RELEASES_MIN}")
    if found.autocorrelation is not None:
        warnings.append(
            "neighbouring releases are alike, as on a machine whose speed drifts: the sizes of the changes are less "
            "certain than their intervals"
        )
    ups = sum(point.is_increase for point in found.points)
    if not is_ratio and len(found.points) >= _BACK_AND_FORTH and 0 < ups < len(found.points):
        warnings.append(
            "the figures go up and down: the cause may be the machine and not the releases; measure a reference "
            "release with each of them"
        )
    return tuple(warnings)


def _printable(label: str) -> str:
    """A label for a sentence: printable, and cut to the length of a commit hash with some room."""
    cut = label if len(label) <= _LABEL_CHARACTERS_MAX else label[: _LABEL_CHARACTERS_MAX - 3] + "..."
    return "".join(character if character.isprintable() else " " for character in cut)
