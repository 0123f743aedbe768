"""Finds which functions, calls and imports carry the difference between two profiles.

Runs of both sides are taken in pairs, as they were made in turn. A place is a function, with all that it calls, or a
call of one function by another. Its difference is tested against the largest difference of any place when the sides of
pairs are exchanged at random (Westfall and Young, "Resampling-Based Multiple Testing", 1993), so that with nothing
changed something is named in at most 5 % of comparisons. A constant is added to the standard error, so that places
with few samples do not decide by their small variance (Tusher, Tibshirani and Chu, PNAS 98, 2001).
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from s3bench.profiling.explanation import Cause, CauseKind
from s3bench.profiling.stack_profile import Frame, StackProfile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

IMPORTING = "importlib:(find and load)"
"""The place of time spent to find and load modules, before their own code runs."""

Place = tuple[str, str]
"""A caller and what it calls, by `Frame.name`; the caller is empty for a function, whoever calls it."""

ERROR = 0.05
_PRIOR_ERROR = 0.025
_EXCHANGES = 1999
_RESAMPLES = 1000
_INTERVAL = (0.025, 0.975)
_SEED = 20
_PAIRS_MIN = 5
_NAMED_MAX = 20
_SAME = 0.8
_NEARLY = 0.85
_APPEARED = 0.15
_CONSTANT = 0.5
_MODULE = "<module>"
_IMPORT_SYSTEM = ("importlib._bootstrap", "importlib._bootstrap_external", "zipimport", "pyimod02_importers")
_OWN = "s3bench_probe"


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """What differs: `causes`, the largest first, and the change of all samples, in seconds per run."""

    causes: tuple[Cause, ...]
    change: float


def differences(
    baseline: StackProfile, candidate: StackProfile, *, prior: Iterable[Place] = (), error: float = ERROR
) -> Differences:
    """Find what carries the difference, in seconds per run.

    `prior` are calls of which the exact numbers differ: tested among themselves, with half of `error`. With fewer than
    five pairs of runs nothing is told.
    """
    samples = _Samples.of(baseline, candidate)
    if samples.pairs < _PAIRS_MIN:
        return Differences(causes=(), change=samples.change)
    causes: list[Cause] = []
    known = frozenset(prior)
    share = min(_PRIOR_ERROR, error / 2) if known else 0.0
    for family, level in ((known, share), (None, error - share)):
        while level and len(causes) < _NAMED_MAX:
            place = _Family(samples, family).clearest(level)
            if place is None:
                break
            causes.append(samples.cause(place))
            samples = samples.without(place)
    causes.sort(key=lambda cause: -abs(cause.change or 0.0))
    return Differences(causes=tuple(causes), change=_Samples.of(baseline, candidate).change)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Samples:
    """Seconds of every stack in every run: `baseline` and `candidate` have a row for each run, a column a stack.

    `stacks` are the names of their frames, without those of the import system; `lines` has, for every call, the lines
    from where it is made, with their seconds: of the candidate if it makes it, else of the baseline.
    """

    stacks: tuple[tuple[str, ...], ...]
    baseline: "Matrix"
    candidate: "Matrix"
    interval_s: float
    lines: Mapping[Place, Mapping[tuple[str, int], float]]

    @classmethod
    def of(cls, baseline: StackProfile, candidate: StackProfile) -> "_Samples":
        import numpy as np  # noqa: PLC0415 (half a second of start that other commands need not pay)

        columns: dict[tuple[str, ...], int] = {}
        lines: dict[Place, dict[tuple[str, int], float]] = defaultdict(lambda: defaultdict(float))
        rows: list[list[tuple[list[int], list[float]]]] = []
        for profile in (baseline, candidate):
            shown = [_visible([profile.frames[index] for index in stack.frames]) for stack in profile.stacks]
            places = [columns.setdefault(tuple(name for name, _ in stack), len(columns)) for stack in shown]
            rows.append([
                ([places[index] for index in run.samples], [n * profile.interval_s for n in run.samples.values()])
                for run in profile.runs
            ])  # fmt: skip
            _add_lines(profile, shown, lines)
        sides = [np.zeros((len(side), len(columns))) for side in rows]
        for matrix, side in zip(sides, rows, strict=True):
            for number, (indices, seconds) in enumerate(side):
                np.add.at(matrix[number], indices, seconds)
        pairs = min(len(side) for side in rows)
        return cls(
            stacks=tuple(columns),
            baseline=sides[0][:pairs],
            candidate=sides[1][:pairs],
            interval_s=candidate.interval_s,
            lines=lines,
        )

    @property
    def pairs(self) -> int:
        return len(self.baseline)

    @property
    def change(self) -> float:
        """Of all stacks together, in seconds per run."""
        return float((self.candidate - self.baseline).sum() / max(1, self.pairs))

    def columns(self, place: Place) -> list[int]:
        """The stacks with this function or call."""
        return [number for number, stack in enumerate(self.stacks) if place in _places(stack)]

    def without(self, place: Place) -> "_Samples":
        """The same without the time of a place."""
        columns = self.columns(place)
        left = []
        for side in (self.baseline, self.candidate):
            rest = side.copy()
            rest[:, columns] = 0.0
            left.append(rest)
        return replace(self, baseline=left[0], candidate=left[1])

    def cause(self, place: Place) -> Cause:
        """The place as a cause, with the interval of its difference by the bootstrap over pairs."""
        import numpy as np  # noqa: PLC0415

        columns = self.columns(place)
        each = (self.candidate[:, columns] - self.baseline[:, columns]).sum(axis=1)
        randomness = np.random.default_rng(_SEED)
        means = each[randomness.integers(0, len(each), (_RESAMPLES, len(each)))].mean(axis=1)
        low, high = np.quantile(means, _INTERVAL)
        caller, name = place
        if not caller:
            caller = self._main_caller(name, columns)
        module, _, function = name.rpartition(":")
        is_import = function == _MODULE
        appeared = float(self.baseline[:, columns].mean(axis=0).sum()) < _APPEARED * abs(float(each.mean()))
        kind = CauseKind.IMPORT if is_import else CauseKind.CALL if caller and (place[0] or appeared) else None
        file, line = self._line(name, caller)
        return Cause(
            kind=kind or CauseKind.FUNCTION,
            place=module if is_import else name,
            caller=caller,
            file=file,
            line=line,
            change=float(each.mean()),
            low=float(low),
            high=float(high),
        )

    def _main_caller(self, name: str, columns: Sequence[int]) -> str:
        """Who calls the function in most of the difference; empty if no one has most of it."""
        changes: dict[str, float] = defaultdict(float)
        each = (self.candidate - self.baseline).mean(axis=0)
        for column in columns:
            stack = self.stacks[column]
            place = stack.index(name)
            changes[stack[place - 1] if place else ""] += float(each[column])
        total = sum(changes.values())
        caller = max(changes, key=lambda each_caller: abs(changes[each_caller]))
        return caller if abs(changes[caller]) >= _SAME * abs(total) else ""

    def _line(self, name: str, caller: str) -> tuple[str, int]:
        """Where the call is made in the candidate, or where the function spends most of its time if no one calls it."""
        found = self.lines.get((caller, name) if caller else ("", name), {})
        return max(found, key=lambda line: found[line], default=("", 0))


class _Family:
    """The places that are tested together, and their differences in each pair."""

    def __init__(self, samples: _Samples, places: frozenset[Place] | None) -> None:
        import numpy as np  # noqa: PLC0415

        self._samples = samples
        used = np.flatnonzero((samples.baseline.sum(axis=0) + samples.candidate.sum(axis=0)) > 0)
        members: dict[Place, list[int]] = defaultdict(list)
        depth: dict[Place, int] = {}
        for column in used:
            for place, at in _places(samples.stacks[column]).items():
                if places is None or place in places:
                    members[place].append(int(column))
                    depth[place] = max(depth.get(place, 0), at)
        self._members = members
        self._depth = depth
        self._places = list(members)
        shape = (samples.pairs, len(self._places))
        self._each = np.zeros(shape)
        self._base = np.zeros(len(self._places))
        difference = samples.candidate - samples.baseline
        for number, place in enumerate(self._places):
            columns = members[place]
            self._each[:, number] = difference[:, columns].sum(axis=1)
            self._base[number] = min(
                samples.baseline[:, columns].sum(axis=1).mean(), samples.candidate[:, columns].sum(axis=1).mean()
            )

    def clearest(self, level: float) -> Place | None:
        """The place that carries a difference most specifically; `None` if none is more than noise."""
        import numpy as np  # noqa: PLC0415

        if not self._places:
            return None
        found = np.abs(self._studentised(np.ones((1, len(self._each)))))[0]
        flips = np.random.default_rng(_SEED).choice((-1.0, 1.0), (_EXCHANGES, len(self._each)))
        largest = np.abs(self._studentised(flips)).max(axis=1)
        at_least = (1 + (largest[:, None] >= found[None, :].max()).sum()) / (1 + _EXCHANGES)
        if at_least > level:
            return None
        threshold = float(np.quantile(largest, 1 - level))
        best = int(found.argmax())
        return self._most_specific(best, found, threshold)

    def _most_specific(self, best: int, found: "NDArray[np.float64]", threshold: float) -> Place:
        """Of the places that carry nearly the same difference as the clearest one, the one to name.

        What appeared anew is named where it begins; else the deepest function of the client, then of the standard
        library.
        """
        means = self._each.mean(axis=0)
        of_best = set(self._members[self._places[best]])
        change = means[best]
        near = [
            number
            for number, place in enumerate(self._places)
            if found[number] >= max(threshold, _NEARLY * found[best])
            and (means[number] > 0) == (change > 0)
            and abs(means[number]) >= _SAME * abs(change)
            and of_best & set(self._members[place])
        ]
        appeared = [number for number in near if self._base[number] < _APPEARED * abs(means[number])]
        if appeared:
            return self._places[min(appeared, key=lambda number: (self._depth[self._places[number]], -means[number]))]
        own = [number for number in near if not _is_standard(self._places[number][1])]
        chosen = max(own or near, key=lambda number: (self._depth[self._places[number]], found[number]))
        return self._places[chosen]

    def _studentised(self, flips: "Matrix") -> "Matrix":
        """Mean over its standard error, of every place, for every way of exchanging the sides (-1 or 1 a pair)."""
        import numpy as np  # noqa: PLC0415

        pairs = len(self._each)
        means = flips @ self._each / pairs
        squares = (self._each**2).sum(axis=0)
        variance = np.maximum(0.0, squares - pairs * means**2) / (pairs - 1)
        constant = _CONSTANT * self._samples.interval_s / np.sqrt(pairs)
        result: Matrix = means / (np.sqrt(variance / pairs) + constant)
        return result


def _add_lines(
    profile: StackProfile,
    shown: Sequence[Sequence[tuple[str, Frame]]],
    lines: dict[Place, dict[tuple[str, int], float]],
) -> None:
    """Add the lines of every place; those of a place that is in the candidate are the candidate's alone."""
    own: dict[Place, dict[tuple[str, int], float]] = defaultdict(lambda: defaultdict(float))
    seconds: dict[int, float] = defaultdict(float)
    for run in profile.runs:
        for index, count in run.samples.items():
            seconds[index] += count * profile.interval_s
    for index, spent in seconds.items():
        stack = shown[index]
        for (caller, frame), (name, _) in pairwise(stack):
            own[caller, name][frame.file, frame.line] += spent
        for name, frame in stack:
            own["", name][frame.file, frame.line] += spent
    lines.update(own)


def _visible(frames: Sequence[Frame]) -> list[tuple[str, Frame]]:
    """The frames by name, without the import system and ours; time in the import system itself is one place."""
    shown = [(frame.name, frame) for frame in frames if frame.module not in _IMPORT_SYSTEM and frame.module != _OWN]
    if frames and frames[-1].module in _IMPORT_SYSTEM:
        shown.append((IMPORTING, frames[-1]))
    return shown


def _places(stack: Sequence[str]) -> dict[Place, int]:
    """Every function and call of a stack, with its depth: a call is as deep as the function that it calls."""
    found: dict[Place, int] = {}
    for depth, name in enumerate(stack):
        found.setdefault(("", name), 2 * depth)
        if depth:
            found.setdefault((stack[depth - 1], name), 2 * depth - 1)
    return found


def _is_standard(name: str) -> bool:
    return name.partition(".")[0].partition(":")[0] in sys.stdlib_module_names
