"""A bisection as text for a terminal: the result first, then every comparison.

A table that is wider than the terminal loses columns. Sentences are one line each, which the terminal folds.
"""

import shlex
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from s3bench.bisect.record import BisectRecord
from s3bench.bisect.search import ComparisonOutcome, ComparisonPurpose, ComparisonResult, Ending, SearchResult
from s3bench.gate.row import GateRow
from s3bench.report.explanation import explanation_lines, explanation_title
from s3bench.report.gate import digest as words
from s3bench.report.table import NOTHING, Table, column
from s3bench.report.terminal import BOLD, CYAN, GREEN, RED, YELLOW, painter, printable
from s3bench.report.text_table import table_lines
from s3bench.units import render_seconds

_STYLES = {
    Ending.FOUND: GREEN,
    Ending.NO_CHANGE: GREEN,
    Ending.SUSPECTS: YELLOW,
    Ending.UNSETTLED: YELLOW,
    Ending.FAILED: RED,
}
_SKIPPED_MAX = 8


def render_bisection(record: BisectRecord, *, width: int, color: bool, kept: Path | None = None) -> str:
    """Render a search for a terminal of `width` columns. `kept` is its file. Color adds nothing to the meaning."""
    paint = painter(color=color)
    found = record.found
    style = YELLOW if found is None else _STYLES[found.ending]
    lines = [
        paint(headline(record), f"{BOLD};{style}"),
        *(f"  {printable(line)}" for line in sentences(record)),
        *(table_lines(comparison_table(record), width=width, paint=paint) if record.answers else ()),
        *(f"{paint(kind, CYAN)}: {printable(text)}" for kind, text in more_lines(record)),
    ]
    if record.explanation is not None:
        lines.append(paint(explanation_title(record.explanation), BOLD))
        lines += (f"  {line}" for line in explanation_lines(record.explanation))
    if found is None and kept is not None:
        lines.append(f"continue with: s3bench bisect --resume {shlex.quote(str(kept))}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def answer_line(record: BisectRecord, answer: ComparisonResult) -> str:
    """One comparison and what it showed, as a line: `2.36.1 against 2.34.3: changed, +10.2% slower (20 pairs)`."""
    comparison, row = answer.comparison, answer.row
    older, newer = record.versions[comparison.older], record.versions[comparison.newer]
    change = "" if row is None else f", {_change(answer)} ({row.pairs} pairs)"
    why = f": {answer.reasons[0]}" if answer.reasons and answer.outcome is not ComparisonOutcome.CHANGED else ""
    return printable(f"{newer} against {older}: {answer.outcome}{change}{why}")


def headline(record: BisectRecord) -> str:
    """The result in a sentence behind its word: `found: cli-crt 2.36.0 is the first that changed ...`."""
    found, subject = record.found, printable(record.subject)
    if found is None:
        return f"not done: {subject}: {record.stopped or 'comparisons are left to make'}"
    match found.ending:
        case Ending.FOUND:
            return f"found: {printable(record.named(found.first or 0))} is the first that {_changed(record, found)}"
        case Ending.SUSPECTS:
            count = (found.first or 0) - (found.last or 0)
            span = f"after {_name(record, found.last)}, up to {_name(record, found.first)}"
            return (
                f"suspects: one of {count} versions of {subject}, {span}, is the first that {_changed(record, found)}"
            )
        case Ending.NO_CHANGE:
            return f"no change: {printable(record.named(-1))} against {_name(record, 0)}: nothing to find"
    return f"{found.ending}: {subject} from {_name(record, 0)} to {_name(record, -1)}"


def _changed(record: BisectRecord, found: SearchResult) -> str:
    where = f" of {printable(found.benchmark)}" if found.benchmark else " over all benchmarks"
    size = "" if found.size is None else f": {_size(found.size, is_turned=found.is_better)}"
    against = f", against {_name(record, found.sized_from)}"
    return f"changed {found.metric}{where}{size}{against if size else ''}"


def _size(row: GateRow, *, is_turned: bool) -> str:
    """The change of the newer version with its 95 % interval."""
    turned = _turned(row) if is_turned else row
    return f"{words.change(turned)} (95 % interval {words.interval(turned)})"


def _turned(row: GateRow) -> GateRow:
    """The same with the sides swapped: the gate compared the older version with the newer."""
    ends = [None if end is None else _inverse(end) for end in (row.high, row.low)]
    return replace(
        row,
        baseline=row.candidate,
        candidate=row.baseline,
        change=None if row.change is None else _inverse(row.change),
        low=ends[0],
        high=ends[1],
    )


def _inverse(change: float) -> float:
    return 1 / (1 + change) - 1


def sentences(record: BisectRecord) -> Iterator[str]:
    """What qualifies the headline."""
    found = record.found
    if found is None:
        if following := len(record.answers):
            yield f"comparisons made: {following:,}"
        return
    yield from found.reasons
    if found.ending in {Ending.FOUND, Ending.SUSPECTS}:
        yield (
            f"chance of error: at most {found.error:.0%} if the metric changed once and stayed changed; "
            "if it changed several times, this is one of the changes"
        )
    if found.ending is Ending.UNSETTLED and found.first is None:
        if found.size is not None and found.size.change is None:
            yield f"choose a metric that is measured there; {found.metric} is not"
        else:
            yield "a longer benchmark, a quieter machine or more pairs (--pairs 20,40,80,160) may settle it"
    if found.ending is Ending.NO_CHANGE:
        yield from _bounds(record)
        yield "temporary changes between the two ends are not detected"
    if found.skipped:
        names = [record.versions[place] for place in found.skipped]
        more = f" and {len(names) - _SKIPPED_MAX} more" if len(names) > _SKIPPED_MAX else ""
        yield f"no result for {', '.join(names[:_SKIPPED_MAX])}{more}: see below"
    yield from found.notes


def _bounds(record: BisectRecord) -> Iterator[str]:
    for answer in record.answers:
        row = answer.row
        if row is not None and row.at_most is not None and answer.outcome is ComparisonOutcome.UNCHANGED:
            how = "better" if answer.comparison.is_swapped else "worse"
            yield f"{row.subject} is at most {row.at_most:+.1%} {how}"


def comparison_table(record: BisectRecord) -> Table:
    """One line for each comparison, in the order in which they were made."""
    made = record.answers
    return Table(
        columns=(
            column("compared", made, lambda each: _name(record, each.comparison.newer)),
            column("against", made, lambda each: _name(record, each.comparison.older)),
            column("result", made, lambda each: str(each.outcome)),
            column("change", made, _change, is_number=True, rank=1),
            column("interval", made, _interval, is_number=True, rank=1),
            column("limits", made, _limits, is_number=True, rank=3),
            column("pairs", made, _pairs, is_number=True, rank=2),
            column("took", made, lambda each: render_seconds(each.took_s), is_number=True, rank=4),
            column("for", made, lambda each: str(each.comparison.purpose), rank=5),
        )
    )


def comparison_rows(record: BisectRecord) -> tuple[tuple[ComparisonResult, GateRow], ...]:
    """The comparisons that have a row, as seen from the newer version."""
    return tuple((answer, row) for answer in record.answers if (row := _row(answer)) is not None)


def _row(answer: ComparisonResult) -> GateRow | None:
    return _turned(answer.row) if answer.row is not None and answer.comparison.is_swapped else answer.row


def _change(answer: ComparisonResult) -> str:
    row = _row(answer)
    return NOTHING if row is None else words.change(row)


def _interval(answer: ComparisonResult) -> str:
    row = _row(answer)
    return NOTHING if row is None else words.interval(row)


def _limits(answer: ComparisonResult) -> str:
    return NOTHING if answer.row is None else words.limits(answer.row)


def _pairs(answer: ComparisonResult) -> str:
    return NOTHING if answer.row is None else str(answer.row.pairs)


def more_lines(record: BisectRecord) -> Iterator[tuple[str, str]]:
    """The lines below the table: comparisons without a result, versions left out, warnings."""
    for answer in record.answers:
        is_reported = record.found is not None and answer.reasons == record.found.reasons
        if (
            answer.outcome in {ComparisonOutcome.FAILED, ComparisonOutcome.WITHDRAWN, ComparisonOutcome.UNDECIDED}
            and not is_reported
        ):
            yield str(answer.outcome), f"{_name(record, answer.comparison.newer)}: {'; '.join(answer.reasons)}"
    ends = [answer for answer in record.answers if answer.comparison.purpose is ComparisonPurpose.ENDS]
    warnings = [f"{row.subject}: {warning}" for answer in ends if (row := answer.row) for warning in row.warnings]
    for text in record.left_out:
        yield "left out", text
    for text in (*record.warnings, *warnings):
        yield "warning", text


def _name(record: BisectRecord, place: int | None) -> str:
    return NOTHING if place is None else printable(record.versions[place])
