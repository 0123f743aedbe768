"""What `s3bench run` says at its start, and how long the rest will take once the first runs have been timed."""

from collections.abc import Callable, Mapping

from s3bench.bench.run_time import RunSize, TimedRun, estimate_s
from s3bench.bench.suite import ReadyCell, SuiteStatus
from s3bench.clients.plan import Cell, Plan
from s3bench.units import counted

_AT_LATEST_S = 20.0
_SHORT_S = 10.0
_CORRECTED_FROM = 1.5
_CORRECTED_FROM_S = 30.0
_CHECKED_EVERY = 1.1
"""An estimate costs time that grows with the suite: it is made again when a tenth more time has passed."""


def introduction(cells: tuple[Cell, ...], plan: Plan, *, audit: bool) -> str:
    """What will run: benchmarks, clients, iterations."""
    benchmarks = counted(len({cell.definition for cell in cells}), "benchmark")
    clients = counted(len({cell.client for cell in cells}), "client")
    each = counted(plan.iterations, "iteration") + (" (twice with --audit)" if audit else "")
    if plan.warmup:
        each = f"{counted(plan.warmup, 'warm-up')} and {each}"
    runs = counted(len(cells) * runs_of_cell(plan, audit=audit), "run")
    return f"{benchmarks} on {clients}, {each} each: {runs}"


def runs_of_cell(plan: Plan, *, audit: bool) -> int:
    """The number of runs of each cell."""
    return plan.warmup + plan.iterations * (2 if audit else 1)


class TimeEstimate:
    """Times the runs of a suite; says how long the rest takes, and again if that was far from true.

    `runs` are those of each cell. The first statement comes when each client of the first benchmark has been timed, or
    after 20 seconds. Nothing is said of a rest of a few seconds.
    """

    def __init__(self, cells: tuple[ReadyCell, ...], runs: int, *, now: Callable[[], float]) -> None:
        self._sizes = [RunSize.of(each.cell) if each.found else None for each in cells]
        self._first = sum(each.cell.definition == cells[0].cell.definition for each in cells)
        self._runs = runs
        self._now = now
        self._began_s = self._last_s = now()
        self._timed: list[TimedRun] = []
        self._cell, self._done_of_cell = 0, 0
        self._said_s = 0.0
        self._checked_s = 0.0

    def after(self, status: SuiteStatus) -> str | None:
        """Take note of a status of the suite; a line if there is something new to say."""
        at_s, size = self._now(), self._sizes[self._cell]
        if not status.result.is_running:
            self._cell, self._done_of_cell = self._cell + 1, 0
        elif size is not None:
            self._done_of_cell += 1
            self._timed.append(TimedRun(size=size, seconds=at_s - self._last_s))
        self._last_s = at_s
        return self._news(at_s - self._began_s)

    def _news(self, elapsed_s: float) -> str | None:
        if not self._timed or (self._cell < self._first and elapsed_s < _AT_LATEST_S):
            return None
        if elapsed_s < _CHECKED_EVERY * self._checked_s:
            return None
        self._checked_s = elapsed_s
        coming = [size for size in self._sizes[self._cell :] for _ in range(self._runs) if size is not None]
        left_s = estimate_s(coming[self._done_of_cell :], self._timed)
        whole_s = elapsed_s + left_s
        if left_s < _SHORT_S or (self._said_s and not _is_far(whole_s, self._said_s)):
            return None
        self._said_s = whole_s
        first = "first run" if len(self._timed) == 1 else f"first {len(self._timed):,} runs"
        return f"about {rough_time(left_s)} left, estimated from the {first}"


class ClusterTimeEstimate:
    """Times the benchmarks of a suite on a cluster; says how long the rest takes, and again if that was far from true.

    `sizes` has the number of runs of each benchmark by the number of its unit, and what one of them transfers. The time
    of a benchmark is divided evenly among its runs, since nodes report no more. The first statement comes with the
    first benchmark that has ended.
    """

    def __init__(self, sizes: Mapping[int, tuple[int, RunSize]], *, now: Callable[[], float]) -> None:
        self._left = dict(sizes)
        self._now = now
        self._began_s = now()
        self._since_s: dict[int, float] = {}
        self._timed: list[TimedRun] = []
        self._said_s = 0.0

    def begun(self, unit: int) -> None:
        """Take note that a node has begun with a benchmark."""
        self._since_s[unit] = self._now()

    def ended(self, unit: int, *, nodes: int) -> str | None:
        """Take note that it has ended, with `nodes` that still take part; a line if there is something new to say."""
        at_s = self._now()
        runs, size = self._left.pop(unit)
        self._timed.append(TimedRun(size=size, seconds=(at_s - self._since_s.pop(unit)) / runs))
        rests = [self._rest_s(each, at_s) for each in self._left]
        left_s = max(sum(rests) / max(1, nodes), *rests, 0.0)
        whole_s = at_s - self._began_s + left_s
        if left_s < _SHORT_S or (self._said_s and not _is_far(whole_s, self._said_s)):
            return None
        self._said_s = whole_s
        first = "first benchmark" if len(self._timed) == 1 else f"first {len(self._timed):,} benchmarks"
        return f"about {rough_time(left_s)} left, estimated from the {first}"

    def abandoned(self, unit: int) -> None:
        """Take note that a benchmark will not end."""
        self._left.pop(unit, None)

    def _rest_s(self, unit: int, at_s: float) -> float:
        runs, size = self._left[unit]
        return max(0.0, runs * estimate_s((size,), self._timed) - (at_s - self._since_s.get(unit, at_s)))


def _is_far(one_s: float, other_s: float) -> bool:
    return abs(one_s - other_s) > _CORRECTED_FROM_S and max(one_s, other_s) > _CORRECTED_FROM * min(one_s, other_s)


def rough_time(seconds: float) -> str:
    """`40 s`, `7 min` or `2.5 h`: as exact as an estimate is."""
    if seconds < 90:  # noqa: PLR2004 (above that, minutes are read more easily)
        return f"{max(10, round(seconds, -1)):.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"  # noqa: PLR2004 (as above)
