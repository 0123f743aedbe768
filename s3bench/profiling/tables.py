"""Where the time of a profile goes: by function, by module, and by import."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from s3bench.profiling.call_path import MODULE_CODE
from s3bench.profiling.stack_profile import IMPORT_SYSTEM, Frame, StackProfile
from s3bench.stats.t_distribution import upper_quantile

SHARE_KNOWN_TO = 0.01
"""Half of the interval of a share that is known well enough: one percentage point."""

_FUNCTIONS_KNOWN = 5
_TAIL = 0.025
_RUNS_MIN = 2
_NO_FRAME = Frame(module="", function="")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeShare:
    """A share of all samples, from 0 to 1, with its 95 % interval over runs; no interval with a single run."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def half_width(self) -> float:
        """Half of the interval; infinite without one."""
        return math.inf if self.low is None or self.high is None else (self.high - self.low) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceTime:
    """A function or a module: seconds per run in itself and with what it calls, and the share of all samples in itself.

    `name` is `module:function` or the module; empty for samples without any frame of Python.
    """

    name: str
    self_s: float
    total_s: float
    self_share: TimeShare


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportTime:
    """A module's import: seconds per run. `children` are the imports that it made, the longest first.

    `total_s` is all of it. `self_s` is its own code, without the imports that it made and without the import system,
    which finds and reads modules for it. `importer` is the frame of the import statement.
    """

    module: str
    importer: Frame | None
    total_s: float
    self_s: float
    children: tuple["ImportTime", ...] = ()


def function_times(profile: StackProfile) -> tuple[PlaceTime, ...]:
    """Functions, those with most time in themselves first. The import system counts as one function."""
    return _place_times(profile, lambda frame: frame.name if frame is not _NO_FRAME else "")


def module_times(profile: StackProfile) -> tuple[PlaceTime, ...]:
    """Modules, those with most time in themselves first. The import system counts as one module."""
    return _place_times(profile, lambda frame: frame.module)


def import_times(profile: StackProfile) -> tuple[ImportTime, ...]:
    """The imports as a tree, the longest first.

    An import begins where the code of a module runs below the import system. Time in the import system itself belongs
    to the import whose statement it works for.
    """
    root = _ImportNode()
    for number, stack in enumerate(profile.stacks):
        count = sum(run.samples.get(number, 0) for run in profile.runs)
        root.add([profile.frames[index] for index in stack.frames], count)
    per_sample_s = profile.interval_s / max(len(profile.runs), 1)
    return root.times(per_sample_s)


def seconds_per_run(profile: StackProfile) -> float:
    """The sampled time of a run, on average."""
    samples = sum(count for run in profile.runs for count in run.samples.values())
    return samples * profile.interval_s / max(len(profile.runs), 1)


def widest_share(functions: Sequence[PlaceTime]) -> float:
    """The half width of the least certain share of the five functions with most time in themselves."""
    named = [each for each in functions if each.name][:_FUNCTIONS_KNOWN]
    return max((each.self_share.half_width for each in named), default=math.inf)


def _place_times(profile: StackProfile, name_of: Callable[[Frame], str]) -> tuple[PlaceTime, ...]:
    names = [name_of(IMPORT_SYSTEM if frame.is_import_system else frame) for frame in profile.frames]
    leaf = [names[stack.frames[-1]] if stack.frames else name_of(_NO_FRAME) for stack in profile.stacks]
    within = [{names[index] for index in stack.frames} or {name_of(_NO_FRAME)} for stack in profile.stacks]
    totals = [sum(run.samples.values()) for run in profile.runs]
    own = _counts_by_run(profile, [(name,) for name in leaf])
    whole = _counts_by_run(profile, within)
    per_sample_s = profile.interval_s / max(len(profile.runs), 1)
    nothing = [0] * len(totals)
    times = (
        PlaceTime(
            name=name,
            self_s=sum(own.get(name, nothing)) * per_sample_s,
            total_s=sum(counts) * per_sample_s,
            self_share=_share(own.get(name, nothing), totals),
        )
        for name, counts in whole.items()
    )
    return tuple(sorted(times, key=lambda each: (-each.self_s, -each.total_s, each.name)))


def _counts_by_run(profile: StackProfile, names: Sequence[Iterable[str]]) -> Mapping[str, list[int]]:
    """For each name, its number of samples in every run; `names` are those of each stack."""
    counts: dict[str, list[int]] = {}
    for place, run in enumerate(profile.runs):
        for number, count in run.samples.items():
            for name in names[number]:
                counts.setdefault(name, [0] * len(profile.runs))[place] += count
    return counts


def _share(counts: Sequence[int], totals: Sequence[int]) -> TimeShare:
    """The ratio of two sums over runs, and its interval by the residuals (Cochran, Sampling Techniques, 6.3)."""
    total = sum(totals)
    if not total:
        return TimeShare(value=0.0)
    runs, value = len(totals), sum(counts) / total
    if runs < _RUNS_MIN:
        return TimeShare(value=value)
    squares = sum((count - value * of) ** 2 for count, of in zip(counts, totals, strict=True))
    deviation = math.sqrt(squares / (runs * (runs - 1))) / (total / runs)
    reach = upper_quantile(_TAIL, runs - 1) * deviation
    return TimeShare(value=value, low=max(value - reach, 0.0), high=min(value + reach, 1.0))


@dataclass(slots=True)
class _ImportNode:
    importer: Frame | None = None
    total: int = 0
    own: int = 0
    children: dict[str, "_ImportNode"] = field(default_factory=dict)

    def add(self, frames: Sequence[Frame], count: int) -> None:
        node, statement, before = self, None, None
        node.total += count
        for frame in frames:
            is_machinery = frame.is_import_system
            if is_machinery and not (before and before.is_import_system):
                statement = before
            if frame.function == MODULE_CODE and not is_machinery and before and before.is_import_system:
                node = node.children.setdefault(frame.module, _ImportNode(importer=statement))
                node.total += count
            before = frame
        if not (before and before.is_import_system):
            node.own += count

    def times(self, per_sample_s: float) -> tuple[ImportTime, ...]:
        children = (
            ImportTime(
                module=module,
                importer=child.importer,
                total_s=child.total * per_sample_s,
                self_s=child.own * per_sample_s,
                children=child.times(per_sample_s),
            )
            for module, child in self.children.items()
        )
        return tuple(sorted(children, key=lambda each: (-each.total_s, each.module)))
