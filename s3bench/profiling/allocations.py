"""Which functions hold a client's memory at its peak, and on which of two sides they hold more.

The peak is that of the process's resident memory. What was dropped before it is not told, although the interpreter may
not have given all of that back to the kernel.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import add

import msgspec

from s3bench.errors import MachineError
from s3bench.profiling.explanation import Cause, CauseKind
from s3bench.profiling.stack_profile import Frame, file_of_module

CHANGE_MIN_BYTES = 64 << 10
"""Less is not told."""

_VERSION = 2
_CAUSES_MAX = 20
# Called functions are told instead of their caller when each has a fifth of its change, and all together most of it.
_PART = 0.2
_CARRIED = 0.7
_FRAMES_MAX = 200_000
_HELD_MAX = 50_000
_NAME_CHARACTERS = 500

_Path = tuple[str, ...]


class HeldMemory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bytes held at the peak that were allocated in one place.

    `frames` are indices into the profile's `frames`: the function that allocated first, then its callers, as far as
    they are known.
    """

    frames: tuple[int, ...]
    size_bytes: int


class AllocationProfile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The memory of one run at its peak, as its interpreter allocated it; `held` has the largest place first.

    `start` tells from where on allocations were seen: `imports`, before the client's packages are imported, or
    `plug-in`, when aws-cli has started and loads its plug-ins. `peak_bytes` is the process's highest resident memory.
    Python held `taken_bytes` then, of which `held` leaves out `other_bytes` in many small places.
    """

    start: str
    peak_bytes: int
    taken_bytes: int
    frames: tuple[Frame, ...]
    held: tuple[HeldMemory, ...]
    other_bytes: int = 0

    def __post_init__(self) -> None:
        """Raises `ValueError`, which decoding tells with its path, where a record was edited by hand."""
        frames = range(len(self.frames))
        if any(frame not in frames for each in self.held for frame in each.frames):
            raise ValueError("what is held has a frame that is not there")


class ProbeReport(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the probe `allocations` writes.

    A first run learns `peak_bytes` and the `moments` of the peak, one or two: a function's file, first line and name,
    and how many calls and returns of it there were. A second run looks at the memory there: what is held is bytes and
    indices of frames, and a frame is module, function, file and line. `taken_bytes` is 0 if no moment came.
    """

    version: int
    start: str
    python: str
    peak_bytes: int = 0
    moments: tuple[tuple[tuple[str, int, str], int], ...] = ()
    taken_bytes: int = 0
    frames: tuple[tuple[str, str, str, int], ...] = ()
    held: tuple[tuple[int, tuple[int, ...]], ...] = ()
    other_bytes: int = 0

    def profile(self, *, peak_bytes: int) -> AllocationProfile:
        """The same as a profile: files below the directory that their modules were imported from."""
        return AllocationProfile(
            start=self.start,
            peak_bytes=peak_bytes,
            taken_bytes=self.taken_bytes,
            frames=tuple(_frame(*each) for each in self.frames),
            held=tuple(HeldMemory(frames=frames, size_bytes=size) for size, frames in self.held),
            other_bytes=self.other_bytes,
        )


def parse_probe_report(data: bytes) -> ProbeReport:
    """Raises `MachineError` where the client's process wrote something else."""
    try:
        report = msgspec.json.decode(data, type=ProbeReport)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(str(error)) from error
    if report.version != _VERSION:
        raise _unreadable(f"its version is {report.version}, not {_VERSION}")
    if len(report.frames) > _FRAMES_MAX or len(report.held) > _HELD_MAX:
        raise _unreadable("it has too many places")
    sizes = (report.peak_bytes, report.taken_bytes, report.other_bytes)
    if any(size < 0 for size in (*sizes, *(size for size, _ in report.held))):
        raise _unreadable("a size is negative")
    if any(not 0 <= index < len(report.frames) for _, frames in report.held for index in frames):
        raise _unreadable("a place has a frame that is not there")
    return report


def allocation_differences(
    baseline: Sequence[AllocationProfile], candidate: Sequence[AllocationProfile]
) -> tuple[Cause, ...]:
    """Find the functions that hold more or less at the peak, in themselves or in what they call; the largest first.

    Told is a change of more than 64 KiB that is larger than what varies among the runs of a side. A place is the most
    specific one that carries a change; its interval is the range of what any two runs differ by.
    """
    runs = [_held_by_path(profile) for profile in (*baseline, *candidate)]
    count = len(baseline)
    differing = {
        path: tuple(run[path] for run in runs) for path in set().union(*runs) if len({run[path] for run in runs}) > 1
    }
    causes: list[Cause] = []
    while len(causes) < _CAUSES_MAX:
        found = _most_specific(differing, count)
        if found is None:
            break
        name, sizes = found
        sides = (baseline[0], candidate[0]) if _change(sizes, count) > 0 else (candidate[0], baseline[0])
        causes.append(_cause(name, sizes, count, _line_of_change(name, *sides)))
        differing = {path: each for path, each in differing.items() if name not in path}
    return tuple(sorted(causes, key=lambda cause: -abs(cause.change or 0)))


def held_by_function(profile: AllocationProfile) -> tuple[tuple[Frame, int, int], ...]:
    """Each function, with the bytes that it holds itself and in total with what it calls; the largest first.

    The frame is that of the line that holds most.
    """
    own: Counter[str] = Counter()
    total: Counter[str] = Counter()
    lines: dict[str, Counter[Frame]] = {}
    for held in profile.held:
        frames = [profile.frames[index] for index in held.frames]
        for position, frame in enumerate(frames):
            if frame.name not in {each.name for each in frames[:position]}:
                total[frame.name] += held.size_bytes
                lines.setdefault(frame.name, Counter())[frame] += held.size_bytes
        if frames:
            own[frames[0].name] += held.size_bytes
    ordered = sorted(total, key=lambda name: (-own[name], -total[name], name))
    return tuple((lines[name].most_common(1)[0][0], own[name], total[name]) for name in ordered)


def held_by_module(profile: AllocationProfile) -> tuple[tuple[str, int], ...]:
    """Each module with the bytes that its own functions hold, the largest first."""
    modules: Counter[str] = Counter()
    for held in profile.held:
        if held.frames:
            modules[profile.frames[held.frames[0]].module] += held.size_bytes
    return tuple(sorted(modules.items(), key=lambda item: (-item[1], item[0])))


def _held_by_path(profile: AllocationProfile) -> Counter[_Path]:
    names = [frame.name for frame in profile.frames]
    held: Counter[_Path] = Counter()
    for each in profile.held:
        held[tuple(dict.fromkeys(names[index] for index in each.frames))] += each.size_bytes
    return held


def _most_specific(differing: Mapping[_Path, tuple[int, ...]], count: int) -> tuple[str, tuple[int, ...]] | None:
    """The function with the largest change, or one of the few below it that carry it; its sizes in all runs."""
    parts = dict(differing)  # the functions that are looked at of each path
    found: tuple[str, tuple[int, ...]] | None = None
    while True:
        totals: dict[str, list[int]] = {}
        for path, sizes in parts.items():
            for name in path:
                total = totals.setdefault(name, [0] * len(sizes))
                total[:] = map(add, total, sizes)
        below = {name: tuple(total) for name, total in totals.items() if _is_told(total, count)}
        if found is not None:
            whole = abs(_change(found[1], count))
            below = {name: total for name, total in below.items() if abs(_change(total, count)) >= _PART * whole}
            carried = sum(_change(sizes, count) for path, sizes in parts.items() if not below.keys().isdisjoint(path))
            if abs(carried) < _CARRIED * whole:
                return found
        if not below:
            return found
        name = max(below, key=lambda each: (abs(_change(below[each], count)), each))
        found = name, below[name]
        inner: dict[_Path, tuple[int, ...]] = {}
        for path, sizes in parts.items():
            if name in path:
                called = path[: path.index(name)]
                inner[called] = tuple(map(add, inner[called], sizes)) if called in inner else sizes
        parts = inner


def _is_told(sizes: Sequence[int], count: int) -> bool:
    before, after = sizes[:count], sizes[count:]
    varies = max(max(before) - min(before), max(after) - min(after))
    apart = max(min(after) - max(before), min(before) - max(after))
    return apart > varies and abs(_change(sizes, count)) > CHANGE_MIN_BYTES


def _change(sizes: Sequence[int], count: int) -> float:
    return sum(sizes[count:]) / len(sizes[count:]) - sum(sizes[:count]) / count


def _cause(name: str, sizes: Sequence[int], count: int, frame: Frame) -> Cause:
    before, after = sizes[:count], sizes[count:]
    return Cause(
        kind=CauseKind.ALLOCATION,
        place=name,
        file=frame.file,
        line=frame.line,
        change=_change(sizes, count),
        low=float(min(after) - max(before)),
        high=float(max(after) - min(before)),
    )


def _line_of_change(name: str, less: AllocationProfile, more: AllocationProfile) -> Frame:
    """The line of the function that holds most of what it holds more."""
    lines = _held_by_line(name, more)
    lines.subtract(_held_by_line(name, less))
    return lines.most_common(1)[0][0]


def _held_by_line(name: str, profile: AllocationProfile) -> Counter[Frame]:
    lines: Counter[Frame] = Counter()
    for held in profile.held:
        frame = next((profile.frames[index] for index in held.frames if profile.frames[index].name == name), None)
        if frame:
            lines[frame] += held.size_bytes
    return lines


def _frame(module: str, function: str, file: str, line: int) -> Frame:
    name = module[:_NAME_CHARACTERS]
    return Frame(
        module=name,
        function=function[:_NAME_CHARACTERS],
        file=file_of_module(name, file[-_NAME_CHARACTERS:]),
        line=max(0, line),
    )


def _unreadable(why: str) -> MachineError:
    return MachineError(
        "what the client's process told of its memory cannot be read", why, "run it again; the client is not at fault"
    )
