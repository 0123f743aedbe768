"""Joins what was found about a change: times of places, numbers of calls, and what was known before."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from s3bench.profiling.explanation import Cause, CauseKind
from s3bench.profiling.stack_profile import OWN_MODULES, StackProfile

_SHOWN_MAX = 5
_MOST = 0.5
_MODULE = ":<module>"


def joined(
    timed: Sequence[Cause], counted: Sequence[Cause], known: Sequence[Cause], *, is_more: bool = True
) -> tuple[Cause, ...]:
    """All causes without repetition, the most certain first.

    Those are places whose time and number of calls changed, then requests, other times, other numbers of calls, modules
    and system calls, phases; times that changed the other way than the metric (more, if `is_more`) come last.
    """
    told = [_with_counts(cause, counted) for cause in timed]
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


def _with_counts(cause: Cause, counted: Sequence[Cause]) -> Cause:
    """The same with the number of calls, if that differs.

    What our driver calls has no caller among sampled frames, which are without ours.
    """
    for call in counted:
        if call.place != cause.place:
            continue
        if call.caller == cause.caller:
            return replace(cause, counts=call.counts)
        if not cause.caller and call.caller.startswith(OWN_MODULES):
            return replace(call, change=cause.change, low=cause.low, high=cause.high, share=cause.share)
    return cause


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


def suspected_places(counted: Sequence[Cause], profiles: Iterable[StackProfile]) -> frozenset[tuple[str, ...]]:
    """Where calls whose number differs are sampled: the call, or the caller of what has no frame of its own."""
    names = {frame.name for profile in profiles for frame in profile.frames}
    places: set[tuple[str, ...]] = set()
    for cause in counted:
        place = _frame_name(cause)
        places.add((cause.caller, place) if place in names else (cause.caller,))
    return frozenset(places)
