"""The lines of a load run on the page, and the table of all results."""

from collections.abc import Iterator, Sequence

from s3bench.report.label import clipped
from s3bench.report.load.cells import (
    LATENCY_POINTS,
    NOTHING,
    LoadPhase,
    LoadRow,
    bytes_rate,
    bytes_rate_text,
    count_text,
    latency_of,
    latency_text,
    latency_value,
    legend_lines,
    operations_rate_of,
    rate_text,
)
from s3bench.report.load.notes import NODES, Note, document_notes, phase_notes, slo_words
from s3bench.report.load.tables import lines_of, results_table
from s3bench.report.page.section import Line
from s3bench.report.run.problems import run_warnings
from s3bench.report.table import Table, Tone, without_empty
from s3bench.results.document import Document

LINE_MAX = 1000
"""The most characters of a line: what a server said may be of any length."""

LINES_MAX = 60
"""The most notes of a section; there may be one for each of thousands of phases."""

_TONES = {
    **dict.fromkeys(("failed", "failure", "error"), Tone.BAD),
    **dict.fromkeys(("reads", "unfinished", NODES), Tone.PLAIN),
}


def summary_line(row: LoadRow, *, has_phase: bool = False) -> Line:
    """Rate, throughput, latency and errors of one kind of operation, in a sentence; behind its phase if asked for."""
    failed = row.total(lambda load: load.failed)
    parts = [f"{rate_text(row.median(operations_rate_of))}/s"]
    if moved := row.median(bytes_rate):
        parts.append(bytes_rate_text(moved))
    latencies = [
        f"{point} {latency_text(row, latency_of, point)}"
        for point in LATENCY_POINTS
        if latency_value(row, latency_of, point) is not None
    ]
    parts += [f"latency {', '.join(latencies)}"] if latencies else []
    parts.append(f"{count_text(failed)} failed" if failed else "none failed")
    subject = clipped(f"{row.phase} {row.label}".strip() if has_phase else row.label)
    return Line(text=f"{subject}: {'; '.join(parts)}", tone=Tone.BAD if failed else Tone.PLAIN)


def phase_lines(phase: LoadPhase) -> tuple[Line, ...]:
    """The summary of each kind of operation where there are several, and the notes of the phase."""
    rows = phase.rows if len(phase.rows) > 1 else ()
    unfinished = (Line(text="not complete", tone=Tone.WARNING),) if phase.is_running else ()
    return (*unfinished, *(summary_line(row) for row in rows), *note_lines(phase_notes(phase)))


def document_lines(document: Document) -> tuple[Line, ...]:
    """Warnings about measurements, and errors; those about the whole run are in the head of the page."""
    in_head = {("warning", words) for words in run_warnings(document)}
    return tuple(note_lines(note for note in document_notes(document) if note not in in_head))


def found_lines(document: Document) -> Iterator[Line]:
    """The result of the SLO search, or the verdict on a rate, where there was one."""
    if (words := slo_words(document)) is not None:
        found = document.options["found"]
        is_plain = found.get("is_limit") or found.get("outcome") == "holds"
        yield Line(text=clipped(words, most=LINE_MAX), tone=Tone.PLAIN if is_plain else Tone.WARNING)


def note_lines(notes: Iterator[Note]) -> Iterator[Line]:
    """Notes as lines; the first `LINES_MAX`, and how many more there are."""
    every = list(notes)
    for kind, words in every[:LINES_MAX]:
        yield Line(text=clipped(f"{kind}: {words}", most=LINE_MAX), tone=_TONES.get(kind, Tone.WARNING))
    if more := len(every) - LINES_MAX:
        yield from (Line(text=f"and {more:,} more, in the results document", tone=Tone.WARNING),) * (more > 0)


def all_results_table(phases: Sequence[LoadPhase]) -> Table:
    """All results with their figures; columns without a figure are left out."""
    lines = lines_of(phases)
    table = results_table(lines)
    columns = without_empty(table.columns, frozenset({NOTHING, ""}))
    legend = tuple(legend_lines([line.row for line in lines]))
    return Table(caption="All results", columns=columns, notes=("; ".join(legend),))
