"""A gate as Markdown: right on GitHub whatever names hold, never too large, and honest about what it leaves out."""

import re
from collections.abc import Callable, Mapping
from html import unescape

import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace

from s3bench.gate.record import GateRecord
from s3bench.report.gate.digest import digest
from s3bench.report.gate.markdown import render_comment, render_summary
from s3bench.report.markdown import code, escaped
from s3bench.report.terminal import printable

_GITHUB_COMMENT_MAX = 65_536
_GITHUB_SUMMARY_MAX = 1 << 20
_MARKS = "a|b `c` ``d`` **e** <b>f</b> [g](h) ![i](j) ~~k~~ _l_ \\| \\ :m: &amp; &lt; <!-- $n$ # 1. - + > ="


def html(markdown: str) -> str:
    text: str = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown)
    return text


def shown(markdown: str) -> str:
    """The text that a reader sees."""
    return unescape(re.sub(r"<!--.*?-->|<[^>]*>", "", html(markdown)))


def test_the_comments_are_the_golden_ones(
    gates: Mapping[str, GateRecord], assert_golden: Callable[[str, str], None]
) -> None:
    assert_golden("gate_comment.md", "\n".join(render_comment(gate) for gate in gates.values()))


def test_the_summary_is_the_golden_one(
    gates: Mapping[str, GateRecord], assert_golden: Callable[[str, str], None]
) -> None:
    assert_golden("gate_summary.md", render_summary(gates["fail by imports"]))


@pytest.mark.parametrize("text", [_MARKS, "``", "x`", "|", "\\|", " a ", "1. a", "12) a", "- a", "+ a", "# a", "=== "])
def test_a_text_is_shown_as_it_is(text: str) -> None:
    for each in (code(text), escaped(text)):
        assert shown(f"- {each}").strip() == text.strip()
        assert html(f"- {each}").count("<li>") == 1
        cell = f"| a | b |\n| --- | --- |\n| {each} | c |\n"
        cells = re.findall(r"<td>(.*?)</td>", html(cell))
        assert len(cells) == 2
        assert cells[1] == "c"
        assert unescape(re.sub(r"<!--.*?-->|</?code>", "", cells[0])).strip() == text.strip()


def test_nobody_is_called_and_no_issue_is_linked() -> None:
    assert "@<!-- -->someone #<!-- -->12" in unescape(html(escaped("@someone #12")))
    assert code("cli-crt@2.38.5") == "`cli-crt@2.38.5`"


def test_names_stay_in_their_cells(hostile: GateRecord) -> None:
    rendered = html(render_summary(hostile))
    assert len({row.count("<td") for row in re.findall(r"<tr>(.*?)</tr>", rendered, re.DOTALL)} - {0}) == 1
    assert "<b>" not in rendered
    assert "<em>" not in rendered
    assert "<h1>" not in rendered
    name = printable(hostile.cells[0].name)
    assert shown(render_summary(hostile)).count(name) >= 10
    assert render_summary(hostile).replace("\n", "").isprintable()


def test_the_verdict_comes_first_and_then_what_decided(gates: Mapping[str, GateRecord]) -> None:
    lines = render_comment(gates["fail by size"]).splitlines()
    assert lines[0] == "## FAIL: `cli-crt@2.38.5` against `cli-crt@2.36.0`"
    assert lines[4].startswith("| `s3.cp.upload FileSize=32MB` | **FAIL** | `total_time` | ")


def test_a_comment_fits_however_much_failed(many: GateRecord) -> None:
    comment = render_comment(many)
    assert len(comment.encode()) < _GITHUB_COMMENT_MAX
    assert len(comment.encode()) > _GITHUB_COMMENT_MAX * 0.8, "room is used"
    assert "Controls: the baseline against itself: " in comment
    assert "The rest: " in comment
    decided = digest(many).decided
    rows = len(re.findall(r"^\| [^|]* \| \*\*FAIL\*\* \| ", comment, re.MULTILINE))
    told = re.search(
        r"\*\*Left out to keep the report small: (\d+) rows FAIL.*\.\*\* The gate's record has all", comment
    )
    assert told
    assert 0 < rows < len(decided)
    assert rows + int(told[1]) == len(decided)


def test_what_decided_is_there_when_the_rest_finds_no_room(many: GateRecord) -> None:
    """Three rows decide; hundreds are waived."""
    assert many.conclusion
    decided = digest(many).decided[1:4]
    rows = tuple(
        row if row in decided or not row.decides else replace(row, waived_by="known") for row in many.conclusion.rows
    )
    reasons = tuple(f"{row.metric} of {row.benchmark}: {row.reason}" for row in decided)
    comment = render_comment(replace(many, conclusion=replace(many.conclusion, rows=rows, reasons=reasons)))
    top, _, bottom = comment.partition("Controls: ")
    assert len(re.findall(r"^\| [^|]* \| \*\*FAIL\*\* \| ", top, re.MULTILINE)) == 3
    for row in decided:
        assert row.benchmark.split("|")[0] in top
    assert re.search(r"Left out to keep the report small: \d+ rows FAIL", bottom)
    assert len(comment.encode()) < _GITHUB_COMMENT_MAX


def test_a_summary_has_all_rows_there_is_room_for(gates: Mapping[str, GateRecord], many: GateRecord) -> None:
    for gate in (*gates.values(), many):
        summary, told = render_summary(gate), digest(gate)
        rows = len(re.findall(r"^\| [^|]* \| \*\*", summary, re.MULTILINE))
        left_out = re.search(r"Left out to keep the report small: ([^*]*)", summary)
        counts = map(int, re.findall(r"(\d+) rows?", left_out[1] if left_out else ""))
        assert bool(left_out) == (gate is many)
        parts = (told.decided, told.rest, told.waived, told.controls, [row for row in told.changed if row.verdict])
        assert rows + sum(counts) == sum(map(len, parts))
        assert len(summary.encode()) < _GITHUB_SUMMARY_MAX


def test_a_summary_never_grows_beyond_its_limit(many: GateRecord) -> None:
    gate = replace(many, warnings=tuple(f"{number} " + "|" * 900 for number in range(300)))
    summary = render_summary(gate)
    assert len(summary.encode()) < _GITHUB_SUMMARY_MAX
    assert re.search(r"Left out to keep the report small: .*other lines", summary)
    assert summary.startswith("## FAIL: ")


def test_folded_parts_are_closed(gates: Mapping[str, GateRecord], many: GateRecord) -> None:
    for text in (*map(render_summary, gates.values()), *map(render_comment, gates.values()), render_comment(many)):
        assert text.count("<details>") == text.count("</details>")


def test_all_counts_that_differ_are_in_the_summary(gates: Mapping[str, GateRecord]) -> None:
    assert "- `module_6: 0 -> 1`" in render_summary(gates["fail by imports"])
