"""A profile as a section of the page: what takes the time, the flame graph, the functions."""

from collections.abc import Iterator, Sequence

from s3bench.profiling.record import ProfileRecord
from s3bench.profiling.stack_profile import Sampled, StackProfile
from s3bench.report.explanation import explanation_lines, explanation_title
from s3bench.report.label import clipped
from s3bench.report.page.profile.call_tree import CallNode, CallTree, FunctionTimes, call_tree, function_times
from s3bench.report.page.profile.graph import TABLE_ROWS, flame_graph_of
from s3bench.report.page.profile.tables import difference_text, function_table
from s3bench.report.page.section import Headline, Line, Section
from s3bench.report.profile.allocations import allocation_tables, memory_fact
from s3bench.report.table import Table, Tone
from s3bench.units import render_bytes, render_seconds

_NAME = "profile"
_IMPORT_SHARE_MIN = 0.1
_PROGRAM_SHARE = 0.5
"""A frame with this share of the time or more is the program itself, and names no cause."""
_CARRIED_MIN = (0.9, 0.7, 0.5)
"""A frame carries a difference if it has at least the first of these shares, or else the next."""
_REST_MIN = 0.05
"""If a frame's difference exceeds the whole one by this share, the headline says so."""

_TIMES = {Sampled.WALL_TIME: "time", Sampled.CPU_TIME: "CPU time"}


def profile_section(
    title: str,
    candidate: StackProfile,
    baseline: StackProfile | None = None,
    *,
    labels: tuple[str, str] = ("baseline", "candidate"),
    lines: Sequence[Line] = (),
) -> Section:
    """The section of one profile, or of a candidate's against a baseline's; `labels` name baseline and candidate."""
    tree = call_tree(candidate, baseline)
    graph = flame_graph_of(tree, baseline, candidate, labels=labels)
    if graph is None:
        return Section(
            name=_NAME,
            title=clipped(title),
            headline=Headline(text="no samples were taken", verdict="NO FIGURES", tone=Tone.WARNING),
            lines=tuple(lines),
        )
    times = function_times(tree)
    unit = _TIMES[candidate.sampled]
    shown = (clipped(labels[0]), clipped(labels[1]))
    return Section(
        name=_NAME,
        title=clipped(title),
        headline=_headline(tree, times, unit) if baseline is None else _change_headline(tree, unit, shown),
        lines=tuple(lines),
        flame_graphs=(graph,),
        tables=(_self_table(tree, times, None if baseline is None else shown),),
    )


def _headline(tree: CallTree, times: Sequence[FunctionTimes], unit: str) -> Headline:
    """The largest import that is not the program itself, or else the function with the most time of its own."""
    whole_s = tree.total_s(tree.root)[0]
    imports = [
        each
        for each in times
        if each.function.is_import and _IMPORT_SHARE_MIN <= each.total_s[0] / whole_s < _PROGRAM_SHARE
    ]
    figures = ((f"{unit} per run", render_seconds(whole_s)),)
    if imports:
        largest = max(imports, key=lambda each: (each.total_s[0], each.function.label))
        share = f"{largest.total_s[0] / whole_s:.0%} of the {unit} is {clipped(largest.function.label)}"
        return Headline(text=f"{share}: {render_seconds(largest.total_s[0])} per run", figures=figures)
    busiest = max(times, key=lambda each: (each.self_s[0], each.function.label), default=None)
    if busiest is None:
        return Headline(text=f"{render_seconds(whole_s)} of {unit} per run", figures=figures)
    share = f"{busiest.self_s[0] / whole_s:.0%} of the {unit} is in {clipped(busiest.function.label)} itself"
    return Headline(text=f"{share}: {render_seconds(busiest.self_s[0])} per run", figures=figures)


def _change_headline(tree: CallTree, unit: str, labels: tuple[str, str]) -> Headline:
    """The difference in all, and the innermost frame that carries most of it."""
    candidate_s, baseline_s = tree.total_s(tree.root)
    change_s = tree.difference_s(tree.root)
    figures = ((labels[0], render_seconds(baseline_s)), (labels[1], render_seconds(candidate_s)))
    if tree.is_noise(tree.root):
        text = f"no difference in {unit} beyond noise: {difference_text(change_s)} per run"
        return Headline(text=text, remarks=tuple(_partial_change(tree)), figures=figures)
    carrier = _carrier(tree)
    word, opposite, tone = ("more", "less", Tone.BAD) if change_s > 0 else ("less", "more", Tone.GOOD)
    text = f"{labels[1]} takes {render_seconds(abs(change_s))} {word} {unit} per run: "
    if carrier is tree.root:
        return Headline(text=f"{text}the difference is spread over several functions", tone=tone, figures=figures)
    part_s = abs(tree.difference_s(carrier))
    rest_s = part_s - abs(change_s)
    elsewhere = f", {render_seconds(rest_s)} {opposite} elsewhere" if rest_s > _REST_MIN * abs(change_s) else ""
    place = f"{render_seconds(part_s)} in {clipped(carrier.function.label)}"
    return Headline(text=f"{text}{place}{elsewhere}", tone=tone, figures=figures)


def _partial_change(tree: CallTree) -> Iterator[str]:
    """The largest difference of one frame where the whole has none."""
    changed = [node for node in tree.root.walk() if not tree.is_noise(node)]
    if changed:
        largest = max(changed, key=lambda node: abs(tree.difference_s(node)))
        change = difference_text(tree.difference_s(largest))
        yield f"The largest difference of a part: {change} in {clipped(largest.function.label)}."


def _carrier(tree: CallTree) -> CallNode:
    """The innermost function that has most of the whole difference; the root if that is the program itself."""
    for least in _CARRIED_MIN:
        carrier = _innermost(tree, least)
        if carrier.samples[0] < _PROGRAM_SHARE * tree.root.samples[0]:
            return carrier
    return tree.root


def _innermost(tree: CallTree, least: float) -> CallNode:
    """The innermost function with at least this share of the whole difference, on the way along the largest shares."""
    whole_s = tree.difference_s(tree.root)
    node = found = tree.root
    while node.children:
        node = max(node.children, key=lambda child: tree.difference_s(child) / whole_s)
        if tree.difference_s(node) / whole_s < least:
            break
        found = node if node.function.module else found
    return found


def _self_table(tree: CallTree, times: Sequence[FunctionTimes], labels: tuple[str, str] | None) -> Table:
    def size(each: FunctionTimes) -> float:
        return each.self_s[0] if labels is None else abs(each.self_difference_s)

    ordered = sorted(times, key=lambda each: (-size(each), each.function.label))
    return function_table(
        ordered[:TABLE_ROWS],
        caption="Functions by their own time per run"
        if labels is None
        else "Functions by the difference of their own time per run",
        whole_s=tree.total_s(tree.root)[0],
        labels=labels,
    )


def record_section(record: ProfileRecord) -> Section:
    """The section of a record: what differs if there are two clients, the flame graph, the largest functions."""
    explanation = record.explanation
    shown = () if explanation is None else tuple(Line(text=line) for line in explanation_lines(explanation))
    if not record.profiles:
        return _memory_section(record, shown)
    candidate = record.profiles[-1]
    baseline = record.profiles[0] if len(record.profiles) > 1 else None
    return profile_section(
        f"Profile of {candidate.client}: {record.benchmark}",
        candidate.stacks,
        None if baseline is None else baseline.stacks,
        labels=(baseline.client if baseline else "", candidate.client),
        lines=shown if explanation is None else (Line(text=explanation_title(explanation)), *shown),
    )


def _memory_section(record: ProfileRecord, lines: tuple[Line, ...]) -> Section:
    """What holds the memory of one client, or what two hold differently."""
    if record.memory is None:
        title = explanation_title(record.explanation) if record.explanation else record.benchmark
        return Section(name=_NAME, title=clipped(title), lines=lines)
    allocations = record.memory.allocations
    return Section(
        name=_NAME,
        title=clipped(f"Memory of {record.memory.client}: {record.benchmark}"),
        headline=Headline(
            text=memory_fact(allocations),
            figures=(("peak of the process", render_bytes(allocations.peak_bytes)),),
        ),
        tables=tuple(table.head(TABLE_ROWS) for table in allocation_tables(allocations)),
    )
