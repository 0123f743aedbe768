"""Throughput and latency over time: every second's figures, stalls, failures, warm-up, and long phases."""

from typing import Any

import pytest
from msgspec.structs import replace

from s3bench.report.load.cells import load_rows
from s3bench.report.page.load.seconds import SPANS_MAX, spans, warmup_s
from s3bench.report.page.load.timeline import LoadTimeline
from s3bench.report.page.section import ChartFigure
from s3bench.results.load import Second
from tests.report.loads import EMPTY, document, load, result, second
from tests.report.page.chart_reader import assert_is_drawn, labels, marks, values

STALLED: dict[str, Any] = {"operations": 0, "p50": None, "p99": None, "max": None, "stalled": True}


def figure(*seconds: Second, warmup: int = 0, is_detailed: bool = True) -> ChartFigure:
    """The figure of a phase with these seconds."""
    stalls = tuple(each.second for each in seconds if each.stalled)
    told = load(seconds=seconds, stalls=stalls)
    (row,) = load_rows(document(result("load.get", told)))
    return LoadTimeline(row=row, load=told, loop=1, warmup=warmup, is_detailed=is_detailed).figure


def test_every_second_says_its_figures() -> None:
    made = figure(second(0), second(1, operations=2000))
    assert labels(made.chart) == [
        "second 0: 1,000 operations/s, 3.91 MiB/s, 15.9 in flight",
        "second 1: 2,000 operations/s, 7.81 MiB/s, 15.9 in flight",
        *(f"second {number}: p50 1.00 ms" for number in (0, 1)),
        *(f"second {number}: p99 2.00 ms" for number in (0, 1)),
        *(f"second {number}: max 12.3 ms" for number in (0, 1)),
    ]
    assert made.table is not None
    assert [cell.value for cell in made.table.rows[1]] == [
        1,
        2000,
        2000 * 4096,
        0,
        15.9,
        1e-3,
        2e-3,
        0.0123456789,
        None,
    ]
    assert_is_drawn(made)


def test_a_dot_stands_where_its_figure_is() -> None:
    made = figure(second(0), second(1))
    flow, *latencies = values(made.chart, "point")[1:]
    assert (flow["at"], flow["value"]) == (1.5, 1000 * 4096 / 1024**2)
    assert [each["value"] for each in latencies] == pytest.approx([1, 1, 2, 2, 12.3456789, 12.3456789])


def test_a_stalled_second_is_marked_and_has_no_latency() -> None:
    made = figure(second(0), second(1, **STALLED), second(2, **STALLED), second(3))
    assert "second 1: 0.00 operations/s, 15.9 in flight, stalled" in labels(made.chart)
    assert not [each for each in labels(made.chart) if each.startswith("second 1: p")]
    grounds = [each["values"] for each in marks(made.chart) if each["mark"]["type"] == "rect"]
    assert [(each["at"], each["end"], each["words"]) for each in grounds[0]] == [(1, 3, "stalled")]
    assert len(grounds) == len(made.chart.to_dict(validate=False)["vconcat"])
    assert "Stalled, shaded: 1-2." in made.description
    assert_is_drawn(made)


def test_failures_are_crosses_with_their_counts() -> None:
    made = figure(second(0), second(1, failures=1), second(2, failures=1234))
    assert "second 1: 1 failed attempt" in labels(made.chart)
    assert "second 2: 1,234 failed attempts" in labels(made.chart)
    assert "Crosses: 1,235 failed attempts." in made.description


def test_warm_up_is_told_apart() -> None:
    made = figure(second(0), second(1), second(2), warmup=2)
    (ground, _) = [each["values"] for each in marks(made.chart) if each["mark"]["type"] == "rect"]
    assert [(each["at"], each["end"], each["words"]) for each in ground] == [(0, 2, "warm-up")]
    assert made.table is not None
    assert [row[-1].text for row in made.table.rows] == ["warm-up", "warm-up", ""]


def test_a_run_of_one_second_without_percentiles_is_drawn() -> None:
    made = figure(second(0, operations=3, p50=None, p99=None))
    assert labels(made.chart)[-1] == "second 0: max 12.3 ms"
    assert_is_drawn(made)


def test_a_run_in_which_nothing_ended_is_drawn() -> None:
    made = figure(second(0, **STALLED))
    assert labels(made.chart) == ["second 0: 0.00 operations/s, 15.9 in flight, stalled"]
    assert_is_drawn(made)


def test_of_long_phases_lines_remain_that_say_their_range() -> None:
    count = 2 * SPANS_MAX + 1
    made = figure(*(second(number, operations=1000 + number) for number in range(count)), is_detailed=False)
    assert made.table is None
    assert labels(made.chart) == [
        "throughput: 3.91 MiB/s to 6.25 MiB/s",
        "p50: 1.00 ms to 1.00 ms",
        "p99: 2.00 ms to 2.00 ms",
        "max: 12.3 ms to 12.3 ms",
    ]
    assert "Each point stands for 3 seconds" in made.description
    assert_is_drawn(made)


def test_seconds_put_together_keep_their_sums_and_their_worst() -> None:
    seconds = [second(number, max=number * 1e-3) for number in range(2 * SPANS_MAX)]
    shown = spans(seconds)
    assert sum(each.operations for each in shown) == sum(each.operations for each in seconds)
    assert (shown[-1].latencies["max"], shown[-1].name) == (599e-3, "seconds 598-599")
    assert shown[-1].rate == 1000


def test_warm_up_is_that_of_the_row_s_own_phase() -> None:
    told = document(result("load.get", load(), dimensions=[{"phase": "b"}]))
    phases = [{"name": "a", "warmup": 9.0}, {"name": "b", "warmup": 1.5}]
    (row,) = load_rows(told)
    assert warmup_s(replace(told, options={"phases": phases}), row) == 2


@pytest.mark.parametrize("phases", [None, "x", [], [3], [{}], [{"warmup": "x"}], [{"warmup": True, "name": 1}]])
def test_options_of_others_tell_no_warm_up(phases: object) -> None:
    (row,) = load_rows(document(result("load.get", load())))
    assert warmup_s(replace(EMPTY, options={"phases": phases}), row) in {0, 1}
