"""Sections of the page about a load run: its results, each phase with its charts, and each matrix."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from s3bench.report.label import clipped
from s3bench.report.load.cells import LoadPhase, LoadRow, bytes_rate, load_phases, load_rows
from s3bench.report.load.matrix import cells
from s3bench.report.load.notes import NODES, phase_notes
from s3bench.report.page.load.backdrop import Instance, backdrop
from s3bench.report.page.load.distribution import SERIES_MAX, distributions, histogram_figure, percentile_figure
from s3bench.report.page.load.failures import failure_table
from s3bench.report.page.load.grid import Grid, by_group, grid_table, grids
from s3bench.report.page.load.grid_charts import grid_figures
from s3bench.report.page.load.headline import fastest, grid_headline, load_headline
from s3bench.report.page.load.overview import (
    all_results_table,
    document_lines,
    found_lines,
    note_lines,
    phase_lines,
    summary_line,
)
from s3bench.report.page.load.rates import rate_figure
from s3bench.report.page.load.seconds import warmup_s
from s3bench.report.page.load.timeline import LoadTimeline
from s3bench.report.page.section import ChartFigure, Line, Section
from s3bench.report.table import Table, Tone
from s3bench.results.document import Document

PHASES_MAX = 12
"""The most phases with charts of their own: a page of a thousand would open in no browser."""

LOOPS_MAX = 3
"""The most loops of a phase whose seconds are drawn."""

SECONDS_MAX = 600
"""Of so many seconds, over all phases that are drawn, each is a mark and a row; of more there are lines alone."""

ROWS_MAX = 500
"""The most results in the table of all."""

GRIDS_MAX = 4
"""The most kinds of operation whose matrix is drawn."""

_IN_TABLE = frozenset({"reads", "unfinished", NODES})


def load_sections(document: Document) -> tuple[Section, ...]:
    """The sections of a document of `s3bench load`: one with all results, and one for each matrix."""
    rows = load_rows(document)
    matrix = {id(row.result) for row in cells(document)}
    others = tuple(row for row in rows if id(row.result) not in matrix)
    shown = grids(document)
    sections = tuple(_grid_section(grid, number, document) for number, grid in enumerate(shown, 1))
    if sections and not others and document.is_of_load:
        first, *further = sections
        lines = (*document_lines(document), *_limits((), (), len(shown)))
        return (replace(first, lines=(*first.lines, *lines)), *further)
    return (_overview(document, rows, others, len(shown)), *sections)


def _overview(document: Document, rows: Sequence[LoadRow], others: Sequence[LoadRow], grid_count: int) -> Section:
    phases = load_phases(others) if not grid_count else ()
    rates = rate_figure(others)
    parts = tuple(_phase_sections(document, phases[:PHASES_MAX]))
    only = parts[0] if len(parts) == 1 and rates is None else Section(name="", title="")
    lead = (rates,) if rates else only.figures
    if not lead:
        lead, parts = _with_lead(phases[:PHASES_MAX], parts)
    lines = [
        *found_lines(document),
        *(summary_line(row, has_phase=True) for phase in phases[:PHASES_MAX] for row in phase.rows if row.is_whole),
        *only.lines,
        *document_lines(document),
        *_limits(others, phases, grid_count),
    ]
    return Section(
        name="load",
        title="Load",
        headline=load_headline(others, found_lines(document)),
        lines=tuple(lines) if rows else (Line(text="no results", tone=Tone.WARNING), *lines),
        tables=(*((all_results_table(load_phases(others[:ROWS_MAX])),) if others else ()), *only.tables),
        figures=lead,
        parts=() if only.title else parts,
    )


def _with_lead(
    phases: Sequence[LoadPhase], parts: tuple[Section, ...]
) -> tuple[tuple[ChartFigure, ...], tuple[Section, ...]]:
    """The first chart of the phase of the headline, and the parts without it."""
    best = fastest([row for phase in phases for row in phase.rows])
    place = next((number for number, phase in enumerate(phases) if best in phase.rows), None)
    if place is None or not parts[place].figures:
        return (), parts
    part = parts[place]
    first, *others = part.figures
    lead = replace(first, name=f"{part.name}-{first.name}", title=f"{first.title}: {part.title}")
    return (lead,), (*parts[:place], replace(part, figures=tuple(others)), *parts[place + 1 :])


def _limits(rows: Sequence[LoadRow], phases: Sequence[LoadPhase], grid_count: int) -> Iterator[Line]:
    """What is not shown of a large document."""
    if len(rows) > ROWS_MAX:
        yield Line(text=f"the first {ROWS_MAX} of {len(rows):,} results; all are in the results document")
    if len(phases) > PHASES_MAX:
        yield Line(text=f"charts of the first {PHASES_MAX} of {len(phases):,} phases")
    if grid_count > GRIDS_MAX:
        yield Line(text=f"charts of the first {GRIDS_MAX} of {grid_count:,} matrices")


def _phase_sections(document: Document, phases: Sequence[LoadPhase]) -> Iterator[Section]:
    drawn = [load for phase in phases for row in phase.rows if row.is_whole for load in row.loops[:LOOPS_MAX]]
    is_detailed = sum(len(load.seconds) for load in drawn) <= SECONDS_MAX
    for number, phase in enumerate(phases, 1):
        failures = failure_table(phase)
        yield Section(
            name=f"phase-{number}",
            title=clipped(phase.title or phase.rows[0].label),
            lines=(*phase_lines(phase), *_left_out(phase)),
            tables=(*((failures,) if failures else ()), *_nodes(phase)),
            figures=(*_timelines(document, phase, is_detailed=is_detailed), *_distributions(phase)),
        )


def _nodes(phase: LoadPhase) -> Iterator[Table]:
    """What each node of a cluster did."""
    for row in phase.rows:
        if row.nodes:
            yield all_results_table(load_phases(row.nodes[:ROWS_MAX]))


def _left_out(phase: LoadPhase) -> Iterator[Line]:
    loops = max((len(row.loops) for row in phase.rows), default=0)
    if loops > LOOPS_MAX:
        yield Line(text=f"the seconds of the first {LOOPS_MAX} of {loops:,} loops are drawn")
    if len(phase.kinds) > SERIES_MAX:
        yield Line(text=f"the distributions of the first {SERIES_MAX} of {len(phase.kinds):,} kinds are drawn")


def _timelines(document: Document, phase: LoadPhase, *, is_detailed: bool) -> Iterator[ChartFigure]:
    whole = next((row for row in phase.rows if row.is_whole), None)
    if whole is None:
        return
    for loop, load in enumerate(whole.loops[:LOOPS_MAX], 1):
        if load.seconds:
            yield LoadTimeline(
                row=whole,
                load=load,
                loop=loop,
                warmup=warmup_s(document, whole),
                instances=backdrop(document, bytes_rate(load)),
                is_detailed=is_detailed,
            ).figure


def _distributions(phase: LoadPhase) -> Iterator[ChartFigure]:
    if shown := distributions(phase):
        yield histogram_figure(shown)
        yield percentile_figure(shown)


def _grid_section(grid: Grid, number: int, document: Document) -> Section:
    rows = [grid.rows[place] for place in grid.rows]
    notes = note_lines(note for phase in load_phases(rows) for note in _told(phase))
    return Section(
        name=f"matrix-{number}",
        title=f"Matrix: {grid.title}",
        headline=grid_headline(grid),
        lines=tuple(notes),
        tables=tuple(by_group(grid_table(grid))),
        figures=tuple(grid_figures(grid, _backdrop(rows, document))) if number <= GRIDS_MAX else (),
    )


def _told(phase: LoadPhase) -> Iterator[tuple[str, str]]:
    """What has to be said of a cell; what was read twice, or was in flight at the end, stands in the table."""
    return ((kind, f"{phase.title}: {words}") for kind, words in phase_notes(phase) if kind not in _IN_TABLE)


def _backdrop(rows: Sequence[LoadRow], document: Document) -> tuple[Instance, ...]:
    return backdrop(document, max(row.median(bytes_rate) or 0.0 for row in rows))
