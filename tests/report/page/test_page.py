"""The page as HTML: its frame, its policy, what it escapes, and how large it becomes."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from s3bench.report.page import fitting
from s3bench.report.page.fitting import PAGE_BYTES_MAX
from s3bench.report.page.page import render_page
from s3bench.report.page.section import CodeBlock, Line, Section
from s3bench.report.table import Table, Tone, column
from tests.report.page.charts import HOSTILE, dots, rows

_VOID = {"meta", "link", "input"}


class Elements(HTMLParser):
    """The elements of a page with their attributes; fails where one is not closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(page)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def values(self, name: str) -> list[str]:
        return [value for _, attributes in self.found if (value := attributes.get(name)) is not None]


def section(name: str = "runs", **changes: object) -> Section:
    return Section(name=name, title=f"The {name}", **changes)  # type: ignore[arg-type]  # (checked where it is called)


@pytest.fixture(scope="module")
def page() -> str:
    folded = section("one", is_folded=True, lines=(Line(text="median 1 s"),), figures=(dots(["run 1"]),))
    lines = (Line(text="it got slower", tone=Tone.BAD), Line(text="busy", tone=Tone.WARNING))
    sections = (section("runs", tables=(rows("a", "b", "c"),), parts=(folded,)), section("machine"))
    return render_page("A run", sections, facts=(("Measured", "today"),), lines=lines)


def test_a_block_keeps_its_indentation_and_loses_what_is_markup() -> None:
    block = CodeBlock(caption="To paste", lines=("config = TransferConfig(", "    max_concurrency=<20>,", ")"))
    page = render_page("A tuning", (section("tune", blocks=(block,)),))
    assert "config = TransferConfig(\n    max_concurrency=&lt;20&gt;,\n)\n</pre>" in page


def test_style_and_script_stand_in_the_policy_by_their_hashes(page: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        inside = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert inside is not None
        digest = b64encode(sha256(inside[1].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy[1]


def test_no_element_has_a_style_or_a_handler_and_every_id_is_there_once(page: str) -> None:
    elements = Elements(page)
    names = {name for _, attributes in elements.found for name in attributes}
    assert not {name for name in names if name == "style" or name.startswith("on")}
    ids = elements.values("id")
    assert len(ids) == len(set(ids))
    for name in ("aria-labelledby", "aria-describedby"):
        assert set(elements.values(name)) <= set(ids)
    assert {each[1:] for each in elements.values("href") if each.startswith("#")} <= set(ids)


def test_moods_are_words_and_numbers_carry_their_values(page: str) -> None:
    assert '<span class="badge is-bad">✕ bad</span>' in page
    assert '<td data-v="9">9 s</td>' in page
    assert '<td data-v="">-</td>' in page


def test_a_folded_part_shows_its_heading_and_its_lines(page: str) -> None:
    summary = re.search(r"<summary><h3>The one</h3>(.*?)</summary>", page)
    assert summary is not None
    assert "median 1 s" in summary[1]


def test_a_page_of_one_part_has_no_tabs(page: str) -> None:
    assert 'class="tabs"' in page
    assert 'class="tabs"' not in render_page("A run", (section(),))


def test_hostile_texts_are_shown_as_texts_in_every_place() -> None:
    table = Table(
        caption=HOSTILE,
        columns=(
            column(HOSTILE, [HOSTILE], str, more=str, tone=lambda _: Tone.GOOD),
            column(HOSTILE, [HOSTILE], str, value=lambda _: float("nan")),
        ),
        notes=(HOSTILE,),
    )
    inner = Section(
        name=HOSTILE, title=HOSTILE, lines=(Line(text=HOSTILE),), tables=(table,), figures=(dots([HOSTILE]),)
    )
    whole = Section(name="a", title=HOSTILE, parts=(inner, Section(name="b", title=HOSTILE, is_folded=True)))
    page = render_page(HOSTILE, (whole, whole), facts=((HOSTILE, HOSTILE),), lines=(Line(text=HOSTILE, tone=Tone.BAD),))
    elements = Elements(page)
    assert [tag for tag, _ in elements.found].count("script") == 1
    assert page.replace("\n", "").isprintable()
    assert "49" not in re.sub(r"<(style|script|svg).*?</\1>", "", page, flags=re.DOTALL)


def test_a_long_text_does_not_fill_the_page() -> None:
    assert len(render_page("x" * 1_000_000, (section(lines=(Line(text="y" * 1_000_000),)),))) < 100_000


class TestSize:
    def many(self, count: int, *, folded_from: int) -> tuple[Section, ...]:
        return tuple(
            section(f"part-{number}", figures=(dots(["one"], table=False),), is_folded=number >= folded_from)
            for number in range(count)
        )

    def test_charts_above_the_limit_are_left_out_from_the_end_folded_ones_first(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(fitting, "CHARTS_MAX", 2)
        first, second, third = self.many(3, folded_from=2)
        page = render_page("A run", (third, first, second), remedy="Draw them by hand.")
        assert page.count('<svg class="chart wide"') == 2
        assert "it has 2 of 3 charts; Draw them by hand." in page
        folded = re.search(r"The part-2</h2></summary>(.*?)</details>", page, re.DOTALL)
        assert folded is not None
        assert "Left out here, to keep the page small: 1 chart." in folded[1]

    def test_whatever_it_holds_a_page_stays_under_its_size(self) -> None:
        table = rows(*(f"{number} " + "x" * 900 for number in range(900)))
        sections = tuple(section(f"part-{number}", tables=(table,)) for number in range(4))
        page = render_page("A run", sections)
        assert len(page.encode()) < PAGE_BYTES_MAX
        assert "Left out to keep the page small: 3 tables and 0 parts." in page

    def test_sections_without_number_stay_under_it_too(self) -> None:
        lines = tuple(Line(text="&" * 1000) for _ in range(150))
        page = render_page("A run", [section(f"part-{number}", lines=lines) for number in range(30)])
        assert len(page.encode()) < PAGE_BYTES_MAX
        assert "and 50 more lines" in page

    def test_rows_above_the_limit_are_counted(self) -> None:
        page = render_page("A run", (section(tables=(rows(*map(str, range(1200))),)),))
        assert "The first 1,000 of 1,200 rows." in page
