"""A gate as text for a terminal: what decided first, then everything else that matters.

A table that is wider than the terminal loses words, then the medians; where it still has no room, its rows become
sentences. Sentences are one line each, which the terminal folds.
"""

import shlex
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from s3bench.gate.record import GateRecord
from s3bench.gate.row import GateRow, RowKind, Verdict
from s3bench.report.explanation import explanation_lines, explanation_title
from s3bench.report.gate import digest as words
from s3bench.report.gate.digest import Digest, digest
from s3bench.report.gate.tables import LEGEND, TONES, gate_table
from s3bench.report.terminal import BOLD, CYAN, DIM, RED, YELLOW, painter, printable
from s3bench.report.text_table import TONE_STYLES, Paint, fits, fitted, table_lines
from s3bench.results.warnings import unrepeated

_SHOWN_MAX = 10
_GAPS = (2, 1)
"""Spaces between columns: as many as have room."""


def render_gate(
    record: GateRecord,
    *,
    width: int,
    color: bool,
    verbose: bool = False,
    kept: Path | None = None,
    said: Collection[str] = (),
) -> str:
    """Render a concluded gate for a terminal of `width` columns; with `verbose` all rows, warnings and counts.

    `kept` is the file of the record. Warnings that were `said` at the start are counted. Color adds nothing to the
    meaning.
    """
    paint, content = painter(color=color), digest(record)
    shown = [*content.decided]
    if verbose:
        shown += [*content.waived, *content.rest, *(row for row in content.controls if row not in content.decided)]
    lines = [
        paint(content.headline, f"{BOLD};{TONE_STYLES[TONES[content.verdict]]}"),
        *(f"  {note}" for note in content.notes),
        *_rows(shown, content, width, paint, verbose=verbose),
        *(
            f"{paint(kind, style)}: {printable(text)}"
            for kind, style, text in _more(record, content, said, shown_max=None if verbose else _SHOWN_MAX)
        ),
    ]
    for explanation in record.explanations:
        lines.append(paint(explanation_title(explanation), BOLD))
        lines += (f"  {line}" for line in explanation_lines(explanation))
    if shown:
        lines.append(paint(LEGEND, DIM))
    if kept is not None:
        lines.append(f"replay: {printable(f's3bench gate --replay {shlex.quote(str(kept))}')}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _rows(rows: Sequence[GateRow], content: Digest, width: int, paint: Paint, *, verbose: bool) -> Iterator[str]:
    """A table with the reasons for its verdicts; sentences where the narrowest table has no room."""
    if not rows:
        return
    table = gate_table(rows, content)
    gap = next((gap for gap in _GAPS if fits(fitted(table, width=width, gap=gap), width=width, gap=gap)), None)

    def counts(row: GateRow) -> Iterator[str]:
        """All counts that differ, with `verbose`; the reason names the first few."""
        return (f"      {words.change_line(found)}" for found in row.changes if verbose)

    def below(number: int) -> tuple[str, ...]:
        return (*_reason(rows[number], is_brief=is_brief), *counts(rows[number]))

    if gap is not None:
        is_brief = fitted(table, width=width, gap=gap) != table
        yield from table_lines(table, width=width, paint=paint, gap=gap, below=below)
        return
    for row in rows:
        verdict = paint(f"{row.verdict}", TONE_STYLES[TONES[row.verdict]])
        yield f"{verdict} {words.subject(row)}: {words.sentence(row, content)}"
        yield from counts(row)


def _reason(row: GateRow, *, is_brief: bool) -> tuple[str, ...]:
    """Why a row has its verdict, with what a brief table leaves out."""
    if row.verdict is Verdict.PASS and not row.changes and row.kind is not RowKind.INSTRUCTIONS:
        return ()
    word = f"{words.word(row)}: " if is_brief and words.word(row) else ""
    return (f"    {word}{printable(row.reason)}{'; waived' if is_brief and row.waived_by else ''}",)


def _more(
    record: GateRecord, content: Digest, said: Collection[str], *, shown_max: int | None
) -> Iterator[tuple[str, str, str]]:
    """The lines below the table: their kind, its style and the text; of each kind the first `shown_max`."""
    yield "controls", CYAN, words.controls_in_words(record, content)
    if adjusted := words.adjusted_in_words(content):
        yield "adjusted", CYAN, adjusted
    if rest := words.rest_in_words(content):
        yield "the rest" if content.decided else "all", CYAN, rest
    waived = [f"{words.subject(row)}: {words.sentence(row, content)}; {row.waived_by}" for row in content.waived]
    changed = [f"{words.subject(row)}: {_changed(row, content)}" for row in content.changed]
    kinds = (
        ("waived", YELLOW, waived),
        ("failure", RED, content.failures),
        ("changed", CYAN, changed),
        ("warning", YELLOW, tuple(unrepeated(content.warnings, tuple(map(printable, said))))),
    )
    for kind, style, texts in kinds:
        yield from ((kind, style, text) for text in texts[:shown_max])
        if shown_max is not None and len(texts) > shown_max:
            yield kind, style, f"and {len(texts) - shown_max} more, with --verbose"


def _changed(row: GateRow, content: Digest) -> str:
    """A change that decides nothing: fewer of a count, or a metric that does not gate."""
    return row.reason if row.kind is RowKind.EXACT else f"{words.sentence(row, content)}; decides nothing"
