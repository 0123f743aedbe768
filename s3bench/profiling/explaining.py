"""Looks for the causes of a change: counts calls, samples stacks or looks at memory, on both sides in turn.

What a side cannot show is a note of the explanation.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import TypeVar

from msgspec.structs import replace

from s3bench.bench.runner import ClientRunner, Conditions, Settings
from s3bench.clients.client import FoundClient
from s3bench.errors import ClientFailed, MachineError
from s3bench.profiling.allocations import AllocationProfile, allocation_differences
from s3bench.profiling.call_counts import CallCounts, count_differences, why_incomparable
from s3bench.profiling.counting import count_calls
from s3bench.profiling.difference import time_differences
from s3bench.profiling.explanation import CPU_METRICS, PAIRS_MIN, RUNS_MIN, Cause, ChangeInterval, Explanation
from s3bench.profiling.joining import joined, narrowed, suspected_places
from s3bench.profiling.live import Profiler, SampledSide, failure_words, find_python_profiler, run_failed, sample_stacks
from s3bench.profiling.memory import profile_memory
from s3bench.profiling.observed_change import ObservedChange
from s3bench.profiling.paired_change import paired_change
from s3bench.profiling.stack_profile import Sampled
from s3bench.profiling.tables import seconds_per_run
from s3bench.results.measurement import Failure
from s3bench.results.metrics import Unit
from s3bench.run.inspection import Unavailable

PAIRS_MAX = 40
"""Pairs of runs under the profiler at most: 3 ms of half a second are found with half as many."""

COMPARING_HZ = 500
"""Samples per second to compare two sides: what differs by 3 ms is found with twenty runs, with 200 it is not
(`benchmarks/profile_difference.py`). The profiler slows both sides alike."""

PEAK_RUNS = PAIRS_MIN
"""Runs of each side whose peak memory is compared, where its change is not known."""

_SeenT = TypeVar("_SeenT")
_Look = Callable[[ClientRunner, Settings, Conditions, Path], _SeenT | Failure | Unavailable]

_COUNTED_RUNS = 3
_MEMORY_RUNS = 2
_PLAIN_RUNS = 3


@dataclass(slots=True, kw_only=True)
class Explainer:
    """Explains changes, one after the other. `directory` is made, for what profilers write; `now` is the clock.

    `find` finds what samples both sides. `sampled` is what is sampled, by the metric where it is `None`, in at most
    `pairs_max` runs of each side; `say` gets the number of runs so far. `fix` is how to get more runs, for a note where
    there are too few.
    """

    directory: Path
    now: Callable[[], float]
    find: Callable[[FoundClient], Profiler | Unavailable] = find_python_profiler
    sampled: Sampled | None = None
    pairs_max: int = PAIRS_MAX
    say: Callable[[int], None] = lambda _: None
    fix: str = ""
    _notes: list[str] = field(default_factory=list)

    def explain(self, change: ObservedChange) -> Explanation:
        """Look for what carries the change until its time is over.

        Raises `MachineError` where a profiler fails, `ClientFailed` where the client does while its peak is measured.
        """
        self.directory.mkdir(mode=0o700, exist_ok=True)
        self._notes = []
        counted = self._counted(change)
        found = self._allocated(change) if change.unit is Unit.BYTES else self._timed(change, counted)
        return Explanation(
            benchmark=change.benchmark,
            metric=change.metric,
            change=found.change,
            interval=found.interval,
            causes=joined(found.causes, counted, change.known, is_more=found.change >= 0),
            unexplained=found.unexplained,
            runs=len(found.sides[1].profile.runs) if found.sides else 0,
            profiler=found.profiler,
            slowdown=found.sides[1].slowdown if found.sides else None,
            is_compared=found.is_compared,
            notes=tuple(self._notes),
            baseline=found.sides[0].profile if found.sides else None,
            candidate=found.sides[1].profile if found.sides else None,
        )

    def _counted(self, change: ObservedChange) -> tuple[Cause, ...]:
        """The calls whose numbers differ."""
        sides = self._looked_at(change, count_calls, CallCounts, _COUNTED_RUNS, "calls were not counted")
        if sides is None:
            return ()
        before, after = (side[0].python_version for side in sides)
        if before != after:
            self._notes.append(f"the two run on different versions of Python: {before} and {after}")
        if reason := why_incomparable(*sides):
            self._notes.append(f"calls were not compared: {reason}")
        return count_differences(*sides)

    def _allocated(self, change: ObservedChange) -> "_Found":
        """What carries a change of memory, by what is held at the peak."""
        missing = "allocations were not looked at"
        sides = self._looked_at(change, profile_memory, AllocationProfile, _MEMORY_RUNS, missing)
        if sides is None:
            return _Found(change=change.change or 0.0)
        whole, interval = self._peak_change(change) if change.change is None else (change.change, None)
        causes = allocation_differences(*sides)
        return _Found(change=whole, interval=interval, causes=causes, is_compared=True).with_shares()

    def _peak_change(self, change: ObservedChange) -> tuple[float, ChangeInterval]:
        """The change of the peak memory, in bytes, in runs in turn in which nothing else is looked at."""
        peaks: tuple[list[float], list[float]] = ([], [])
        order = list(zip((change.baseline, change.candidate), peaks, strict=True))
        for number in range(PEAK_RUNS):
            for side, found in order:
                outcome = side.runner.run_once(number, change.settings, "plain", side.conditions)
                if isinstance(outcome, Failure):
                    raise ClientFailed(outcome.what, outcome.why)
                if outcome.peak_memory is None:
                    raise MachineError("the peak memory of this client is not known here")
                found.append(float(outcome.peak_memory))
            order.reverse()
            self.say(number + 1)
        return paired_change(*peaks)

    def _looked_at(
        self, change: ObservedChange, look: _Look[_SeenT], kind: type[_SeenT], runs: int, missing: str
    ) -> tuple[list[_SeenT], list[_SeenT]] | None:
        """What `look` sees in so many runs of each side, in turn; with a note `None` if a run shows nothing."""
        seen: tuple[list[_SeenT], list[_SeenT]] = ([], [])
        for _ in range(runs):
            for side, of_side in zip((change.baseline, change.candidate), seen, strict=True):
                if self.now() >= change.until_s:
                    self._notes.append(f"{missing}: there was no time left")
                    return None
                found = look(side.runner, change.settings, side.conditions, self.directory)
                if not isinstance(found, kind):
                    assert isinstance(found, Failure | Unavailable)
                    self._note(missing, found)
                    return None
                of_side.append(found)
        return seen

    def _timed(self, change: ObservedChange, counted: Sequence[Cause]) -> "_Found":
        """What carries a change of time, by sampled stacks."""
        nothing = _Found(change=change.change or 0.0)
        profiler = self.find(change.candidate.runner.client)
        if isinstance(profiler, Unavailable):
            self._note("stacks were not sampled", profiler)
            return nothing
        rate_hz = max(COMPARING_HZ, profiler.rate_hz)
        sides, failure = self._rounds(change, dataclasses.replace(profiler, rate_hz=rate_hz))
        if failure is not None:
            self._notes.append(failure if sides else f"stacks were not sampled: {failure}")
        if not sides:
            return nothing
        self._notes += dict.fromkeys(warning for side in sides for warning in side.warnings)
        baseline, candidate = (side.profile for side in sides)
        whole, interval = _plain_change(sides, change.metric) if change.change is None else (change.change, None)
        found = time_differences(baseline, candidate, suspected=suspected_places(counted, (baseline, candidate)))
        if found.incomparable:
            fix = f"; {self.fix}" if self.fix and failure is None and len(candidate.runs) < RUNS_MIN else ""
            self._notes.append(f"times were not compared: {found.incomparable}{fix}")
        timed = _Found(
            change=whole,
            interval=interval,
            causes=_scaled(narrowed(found.causes, counted, (baseline, candidate)), _scale(sides)),
            sides=sides,
            profiler=profiler.name,
            is_compared=not found.incomparable,
        )
        return timed.with_shares() if change.unit is Unit.SECONDS else timed

    def _rounds(self, change: ObservedChange, profiler: Profiler) -> tuple[tuple[SampledSide, ...], str | None]:
        """Sample both sides until there is no time for another round; with what failed, if that ended it."""
        by_metric = Sampled.CPU_TIME if change.metric in CPU_METRICS else Sampled.WALL_TIME
        sides: tuple[SampledSide, ...] = ()
        started_s, longest_s = self.now(), 0.0
        for number, found in enumerate(
            sample_stacks(
                (change.baseline, change.candidate),
                change.settings,
                profiler,
                self.sampled or by_metric,
                self.directory,
                plain_runs=_PLAIN_RUNS if change.change is not None else self.pairs_max,
            ),
            start=1,
        ):
            if isinstance(found, Failure):
                return sides, run_failed(number, found)
            sides = found
            self.say(number)
            ended_s = self.now()
            longest_s = max(longest_s, ended_s - started_s)
            if number >= self.pairs_max or ended_s + longest_s >= change.until_s:
                break
            started_s = ended_s
        return sides, None

    def _note(self, what: str, found: Failure | Unavailable) -> None:
        self._notes.append(f"{what}: {failure_words(found) if isinstance(found, Failure) else found}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What sampling showed of a change, in the metric's unit, and what it leaves unexplained."""

    change: float
    interval: ChangeInterval | None = None
    causes: tuple[Cause, ...] = ()
    unexplained: float | None = None
    sides: tuple[SampledSide, ...] = ()
    profiler: str = ""
    is_compared: bool = False

    def with_shares(self) -> "_Found":
        """Add the share of each cause and what all leave of the change, as they have nothing in common.

        The same where there may be no change.
        """
        if self.interval is not None and self.interval.spans_zero:
            return self
        parts = [cause.change or 0.0 for cause in self.causes]
        causes = self.causes
        if self.change:
            causes = tuple(
                replace(cause, share=part / self.change) for cause, part in zip(self.causes, parts, strict=True)
            )
        return dataclasses.replace(self, causes=causes, unexplained=self.change - sum(parts))


def _scale(sides: Sequence[SampledSide]) -> float:
    """The time of a run without the profiler, as a part of what was sampled under it.

    CPU time is as good as the same in both.
    """
    parts = [
        median(side.plain_times) / seconds_per_run(side.profile)
        for side in sides
        if side.profile.sampled is Sampled.WALL_TIME and side.plain_times and seconds_per_run(side.profile)
    ]
    return mean(parts) if parts else 1.0


def _scaled(causes: Sequence[Cause], scale: float) -> tuple[Cause, ...]:
    def part(seconds: float | None) -> float | None:
        return None if seconds is None else seconds * scale

    return tuple(
        replace(cause, change=part(cause.change), low=part(cause.low), high=part(cause.high)) for cause in causes
    )


def _plain_change(sides: Sequence[SampledSide], metric: str) -> tuple[float, ChangeInterval]:
    """The difference of the total or CPU times of pairs of runs without the profiler, in seconds."""
    is_cpu = metric in CPU_METRICS
    baseline, candidate = (side.plain_cpu_times if is_cpu else side.plain_times for side in sides)
    return paired_change(baseline, candidate)
