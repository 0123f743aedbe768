"""A comparison as text for a terminal: the summary, the rows that matter, warnings about figures, and the legend."""

from collections.abc import Iterator

from s3bench.compare.comparison import Against, Comparison
from s3bench.report.comparison.cells import (
    collapsed_line,
    header_lines,
    is_exact,
    legend_text,
    missing_lines,
    shown_rows,
    summary_lines,
    warning_lines,
)
from s3bench.report.comparison.tables import comparison_tables
from s3bench.report.terminal import BOLD, DIM, YELLOW, painter, printable
from s3bench.report.text_table import Paint, fitted, table_lines


def render_comparison(comparison: Comparison, *, width: int, color: bool, show_all: bool = False) -> str:
    """Render for a terminal of `width` columns, by leaving columns out; color adds nothing to the meaning."""
    paint = painter(color=color)
    lines = [paint(printable(line), BOLD) for line in summary_lines(comparison)]
    lines += [paint(f"{kind:9} {printable(words)}", DIM) for kind, words in header_lines(comparison)]
    for other in comparison.others:
        section = list(_section(other, width=width, paint=paint, show_all=show_all))
        if len(comparison.others) > 1:
            lines += ["", paint(printable(f"{other.name} against {comparison.baseline.name}"), BOLD), *section]
        elif section:
            lines += ["", *section]
    if shown := [row for other in comparison.others for row in shown_rows(other, show_all=show_all)]:
        lines += ["", paint(legend_text(shown), DIM)]
    lines += [f"{paint('warning', YELLOW)}: {printable(words)}" for words in comparison.warnings]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _section(other: Against, *, width: int, paint: Paint, show_all: bool) -> Iterator[str]:
    rows = shown_rows(other, show_all=show_all)
    for number, table in enumerate(comparison_tables(rows)):
        yield from ("",) * bool(number)
        yield from table_lines(table, width=width, paint=paint)
        if not number and fitted(table, width=width) != table:  # details are of measured rows, whose table is the first
            details = (f"{row.word}: {row.detail}" for row in rows if row.detail and not is_exact(row))
            yield from map(printable, dict.fromkeys(details))
    if not show_all and not other.same_measurements and (line := collapsed_line(other)):
        yield line
    for words in missing_lines(other, show_all=show_all):
        yield f"{paint('missing', YELLOW)} {printable(words)}"
    for words in warning_lines(other, show_all=show_all):
        yield f"{paint('warning', YELLOW)}: {printable(words)}"
