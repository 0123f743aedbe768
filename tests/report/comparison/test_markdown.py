"""A comparison as Markdown: names are shown as they are, whatever they hold."""

from pathlib import Path

from s3bench.compare.comparison import compare
from s3bench.report.comparison.markdown import render_markdown
from tests.compare.documents import (
    BASE,
    client,
    result,
    slower,
    source,
)
from tests.report.comparison.test_table import comparison

GOLDEN = Path(__file__).parents[1] / "comparison_markdown.md"


def test_the_markdown_is_the_golden_one() -> None:
    assert render_markdown(comparison()) == GOLDEN.read_text(encoding="utf-8")


def test_names_cannot_break_the_table_or_become_marks() -> None:
    odd = "a|b *c* `d` <b>e</b> [f](g)\n# h"
    text = render_markdown(
        compare([source("a", result(name=odd)), source("b", result(slower(BASE, 2), name=odd, of=client()))])
    )
    (row,) = (line for line in text.splitlines() if "slower" in line and line.startswith("| "))
    assert row.replace("\\|", "").count("|") == 10
    assert row.startswith(r"| a\|b \*c\* \`d\` &lt;b&gt;e&lt;/b&gt; \[f\](g) \# h on ")


def test_every_row_of_the_table_has_the_cells_of_its_heading() -> None:
    lines = [line for line in render_markdown(comparison(), show_all=True).splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in lines} == {10}
