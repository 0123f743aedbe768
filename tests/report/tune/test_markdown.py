"""The answer as Markdown: the same words as in the terminal, and names shown as they are."""

import re
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from s3bench.report.markdown import escaped
from s3bench.report.tune.cells import prediction_words, verdict_words
from s3bench.report.tune.markdown import render_markdown
from tests.report.tune_samples import ANSWERS, WINNER, hostile

Golden = Callable[[str, str], None]


@pytest.mark.parametrize("name", ["everything", "as good", "live"])
def test_the_markdown_is_the_golden_one(assert_golden: Golden, name: str) -> None:
    assert_golden(f"tune_markdown_{name.replace(' ', '_')}.md", render_markdown(ANSWERS[name]))


@pytest.mark.parametrize("name", list(ANSWERS))
def test_the_heading_is_the_verdict_and_the_recipes_are_fenced(name: str) -> None:
    told, text = ANSWERS[name], render_markdown(ANSWERS[name])
    assert text.startswith(f"## {verdict_words(told)}\n")
    for made in told.recipes:
        assert "\n```sh\n" + "\n".join(made.lines) + "\n```\n" in text


def test_the_aws_cli_s_setting_is_told_with_its_units() -> None:
    every = ANSWERS["everything"]
    classic = replace(every.clients[0], best=replace(WINNER, value=4.0))
    other = every.clients[2].best
    text = render_markdown(replace(every, recommended=other, clients=(classic, *every.clients[1:])))
    assert f"\nTo stay with aws-cli: {escaped(str(WINNER.setting))} (4.00 s)\n" in text
    assert "32MB" in str(WINNER.setting)


def test_predictions_are_marked_as_such() -> None:
    text = render_markdown(ANSWERS["everything"])
    heading = "### predictions, not measured: by a model fitted to these runs, with the range of its error\n"
    assert heading in text
    assert prediction_words(ANSWERS["everything"].predictions[1]).split("; cli")[0] in text.partition(heading)[2]


@pytest.mark.parametrize("name", [*ANSWERS, "hostile"])
def test_every_row_has_the_cells_of_its_heading(name: str) -> None:
    width = 0
    for line in render_markdown(hostile() if name == "hostile" else ANSWERS[name]).splitlines():
        cells = line.count("|") if line.startswith("|") else 0
        assert cells in {0, width} or not width, line
        width = cells


def test_what_comes_from_outside_is_neither_mark_nor_tag_nor_mention() -> None:
    text = render_markdown(hostile())
    assert all(character.isprintable() for line in text.split("\n") for character in line)
    for harm in ("<b>", "**d**", " @someone", " #12", "`c`"):
        assert harm not in text
    assert set(re.findall(r"<[a-z!/][^>]*>", text)) <= {
        "<details>", "</details>", "<summary>", "</summary>", "<!-- -->", "<code>", "</code>",
    }  # fmt: skip
    assert "a&#124;b &#96;c&#96; &#42;&#42;d&#42;&#42; &#60;b&#62;e&#60;/b&#62;" in text
