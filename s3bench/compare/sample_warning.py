"""Warnings about the figures of one metric in one group: drift, two modes, outliers. No value is removed for them."""

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from s3bench.compare.sample import MetricFigures
from s3bench.results.metrics import Unit, render_figure
from s3bench.stats.diagnostics import drift, outliers, two_modes

_NAMED_MAX = 5


class SampleWarningKind(StrEnum):
    """The kind of a sample warning."""

    DRIFT = "drift"
    TWO_MODES = "two modes"
    OUTLIERS = "outliers"


class SampleWarning(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A warning about the figures of a client (its label) in a group; outliers come with iterations and values."""

    group: str
    client: str
    kind: SampleWarningKind
    words: str
    iterations: tuple[int, ...] = ()
    values: tuple[float, ...] = ()


def sample_warnings(group: str, client: str, figures: MetricFigures, unit: Unit) -> tuple[SampleWarning, ...]:
    """The diagnostics of a sample in the order of measurement, as warnings.

    None of figures so large that their squares exceed all numbers.
    """
    if not figures.values:
        return ()
    try:
        return tuple(_sample_warnings(group, client, figures, unit))
    except OverflowError:
        return ()


def _sample_warnings(group: str, client: str, figures: MetricFigures, unit: Unit) -> Iterator[SampleWarning]:
    trend = drift(figures.values)
    if trend is not None:
        way = "up" if trend.change > 0 else "down"
        words = f"drifts {way} by {abs(trend.change):.1%} from the first iteration to the last"
        yield SampleWarning(group=group, client=client, kind=SampleWarningKind.DRIFT, words=words)
    modes = two_modes(figures.values)
    if modes is not None:
        low, high = render_figure(modes.low, unit), render_figure(modes.high, unit)
        words = f"has two modes: {1 - modes.high_share:.0%} of the runs near {low}, {modes.high_share:.0%} near {high}"
        yield SampleWarning(group=group, client=client, kind=SampleWarningKind.TWO_MODES, words=words)
    found = outliers(figures.values)
    if found is not None:
        iterations = tuple(figures.iterations[position] for position in found.positions)
        named = [
            f"iteration {iteration} ({render_figure(value, unit)})"
            for iteration, value in zip(iterations[:_NAMED_MAX], found.values, strict=False)
        ]
        more = f" and {len(iterations) - _NAMED_MAX} more" if len(iterations) > _NAMED_MAX else ""
        words = f"has outliers, which are included: {', '.join(named)}{more}"
        yield SampleWarning(
            group=group,
            client=client,
            kind=SampleWarningKind.OUTLIERS,
            words=words,
            iterations=iterations,
            values=tuple(found.values),
        )
