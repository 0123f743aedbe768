import re
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from s3bench.report.page.run.detail import DOTS_MAX, TABLE_ROWS_MAX
from s3bench.report.page.run.section import run_sections
from s3bench.report.page.section import Section
from s3bench.report.table import Tone
from s3bench.results.document import Document
from s3bench.results.measurement import Failure
from s3bench.results.metrics import METRICS_BY_NAME, render_figure
from tests.compare.documents import client, document, result
from tests.report.page.chart_reader import assert_is_drawn
from tests.report.page.run_documents import SPAN, classic_beside_crt, data, figure_of, figures, labels, many, timed
from tests.report.runs import HOSTILE, hostile, with_failures

SECONDS = METRICS_BY_NAME["total_time"].unit


def texts(sections: tuple[Section, ...]) -> list[str]:
    """All that a page would show as text, its charts aside."""
    found = []
    for section in sections:
        tables = [*section.tables, *(figure.table for figure in section.figures if figure.table)]
        found += [section.title, *(line.text for line in section.lines)]
        found += [text for figure in section.figures for text in (figure.title, figure.description)]
        found += [column.heading for table in tables for column in table.columns]
        found += [cell.text for table in tables for row in table.rows for cell in row]
        found += texts(section.parts)
    return found


def test_the_summary_has_a_row_for_each_client_with_its_medians_and_failures() -> None:
    summary = run_sections(classic_beside_crt())[0]
    assert [line.text for line in summary.lines][:1] == ["1 run failed, on 1 of 2 rows"]
    table = summary.tables[0]
    titles = [column.heading for column in table.columns]
    assert titles == [
        "benchmark",
        "client",
        "n",
        "total time",
        "CPU time",
        "peak memory",
        "first call",
        "throughput",
        "requests",
        "engine",
        "status",
    ]
    classic, crt = table.rows
    assert [cell.text + cell.more for cell in classic[:4]] == [
        "s3.cp.download FileSize=32MB",
        "cli-classic",
        "6",
        "1.05 s (1.00 s to 1.10 s)",
    ]
    assert (classic[-1].text, classic[-1].tone) == ("1 failed", Tone.BAD)
    assert crt[3].value == pytest.approx(0.525)


def test_classic_stands_beside_crt_in_one_part() -> None:
    _, benchmarks = run_sections(classic_beside_crt())
    assert [part.title for part in benchmarks.parts] == ["s3.cp.download FileSize=32MB"]
    assert [figure.name for figure in benchmarks.parts[0].figures] == [
        "total-time",
        "total-time-ecdf",
        "memory-cpu",
        "memory-cpu-over-time",
        "start-up",
        "requests",
    ]


def test_every_run_is_labelled_with_the_documents_figure() -> None:
    whole = classic_beside_crt()
    said = labels(figure_of(run_sections(whole), "total-time"))
    for each in whole.results:
        for measurement in each.measurements:
            figure = render_figure(measurement.total_time, SECONDS)
            assert f"{each.client.name} run {measurement.iteration}: {figure}" in said
    assert "cli-classic run 6 failed: the client failed" in said
    assert "cli-crt median of 6 runs: 525 ms (95 % interval 500 ms to 550 ms)" in said


def test_the_table_of_a_benchmark_tells_which_run_failed() -> None:
    table = run_sections(classic_beside_crt())[1].parts[0].tables[0]
    assert len(table.rows) == 7
    assert [cell.text for cell in table.rows[6]][:3] == ["6", "failed", "-"]


def test_the_overview_measures_clients_by_the_fastest_of_their_benchmark() -> None:
    overview = figure_of(run_sections(classic_beside_crt()), "overview")
    medians = {value["client"]: value["median"] for value in data(overview) if "median" in value}
    assert medians == {"cli-classic": pytest.approx(2.0), "cli-crt": pytest.approx(1.0)}


def test_the_overview_of_one_client_is_in_seconds() -> None:
    overview = figure_of(run_sections(document(result(), result((2.0, 3.0), name="other"))), "overview")
    assert {value["median"] for value in data(overview)} == {0.525, 2.5}


def test_what_was_not_measured_has_no_chart_and_no_column() -> None:
    bare = tuple(
        replace(each, peak_memory=None, cpu_time=None, throughput=None, series=None, requests=())
        for each in timed().measurements
    )
    summary, benchmarks = run_sections(document(replace(timed(), measurements=bare)))
    assert "peak memory" not in [column.heading for column in summary.tables[0].columns]
    names = [figure.name for figure in benchmarks.parts[0].figures]
    assert names == ["total-time", "total-time-ecdf", "start-up"]
    assert any("no samples" in line.text for line in benchmarks.parts[0].lines)


@pytest.mark.parametrize("runs", [0, 1])
def test_a_document_of_hardly_any_runs_has_its_sections(runs: int) -> None:
    each = timed()
    sections = run_sections(document(replace(each, measurements=each.measurements[:runs])))
    names = [figure.name for figure in figures(sections)]
    assert "total-time-ecdf" not in names
    assert ("total-time" in names) is bool(runs)
    for figure in figures(sections):
        assert_is_drawn(figure)


def test_an_empty_document_says_so() -> None:
    sections = run_sections(document())
    assert [line.text for section in sections for line in section.lines] == ["no results"]


def test_failures_without_any_measurement_are_told() -> None:
    said = texts(run_sections(with_failures()))
    assert "cli-crt run 6 failed: the client failed; request PUT /b/k" in said
    assert "the machine is busy" not in said  # the page's head says it


def test_a_failure_outside_of_the_iterations_is_told_and_has_no_place_in_a_chart() -> None:
    warm_up = Failure(iteration=None, what="the warm-up failed")
    sections = run_sections(document(replace(timed(), errors=(warm_up,))))
    assert "cli-crt failed outside of the iterations: the warm-up failed" in texts(sections)
    for figure in figures(sections):
        assert_is_drawn(figure)


def test_clients_have_the_same_colours_in_every_chart() -> None:
    whole = document(timed("cli-classic"), timed(), timed("s5cmd"), result(name="s3.ls", of=client("s5cmd")))
    for figure in figures(run_sections(whole)):
        for scale in color_scales(figure.chart.to_dict(validate=False)):
            assert scale["domain"] in (["cli-classic", "cli-crt", "s5cmd"], ["GET ranged"])


def color_scales(tree: Any) -> Iterator[dict[str, Any]]:
    """The scales of all colours in a chart."""
    match tree:
        case dict():
            if "scale" in tree.get("color", ()):
                yield tree["color"]["scale"]
            for each in tree.values():
                yield from color_scales(each)
        case list():
            for each in tree:
                yield from color_scales(each)
        case _:
            pass


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "whole", [classic_beside_crt(), hostile(), with_failures()], ids=["usual", "hostile", "failed"]
)
def test_vega_lite_draws_every_chart(whole: Document) -> None:
    for figure in figures(run_sections(whole)):
        assert_is_drawn(figure)
        assert re.fullmatch(r"[a-z0-9-]+", figure.name)


def test_hostile_names_are_short_and_printable() -> None:
    spans = (replace(SPAN, kind=HOSTILE, fault=HOSTILE, error="x" * 1_000_000, connection=None),)
    whole = hostile()
    first = replace(whole.results[0], measurements=(replace(whole.results[0].measurements[0], requests=spans),))
    sections = run_sections(replace(whole, results=(first, *whole.results[1:])))
    said = [*texts(sections), *(label for figure in figures(sections) for label in labels(figure))]
    assert all(text.isprintable() for text in said)
    assert max(map(len, said)) < 1000


@pytest.mark.parametrize(
    ("benchmarks", "runs", "clients", "names"),
    [
        (9, 10, ("cli-crt",), {"overview", "total-time", "total-time-ecdf"}),
        (31, 10, ("cli-crt",), {"overview", "total-time"}),
        (200, 40, ("cli-crt",), {"overview", *(f"runs-{number}" for number in range(1, 6))}),
        (50, 40, ("cli-classic", "cli-crt", "s5cmd", "boto3-crt", "boto3-classic"), None),
    ],
)
def test_many_benchmarks_have_fewer_charts_and_that_is_said(
    benchmarks: int, runs: int, clients: tuple[str, ...], names: set[str] | None
) -> None:
    sections = run_sections(many(benchmarks, runs, clients))
    drawn = list(figures(sections))
    assert names is None or {figure.name for figure in drawn} == names
    assert sum(len(data(figure)) for figure in drawn) <= DOTS_MAX + 1000
    assert len(drawn) < 100
    assert any("leaves out" in line.text for line in sections[1].lines)
    assert all(len(part.tables[0].rows) <= TABLE_ROWS_MAX for part in sections[1].parts if part.tables)


def test_the_first_benchmarks_stand_open_where_there_are_few() -> None:
    folded = [part.is_folded for part in run_sections(many(5, 2))[1].parts]
    assert folded == [False, False, False, True, True]
    assert all(part.is_folded for part in run_sections(many(20, 2))[1].parts)
