"""Looks for the causes of a change: counts calls, samples stacks or looks at memory, on both sides in turn.

What a side cannot show is a note of the explanation.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from s3bench.clients.client import FoundClient
from s3bench.profiling.call_counts import CallCounts, count_differences
from s3bench.profiling.counting import count_calls
from s3bench.profiling.difference import time_differences
from s3bench.profiling.explanation import Cause, CauseKind, Explanation
from s3bench.profiling.live import SampledSide, find_profiler, sample_stacks
from s3bench.profiling.observed_change import ObservedChange
from s3bench.profiling.stack_profile import Sampled, StackProfile
from s3bench.results.measurement import Failure
from s3bench.results.metrics import Unit
from s3bench.run.inspection import Unavailable
from s3bench.run.py_spy import PySpy

PAIRS_MAX = 40
"""Pairs of runs under the profiler at most: 3 ms of half a second are found with half as many."""

_COUNTED_RUNS = 3
_PLAIN_RUNS = 3
_SHOWN_MAX = 5
_MOST = 0.5
_CPU_METRICS = frozenset({"user_cpu_time", "cpu_time", "instructions"})
_MODULE = ":<module>"


@dataclass(slots=True, kw_only=True)
class Explainer:
    """Explains changes, one after the other. `directory` is made, for what profilers write; `now` is the clock."""

    directory: Path
    now: Callable[[], float]
    find: Callable[[FoundClient], PySpy | Unavailable] = find_profiler
    _notes: list[str] = field(default_factory=list)

    def explain(self, change: ObservedChange) -> Explanation:
        """Look for what carries the change until its time is over. Raises `MachineError` where a profiler fails."""
        self.directory.mkdir(mode=0o700, exist_ok=True)
        self._notes = []
        counted = self._counted(change)
        explanation = Explanation(benchmark=change.benchmark, metric=change.metric, change=change.change)
        timed: tuple[Cause, ...] = ()
        if change.unit is not Unit.BYTES:
            explanation, timed = self._sampled(change, explanation, counted)
        return replace(
            explanation,
            causes=joined(timed, counted, change.known, is_more=change.change >= 0),
            notes=tuple(self._notes),
        )

    def _counted(self, change: ObservedChange) -> tuple[Cause, ...]:
        """The calls whose numbers differ."""
        sides = []
        for side in (change.baseline, change.candidate):
            runs: list[CallCounts] = []
            for _ in range(_COUNTED_RUNS):
                found = count_calls(side.runner, change.settings, side.conditions, self.directory)
                if not isinstance(found, CallCounts):
                    self._note("calls were not counted", found)
                    return ()
                runs.append(found)
            sides.append(runs)
        return count_differences(*sides)

    def _sampled(
        self, change: ObservedChange, explanation: Explanation, counted: Sequence[Cause]
    ) -> tuple[Explanation, tuple[Cause, ...]]:
        """What carries a change of time, by sampled stacks."""
        profiler = self.find(change.candidate.runner.client)
        if isinstance(profiler, Unavailable):
            self._note("stacks were not sampled", profiler)
            return explanation, ()
        sides = self._rounds(change, profiler)
        if isinstance(sides, Failure):
            self._note("stacks were not sampled", sides)
            return explanation, ()
        baseline, candidate = (side.profile for side in sides)
        found = time_differences(baseline, candidate, suspected=_suspected(counted, (baseline, candidate)))
        told = narrowed(found.causes, counted, (baseline, candidate))
        causes = tuple(_with_share(cause, change) for cause in told)
        is_time = change.unit is Unit.SECONDS
        return replace(
            explanation,
            unexplained=change.change - sum(cause.change or 0.0 for cause in causes) if is_time else None,
            runs=len(candidate.runs),
            profiler="py-spy",
            slowdown=sides[1].slowdown,
            baseline=baseline,
            candidate=candidate,
        ), causes

    def _rounds(self, change: ObservedChange, profiler: PySpy) -> tuple[SampledSide, ...] | Failure:
        """Sample both sides until the time is over."""
        sampled = Sampled.CPU_TIME if change.metric in _CPU_METRICS else Sampled.WALL_TIME
        sides: tuple[SampledSide, ...] | Failure = ()
        for number, sides in enumerate(
            sample_stacks(
                (change.baseline, change.candidate),
                change.settings,
                profiler,
                sampled,
                self.directory,
                plain_runs=_PLAIN_RUNS,
            ),
            start=1,
        ):
            if isinstance(sides, Failure) or number >= PAIRS_MAX or self.now() >= change.until_s:
                break
        return sides

    def _note(self, what: str, found: Failure | Unavailable) -> None:
        self._notes.append(f"{what}: {found.what if isinstance(found, Failure) else found}")


def joined(
    timed: Sequence[Cause], counted: Sequence[Cause], known: Sequence[Cause], *, is_more: bool = True
) -> tuple[Cause, ...]:
    """All causes without repetition, the most certain first.

    Those are places whose time and number of calls changed, then requests, other times, other numbers of calls, modules
    and system calls, phases; times that changed the other way than the metric (more, if `is_more`) come last.
    """
    by_place = {(cause.caller, cause.place): cause for cause in counted}
    told = [
        replace(cause, counts=same.counts) if (same := by_place.get((cause.caller, cause.place))) else cause
        for cause in timed
    ]
    with_it = [cause for cause in told if ((cause.change or 0.0) > 0) is is_more]
    both = [cause for cause in with_it if cause.counts is not None]
    places = {(cause.caller, cause.place) for cause in told}
    modules = {cause.place for cause in (*told, *counted) if cause.kind is CauseKind.IMPORT}
    calls = [cause for cause in counted if (cause.caller, cause.place) not in places]
    imports = [cause for cause in known if cause.kind is CauseKind.IMPORT and not _is_within(cause.place, modules)]
    return (
        *both,
        *(cause for cause in known if cause.kind is CauseKind.REQUEST),
        *(cause for cause in with_it if cause.counts is None),
        *calls[:_SHOWN_MAX],
        *imports[:_SHOWN_MAX],
        *[cause for cause in known if cause.kind is CauseKind.SYSTEM_CALL][:_SHOWN_MAX],
        *(cause for cause in known if cause.kind is CauseKind.PHASE),
        *(cause for cause in told if ((cause.change or 0.0) > 0) is not is_more),
    )


def narrowed(timed: Sequence[Cause], counted: Sequence[Cause], sides: Sequence[StackProfile]) -> tuple[Cause, ...]:
    """Name a call whose number differs where it carries most of the time of a place that was found by time alone."""
    taken: set[tuple[str, str]] = set()
    found = []
    for cause in timed:
        best = None
        for call in counted:
            key = (call.caller, call.place)
            if key in taken or key == (cause.caller, cause.place) or not call.caller:
                continue
            change = seconds_through(sides[1], cause, call) - seconds_through(sides[0], cause, call)
            if cause.change and change / cause.change >= _MOST and (best is None or abs(change) > abs(best[0])):
                best = (change, call)
        if best is None:
            found.append(cause)
            continue
        taken.add((best[1].caller, best[1].place))
        found.append(replace(best[1], change=cause.change, low=cause.low, high=cause.high))
    return tuple(found)


def seconds_through(profile: StackProfile, outer: Cause, inner: Cause) -> float:
    """Seconds per run of stacks with the place of `outer` and, at or below it, the caller of `inner`."""
    names = [frame.name for frame in profile.frames]
    wanted = set()
    for number, stack in enumerate(profile.stacks):
        path = [names[index] for index in stack.frames]
        if _frame_name(outer) in path and inner.caller in path[path.index(_frame_name(outer)) :]:
            wanted.add(number)
    samples = sum(count for run in profile.runs for number, count in run.samples.items() if number in wanted)
    return samples * profile.interval_s / max(1, len(profile.runs))


def _frame_name(cause: Cause) -> str:
    return f"{cause.place}{_MODULE}" if cause.kind is CauseKind.IMPORT else cause.place


def _is_within(module: str, packages: Iterable[str]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def _suspected(counted: Sequence[Cause], profiles: Iterable[StackProfile]) -> frozenset[tuple[str, ...]]:
    """Where calls whose number differs are sampled: the call, or the caller of what has no frame of its own."""
    names = {frame.name for profile in profiles for frame in profile.frames}
    places: set[tuple[str, ...]] = set()
    for cause in counted:
        place = _frame_name(cause)
        places.add((cause.caller, place) if place in names else (cause.caller,))
    return frozenset(places)


def _with_share(cause: Cause, change: ObservedChange) -> Cause:
    if change.unit is not Unit.SECONDS or not change.change or cause.change is None:
        return cause
    return replace(cause, share=cause.change / change.change)
