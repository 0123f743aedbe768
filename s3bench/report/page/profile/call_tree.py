"""The stacks of one or two profiles as one tree of calls: functions by module and name, lines and runs added up.

Times are seconds per run. A difference is candidate minus baseline.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import numpy.typing as npt

from s3bench.profiling.call_path import MODULE_CODE
from s3bench.profiling.stack_profile import IMPORT_SYSTEM, Frame, StackProfile

NOISE_ERRORS = 2.0
"""A difference below so many of its standard errors counts as noise."""

ROOT_NAME = "all"
_IMPORT_SYSTEM = (IMPORT_SYSTEM.module, IMPORT_SYSTEM.function)


@dataclass(frozen=True, slots=True)
class CalledFunction:
    """A function by module and name. `line` of `file` is where most samples found it; 0 if that is unknown.

    Without a module it is no function: the root, a thread, or what was merged.
    """

    module: str
    function: str
    file: str = ""
    line: int = 0

    @property
    def is_import(self) -> bool:
        """Whether it is a module's own code."""
        return bool(self.module) and self.function == MODULE_CODE

    @property
    def label(self) -> str:
        """`import botocore.docs` for a module's own code, else `botocore.session:Session.get`."""
        if self.is_import:
            return f"import {self.module}"
        return f"{self.module}:{self.function}" if self.module else self.function


@dataclass(slots=True, kw_only=True)
class CallNode:
    """A function where it is called from one chain of callers.

    `samples` and `self_samples` of the candidate and of the baseline are sums over all runs, with and without what it
    calls. `error_s` is the standard error of the difference of its total time.
    """

    function: CalledFunction
    depth: int
    samples: tuple[int, int]
    self_samples: tuple[int, int]
    error_s: float
    children: list["CallNode"] = field(default_factory=list)

    def walk(self) -> Iterator["CallNode"]:
        """This node and all below it, callers first."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTree:
    """The tree, and the seconds per run that one sample of the candidate and of the baseline stands for."""

    root: CallNode
    sample_s: tuple[float, float]

    def total_s(self, node: CallNode) -> tuple[float, float]:
        """The time of a node and of what it calls: candidate, baseline."""
        return node.samples[0] * self.sample_s[0], node.samples[1] * self.sample_s[1]

    def self_s(self, node: CallNode) -> tuple[float, float]:
        """The time of a node alone."""
        return node.self_samples[0] * self.sample_s[0], node.self_samples[1] * self.sample_s[1]

    def difference_s(self, node: CallNode) -> float:
        """The difference of the total times."""
        candidate_s, baseline_s = self.total_s(node)
        return candidate_s - baseline_s

    def is_noise(self, node: CallNode) -> bool:
        """Whether the difference is no larger than samples vary from run to run."""
        return abs(self.difference_s(node)) <= NOISE_ERRORS * node.error_s


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionTimes:
    """A function from wherever it is called: seconds per run of candidate and baseline, recursion counted once."""

    function: CalledFunction
    self_s: tuple[float, float]
    total_s: tuple[float, float]

    @property
    def self_difference_s(self) -> float:
        """Candidate minus baseline, without what it calls."""
        return self.self_s[0] - self.self_s[1]

    @property
    def total_difference_s(self) -> float:
        """Candidate minus baseline, with what it calls."""
        return self.total_s[0] - self.total_s[1]


def call_tree(candidate: StackProfile, baseline: StackProfile | None = None) -> CallTree:
    """Merge the stacks of both sides. Without a baseline its samples are 0.

    Where several threads were sampled, each is a node below the root. Neighbouring frames of Python's import system
    are one. Children are ordered by their time, the largest first.
    """
    sides = (candidate,) if baseline is None else (candidate, baseline)
    has_threads = len({stack.thread for side in sides for stack in side.stacks}) > 1
    growing = _GrowingTree()
    samples = [_self_samples(growing, side, has_threads=has_threads) for side in sides]
    places = _places(sides)
    nodes = growing.nodes(samples, [side.interval_s for side in sides], places)
    names = {id(node): node.function.label for node in nodes}
    for node in nodes:
        node.children.sort(key=lambda child: (-child.samples[0], -child.samples[1], names[id(child)]))
    per_run = [side.interval_s / max(1, len(side.runs)) for side in sides]
    return CallTree(root=nodes[0], sample_s=(per_run[0], per_run[-1]))


def function_times(tree: CallTree) -> list[FunctionTimes]:
    """The times of every function in the tree."""
    functions: dict[int, CalledFunction] = {}  # by identity: a function is one object in all of a tree's nodes
    sums: dict[int, list[int]] = {}
    callers: list[int] = []
    on_stack: Counter[int] = Counter()
    for node in tree.root.walk():
        while len(callers) > node.depth:
            on_stack[callers.pop()] -= 1
        key = id(node.function)
        functions[key] = node.function
        each = sums.setdefault(key, [0, 0, 0, 0])
        each[0] += node.self_samples[0]
        each[1] += node.self_samples[1]
        if not on_stack[key]:
            each[2] += node.samples[0]
            each[3] += node.samples[1]
        callers.append(key)
        on_stack[key] += 1
    scale = tree.sample_s
    return [
        FunctionTimes(
            function=functions[key],
            self_s=(each[0] * scale[0], each[1] * scale[1]),
            total_s=(each[2] * scale[0], each[3] * scale[1]),
        )
        for key, each in sums.items()
        if functions[key].module
    ]


class _GrowingTree:
    """Nodes in the order in which they were found, callers before what they call."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, tuple[str, str]], int] = {}
        self._callers = [-1]
        self._names = [("", ROOT_NAME)]

    def node(self, calls: Iterable[tuple[str, str]]) -> int:
        """The node that these calls, the outermost first, lead to."""
        at = 0
        for name in calls:
            key = (at, name)
            if key not in self._known:
                self._known[key] = len(self._names)
                self._callers.append(at)
                self._names.append(name)
            at = self._known[key]
        return at

    def nodes(
        self,
        samples: Sequence[dict[int, npt.NDArray[np.int64]]],
        intervals_s: Sequence[float],
        places: dict[tuple[str, str], CalledFunction],
    ) -> list[CallNode]:
        """The nodes with the samples of both sides, each by the node that it was found in, joined to a tree."""
        selfs = [self._matrix(side) for side in samples]
        totals = [self._totals(matrix) for matrix in selfs]
        variance = sum(_variance(total) * interval**2 for total, interval in zip(totals, intervals_s, strict=True))
        errors = np.sqrt(variance).tolist()
        samples_of, self_samples_of = _pairs(totals), _pairs(selfs)
        nodes: list[CallNode] = []
        for number, (name, caller) in enumerate(zip(self._names, self._callers, strict=True)):
            node = CallNode(
                function=places.get(name) or CalledFunction(*name),
                depth=0 if caller < 0 else nodes[caller].depth + 1,
                samples=samples_of[number],
                self_samples=self_samples_of[number],
                error_s=errors[number],
            )
            nodes.append(node)
            if caller >= 0:
                nodes[caller].children.append(node)
        return nodes

    def _matrix(self, samples: dict[int, npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
        """The samples of each node alone, by run."""
        runs = max((len(each) for each in samples.values()), default=1)
        matrix = np.zeros((len(self._names), runs), dtype=np.int64)
        for node, each in samples.items():
            matrix[node] += each
        return matrix

    def _totals(self, selfs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The samples of each node with those of all below it, by run."""
        totals = selfs.copy()
        for number in range(len(self._callers) - 1, 0, -1):
            totals[self._callers[number]] += totals[number]
        return totals


def _self_samples(
    growing: _GrowingTree, profile: StackProfile, *, has_threads: bool
) -> dict[int, npt.NDArray[np.int64]]:
    """The samples of each stack by run, at the node that the stack ends in."""
    names = [_name(frame) for frame in profile.frames]
    found: dict[int, npt.NDArray[np.int64]] = {}
    by_stack = np.zeros((len(profile.stacks), max(1, len(profile.runs))), dtype=np.int64)
    for number, run in enumerate(profile.runs):
        for place, count in run.samples.items():
            by_stack[place, number] += count
    for stack, samples in zip(profile.stacks, by_stack, strict=True):
        thread = [("", f"thread {stack.thread}")] if has_threads else []
        calls = (names[frame] for frame in stack.frames)
        node = growing.node(chain(thread, _without_repeated(calls, _IMPORT_SYSTEM)))
        found[node] = found[node] + samples if node in found else samples
    return found


def _name(frame: Frame) -> tuple[str, str]:
    """Module and function by which frames are merged."""
    return _IMPORT_SYSTEM if frame.is_import_system else (frame.module, frame.function)


def _without_repeated(calls: Iterable[tuple[str, str]], name: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """The calls with one frame for neighbours of this name."""
    before = None
    for each in calls:
        if each != name or before != name:
            yield each
        before = each


def _variance(totals: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The variance of each node's mean samples per run: as they vary over the runs, at least as counts do (Poisson)."""
    runs = totals.shape[1]
    poisson: npt.NDArray[np.float64] = totals.sum(axis=1) / runs**2
    if runs == 1:
        return poisson
    varied: npt.NDArray[np.float64] = totals.var(axis=1, ddof=1) / runs
    return np.maximum(poisson, varied)


def _places(sides: Sequence[StackProfile]) -> dict[tuple[str, str], CalledFunction]:
    """Each function at the line where most samples of the candidate found it, or else of the baseline."""
    places: dict[tuple[str, str], CalledFunction] = {}
    for side in reversed(sides):
        by_stack: Counter[int] = Counter()
        for run in side.runs:
            by_stack.update(run.samples)
        counts = [0] * len(side.frames)
        for stack, count in by_stack.items():
            for place in set(side.stacks[stack].frames):
                counts[place] += count
        best: dict[tuple[str, str], float] = {}
        for frame, count in zip(side.frames, counts, strict=True):
            name = _name(frame)
            if count > best.get(name, -math.inf):
                best[name] = count
                has_place = name != _IMPORT_SYSTEM
                places[name] = CalledFunction(*name, frame.file if has_place else "", frame.line if has_place else 0)
    return places


def _pairs(sides: Sequence[npt.NDArray[np.int64]]) -> list[tuple[int, int]]:
    """The sums over the runs of candidate and baseline, for each node; 0 without a baseline."""
    sums = [side.sum(axis=1).tolist() for side in sides]
    return list(zip(sums[0], sums[1] if len(sums) > 1 else [0] * len(sums[0]), strict=True))
