"""A load run as text for a terminal: a row for each kind of operation, and notes below each phase.

Of several loops figures are medians, with the median absolute deviation of the rates behind them.
"""

import math
from collections.abc import Iterator, Sequence

from s3bench.report.load.cells import LoadPhase, legend_lines, load_phases, load_rows, rate_text
from s3bench.report.load.matrix import cells, render_matrix
from s3bench.report.load.notes import NODES, document_notes, phase_notes, slo_words
from s3bench.report.load.tables import lines_of, results_table
from s3bench.report.sparkline import sparkline, stretches
from s3bench.report.terminal import BOLD, DIM, RED, YELLOW, painter, printable
from s3bench.report.text_table import Paint, table_lines
from s3bench.results.document import Document
from s3bench.results.load import LoadMeasurement

_INDENT = "  "
_HISTORY_SECONDS_MIN = 5
_MISSING_S_MAX = 0.01  # a last second that lacks less counts as whole
_HISTORY_WIDTH_MIN, _HISTORY_WORDS_WIDTH = 10, 54
_COLORS = {"failed": RED, "failure": RED, "reads": DIM, "unfinished": DIM, NODES: DIM}


def render_load(document: Document, *, width: int, color: bool) -> str:
    """Render the load results of a document for a terminal of `width` columns, by leaving columns out.

    Those of a matrix are rendered as one. Color adds nothing to the meaning.
    """
    if cells(document):
        return render_matrix(document, width=width, color=color)
    paint = painter(color=color)
    phases = load_phases(load_rows(document))
    lines = [*_phase_lines(phases, width, paint)] if phases else ["no results"]
    if (words := slo_words(document)) is not None:
        lines.append(f"{paint('slo', BOLD)}: {printable(words)}")
    lines += (
        f"{paint(kind, RED if kind == 'error' else YELLOW)}: {printable(text)}"
        for kind, text in document_notes(document)
    )
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _phase_lines(phases: Sequence[LoadPhase], width: int, paint: Paint) -> Iterator[str]:
    """One table of all phases, the notes of each below its rows."""
    lines = lines_of(phases)
    last = {id(line.phase): number for number, line in enumerate(lines)}

    def below(number: int) -> list[str]:
        phase = lines[number].phase
        return [*_notes(phase, width - len(_INDENT), paint)] if last[id(phase)] == number else []

    yield from table_lines(results_table(lines), width=width, paint=paint, below=below)
    yield from (paint(line, DIM) for line in legend_lines([line.row for line in lines]))


def _notes(phase: LoadPhase, width: int, paint: Paint) -> Iterator[str]:
    yield from (f"{_INDENT}{paint(line, DIM)}" for line in _history_lines(phase, width))
    for kind, text in phase_notes(phase):
        yield f"{_INDENT}{paint(kind, _COLORS.get(kind, YELLOW))}: {printable(text)}"


def _history_lines(phase: LoadPhase, width: int) -> Iterator[str]:
    """The operations of each whole second of the measured window, for phases of a few seconds at least."""
    for row in phase.rows:
        for number, loop in enumerate(row.result.loops, 1):
            counts = _counts(loop)
            if len(counts) < _HISTORY_SECONDS_MIN:
                continue
            size, means = stretches(counts, count_max=max(_HISTORY_WIDTH_MIN, width - _HISTORY_WORDS_WIDTH))
            where = f"loop {number}, " if len(row.loops) > 1 else ""
            each = "second" if size == 1 else f"{size} seconds"
            span = f"{rate_text(min(means))} to {rate_text(max(means))} operations/s"
            yield f"{sparkline(means)}  {where}each {each}: {span}"


def _counts(loop: LoadMeasurement) -> list[int]:
    """The operations of each whole second of the measured window.

    The last second may be partial; it is then left out. The window begins with a second: `total_time`, its length,
    gives the start.
    """
    seconds = loop.load.seconds
    if not seconds:
        return []
    start_s = seconds[-1].second + 1 - loop.total_time
    first = math.floor(start_s)
    measured = [second.operations for second in seconds if second.second >= first]
    return measured if start_s - first < _MISSING_S_MAX else measured[:-1]
