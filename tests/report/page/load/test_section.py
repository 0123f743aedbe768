"""A whole load run on the page: lines, tables, phases, limits, hostile names, documents of other tools."""

from typing import Any

import pytest
from msgspec.structs import replace

from s3bench.report.load.cells import load_rows
from s3bench.report.page.load.overview import LINES_MAX, found_lines, note_lines
from s3bench.report.page.load.section import load_sections
from s3bench.report.table import Table, Tone
from s3bench.results.document import Result
from s3bench.results.load import Latency
from s3bench.results.measurement import Failure
from tests.report.loads import EMPTY, document, everything, failures, latency, load, result, second
from tests.report.page.chart_reader import assert_is_drawn, figures, labels, texts

HOSTILE = "a.b[0]\\ <script>alert(1)</script> =cmd|x \x1b[31m \u202e\n"
UNKNOWN = Latency(
    count=0, mean=None, min=None, p25=None, p50=None, p75=None, p90=None, p99=None, p999=None, max=None
)  # fmt: skip


def column(table: Table, title: str) -> list[str]:
    """The texts of a column."""
    place = [each.title for each in table.columns].index(title)
    return [row[place].text for row in table.rows]


def test_the_summary_comes_first() -> None:
    (section,) = load_sections(document(result("load.get", load(failed=3))))
    assert section.lines[0].text == (
        "get: 1,000/s; 3.91 MiB/s; latency p50 1.00 ms, p90 1.50 ms, p99 2.00 ms, p99.9 4.00 ms, max 10.0 ms; 3 failed"
    )
    assert section.lines[0].tone is Tone.BAD


def test_the_table_is_the_terminal_s() -> None:
    (section,) = load_sections(everything())
    (table,) = section.tables
    assert column(table, "kind") == ["all", "get", "put", "get", "get service", "delete"]
    assert column(table, "ops") == ["1,236,567", "1,234,567", "2,000", "9,000", "", "3,630"]
    assert column(table, "errors") == ["12", "12", "0", "0", "", "0"]
    assert column(table, "latency p50")[3:] == ["500 ms", "1.00 ms", "2.00 ms"]


def test_what_has_to_be_said_stands_with_its_phase() -> None:
    (section,) = load_sections(everything())
    lines = {line.text: line.tone for part in section.parts for line in part.lines}
    assert lines["failed: get: 12 of 1,234,579 operations (0.000972 %)"] is Tone.BAD
    assert lines["stalled: all: no operation succeeded in seconds 7-9, 15"] is Tone.WARNING
    assert lines["not complete"] is Tone.WARNING
    assert any(text.startswith("bottleneck: the client") for text in lines)


def test_failures_have_their_time_lost() -> None:
    (section,) = load_sections(everything())
    (table,) = section.parts[0].tables
    assert [cell.text for cell in table.rows[0]] == ["get", "503 SlowDown", "120", "110", "12.0 s", "39.1 KiB"]
    assert column(table, "bytes wasted") == ["39.1 KiB", "-", "-"]


def test_loops_sum_their_failures() -> None:
    loops = [load(failures=(failures("timeout", count),)) for count in (2, 3)]
    (section,) = load_sections(document(result("load.get", *loops)))
    assert column(section.tables[1], "attempts") == ["5"]


def test_latency_by_planned_rate_tells_where_a_server_gives_out() -> None:
    steps = [
        result(
            "load.get",
            load(rate_planned=rate, response=latency(p50_s), unfinished=1, oldest=p50_s * 16),
            dimensions=[{"rate": f"{rate}/s"}, {"step": f"{number}"}],
        )
        for number, (rate, p50_s) in enumerate(((100.0, 0.01), (200.0, 0.5)), 1)
    ]
    found = {"rate_per_s": 100.0, "is_limit": True, "words": "100/s holds"}
    (section,) = load_sections(replace(document(*steps), options={"found": found, "slo": "p99<50ms"}))
    (made,) = section.figures
    assert labels(made.chart)[-1] == "rate=200.0/s step=2: 200/s planned, 1,000/s reached, max ≥8.00 s"
    assert section.lines[0].text == "p99<50ms: 100/s holds"
    assert labels(made.chart)[1] == "rate=200.0/s step=2: 200/s planned, 1,000/s reached, p50 500 ms"
    assert_is_drawn(made)


@pytest.mark.parametrize(
    ("found", "tone"),
    [
        ({"outcome": "holds", "clause": "", "words": "p99<50ms held"}, Tone.PLAIN),
        ({"outcome": "broken", "clause": "p99<50ms", "words": "p99<50ms did not hold"}, Tone.WARNING),
        ({"rate_per_s": 100.0, "is_limit": True, "words": "100.0/s held"}, Tone.PLAIN),
        ({"rate_per_s": 100.0, "is_limit": False, "words": "at least 100.0/s held"}, Tone.WARNING),
    ],
)
def test_only_a_result_that_says_less_than_was_asked_is_a_warning(found: dict[str, object], tone: Tone) -> None:
    (line,) = found_lines(replace(EMPTY, options={"found": found}))
    assert line.tone is tone


def test_a_document_of_another_tool_has_what_it_told() -> None:
    told = load(
        attempts=None, retried=None, repeated=None, in_flight=None, in_flight_by_littles_law=None,
        client_cpu_share=None, latency=UNKNOWN, first_byte=UNKNOWN,
    )  # fmt: skip
    (section,) = load_sections(document(result("load.get", told, dimensions=[{"phase": "get"}])))
    assert section.lines == ()
    assert [column.heading for column in section.tables[0].columns] == [
        "phase", "kind", "ops", "rate/s", "throughput", "errors",
    ]  # fmt: skip
    assert not list(figures(section))


def test_a_document_without_results_says_so() -> None:
    (section,) = load_sections(EMPTY)
    assert [line.text for line in section.lines] == ["no results"]


def test_hostile_names_do_no_harm() -> None:
    seconds = tuple(second(number) for number in range(2))
    told = load(HOSTILE, job=HOSTILE, seconds=seconds, failures=(failures(HOSTILE * 50_000, 1),))
    (section,) = load_sections(
        document(result(HOSTILE, told, dimensions=[{HOSTILE: HOSTILE}], warnings=[HOSTILE * 50_000]))
    )
    for text in texts(section):
        assert text.isprintable()
        assert len(text) <= 2000
    for each in figures(section):
        assert_is_drawn(each)


def test_what_a_large_document_leaves_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("s3bench.report.page.load.section.PHASES_MAX", 2)
    monkeypatch.setattr("s3bench.report.page.load.section.ROWS_MAX", 4)
    told = document(*(result("load.get", load(), dimensions=[{"phase": f"{number}"}]) for number in range(5)))
    (section,) = load_sections(told)
    assert [line.text for line in section.lines[-2:]] == [
        "the first 4 of 5 results; all are in the results document",
        "charts of the first 2 of 5 phases",
    ]
    assert (len(section.parts), len(section.tables[0].rows)) == (2, 4)


def test_of_many_notes_the_rest_is_counted() -> None:
    lines = list(note_lines(("warning", f"{number}") for number in range(LINES_MAX + 3)))
    assert len(lines) == LINES_MAX + 1
    assert lines[-1].text == "and 3 more, in the results document"


def test_seconds_are_drawn_of_whole_phases_alone() -> None:
    seconds = (second(0), second(1))
    whole, part = load("all", seconds=seconds), load("get", in_flight=None)
    told = document(result("load.all", whole), result("load.get", part))
    assert len(load_rows(told)) == 2
    (section,) = load_sections(told)
    assert [each.name for each in figures(section)] == ["over-time-1"]


def test_a_matrix_has_a_section_of_its_own() -> None:
    reads = [
        result("load.get", load(operations=1000 * threads), dimensions=[{"size": "4 KiB"}, {"threads": f"{threads}"}])
        for threads in (1, 8)
    ]
    (matrix,) = load_sections(document(*reads))
    assert matrix.headline is not None
    assert matrix.headline.text == "Highest throughput 3.12 MiB/s with 4 KiB on 8 threads"
    assert matrix.headline.remarks == ("Highest rate 800 with 4 KiB on 8 threads (operations/s).",)


@pytest.mark.parametrize(
    ("bottleneck", "failed", "text", "tone"),
    [
        ("server", 0, "1,000 GET/s, limited by the server", Tone.PLAIN),
        ("client", 1, "1,000 GET/s, limited by the load generator, not by the server", Tone.WARNING),
        ("", 5000, "1,000 GET/s", Tone.BAD),
    ],
)
def test_the_headline_is_the_rate_and_what_limited_it(bottleneck: str, failed: int, text: str, tone: Tone) -> None:
    (section,) = load_sections(document(result("load.get", load(bottleneck=bottleneck, failed=failed))))
    assert section.headline is not None
    assert (section.headline.text, section.headline.tone) == (text, tone)
    assert ("latency p99", "2.00 ms") in section.headline.figures


def test_the_greatest_time_in_headline_and_summary_is_that_of_all_loops() -> None:
    loops = [load(p50_s=p50_s) for p50_s in (1e-3, 6.65e-3, 1e-3)]
    (section,) = load_sections(document(result("load.get", *loops)))
    assert section.headline is not None
    assert section.headline.figures[1:5] == (
        ("latency p50", "1.00 ms"), ("latency p99", "2.00 ms"), ("latency max", "66.5 ms"), ("operations", "30,000"),
    )  # fmt: skip
    assert ", max 66.5 ms; " in section.lines[0].text
    assert column(section.tables[0], "latency max") == ["66.5 ms"]


def test_an_operation_that_did_not_end_is_the_greatest_time_of_the_headline() -> None:
    held = load(rate_planned=100.0, response=latency(0.5), unfinished=1, oldest=8.0, oldest_attempt=7.5)
    (section,) = load_sections(document(result("load.get", held)))
    assert section.headline is not None
    assert ("latency max", "≥8.00 s") in section.headline.figures
    assert ", max ≥8.00 s; " in section.lines[0].text


def test_of_several_phases_the_chart_of_the_fastest_comes_first() -> None:
    phases = [
        result(
            "load.get",
            load(operations=operations, seconds=(second(0), second(1))),
            dimensions=[{"phase": name}],
        )
        for name, operations in (("warm", 1000), ("cold", 9000))
    ]
    (section,) = load_sections(document(*phases))
    assert [each.title for each in section.figures] == ["Throughput and latency over time: phase=cold"]
    assert [len(part.figures) for part in section.parts] == [1, 0]


def in_cell(kind: str = "get", **known: Any) -> Result:
    """A cell of a matrix."""
    return result(f"load.{kind}", load(kind), dimensions=[{"size": "4 KiB"}, {"threads": "1"}], **known)


def test_the_first_matrix_tells_warnings_and_cells_whose_figures_were_refused() -> None:
    refused = Failure(iteration=0, what="the figures contradict each other", why="Little's law")
    lost = result("load.get", errors=(refused,), dimensions=[{"size": "4 KiB"}, {"threads": "8"}])
    first, second = load_sections(document(in_cell(warnings=["the clock jumped"]), lost, in_cell("put")))
    assert [(line.text, line.tone) for line in first.lines] == [
        ("warning: load.get size=4 KiB threads=1: the clock jumped", Tone.WARNING),
        ("error: load.get size=4 KiB threads=8, loop 1: the figures contradict each other: Little's law", Tone.BAD),
    ]
    assert second.lines == ()


@pytest.mark.parametrize("others", [(), (result("load.stat", load("stat")),)])
def test_a_matrix_that_is_not_drawn_keeps_its_table_and_that_is_said(others: tuple[Result, ...]) -> None:
    kinds = ["get", "put", "delete", "head", "list"]
    sections = load_sections(document(*others, *(in_cell(kind) for kind in kinds)))
    matrices = sections[len(others) :]
    assert [section.title for section in matrices] == [f"Matrix: {kind}" for kind in kinds]
    assert all(section.tables for section in matrices)
    assert "charts of the first 4 of 5 matrices" in [line.text for line in sections[0].lines]


def test_cells_of_a_matrix_do_not_count_as_results_that_the_table_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("s3bench.report.page.load.section.ROWS_MAX", 1)
    overview, _ = load_sections(document(result("load.stat", load("stat")), in_cell()))
    assert not any("results" in line.text for line in overview.lines)
