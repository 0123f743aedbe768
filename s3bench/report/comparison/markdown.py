"""A comparison as Markdown, for a pull request or a step's summary: the same rows and words as in the terminal."""

import re
from collections.abc import Iterable, Iterator

from s3bench.compare.comparison import Against, Comparison
from s3bench.compare.difference import ChangeOutcome, ComparisonRow
from s3bench.report.comparison.cells import (
    LEGEND,
    chance_text,
    change_text,
    collapsed_line,
    count_text,
    figure_text,
    header_lines,
    interval_text,
    metric_text,
    missing_lines,
    reservation_lines,
    shown_rows,
    subject_text,
    summary_lines,
    word_text,
)
from s3bench.report.terminal import printable

_SPECIAL = re.compile(r"[\\`*_\[\]<>|~&#]")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
_STRONG = frozenset({ChangeOutcome.WORSE, ChangeOutcome.BETTER, ChangeOutcome.DIFFERS})
_HEADINGS = ("benchmark", "metric", "n", "baseline", "other", "change", "95 % interval", "p", "outcome")
_RULE = "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"


def render_markdown(comparison: Comparison, *, show_all: bool = False) -> str:
    """Render as GitHub Flavored Markdown; whatever names hold, they are shown as they are."""
    lines = [line for words in summary_lines(comparison) for line in (f"**{_escaped(words)}**", "")]
    lines += [f"- {kind} {_escaped(words)}" for kind, words in header_lines(comparison)]
    for other in comparison.others:
        title = f"{other.name} against {comparison.baseline.name}" if len(comparison.others) > 1 else ""
        lines += _section(other, title, show_all=show_all)
    if any(shown_rows(other, show_all=show_all) for other in comparison.others):
        lines += ["", _escaped(LEGEND)]
    lines += _details("warnings", comparison.warnings)
    return "\n".join(lines) + "\n"


def _section(other: Against, title: str, *, show_all: bool) -> Iterator[str]:
    rows = shown_rows(other, show_all=show_all)
    if title:
        yield from ("", f"### {_escaped(title)}")
    if rows:
        yield from ("", _cells(_HEADINGS), _RULE)
        yield from (_cells(_row(row)) for row in rows)
    if not show_all and not other.same_measurements and (line := collapsed_line(other)):
        yield from ("", _escaped(line))
    yield from _details("missing on one side", missing_lines(other, show_all=show_all))
    yield from _details("doubts about single figures", reservation_lines(other, show_all=show_all))


def _row(row: ComparisonRow) -> Iterator[str]:
    yield _escaped(subject_text(row))
    yield _escaped(metric_text(row))
    yield count_text(row)
    yield figure_text(row.baseline, row)
    yield figure_text(row.other, row)
    yield change_text(row)
    yield interval_text(row)
    yield _escaped(chance_text(row))
    word = _escaped(word_text(row))
    yield f"**{word}**" if row.outcome in _STRONG else word


def _cells(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _details(title: str, lines: Iterable[str]) -> Iterator[str]:
    """A list that is folded away: it must not push the table out of sight."""
    items = [f"- {_escaped(line)}" for line in lines]
    if items:
        yield from ("", f"<details><summary>{title} ({len(items)})</summary>", "", *items, "", "</details>")


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is: one line, nothing in it a mark, a tag or the end of a cell."""
    line = printable(text)
    return _SPECIAL.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), line)
