"""A comparison as Markdown, for a pull request or the summary of a step."""

from collections.abc import Iterator

from s3bench.compare.comparison import Against, Comparison
from s3bench.report.comparison.cells import (
    collapsed_line,
    header_lines,
    legend_text,
    missing_lines,
    shown_rows,
    summary_lines,
    warning_lines,
)
from s3bench.report.comparison.tables import comparison_tables
from s3bench.report.markdown import escaped, folded_lines, list_lines, table_lines


def render_markdown(comparison: Comparison, *, show_all: bool = False) -> str:
    """Render as GitHub Flavored Markdown; whatever names hold, they are shown as they are."""
    lines = [line for words in summary_lines(comparison) for line in (f"**{escaped(words)}**", "")]
    lines += [*list_lines(f"{kind} {words}" for kind, words in header_lines(comparison)), ""]
    for other in comparison.others:
        if len(comparison.others) > 1:
            lines += [f"### {escaped(f'{other.name} against {comparison.baseline.name}')}", ""]
        lines += _section(other, show_all=show_all)
    if shown := [row for other in comparison.others for row in shown_rows(other, show_all=show_all)]:
        lines += [escaped(legend_text(shown)), ""]
    lines += _folded("warnings", comparison.warnings)
    return "\n".join(lines).rstrip("\n") + "\n"


def _section(other: Against, *, show_all: bool) -> Iterator[str]:
    for table in comparison_tables(shown_rows(other, show_all=show_all)):
        yield from (*table_lines(table), "")
    if not show_all and not other.same_measurements and (line := collapsed_line(other)):
        yield from (escaped(line), "")
    yield from _folded("missing on one side", tuple(missing_lines(other, show_all=show_all)))
    yield from _folded("warnings about single figures", tuple(warning_lines(other, show_all=show_all)))


def _folded(title: str, texts: tuple[str, ...]) -> Iterator[str]:
    """A list that is folded away, so that it does not push the tables out of sight."""
    return folded_lines(f"{title} ({len(texts)})", list_lines(texts))
