"""The comparison on the page: its words are the terminal's, its charts the rows' figures."""

import pytest
from msgspec.structs import replace

from s3bench.compare.comparison import Comparison, compare
from s3bench.compare.difference import ChangeOutcome
from s3bench.report.comparison.cells import change_text, interval_text, is_exact, subject_text
from s3bench.report.page.comparison_section import comparison_section
from s3bench.report.page.section import Headline, Section
from s3bench.report.table import Table, Tone
from s3bench.results.document import Result
from tests.compare.documents import BASE, client, result, slower, source
from tests.compare.test_load_comparison import P50S
from tests.compare.test_load_comparison import result as load_result
from tests.report.page.forest_reader import drawn, labels, layers

OLD = client("cli-crt", "2.36.0")


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    before = (
        result(dimensions={"FileSize": "4KB"}, of=OLD),
        result(dimensions={"FileSize": "32MB"}, of=OLD),
        result(name="s3.rm", of=client("s5cmd", "2.3.0")),
        result(name="s3.ls", of=OLD),
    )
    after = (
        result(slower(BASE, 1.2), dimensions={"FileSize": "4KB"}, peak=60 << 20),
        result((*BASE, 5.0), dimensions={"FileSize": "32MB"}, kinds={"HEAD": 2, "GET ranged": 4}),
        result(slower(BASE[:2], 1.5), name="s3.rm", of=client("s5cmd", "2.3.0")),
    )
    return compare([source("before.json", *before), source("after.json", *after)])


def texts(table: Table) -> list[tuple[str, ...]]:
    return [tuple(cell.text for cell in row) for row in table.rows]


def tone(*times: tuple[float, ...], **known: object) -> Tone:
    before, after = times
    return headline(compare([source("a", result(before)), source("b", result(after, **known))])).tone


def headline(comparison: Comparison) -> Headline:
    found = comparison_section(comparison).headline
    assert found is not None
    return found


def test_the_summary_comes_first(comparison: Comparison) -> None:
    section = comparison_section(comparison)
    assert section.title == "after.json against before.json"
    found = headline(comparison)
    assert (found.verdict, found.tone) == ("SLOWER", Tone.BAD)
    assert found.text == (
        "total_time of s3.cp.download FileSize=4KB on cli-crt@2.38.5 against cli-crt@2.36.0: +20.0% (95 % interval "
        "+13.5% to +26.9%)"
    )
    assert found.remarks == (f"525 ms to 630 ms, medians. In all: {comparison.others[0].summary}.",)


def test_errors_where_there_were_none_are_the_headline_with_their_difference() -> None:
    after = load_result([each / 1.3 for each in P50S[:4]], error_rate=0.3)
    section = comparison_section(compare([source("a", load_result(P50S[:4])), source("b", after)]))
    assert section.headline is not None
    assert (section.headline.verdict, section.headline.tone) == ("MORE ERRORS", Tone.BAD)
    assert section.headline.text.endswith(": +30 points (95 % interval +30 points to +30 points)")
    assert any("of a share in percentage points" in note for table in section.tables for note in table.notes)


def test_a_change_that_is_a_difference_is_not_drawn_as_a_ratio() -> None:
    def timed(*cpu_times_s: float) -> Result:
        run = result(BASE[:1]).runs[0]
        runs = tuple(replace(run, cpu_time=each, user_cpu_time=each) for each in cpu_times_s)
        return replace(result(), measurements=runs)

    before, after = timed(*(0.0,) * 15, *(5.0,) * 18), timed(*(4.9,) * 18, *(100.0,) * 15)
    section = comparison_section(compare([source("a", before), source("b", after)]))
    assert section.headline is not None
    assert section.headline.verdict == "MORE CPU TIME"
    assert "medians" not in section.headline.text
    assert "forest-cpu-time" not in [figure.name for figure in section.figures]


def test_the_mood_is_that_of_the_gravest_row() -> None:
    assert tone(BASE, slower(BASE, 1.2)) is Tone.BAD
    assert tone(BASE, BASE[::-1], kinds={"HEAD": 2, "GET ranged": 4}) is Tone.WARNING
    assert tone(BASE, slower(BASE, 0.7)) is Tone.GOOD
    assert tone(BASE[:2], slower(BASE[:2], 2)) is Tone.WARNING
    assert tone(BASE, BASE[::-1]) is Tone.PLAIN


def test_a_chart_draws_the_changes_of_its_metric_in_the_order_of_the_table(comparison: Comparison) -> None:
    section = comparison_section(comparison)
    (other,) = comparison.others
    assert [figure.name for figure in section.figures] == [
        "forest-total-time", "forest-cpu-time", "forest-peak-memory",
    ]  # fmt: skip
    for figure, metric in zip(section.figures, ("total_time", "cpu_time", "peak_memory"), strict=True):
        rows = [row for row in other.rows if row.metric == metric]
        *_, points = layers(figure.chart, "point")
        assert [value["ratio"] for value in points] == [1 + (row.change or 0.0) for row in rows]
        assert [value["word"] for value in points] == [row.outcome.value for row in rows]
        for label, row in zip(labels(figure.chart), rows, strict=True):
            assert label.startswith(f"{subject_text(row)}: {metric} {change_text(row)}, 95 % interval")
            assert interval_text(row) in label


def test_all_rows_stand_in_tables_and_exact_ones_by_name(comparison: Comparison) -> None:
    section = comparison_section(comparison)
    measured, differing = section.tables
    (equal,) = section.parts[0].tables
    (other,) = comparison.others
    assert len(measured.rows) == sum(not is_exact(row) for row in other.rows)
    assert texts(measured)[0][1:] == (
        "total_time", "6", "525 ms", "630 ms", "+20.0%", "+13.5% to +26.9%", "0.004", "slower",
    )  # fmt: skip
    assert [(row[1], row[2].split(" (")[0]) for row in texts(differing)] == [
        ("requests: HEAD", "differs: 1 → 2"), ("wire.requests", "differs: 5 → 6"),
    ]  # fmt: skip
    assert sum(int(row[1]) for row in texts(equal)) == sum(row.outcome is ChangeOutcome.EQUAL for row in other.rows)
    assert "s3.rm on s5cmd@2.3.0 (5)" in {row[0]: row[2] for row in texts(equal)}["wire.requests"]


def test_what_is_missing_and_what_is_doubtful_is_told(comparison: Comparison) -> None:
    section = comparison_section(comparison)
    assert "missing in after.json: s3.ls on cli-crt@2.36.0" in [line.text for line in section.lines]
    _, doubts = section.parts
    assert doubts.is_folded
    assert any("has outliers, which are included: iteration 6 (5.00 s)" in line.text for line in doubts.lines)


@pytest.mark.parametrize(
    "lacking",
    [
        replace(result(), measurements=()),
        replace(result(), measurements=tuple(replace(run, wire=None, requests_by_kind={}) for run in result().runs)),
    ],
    ids=["all runs failed", "no wire log"],
)
def test_a_side_without_requests_has_its_kinds_of_requests_among_the_counts(lacking: Result) -> None:
    other = result(slower(BASE, 1.2), name="s3.rm")
    section = comparison_section(compare([source("a", result(), other), source("b", lacking, other)]))
    (counts,) = (table for table in section.tables if "counts" in [column.heading for column in table.columns])
    assert dict(row[1:3] for row in texts(counts)) == {
        "requests: HEAD": "too few runs: 1 → - (n=6 and 0; nothing to compare with)",
        "requests: GET ranged": "too few runs: 4 → - (n=6 and 0; nothing to compare with)",
    }


def test_several_others_have_a_part_each() -> None:
    three = [source("a", result()), source("b", result(slower(BASE, 2))), source("c", result(slower(BASE, 3)))]
    section = comparison_section(compare(three))
    assert [part.title for part in section.parts] == ["b against a", "c against a"]
    assert len({part.name for part in section.parts}) == 2
    assert all(part.figures for part in section.parts)


def test_a_document_against_itself_has_nothing_to_be_judged() -> None:
    one = source("a.json", result())
    found = headline(compare([one, one]))
    assert found.text.startswith("no difference: the same measurements on both sides")
    assert found.tone is Tone.PLAIN


def test_an_empty_comparison_has_a_head_alone(comparison: Comparison) -> None:
    other = replace(comparison.others[0], rows=(), missing=(), counts={}, summary="no metric was measured")
    empty = replace(comparison, others=(other,))
    section = comparison_section(empty)
    assert section.figures == section.tables == section.parts == ()
    assert headline(empty).text.startswith("no metric was measured")


def test_500_benchmarks_are_all_in_the_table_and_60_in_the_chart() -> None:
    names = [f"bench.{number}" for number in range(500)]
    before, after = ([result(times, name=name) for name in names] for times in (BASE, slower(BASE, 1.3)))
    section = comparison_section(
        compare([source("a", *before), source("b", *after)], metrics=("total_time", "wire.requests"))
    )
    assert len(section.tables[0].rows) == 500
    (figure,) = section.figures
    assert len(labels(figure.chart)) == 60
    assert section.parts[0].tables[0].rows[0][1].text == "500"


def test_hostile_names_do_no_harm() -> None:
    name = "<script>alert(1)</script>\x1b[31m\u202e" + "x" * 100_000
    sides = [source(name, result(times, name=name, dimensions={name: name})) for times in (BASE, slower(BASE, 2))]
    section = comparison_section(compare(sides))
    shown = [line.text for line in section.lines] + [
        text for table in section.tables for row in texts(table) for text in row
    ]
    assert all(text.isprintable() and len(text) < 2_500 for text in shown)
    assert "<script" not in drawn(section.figures[0])


def test_parts_and_figures_have_names_of_their_own(comparison: Comparison) -> None:
    section: Section = comparison_section(comparison)
    names = [figure.name for figure in section.figures]
    assert len(set(names)) == len(names)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for name in names)
