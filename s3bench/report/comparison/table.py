"""A comparison as text for a terminal: the summary first, then what matters, then what speaks against it.

Fitted to the terminal's width by leaving columns out; no figure is ever cut. Color adds nothing to the meaning.
"""

from collections.abc import Callable, Iterator, Sequence

from s3bench.compare.comparison import Against, Comparison
from s3bench.compare.difference import ChangeOutcome, ComparisonRow
from s3bench.report.comparison.cells import (
    LEGEND,
    chance_text,
    change_text,
    collapsed_line,
    count_text,
    exact_text,
    figure_text,
    header_lines,
    interval_text,
    is_exact,
    metric_text,
    missing_lines,
    reservation_lines,
    shown_rows,
    subject_text,
    summary_lines,
    word_text,
)
from s3bench.report.terminal import printable

_INDENT = "  "
_GAP = "  "
_BOLD, _DIM, _RED, _GREEN, _YELLOW = "1", "2", "31", "32", "33"  # ECMA-48, select graphic rendition
_COLORS = {ChangeOutcome.WORSE: _RED, ChangeOutcome.BETTER: _GREEN, ChangeOutcome.DIFFERS: _YELLOW}

_Column = tuple[str, bool, Callable[[ComparisonRow], str]]  # heading, whether figures (set to the right), the cell
_METRIC: _Column = ("metric", False, metric_text)
_COUNT: _Column = ("n", True, count_text)
_BASELINE: _Column = ("baseline", True, lambda row: figure_text(row.baseline, row))
_OTHER: _Column = ("other", True, lambda row: figure_text(row.other, row))
_CHANGE: _Column = ("change", True, change_text)
_INTERVAL: _Column = ("95 % interval", True, interval_text)
_CHANCE: _Column = ("p", True, chance_text)
_WORD: _Column = ("outcome", False, lambda row: row.word)
_LAYOUTS: tuple[tuple[_Column, ...], ...] = (
    (_METRIC, _COUNT, _BASELINE, _OTHER, _CHANGE, _INTERVAL, _CHANCE, ("outcome", False, word_text)),
    (_METRIC, _COUNT, _BASELINE, _OTHER, _CHANGE, _INTERVAL, _CHANCE, _WORD),
    (_METRIC, _COUNT, _BASELINE, _OTHER, _CHANGE, _INTERVAL, _WORD),
    (_METRIC, _BASELINE, _OTHER, _CHANGE, _INTERVAL, _WORD),
    (_METRIC, _BASELINE, _OTHER, _CHANGE, _WORD),
)
"""From wide to narrow; the first that fits is taken, or else the last. Details stand beside words only in the first."""


def render_comparison(comparison: Comparison, *, width: int, color: bool, show_all: bool = False) -> str:
    """Render for a terminal of `width` columns."""
    paint = _painted if color else _plain
    lines = [paint(printable(line), _BOLD) for line in summary_lines(comparison)]
    lines += [paint(f"{kind:9} {printable(words)}", _DIM) for kind, words in header_lines(comparison)]
    for other in comparison.others:
        title = f"{other.name} against {comparison.baseline.name}" if len(comparison.others) > 1 else ""
        lines += _section(other, title, width=width, paint=paint, show_all=show_all)
    if any(shown_rows(other, show_all=show_all) for other in comparison.others):
        lines += ["", paint(LEGEND, _DIM)]
    lines += [f"{paint('warning', _YELLOW)}: {printable(words)}" for words in comparison.warnings]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _section(
    other: Against, title: str, *, width: int, paint: Callable[[str, str], str], show_all: bool
) -> Iterator[str]:
    body = list(_body(other, width=width, paint=paint, show_all=show_all))
    if title:
        yield from ("", paint(printable(title), _BOLD))
        yield from body
    elif body:
        yield from ("", *body)


def _body(other: Against, *, width: int, paint: Callable[[str, str], str], show_all: bool) -> Iterator[str]:
    rows = shown_rows(other, show_all=show_all)
    if rows:
        yield from _table(rows, width=width, paint=paint)
    if not show_all and not other.same_measurements and (line := collapsed_line(other)):
        yield line
    for words in missing_lines(other, show_all=show_all):
        yield f"{paint('missing', _YELLOW)} {printable(words)}"
    for words in reservation_lines(other, show_all=show_all):
        yield f"{paint('doubt', _YELLOW)}: {printable(words)}"


def _table(rows: Sequence[ComparisonRow], *, width: int, paint: Callable[[str, str], str]) -> Iterator[str]:
    """Render rows under their benchmarks. Exact rows have words in the place of columns, which they need not widen."""
    measured = [row for row in rows if not is_exact(row)]
    layout, widths = _fitted(rows, measured, width)
    is_right = [is_figure for _, is_figure, _ in layout]
    if measured:
        yield paint(_line([heading for heading, _, _ in layout], widths, is_right), _DIM)
    above = ""
    for row in rows:
        if (subject := subject_text(row)) != above:
            yield paint(printable(subject), _BOLD)
        cells = (metric_text(row), exact_text(row)) if is_exact(row) else [cell(row) for _, _, cell in layout]
        yield paint(printable(_line(cells, widths, is_right)), _COLORS.get(row.outcome, ""))
        above = subject
    if layout is not _LAYOUTS[0]:
        yield from dict.fromkeys(f"{row.word}: {row.detail}" for row in measured if row.detail)


def _fitted(
    rows: Sequence[ComparisonRow], measured: Sequence[ComparisonRow], width: int
) -> tuple[tuple[_Column, ...], list[int]]:
    """The first layout that fits, or else the last, and the widths of its columns."""
    for layout in _LAYOUTS:
        widths = [max(len(heading), *(len(cell(row)) for row in measured), 0) for heading, _, cell in layout]
        widths[0] = max(widths[0], *(len(metric_text(row)) for row in rows))
        if len(_INDENT) + sum(widths) + len(_GAP) * (len(widths) - 1) <= width:
            break
    return layout, widths


def _line(cells: Sequence[str], widths: Sequence[int], is_right: Sequence[bool]) -> str:
    last = len(cells) - 1  # nothing stands behind it
    aligned = (
        cell if number == last else cell.rjust(widths[number]) if is_right[number] else cell.ljust(widths[number])
        for number, cell in enumerate(cells)
    )
    return _INDENT + _GAP.join(aligned)


def _painted(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if style else text


def _plain(text: str, _style: str) -> str:
    return text
