"""The figures of one metric in one result: gathered, summed up, and written with their unit."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

import msgspec

from s3bench.results.document import Result
from s3bench.results.measurement import figure


class Sample(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many figures there are, and where they lie in the metric's unit; null without any."""

    n: int
    median: float | None
    minimum: float | None
    maximum: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The values and the iterations that they come from, in the order of measurement."""

    values: tuple[float, ...]
    iterations: tuple[int, ...]

    @property
    def sample(self) -> Sample:
        """How many there are, and where they lie."""
        values = self.values
        return Sample(
            n=len(values),
            median=median(values) if values else None,
            minimum=min(values, default=None),
            maximum=max(values, default=None),
        )


def figures_of(result: Result, metric: str) -> Figures:
    """Gather the figures of a metric; iterations that lack it are left out."""
    values: list[float] = []
    iterations: list[int] = []
    for each in result.measurements:
        value = figure(each, metric)
        if value is not None:
            values.append(value)
            iterations.append(each.iteration)
    return Figures(values=tuple(values), iterations=tuple(iterations))


def request_figures(result: Result, kinds: Mapping[str, object]) -> dict[str, Figures]:
    """Gather the number of requests of each of `kinds`; one that an iteration lacks counts 0.

    Iterations without a server's log are left out.
    """
    seen = [each for each in result.measurements if each.wire is not None]
    iterations = tuple(each.iteration for each in seen)
    return {
        kind: Figures(values=tuple(each.requests_by_kind.get(kind, 0) for each in seen), iterations=iterations)
        for kind in kinds
    }


def request_kinds(result: Result) -> dict[str, None]:
    """The kinds of request that any iteration made, in order of appearance."""
    return dict.fromkeys(kind for each in result.measurements for kind in each.requests_by_kind)
