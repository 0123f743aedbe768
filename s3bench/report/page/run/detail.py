"""How much the page shows of each benchmark, by how many there are.

A chart takes some 50 ms to draw, a labelled dot a hundred bytes. The page names what is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from s3bench.report.page.run.benchmark import Benchmark

DOTS_MAX = 8000
"""The most runs that are drawn as dots of their own on one page."""

TABLE_ROWS_MAX = 200
"""The most rows of a table that stands beneath a chart."""

_SERIES_MAX, _OVERLAID_MAX = 240, 40
_REQUESTS_MAX, _REQUESTS_OF_ONE_MAX = 2000, 400
_OPEN_MAX = 3


class Level(IntEnum):
    """What each benchmark gets, from the least to the most."""

    RANGES = 0
    STRIPS = 1
    DOTS = 2
    DISTRIBUTION = 3
    ALL = 4


_LIMITS = ((8, 800, Level.ALL), (30, 3000, Level.DISTRIBUTION), (80, DOTS_MAX, Level.DOTS))
"""Benchmarks and runs at most, and what each benchmark gets then."""

_LEFT_OUT = {
    Level.DISTRIBUTION: "memory and CPU time of each run, memory and CPU over time, start-up and requests",
    Level.DOTS: "distributions, memory and CPU over time, start-up and requests",
    Level.STRIPS: "a part for each benchmark",
    Level.RANGES: "a part for each benchmark, and every single run",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """What a page shows: how many runs of a client are drawn over time, how many requests, and what stands open."""

    level: Level
    overlaid_max: int
    requests_max: int
    open_max: int
    benchmarks: int
    runs: int

    @property
    def words(self) -> str:
        """What is left out and how to see it; empty where all is shown."""
        if self.level is Level.ALL:
            return ""
        return (
            f"With {self.benchmarks:,} benchmarks and {self.runs:,} runs the page leaves out: {_LEFT_OUT[self.level]}. "
            "With fewer benchmarks (`-k`) it has them."
        )


def detail_of(benchmarks: Sequence[Benchmark]) -> Detail:
    """Decide how much is shown of these benchmarks."""
    rows = [row for benchmark in benchmarks for row in benchmark.rows]
    runs = sum(len(row.result.measurements) + len(row.result.errors) for row in rows)
    return Detail(
        level=_level(len(benchmarks), runs),
        overlaid_max=max(1, min(_OVERLAID_MAX, _SERIES_MAX // max(1, len(rows)))),
        requests_max=min(_REQUESTS_OF_ONE_MAX, _REQUESTS_MAX // max(1, len(rows))),
        open_max=_OPEN_MAX if len(benchmarks) <= _LIMITS[0][0] else 0,
        benchmarks=len(benchmarks),
        runs=runs,
    )


def _level(benchmarks: int, runs: int) -> Level:
    for benchmarks_max, runs_max, level in _LIMITS:
        if benchmarks <= benchmarks_max and runs <= runs_max:
            return level
    return Level.STRIPS if runs <= DOTS_MAX else Level.RANGES
