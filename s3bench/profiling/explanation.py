"""An explanation: what carries the change of one metric of one benchmark, the largest part first."""

from enum import StrEnum

import msgspec

from s3bench.profiling.stack_profile import StackProfile

CPU_METRICS = frozenset({"user_cpu_time", "cpu_time", "instructions"})
"""Metrics of the work of the CPU, which are explained by CPU time; the others by the time that the user waits."""

RUNS_MIN = 5
"""So many sampled runs of each side are needed to compare them: with fewer there are too few ways to deal them."""

PAIRS_MIN = 6
"""With fewer pairs of runs a change has no interval: five differ all in the same direction in 6 % of cases by chance.
"""


class CauseKind(StrEnum):
    """What kind of thing carries a part of a change."""

    FUNCTION = "function"
    """A function takes another time than before, itself or in what it calls."""
    CALL = "call"
    """A function calls another one, or calls it more or less often."""
    IMPORT = "import"
    """A module is imported, or its import takes another time."""
    REQUEST = "request"
    PHASE = "phase"
    """A part of the start-up between two milestones."""
    SYSTEM_CALL = "system call"
    ALLOCATION = "allocation"
    """Memory that a function allocated and that was held at the peak."""


class Cause(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that changed, and the part of the change that it carries.

    `place` names it: a module for an import, `module:function` for a function, a call or an allocation, the method and
    path of a request, the name of a system call or of a phase. `caller` is the `module:function` from where it is
    called or imported; `file` and `line` are where that happens in the candidate: of the caller if there is one, else
    of the place itself; empty and 0 if unknown.
    `change` is candidate minus baseline per run, in seconds (bytes for an allocation), with its 95 % interval from
    `low` to `high`; `None` where only counts are known. `counts` are the calls, requests or system calls per run of
    baseline and candidate. `share` is the part of the metric's change that it carries; `None` if that is not known.
    """

    kind: CauseKind
    place: str
    caller: str = ""
    file: str = ""
    line: int = 0
    change: float | None = None
    low: float | None = None
    high: float | None = None
    counts: tuple[float, float] | None = None
    share: float | None = None


class ChangeInterval(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The 95 % interval of a change, in the metric's unit; without bounds from fewer than `PAIRS_MIN` pairs of runs."""

    low: float | None = None
    high: float | None = None

    @property
    def spans_zero(self) -> bool:
        """Whether the metric may not have changed at all."""
        return (self.low is None or self.low <= 0) and (self.high is None or self.high >= 0)


class Explanation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What carries the change of `metric` in the benchmark with this title.

    `change` is the metric's change per run, candidate minus baseline, in its unit (seconds or bytes; a number for a
    count). `interval` is the change's own, `None` where it was tested before, as by a gate. `causes` has what is more
    than noise, the largest part first; what they leave of the change is `unexplained`, in the same unit, `None` if
    their parts cannot be added, or if there may be no change. `runs` of each side were profiled with `profiler`;
    `slowdown` is by which factor a run takes longer under it. `is_compared`: the stacks or the allocations of both
    sides were compared. `notes` are sentences about what could not be looked at. The two profiles are there where
    stacks were sampled.
    """

    benchmark: str
    metric: str
    change: float
    interval: ChangeInterval | None = None
    causes: tuple[Cause, ...] = ()
    unexplained: float | None = None
    runs: int = 0
    profiler: str = ""
    slowdown: float | None = None
    is_compared: bool = True
    notes: tuple[str, ...] = ()
    baseline: StackProfile | None = None
    candidate: StackProfile | None = None

    @property
    def is_change_detected(self) -> bool:
        """Whether the change is more than noise."""
        return self.interval is None or not self.interval.spans_zero

    def without_profiles(self) -> "Explanation":
        """The same without the stacks, for a record that keeps them beside it."""
        return msgspec.structs.replace(self, baseline=None, candidate=None)
