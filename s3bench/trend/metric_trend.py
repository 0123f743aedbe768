"""What the history of one metric says: its figures release by release, since when they changed, and how sure that is.

Owns which figures are held against each other and the words about them. Where a reference release was measured beside
each release, on the same machine in the same hour, the figures are ratios to it: the machine and its moods cancel, and
so does its replacement. Otherwise they are the plain values, and a change may be the machine's. Where the points come
from is not asked; where the changes are, `changepoint` finds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from s3bench.results.metrics import Direction, Metric, Unit
from s3bench.trend.change_point import (
    CONFIDENCE,
    LEVEL,
    RELEASES_MIN,
    ChangePoint,
    Changes,
    find_changes,
)

_LABEL_CHARACTERS_MAX = 60
_BACK_AND_FORTH = 3
_DIGITS_FROM = 0.10  # from here on, percent without decimals


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPoint:
    """One release: its figure in the metric's unit (`release_value` of its runs), and where it comes from.

    `label` is its version, commit or date, `machine` the fingerprint of what it ran on, `reference` the figure of the
    reference release that was run beside it, or `None`.
    """

    label: str
    value: float
    machine: str
    reference: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendChange:
    """One change, the labels of its interval, its words, and what speaks against it.

    The change came with one of `releases`; the last release before them is `last_before`.
    """

    point: ChangePoint
    last_before: str
    releases: tuple[str, ...]
    is_worse: bool | None
    words: str
    doubts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """The points that count and their figures, in order, the changes among them, and doubts about all of it.

    `figures` are ratios to the reference where `is_ratio`, else values in the metric's unit. `are_judged` is false
    where there are too few of them to find any change; no changes then mean nothing.
    """

    metric: Metric
    points: tuple[TrendPoint, ...]
    figures: tuple[float, ...]
    is_ratio: bool
    are_judged: bool
    changes: tuple[TrendChange, ...]
    doubts: tuple[str, ...]

    @property
    def words(self) -> str:
        """The changes in one line each; or that there is none, or that nobody can know."""
        if self.changes:
            return "\n".join(change.words for change in self.changes)
        count = _counted(len(self.points), "release")
        return f"no change found in {count}" if self.are_judged else f"too few to tell: {count}"


def trend_of(
    metric: Metric,
    points: Sequence[TrendPoint],
    *,
    level: float = LEVEL,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Trend:
    """The trend of `points`, which are in the order of the releases.

    Figures that are not above 0 have no logarithm and are left out, and said. Ratios are taken where at least half of
    the releases have a reference; the others are then left out, and said.
    """
    positive = [point for point in points if _is_positive(point.value)]
    referred = [point for point in positive if point.reference is not None and _is_positive(point.reference)]
    is_ratio = bool(referred) and 2 * len(referred) >= len(positive)
    kept = tuple(referred if is_ratio else positive)
    figures = tuple(point.value / (point.reference or 1.0) if is_ratio else point.value for point in kept)
    found = find_changes(figures, level=level, confidence=confidence, seed=seed)
    left_out = _left_out(len(points) - len(positive), len(positive) - len(kept))
    return Trend(
        metric=metric,
        points=kept,
        figures=figures,
        is_ratio=is_ratio,
        are_judged=len(kept) >= RELEASES_MIN,
        changes=tuple(_change(metric, kept, point, is_ratio=is_ratio) for point in found.points),
        doubts=(*left_out, *_doubts(kept, found, is_ratio=is_ratio)),
    )


def _is_positive(value: float) -> bool:
    return math.isfinite(value) and value > 0


def _change(metric: Metric, points: Sequence[TrendPoint], found: ChangePoint, *, is_ratio: bool) -> TrendChange:
    releases = tuple(point.label for point in points[found.first : found.last + 1])
    since = _shown(releases[0])
    if len(releases) > 1:
        between = " or " if len(releases) == 2 else " to "  # noqa: PLR2004 (one or the other)
        since += between + _shown(releases[-1])
    is_worse = None
    if metric.direction is not Direction.NEUTRAL:
        is_worse = (found.ratio > 1) is (metric.direction is Direction.LOWER)
    return TrendChange(
        point=found,
        last_before=points[found.first - 1].label,
        releases=releases,
        is_worse=is_worse,
        words=f"since {since}: {_size(metric, found)}",
        doubts=_change_doubts(points, found, is_ratio=is_ratio),
    )


def _size(metric: Metric, found: ChangePoint) -> str:
    """`8 % slower (6 to 10 %)`; an end that so few releases do not bound is left open."""
    sign = 1 if found.ratio >= 1 else -1
    shares = [None if ratio is None else sign * (ratio - 1) for ratio in (found.ratio_low, found.ratio_high)]
    near, far = shares if sign > 0 else shares[::-1]
    size = f"{_percent(sign * (found.ratio - 1))} % {_word(metric, is_more=sign > 0)}"
    if near is not None and far is not None:
        return f"{size} ({_percent(near)} to {_percent(far)} %)"
    if near is not None:
        return f"{size} (at least {_percent(near)} %)"
    if far is not None:
        return f"{size} (at most {_percent(far)} %)"
    return f"{size} (too few releases to bound it)"


def _word(metric: Metric, *, is_more: bool) -> str:
    if metric.direction is Direction.HIGHER:
        return "higher" if is_more else "lower"
    if metric.unit is Unit.SECONDS and "cpu" not in metric.name:
        return "slower" if is_more else "faster"
    return "more" if is_more else "less"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}" if abs(share) >= _DIGITS_FROM else f"{100 * share:.1f}"


def _change_doubts(points: Sequence[TrendPoint], found: ChangePoint, *, is_ratio: bool) -> tuple[str, ...]:
    machines = [point.machine for point in points[found.first - 1 : found.last + 1]]
    if not is_ratio and len(set(machines)) > 1:
        return ("the machine changed there too: the change may be the machine's",)
    return ()


def _left_out(without_figure: int, without_reference: int) -> tuple[str, ...]:
    doubts = []
    if without_figure:
        doubts.append(f"{_counted(without_figure, 'release')} left out: a figure of 0 or none has no ratio")
    if without_reference:
        doubts.append(f"{_counted(without_reference, 'release')} left out: no reference was run beside")
    return tuple(doubts)


def _doubts(points: Sequence[TrendPoint], found: Changes, *, is_ratio: bool) -> tuple[str, ...]:
    doubts = []
    if len(points) < RELEASES_MIN:
        doubts.append(f"{_counted(len(points), 'release')}: no change can be told among fewer than {RELEASES_MIN}")
    machines = sum(before.machine != after.machine for before, after in pairwise(points))
    if machines and not is_ratio:
        doubts.append(f"the machine changed {_counted(machines, 'time')}, and no reference release was run beside")
    if found.wandering is not None:
        doubts.append(
            "neighbouring releases are alike, as on a machine with moods: sizes are less sure than their intervals say"
        )
    ups = sum(point.ratio > 1 for point in found.points)
    if not is_ratio and len(found.points) >= _BACK_AND_FORTH and 0 < ups < len(found.points):
        doubts.append("it goes up and down: perhaps the machine's level and not the releases'; run a reference beside")
    return tuple(doubts)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s"


def _shown(label: str) -> str:
    """A label in a sentence: printable, and not longer than a commit's name needs."""
    cut = label if len(label) <= _LABEL_CHARACTERS_MAX else label[: _LABEL_CHARACTERS_MAX - 3] + "..."
    return "".join(character if character.isprintable() else " " for character in cut)
