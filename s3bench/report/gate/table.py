"""A gate's verdict as text for a terminal: what decided first, then what else has to be known.

Tables are never wider than the terminal: where it is too narrow, medians are left out, then words, and then rows
become sentences.
Sentences are one line each, which the terminal folds.
"""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, auto
from pathlib import Path

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from s3bench.gate.evidence import Role
from s3bench.gate.record import GateRecord
from s3bench.gate.row import GateRow, RowKind, Verdict
from s3bench.report.gate import digest as words
from s3bench.report.gate.digest import Digest, digest
from s3bench.report.terminal import printable, rendered, terminal_console

_STYLES = {
    Verdict.INVALID: "red",
    Verdict.FAIL: "red",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.SMALL: "yellow",
    Verdict.PASS: "green",
    None: "",
}
_SHOWN_MAX = 10
_LEGEND = (
    "interval: 95 %; limits: a change up to the first matters to nobody, one of the second or more must not pass; "
    "detectable: the smallest worsening that 95 of 100 gates would FAIL"
)


class _Form(Enum):
    """How much a table shows, the widest first: medians and words, words, neither."""

    WIDE = auto()
    MIDDLE = auto()
    NARROW = auto()


def render_gate(record: GateRecord, *, width: int, color: bool, verbose: bool = False, kept: Path | None = None) -> str:
    """Render a concluded gate for a terminal of `width` columns; with `verbose` all rows, doubts and counts.

    `kept` is the file of the record. Color adds nothing to the meaning.
    """
    console, told = terminal_console(color=color), digest(record)
    shown = [*told.decided]
    if verbose:
        shown += [*told.waived, *told.rest, *(row for row in told.controls if row not in told.decided)]
    lines = [
        Text(told.headline, style=f"bold {_STYLES[told.verdict]}"),
        *(Text(f"  {note}") for note in told.notes),
    ]
    lines_after = list(_more(record, told, shown_max=None if verbose else _SHOWN_MAX))
    if shown:
        lines_after.append(Text(_LEGEND, style="dim"))
    if kept is not None:
        lines_after.append(_line("replay", "", f"s3bench gate --replay {shlex.quote(str(kept))}"))
    text = [
        *(rendered(line, console) for line in lines),
        *_rows(shown, told, console, width, verbose=verbose),
        *(rendered(line, console) for line in lines_after),
    ]
    return "\n".join(line.rstrip() for line in text) + "\n"


def _rows(rows: Sequence[GateRow], told: Digest, console: Console, width: int, *, verbose: bool) -> Iterator[str]:
    """Render a table of rows, each group below its benchmark, each row above the reason for its verdict."""
    if not rows:
        return
    for form in _Form:
        table = _table(rows, form, told.counted)
        if Measurement.get(console, console.options, table).maximum <= width:
            yield from _grouped(rows, rendered(table, console).splitlines(), form, console, verbose=verbose)
            return
    for row in rows:
        line = Text.assemble((f"{row.verdict}", _STYLES[row.verdict]), f" {words.subject(row)}{_role(row)}: ")
        yield rendered(line.append(words.sentence(row, told)), console)
        yield from (rendered(each, console) for each in _counts(row, verbose=verbose))


def _grouped(
    rows: Sequence[GateRow], lines: Sequence[str], form: _Form, console: Console, *, verbose: bool
) -> Iterator[str]:
    """Put the other lines between those of a table: names of benchmarks above, reasons and counts below."""
    heading, rule, *cells = lines
    yield from (heading, rule)
    above = ""
    for row, line in zip(rows, cells, strict=True):
        if (title := words.benchmark(row) + _role(row)) != above:
            yield rendered(Text(title, style="bold"), console)
        yield line
        if row.verdict is not Verdict.PASS or row.changes:
            word = f"{words.word(row)}: " if form is _Form.NARROW and words.word(row) else ""
            yield rendered(Text(f"    {word}{printable(row.reason)}{'; waived' if row.waived_by else ''}"), console)
        yield from (rendered(each, console) for each in _counts(row, verbose=verbose))
        above = title


def _table(rows: Iterable[GateRow], form: _Form, counted: str) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 0 if form is _Form.NARROW else 1, 0, 0)
    )
    table.add_column("  verdict", no_wrap=True)
    table.add_column("metric", no_wrap=True)
    for heading in (
        *(("medians",) if form is _Form.WIDE else ()),
        "change",
        "interval",
        "limits",
        counted,
        "detectable",
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        change = words.change(row, has_word=form is not _Form.NARROW)
        cells = (change, words.interval(row), words.limits(row), f"{row.pairs}", words.detectable(row))
        verdict = Text(f"  {row.verdict}", style=_STYLES[row.verdict])
        medians = (Text(words.medians(row)),) if form is _Form.WIDE else ()
        table.add_row(verdict, Text(row.metric), *medians, *(Text(cell) for cell in cells))
    return table


def _counts(row: GateRow, *, verbose: bool) -> Iterator[Text]:
    """All counts that differ, where they are asked for; the reason names the first few."""
    if verbose:
        yield from (Text(f"      {words.change_line(found)}") for found in row.changes)


def _role(row: GateRow) -> str:
    return "" if row.role is Role.BENCHMARK else f" ({row.role})"


def _more(record: GateRecord, told: Digest, *, shown_max: int | None) -> Iterator[Text]:
    """What stands below the rows, each kind of line but for the first `shown_max` of it counted only."""
    yield _line("controls", "cyan", words.controls_in_words(record, told))
    if rest := words.rest_in_words(told):
        yield _line("the rest" if told.decided else "all", "cyan", rest)
    kinds = (
        (
            "waived",
            "yellow",
            [f"{words.subject(row)}: {words.sentence(row, told)}; {row.waived_by}" for row in told.waived],
        ),
        ("failure", "red", told.failures),
        ("changed", "cyan", [f"{words.subject(row)}: {_changed(row, told)}" for row in told.changed]),
        ("warning", "yellow", told.warnings),
    )
    for kind, style, texts in kinds:
        yield from (_line(kind, style, text) for text in texts[:shown_max])
        if shown_max is not None and len(texts) > shown_max:
            yield _line(kind, style, f"and {len(texts) - shown_max} more, with --verbose")


def _changed(row: GateRow, told: Digest) -> str:
    """What changed and decides nothing: fewer of a count, or a metric that is none of the gating ones."""
    return row.reason if row.kind is RowKind.EXACT else f"{words.sentence(row, told)}; decides nothing"


def _line(kind: str, style: str, text: str) -> Text:
    return Text.assemble((f"{kind}: ", style), printable(text))
