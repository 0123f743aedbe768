"""What of the time differs between two profiles: functions, calls and imports that carry the change.

Every function and every call of one function by another is a place, with all the time in what it calls; the time of a
function in itself is another one, which varies less. Of all places that differ by
more than noise, the one that stands out most is taken first (`s3bench.stats.max_statistic`). Its callers differ as
well, and what it calls may: of those that carry nearly the same change, the outermost that only one side has is told,
else the innermost. Then all samples of that place are taken away, and the rest is searched for the next one.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from s3bench.profiling.call_path import MODULE_CODE, CallPath, call_paths
from s3bench.profiling.explanation import RUNS_MIN, Cause, CauseKind
from s3bench.profiling.stack_profile import Frame, StackProfile
from s3bench.profiling.tables import seconds_per_run
from s3bench.stats.max_statistic import bootstrap_interval, max_statistic_limit, mean_difference
from s3bench.units import counted

CAUSES_MAX = 20
"""At most so many places are told."""

_ERROR_RATE = 0.05
_ADDED_SAMPLES = 0.25  # run to run, a time that does not vary differs by this part of a sample, on average
_LIMIT_MIN = 1.0  # in standard errors; where no run varies the limit is 0, and rounding would exceed it
_SEEN_RUNS_MIN = 4  # a place that fewer runs have seen cannot differ significantly
_NEARLY_ALL = 0.8
_ALMOST_NONE = 0.01
_MOVED = 0.5  # a place is moved if the rest of its caller changed by so much of its change in the other direction
_MOVED_STATISTIC = 3.0
_SEED = 20_010_424

_Place = tuple[str, ...]
"""The name of a function, or those of caller and callee, or of a function and `_ITSELF`."""

_ITSELF = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeDifferences:
    """What carries the change of the sampled time, the largest part first.

    `change` is the whole change in seconds per run, candidate minus baseline. The changes of the `causes` have no
    sample in common, so that they can be added; what they leave of it is spread over places that do not stand out.
    Where nothing could be compared, `incomparable` says why.
    """

    change: float
    causes: tuple[Cause, ...] = ()
    incomparable: str = ""

    @property
    def spread(self) -> float:
        """The part of the change that no cause carries."""
        return self.change - sum(cause.change or 0.0 for cause in self.causes)


def time_differences(
    baseline: StackProfile, candidate: StackProfile, *, suspected: frozenset[tuple[str, ...]] = frozenset()
) -> TimeDifferences:
    """Find what carries the change between two profiles.

    If nothing differs, anything is told with a probability of 5 % at most. `suspected` are places that are known to
    differ: calls as pairs of caller and callee (`Frame.name`), functions as one name. Half of that probability is
    theirs, so that smaller changes show there. Fewer than `RUNS_MIN` runs a side cannot be compared.
    """
    assert baseline.sampled is candidate.sampled, "times of different kinds cannot be compared"
    incomparable = _why_incomparable(baseline, candidate)
    if incomparable:
        return TimeDifferences(change=seconds_per_run(candidate) - seconds_per_run(baseline), incomparable=incomparable)
    return _Search(baseline, candidate, suspected).result()


def _why_incomparable(baseline: StackProfile, candidate: StackProfile) -> str:
    runs = min(len(baseline.runs), len(candidate.runs))
    if runs < RUNS_MIN:
        few = "is" if runs == 1 else "are"
        return f"{counted(runs, 'run')} of each side {few} too few to compare ({RUNS_MIN} needed)"
    for name, profile in (("baseline", baseline), ("candidate", candidate)):
        if not seconds_per_run(profile):
            return f"nothing was sampled in the runs of the {name}"
    return ""


class _Search:
    """Time by place and run, of the samples that no cause has taken yet."""

    def __init__(self, baseline: StackProfile, candidate: StackProfile, suspected: frozenset[tuple[str, ...]]) -> None:
        self._generator = np.random.default_rng(_SEED)
        self._baseline_runs = len(baseline.runs)
        self._runs = len(baseline.runs) + len(candidate.runs)
        self._added_error = (
            _ADDED_SAMPLES
            * max(baseline.interval_s, candidate.interval_s)
            * float(np.sqrt(1 / len(baseline.runs) + 1 / len(candidate.runs)))
        )
        self._candidate = candidate
        baseline = _with_modules_of(baseline, candidate)
        baseline_paths, self._candidate_paths = call_paths(baseline, candidate)
        self._change = seconds_per_run(candidate) - seconds_per_run(baseline)
        self._index(((baseline, baseline_paths), (candidate, self._candidate_paths)))
        self._values = self._times(np.ones(self._path_count, dtype=bool))
        self._limits = self._limits_of(suspected)

    def result(self) -> TimeDifferences:
        """Take one cause after the other."""
        active = np.ones(self._path_count, dtype=bool)
        causes: list[Cause] = []
        while len(causes) < CAUSES_MAX:
            self._values = self._times(active)
            self._differences, self._statistics = self._compare(self._values)
            place = self._next_place(active)
            if place is None:
                break
            causes.append(self._cause(place))
            active &= ~self._paths_through(place)
        causes.sort(key=lambda cause: -abs(cause.change or 0.0))
        return TimeDifferences(change=self._change, causes=tuple(causes))

    def _index(self, sides: Iterable[tuple[StackProfile, tuple[CallPath, ...]]]) -> None:
        """Number paths and places, and list which run has how much time on which path, and thus in which place."""
        path_numbers: dict[tuple[str, ...], int] = {}
        places: dict[_Place, int] = {}
        depths: list[int] = []
        through: list[list[int]] = []
        leaves: list[int] = []
        run_of, path_of, seconds = [], [], []
        run_number = 0
        for profile, paths in sides:
            numbers = []
            for path in paths:
                names = tuple(frame.name for frame in path)
                number = path_numbers.setdefault(names, len(path_numbers))
                if number == len(through):
                    through.append(_number_places(names, places, depths))
                    leaves.append(places[names[-1:]] if names else -1)
                numbers.append(number)
            for run in profile.runs:
                for stack, count in run.samples.items():
                    run_of.append(run_number)
                    path_of.append(numbers[stack])
                    seconds.append(count * profile.interval_s)
                run_number += 1
        self._path_count = len(through)
        lengths = np.array([len(each) for each in through], dtype=np.intp)
        flat = np.array([place for each in through for place in each], dtype=np.intp)
        path_of_flat = np.repeat(np.arange(len(through)), lengths)
        kept = self._seen_often(flat, path_of_flat, np.array(run_of), np.array(path_of), len(places))
        numbering = np.cumsum(kept) - 1
        names_of = list(places)
        self._places = [names_of[number] for number in np.flatnonzero(kept)]
        self._numbers = {place: number for number, place in enumerate(self._places)}
        self._depths = np.array(depths)[kept]
        self._incidence_place = numbering[flat[kept[flat]]]
        self._incidence_path = path_of_flat[kept[flat]]
        self._leaf_of_path = np.array([numbering[leaf] if leaf >= 0 and kept[leaf] else -1 for leaf in leaves])
        by_path = np.zeros((len(through), self._runs))
        np.add.at(by_path, (np.array(path_of, dtype=np.intp), np.array(run_of, dtype=np.intp)), seconds)
        self._seconds_by_path = by_path

    def _seen_often(
        self,
        places: NDArray[np.intp],
        paths: NDArray[np.intp],
        run_of: NDArray[np.intp],
        path_of: NDArray[np.intp],
        place_count: int,
    ) -> NDArray[np.bool_]:
        runs_seen = np.zeros(place_count, dtype=np.intp)
        for run in range(self._runs):
            on = np.zeros(self._path_count, dtype=bool)
            on[path_of[run_of == run]] = True
            seen = np.zeros(place_count, dtype=bool)
            seen[places[on[paths]]] = True
            runs_seen += seen
        return runs_seen >= _SEEN_RUNS_MIN

    def _times(self, active: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Seconds of each run (row) in each place (column), of the paths that are active."""
        chosen = active[self._incidence_path]
        places, paths = self._incidence_place[chosen], self._incidence_path[chosen]
        return np.stack(
            [
                np.bincount(places, weights=self._seconds_by_path[paths, run], minlength=len(self._places))
                for run in range(self._runs)
            ]
        )

    def _compare(self, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        first, second = values[: self._baseline_runs], values[self._baseline_runs :]
        compared = mean_difference(first, second, added_error=self._added_error)
        return compared.difference, compared.statistic

    def _limits_of(self, suspected: frozenset[tuple[str, ...]]) -> NDArray[np.float64]:
        self._suspected = np.zeros(len(self._places), dtype=bool)
        few = [number for pair in suspected if (number := self._numbers.get(pair)) is not None]
        rate = _ERROR_RATE / 2 if few else _ERROR_RATE
        limits = np.full(len(self._places), self._limit(self._values, rate))
        if few:
            self._suspected[few] = True
            limits[few] = np.minimum(limits[few], self._limit(self._values[:, few], rate))
        return limits

    def _limit(self, values: NDArray[np.float64], error_rate: float) -> float:
        return max_statistic_limit(
            values[: self._baseline_runs],
            values[self._baseline_runs :],
            added_error=self._added_error,
            error_rate=error_rate,
            generator=self._generator,
        )

    def _next_place(self, active: NDArray[np.bool_]) -> int | None:
        strength = np.abs(self._statistics) / np.maximum(self._limits, _LIMIT_MIN)
        over = strength > 1
        for number in np.argsort(-strength):
            if not over[number]:
                return None
            if not self._is_moved(int(number)):
                return self._most_specific(int(number), over, active)
        return None

    def _most_specific(self, found: int, over: NDArray[np.bool_], active: NDArray[np.bool_]) -> int:
        """Of the places that carry the change of the one found, the one to tell."""
        change = self._differences[found]
        common = self._compare(self._times(active & self._paths_through(found)))[0] / change
        related = over & (common >= _NEARLY_ALL) & (self._differences * change > 0)
        sizes = np.abs(self._differences)
        near = related & (sizes <= abs(change) / _NEARLY_ALL)
        totals = self._values.sum(axis=0)
        deepest = min(np.flatnonzero(near), key=lambda number: (totals[number], -self._depths[number]))
        new = self._on_one_side()
        if near[self._suspected].any():
            return self._callee_or_call(self._outermost(np.flatnonzero(near & self._suspected)), over)
        appeared = np.array([n for n in np.flatnonzero(related & new) if not self._is_moved(int(n))], dtype=np.intp)
        if not len(appeared) or self._is_new_leaf(int(deepest), active, new):
            return self._callee_or_call(int(deepest), over)
        outermost = self._outermost(appeared)
        imports = [n for n in appeared if self._is_import(n) and sizes[n] >= _NEARLY_ALL * sizes[outermost]]
        return self._callee_or_call(self._outermost(np.array(imports)) if imports else outermost, over)

    def _outermost(self, places: NDArray[np.intp]) -> int:
        sizes = np.abs(self._differences)
        return int(min(places, key=lambda number: (-round(float(sizes[number]), 9), self._depths[number])))

    def _on_one_side(self) -> NDArray[np.bool_]:
        """The places that only one side has."""
        means = self._values[: self._baseline_runs].mean(axis=0), self._values[self._baseline_runs :].mean(axis=0)
        return np.asarray(np.minimum(*means) <= _ALMOST_NONE * np.maximum(*means))

    def _is_new_leaf(self, place: int, active: NDArray[np.bool_], new: NDArray[np.bool_]) -> bool:
        """Whether only one side has this place, and nearly all of its change is time in the function itself."""
        if not new[place] or self._is_import(place):
            return False
        if self._is_itself(place):
            return True
        own = active & self._paths_through(place) & (self._leaf_of_path == self._numbers.get(self._places[place][-1:]))
        return bool(self._compare(self._times(own))[0][place] / self._differences[place] >= _NEARLY_ALL)

    def _callee_or_call(self, place: int, over: NDArray[np.bool_]) -> int:
        """The call, if one caller has most of the change of a function; else the function, or its time in itself."""
        if self._is_itself(place):
            function = self._numbers[self._places[place][:1]]
            is_all = over[function] and self._differences[function] / self._differences[place] >= _NEARLY_ALL
            return self._callee_or_call(function, over) if is_all else place
        callee = self._numbers.get(self._places[place][-1:])
        if callee is None:
            return place
        change = self._differences[callee]
        if len(self._places[place]) > 1:
            larger = over[callee] and change / self._differences[place] > 1 / _NEARLY_ALL
            return callee if larger and not self._is_moved(callee) else place
        call = self._main_call(callee)
        return call if call is not None and self._differences[call] / change >= _NEARLY_ALL else callee

    def _main_call(self, function: int) -> int | None:
        """The call that carries most of the change of a function."""
        name = self._places[function][0]
        calls = [number for number, place in enumerate(self._places) if len(place) > 1 and place[1] == name]
        return max(calls, key=lambda number: abs(self._differences[number]), default=None)

    def _is_moved(self, place: int) -> bool:
        """Whether its change is undone elsewhere in its caller, or by other callers: it was moved or renamed.

        Time of a function in itself may also have moved into what it calls.
        """
        names, is_itself = self._places[place], self._is_itself(place)
        is_call = len(names) > 1 and not is_itself
        call = place if is_call else self._main_call(self._numbers.get(names[:1], place))
        around = [] if call is None else [self._places[call][:1]]
        if len(names) > 1:
            around.append(names[:1] if is_itself else names[1:])
        change = self._differences[place]
        for each in around:
            container = self._numbers.get(each)
            if container is None:
                continue
            rest, statistic = self._compare((self._values[:, container] - self._values[:, place])[:, None])
            if rest[0] / change <= -_MOVED and abs(statistic[0]) >= _MOVED_STATISTIC:
                return True
        return False

    def _is_import(self, place: int) -> bool:
        return self._places[place][-1].endswith(f":{MODULE_CODE}")

    def _is_itself(self, place: int) -> bool:
        return self._places[place][-1] == _ITSELF

    def _paths_through(self, place: int) -> NDArray[np.bool_]:
        through = np.zeros(self._path_count, dtype=bool)
        through[self._incidence_path[self._incidence_place == place]] = True
        return through

    def _cause(self, place: int) -> Cause:
        names = self._places[place]
        caller, callee = names if len(names) > 1 and not self._is_itself(place) else ("", names[0])
        values = self._values[:, place]
        low, high = bootstrap_interval(
            values[: self._baseline_runs], values[self._baseline_runs :], generator=self._generator
        )
        where = _most_sampled(self._candidate, self._candidate_paths, names)
        is_import = self._is_import(place) and bool(caller)
        return Cause(
            kind=CauseKind.IMPORT if is_import else CauseKind.CALL if caller else CauseKind.FUNCTION,
            place=callee.rpartition(":")[0] if is_import else callee,
            caller=caller,
            file=where.file if where else "",
            line=where.line if where else 0,
            change=float(self._differences[place]),
            low=low,
            high=high,
        )


def _with_modules_of(baseline: StackProfile, candidate: StackProfile) -> StackProfile:
    """The baseline with the candidate's names of modules that were moved into another package, or out of one."""
    old, new = ({frame.module for frame in profile.frames} for profile in (baseline, candidate))
    only_old, only_new = _by_last_name(old - new), _by_last_name(new - old)
    names = {}
    for last, modules in only_old.items():
        for module in modules:
            same = [each for each in only_new.get(last, ()) if _is_below(each, module) or _is_below(module, each)]
            if len(same) == 1:
                names[module] = same[0]
    renamed = Counter(names.values())
    frames = tuple(
        msgspec.structs.replace(frame, module=names[frame.module])
        if frame.module in names and renamed[names[frame.module]] == 1
        else frame
        for frame in baseline.frames
    )
    return msgspec.structs.replace(baseline, frames=frames)


def _is_below(module: str, suffix: str) -> bool:
    return module.endswith(f".{suffix}")


def _by_last_name(modules: Iterable[str]) -> dict[str, list[str]]:
    named: defaultdict[str, list[str]] = defaultdict(list)
    for module in sorted(modules):
        named[module.rpartition(".")[2]].append(module)
    return named


def _number_places(names: tuple[str, ...], places: dict[_Place, int], depths: list[int]) -> list[int]:
    """The functions and calls of a path, each once, and the time of the last one in itself."""
    numbered = [(depth, (name,)) for depth, name in enumerate(names)]
    calls = list(enumerate(pairwise((*names, _ITSELF))))
    found: dict[int, None] = {}
    for depth, place in (*numbered, *calls):
        number = places.setdefault(place, len(places))
        if number == len(depths):
            depths.append(depth)
        found[number] = None
    return list(found)


def _most_sampled(profile: StackProfile, paths: tuple[CallPath, ...], names: _Place) -> Frame | None:
    """The line of the first of these functions where most of the samples are that pass through all of them."""
    seen: Counter[Frame] = Counter()
    totals: Counter[int] = Counter()
    for run in profile.runs:
        totals.update(run.samples)
    for number, path in enumerate(paths):
        followed = (*(frame.name for frame in path), _ITSELF)
        for start, frame in enumerate(path):
            if followed[start : start + len(names)] == names:
                seen[frame] += totals[number]
    return seen.most_common(1)[0][0] if seen else None
