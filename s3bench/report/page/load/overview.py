"""A load run in words and in one table: the summary, and every result as the terminal's table has it.

Owns the lines' tones. Words are `load_notes`', figures' texts `load_cells`'.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from s3bench.report.label import clipped
from s3bench.report.load.cells import (
    FIRST_BYTE_PERCENTILES,
    NOTHING,
    PERCENTILES,
    LoadPhase,
    LoadRow,
    bytes_rate,
    bytes_rate_text,
    count_text,
    first_byte_of,
    gbit_text,
    latency_of,
    legend_lines,
    longest_of,
    longest_text,
    operations_rate_of,
    rate_text,
    seconds_text,
    service_of,
    spread_text,
)
from s3bench.report.load.notes import (
    NODES,
    Note,
    document_notes,
    phase_notes,
)
from s3bench.report.page.section import Line
from s3bench.report.table import Table, TableCell, TableColumn, Tone
from s3bench.results.document import Document
from s3bench.results.load import Latency, Load

LINE_MAX = 1000
"""The most characters of a line: what a server said may be of any length."""

LINES_MAX = 60
"""The most notes of a kind of place; there may be one for each of thousands of phases."""

_TONES = {
    **dict.fromkeys(("failed", "failure", "error"), Tone.BAD),
    **dict.fromkeys(("reads", "unfinished", NODES), Tone.PLAIN),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Figure:
    """A column: its heading, the figure by which it is sorted, and how that is shown.

    Of the greatest time of a `longest` latency the whole row says how it is shown.
    """

    title: str
    pick: Callable[[LoadRow], float | None]
    text: Callable[[float | None], str]
    longest: Callable[[Load], Latency] | None = None

    def cell(self, row: LoadRow) -> TableCell:
        """The cell of a row."""
        value = self.pick(row)
        return TableCell(text=longest_text(row, self.longest) if self.longest else self.text(value), value=value)


def summary_line(row: LoadRow, *, has_phase: bool = False) -> Line:
    """Rate, throughput, latency and errors of one kind of operation, in a sentence; behind its phase if asked for."""
    failed = row.total(lambda load: load.failed)
    told = [f"{rate_text(row.median(operations_rate_of))}/s"]
    if moved := row.median(bytes_rate):
        told.append(bytes_rate_text(moved))
    latencies = [
        f"{title} {seconds_text(found)}"
        for title, pick in PERCENTILES.items()
        if (found := row.median(_at(latency_of, pick))) is not None
    ]
    told += [f"latency {', '.join(latencies)}"] if latencies else []
    told.append(f"{count_text(failed)} failed" if failed else "none failed")
    subject = clipped(f"{row.phase} {row.label}".strip() if has_phase else row.label)
    return Line(text=f"{subject}: {'; '.join(told)}", tone=Tone.BAD if failed else Tone.PLAIN)


def phase_lines(phase: LoadPhase) -> tuple[Line, ...]:
    """The summary of each kind of operation where there are several, and then what has to be said of them."""
    rows = phase.rows if len(phase.rows) > 1 else ()
    unfinished = (Line(text="not complete", tone=Tone.WARNING),) if phase.is_running else ()
    return (*unfinished, *(summary_line(row) for row in rows), *note_lines(phase_notes(phase)))


def document_lines(document: Document) -> tuple[Line, ...]:
    """Doubts about the whole run, and errors."""
    return tuple(note_lines(document_notes(document)))


def found_lines(document: Document) -> Iterator[Line]:
    """What the search for the highest rate came to, where there was one."""
    found, promise = document.options.get("found"), document.options.get("slo")
    if isinstance(found, Mapping) and isinstance(words := found.get("words"), str):
        tone = Tone.PLAIN if found.get("is_limit") else Tone.WARNING
        yield Line(text=clipped(f"{promise}: {words}" if promise else words, most=LINE_MAX), tone=tone)


def note_lines(notes: Iterator[Note]) -> Iterator[Line]:
    """Notes as lines; the first `LINES_MAX`, and how many more there are."""
    every = list(notes)
    for kind, words in every[:LINES_MAX]:
        yield Line(text=clipped(f"{kind}: {words}", most=LINE_MAX), tone=_TONES.get(kind, Tone.WARNING))
    if more := len(every) - LINES_MAX:
        yield from (Line(text=f"and {more:,} more, in the results document", tone=Tone.WARNING),) * (more > 0)


def results_table(rows: Sequence[LoadRow]) -> Table:
    """All results with their figures: medians over the loops, as in the terminal; columns without a figure left out."""
    known = [each for each in _figures(rows) if any(each.cell(row).text not in {NOTHING, ""} for row in rows)]
    has_phases = any(row.phase for row in rows)
    return Table.of_rows(
        caption="; ".join(legend_lines(rows)),
        columns=(
            TableColumn(heading="operation"),
            *(TableColumn(heading="phase"),) * has_phases,
            *(TableColumn(heading=each.title, is_number=True) for each in known),
        ),
        rows=tuple(
            (
                TableCell(text=clipped(row.label)),
                *(TableCell(text=clipped(row.phase)),) * has_phases,
                *(each.cell(row) for each in known),
            )
            for row in rows
        ),
    )


def _figures(rows: Sequence[LoadRow]) -> Iterator[_Figure]:
    yield _Figure(title="ops", pick=lambda row: row.total(lambda load: load.operations), text=_count)
    yield _Figure(title="rate/s", pick=_median(operations_rate_of), text=rate_text)
    yield _Figure(title="±", pick=lambda row: row.spread(operations_rate_of), text=spread_text)
    yield _Figure(title="throughput", pick=_median(bytes_rate), text=bytes_rate_text)
    yield _Figure(title="Gbit/s", pick=_median(bytes_rate), text=gbit_text)
    yield from _latencies("latency", latency_of)
    if any(load.response for row in rows for load in row.loops):
        yield from _latencies("service", service_of)
    for title in FIRST_BYTE_PERCENTILES:
        found = _at(first_byte_of, PERCENTILES[title])
        yield _Figure(title=f"first byte {title}", pick=_median(found), text=seconds_text)
    yield _Figure(title="errors", pick=lambda row: row.total(lambda load: load.failed), text=_count)


def _latencies(name: str, latency: Callable[[Load], Latency]) -> Iterator[_Figure]:
    for title, at in PERCENTILES.items():
        longest = latency if title == "max" else None
        pick = _median(longest_of(latency) if longest else _at(latency, at))
        yield _Figure(title=f"{name} {title}", pick=pick, text=seconds_text, longest=longest)


def _median(figure: Callable[[Load], float | None]) -> Callable[[LoadRow], float | None]:
    return lambda row: row.median(figure)


def _at(latency: Callable[[Load], Latency], pick: Callable[[Latency], float | None]) -> Callable[[Load], float | None]:
    return lambda load: pick(latency(load))


def _count(count: float | None) -> str:
    return NOTHING if count is None else count_text(count)
