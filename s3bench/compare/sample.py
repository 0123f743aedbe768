"""The figures of one metric in one result, and their summary."""

from collections.abc import Mapping
from statistics import median

import msgspec

from s3bench.results.document import Result
from s3bench.results.measurement import figure


class SampleSummary(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Count, median and range of the figures, in the metric's unit; null if there are none."""

    n: int
    median: float | None
    minimum: float | None
    maximum: float | None


class MetricFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Values with their iterations, in the order of measurement."""

    values: tuple[float, ...]
    iterations: tuple[int, ...]

    @property
    def sample(self) -> SampleSummary:
        """Count, median and range of the values."""
        if not self.values:
            return SampleSummary(n=0, median=None, minimum=None, maximum=None)
        ordered = sorted(self.values)
        return SampleSummary(n=len(ordered), median=median(ordered), minimum=ordered[0], maximum=ordered[-1])


_NONE = MetricFigures(values=(), iterations=())


def figures_of(result: Result, metric: str) -> MetricFigures:
    """Gather the figures of a metric; iterations that lack it are left out."""
    part, _, rest = metric.partition(".")
    if rest and all(getattr(each, part, None) is None for each in result.measurements):
        return _NONE  # a shortcut for the many metrics of load runs
    found = [(value, each.iteration) for each in result.measurements if (value := figure(each, metric)) is not None]
    return MetricFigures(
        values=tuple(value for value, _ in found), iterations=tuple(iteration for _, iteration in found)
    )


def request_figures(result: Result, kinds: Mapping[str, object]) -> dict[str, MetricFigures]:
    """Gather the number of requests of each kind; a kind that an iteration lacks counts 0.

    Iterations without a wire log are left out.
    """
    seen = [each for each in result.runs if each.wire is not None]
    iterations = tuple(each.iteration for each in seen)
    return {
        kind: MetricFigures(values=tuple(each.requests_by_kind.get(kind, 0) for each in seen), iterations=iterations)
        for kind in kinds
    }


def request_kinds(result: Result) -> dict[str, None]:
    """The kinds of request in any iteration, in order of appearance."""
    return dict.fromkeys(kind for each in result.runs for kind in each.requests_by_kind)
