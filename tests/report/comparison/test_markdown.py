"""A comparison as Markdown: names are shown as they are, whatever they hold."""

from collections.abc import Callable

from s3bench.compare.comparison import compare
from s3bench.report.comparison.markdown import render_markdown
from s3bench.report.markdown import code
from tests.compare.documents import BASE, client, result, slower, source
from tests.report.comparison.test_text import comparison


def test_the_markdown_is_the_golden_one(assert_golden: Callable[[str, str], None]) -> None:
    assert_golden("comparison_markdown.md", render_markdown(comparison()))


def test_names_cannot_break_the_table_or_become_marks() -> None:
    odd = "a|b *c* `d` <b>e</b> [f](g)\n# h"
    text = render_markdown(
        compare([source("a", result(name=odd)), source("b", result(slower(BASE, 2), name=odd, of=client()))])
    )
    (row,) = (line for line in text.splitlines() if "slower" in line and line.startswith("| "))
    assert row.count("|") == 10
    assert row.startswith(f"| {code(f'{odd} on cli-crt@2.38.5')} | ")


def test_every_row_of_the_table_has_the_cells_of_its_heading() -> None:
    tables = render_markdown(comparison(), show_all=True).split("\n\n")
    bars = [{line.count("|") for line in table.splitlines()} for table in tables if table.startswith("|")]
    assert bars == [{10}, {5}]
