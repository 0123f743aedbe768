"""A bisection on the page: the answer as the headline, and each comparison as a row of the chart and of the table."""

from msgspec.structs import replace

from s3bench.report.bisection import answer_line
from s3bench.report.page.bisection_section import bisection_section
from s3bench.report.page.section import Headline
from s3bench.report.table import Tone
from tests.report.page.forest_reader import drawn, labels
from tests.report.test_bisection import HOSTILE, record_of, slower_from


def headline(section_headline: Headline | None) -> Headline:
    assert section_headline is not None
    return section_headline


def test_the_first_changed_version_is_the_headline() -> None:
    found = headline(bisection_section(record_of(slower_from(5))).headline)
    assert (found.verdict, found.tone) == ("FOUND", Tone.BAD)
    assert found.text.startswith("cli-crt 2.35.0 is the first that changed total_time of s3.cp.upload: +20.0% slower")
    assert found.figures[:2] == (("versions", "8"), ("comparisons", "5"))


def test_what_got_better_and_what_did_not_change_are_good() -> None:
    assert headline(bisection_section(record_of(slower_from(5, 0.8))).headline).tone is Tone.GOOD
    unchanged = headline(bisection_section(record_of(slower_from(99))).headline)
    assert (unchanged.verdict, unchanged.tone) == ("NO CHANGE", Tone.GOOD)


def test_every_comparison_is_drawn_and_stands_in_the_table() -> None:
    record = record_of(slower_from(5))
    section = bisection_section(record)
    (figure,) = section.figures
    assert labels(figure.chart) == [answer_line(record, each) for each in record.answers]
    assert len(section.tables[0].rows) == len(record.answers)


def test_a_search_that_has_just_begun_says_so() -> None:
    section = bisection_section(record_of(slower_from(5), most=0))
    assert (headline(section.headline).verdict, headline(section.headline).tone) == ("NOT DONE", Tone.WARNING)
    assert section.figures == section.tables == ()


def test_a_version_without_a_result_is_a_warning() -> None:
    lines = bisection_section(record_of(slower_from(5), broken=frozenset({4}))).lines
    assert [(line.text, line.tone) for line in lines] == [("failed: 2.34.0: it was yanked", Tone.WARNING)]


def test_hostile_names_are_texts() -> None:
    record = record_of(slower_from(1), count=2)
    section = bisection_section(replace(record, versions=("1.0", HOSTILE), client=HOSTILE))
    assert headline(section.headline).text.isprintable()
    assert section.title.isprintable()
    assert "\x1b" not in drawn(section.figures[0])
