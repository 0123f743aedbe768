"""A flame graph of one profile, or of a candidate's beside a baseline's: its data, legend and table.

The page's script draws it. The data are packed (JSON, zlib, base64), so that thousands of stacks take little room and
no name in them can be read as HTML. The table has the largest frames for readers without JavaScript.
"""

import json
import zlib
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from s3bench.profiling.stack_profile import Sampled, StackProfile
from s3bench.report.label import clipped
from s3bench.report.page.profile.call_tree import (
    CalledFunction,
    CallNode,
    CallTree,
    FunctionTimes,
    call_tree,
    function_times,
)
from s3bench.report.page.profile.tables import difference_text, function_table
from s3bench.report.page.profile.tints import Tinting, change_tinting, package_tinting
from s3bench.report.page.section import FlameGraph
from s3bench.units import counted, render_seconds

GRAPH_BYTES_MAX = 260_000
"""The most bytes of a graph's packed data; of a larger one the narrowest frames are merged."""
TABLE_ROWS = 30

_SHARE_FIRST = 1e-6
_OTHERS = CalledFunction("", "others")
_SAMPLED = {
    Sampled.WALL_TIME: "Time of the main thread, waiting included",
    Sampled.CPU_TIME: "CPU time of all threads",
}


class _DrawnFrame(NamedTuple):
    """A frame of the graph; `tint` is the number of its colour. Tuples are quick to make, and a graph has thousands."""

    function: CalledFunction
    depth: int
    self_samples: tuple[int, int]
    tint: int
    is_noise: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _PackedGraph:
    """The packed data. Frames below `share_min` of the time are merged: `merged` of the candidate's time in all."""

    data: str
    share_min: float
    merged: float


def flame_graph(
    baseline: StackProfile | None,
    candidate: StackProfile,
    *,
    labels: tuple[str, str] = ("baseline", "candidate"),
    name: str = "flame-graph",
    title: str = "Flame graph",
) -> FlameGraph | None:
    """The graph of the candidate, coloured by the difference to the baseline if there is one, else by package.

    `labels` are the names of baseline and candidate. `None` where nothing was sampled.
    """
    return flame_graph_of(call_tree(candidate, baseline), baseline, candidate, labels=labels, name=name, title=title)


def flame_graph_of(
    tree: CallTree,
    baseline: StackProfile | None,
    candidate: StackProfile,
    *,
    labels: tuple[str, str],
    name: str = "flame-graph",
    title: str = "Flame graph",
) -> FlameGraph | None:
    """The same for profiles whose tree is known."""
    if not any(tree.root.samples):
        return None
    shown = (clipped(labels[0]), clipped(labels[1]))
    tinting = package_tinting(tree) if baseline is None else change_tinting(tree)
    packed = _packed(tree, tinting, shown[1:] if baseline is None else (shown[1], shown[0]))
    return FlameGraph(
        name=name,
        title=title,
        description=" ".join(_description(tree, baseline, candidate, shown, packed)),
        data=packed.data,
        legend=tinting.legend,
        table=function_table(
            largest(function_times(tree), by_difference=baseline is not None)[:TABLE_ROWS],
            caption="Functions by total time per run: with all that they call"
            if baseline is None
            else "Functions by the difference of their total time per run: with all that they call",
            whole_s=tree.total_s(tree.root)[0],
            labels=None if baseline is None else shown,
        ),
    )


def largest(times: Sequence[FunctionTimes], *, by_difference: bool) -> list[FunctionTimes]:
    """The functions by their total time, or by its difference; the largest first."""

    def size(each: FunctionTimes) -> float:
        return abs(each.total_difference_s) if by_difference else each.total_s[0]

    return sorted(times, key=lambda each: (-size(each), each.function.label))


def _description(
    tree: CallTree,
    baseline: StackProfile | None,
    candidate: StackProfile,
    labels: tuple[str, str],
    packed: _PackedGraph,
) -> Iterator[str]:
    candidate_s, baseline_s = tree.total_s(tree.root)
    what, runs = _SAMPLED[candidate.sampled], counted(len(candidate.runs), "run")
    if baseline is None:
        yield f"{what}: {render_seconds(candidate_s)} per run, mean of {runs}."
    else:
        yield (
            f"{what}, per run: {render_seconds(baseline_s)} with {labels[0]} ({counted(len(baseline.runs), 'run')}), "
            f"{render_seconds(candidate_s)} with {labels[1]} ({runs}): {difference_text(candidate_s - baseline_s)}."
        )
    yield "A frame is a function, as wide as its time with all that it calls; what it calls is below it."
    if packed.share_min:
        yield (
            f"Frames narrower than {packed.share_min:.2g} of the whole are merged into `{_OTHERS.function}`: "
            f"{packed.merged:.1%} of the time in all."
        )


def _packed(tree: CallTree, tinting: Tinting, labels: Sequence[str]) -> _PackedGraph:
    """The data, with as few frames merged as their size allows."""
    share_min = 0.0
    while True:
        frames = list(_drawn(tree, tinting, share_min))
        data = _encoded(tree, frames, tinting.kind, labels)
        if len(data) <= GRAPH_BYTES_MAX or share_min > 1:
            merged = sum(frame.self_samples[0] for frame in frames if frame.function is _OTHERS)
            return _PackedGraph(data=data, share_min=share_min, merged=merged / max(1, tree.root.samples[0]))
        share_min = max(_SHARE_FIRST, share_min * 2)


def _encoded(tree: CallTree, frames: Sequence[_DrawnFrame], kind: str, labels: Sequence[str]) -> str:
    """What page.js reads: columns of frames, callers first; functions and modules by their numbers."""
    functions: dict[CalledFunction, int] = {}
    modules: dict[str, int] = {}
    places = [functions.setdefault(frame.function, len(functions)) for frame in frames]
    rows = [
        [
            modules.setdefault(clipped(each.module), len(modules)),
            clipped(each.function),
            clipped(each.file),
            each.line,
        ]
        for each in functions
    ]
    sides = range(len(labels))
    data = {
        "kind": kind,
        "labels": labels,
        "scale": tree.sample_s[: len(labels)],
        "modules": list(modules),
        "functions": rows,
        "function": places,
        "depth": [frame.depth for frame in frames],
        "self": [[frame.self_samples[side] for frame in frames] for side in sides],
        "tint": [frame.tint for frame in frames],
        "noise": [int(frame.is_noise) for frame in frames],
    }
    return b64encode(zlib.compress(json.dumps(data, separators=(",", ":")).encode(), 9)).decode()


def _drawn(tree: CallTree, tinting: Tinting, share_min: float) -> Iterator[_DrawnFrame]:
    """The frames, callers first; what a frame calls that is narrower than `share_min` on both sides is one frame."""
    least = tuple(share_min * samples for samples in tree.root.samples)

    def is_narrow(node: CallNode) -> bool:
        return all(samples < limit or not samples for samples, limit in zip(node.samples, least, strict=True))

    waiting: list[CallNode | _DrawnFrame] = [tree.root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _DrawnFrame):
            yield node
            continue
        yield _DrawnFrame(
            function=node.function,
            depth=node.depth,
            self_samples=node.self_samples,
            tint=tinting.tints.get(id(node), 0),
            is_noise=tree.is_noise(node),
        )
        narrow = [child for child in node.children if is_narrow(child)] if share_min else []
        if narrow:
            waiting.append(_merged(narrow))
        waiting += reversed([child for child in node.children if not (narrow and is_narrow(child))])


def _merged(nodes: Sequence[CallNode]) -> _DrawnFrame:
    candidate, baseline = (sum(node.samples[side] for node in nodes) for side in (0, 1))
    return _DrawnFrame(
        function=_OTHERS, depth=nodes[0].depth, self_samples=(candidate, baseline), tint=0, is_noise=True
    )
