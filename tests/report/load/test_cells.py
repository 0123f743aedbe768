"""From a document to rows and phases, and figures as text."""

from typing import Any

import pytest

from s3bench.report.load import cells
from tests.report.loads import document, latency, load, result


def test_rows_of_one_phase_stand_together_whatever_tells_them_apart() -> None:
    of = [{"threads": "16"}]
    rows = cells.load_rows(
        document(
            result("s3.cp.upload"),
            result("load.all", load("all"), dimensions=of),
            result("load.get", load("get", job="a", in_flight=None), dimensions=[*of, {"job": "a"}]),
            result("load.put", load("put", in_flight=None), dimensions=of),
            result("load.get", load("get"), dimensions=[{"threads": "32"}]),
        )
    )
    phases = cells.load_phases(rows)
    assert [(phase.title, [row.label for row in phase.rows]) for phase in phases] == [
        ("threads=16", ["all", "a get", "put"]),
        ("threads=32", ["get"]),
    ]
    assert [row.label for row in phases[0].kinds] == ["a get", "put"]
    assert [row.is_whole for row in rows] == [True, False, False, True]


def test_bytes_both_ways_count_over_the_measured_window() -> None:
    both = load(operations=100, window_s=4.0, bytes_up=3000, bytes_down=5000)
    assert cells.bytes_rate(both) == pytest.approx(2000.0)
    assert cells.bytes_rate(load(operations=0)) == 0.0


def test_the_latency_of_an_open_loop_counts_from_the_plan() -> None:
    assert cells.latency_of(load(response=latency(0.5))).p50 == 0.5
    assert cells.latency_of(load()).p50 == 1e-3


def test_medians_leave_out_loops_that_do_not_have_the_figure() -> None:
    (row,) = cells.load_rows(document(result("load.get", load(operations=5), load(p50_s=2e-3), load(p50_s=4e-3))))
    assert row.median(lambda each: each.latency.p50) == 3e-3
    assert row.spread(lambda each: each.latency.p50) == pytest.approx(1 / 3)
    (few,) = cells.load_rows(document(result("load.get", load(operations=5), load(operations=5))))
    assert few.median(lambda each: each.latency.p50) is None
    assert few.spread(lambda each: each.latency.p50) is None


def test_of_several_loops_the_least_and_the_greatest_are_those_of_all_and_percentiles_are_medians() -> None:
    loops = [load(p50_s=p50_s) for p50_s in (1e-3, 5e-3, 2e-3)]
    (row,) = cells.load_rows(document(result("load.get", *loops)))
    found = {name: row.point(name, cells.point_of(cells.latency_of, name)) for name in ("min", "p50", "p99", "max")}
    assert found == {"min": 0.5e-3, "p50": 2e-3, "p99": 4e-3, "max": 50e-3}
    assert cells.latency_text(row, cells.latency_of, "max") == "50.0 ms"


def test_the_greatest_time_of_several_loops_may_be_that_of_an_unfinished_operation() -> None:
    loops = [load(), load(unfinished=1, oldest=2.0), load()]
    (row,) = cells.load_rows(document(result("load.get", *loops)))
    assert cells.latency_text(row, cells.latency_of, "max") == "≥2.00 s"
    (ended,) = cells.load_rows(document(result("load.get", *loops, load(p50_s=0.3))))
    assert cells.latency_text(ended, cells.latency_of, "max") == "3.00 s"


@pytest.mark.parametrize(
    ("rate", "text"), [(None, "-"), (0.0, "0.00"), (3.14159, "3.14"), (31.4159, "31.4"), (123_456.7, "123,457")]
)
def test_rates_have_three_digits_at_least(rate: float | None, text: str) -> None:
    assert cells.rate_text(rate) == text


@pytest.mark.parametrize(
    ("rate", "text"),
    [(None, "-"), (0.0, "-"), (1.0, "<0.01"), (122.5e6, "0.98"), (125e6, "1.00"), (8003e6, "64.02")],
)
def test_a_known_rate_is_a_figure_in_gbit_s(rate: float | None, text: str) -> None:
    assert cells.gbit_text(rate) == text


def test_numbers_are_told_as_ranges() -> None:
    assert cells.ranges_text([3]) == "3"
    assert cells.ranges_text([3, 4, 5, 9, 11, 12]) == "3-5, 9, 11-12"
    assert cells.ranges_text([]) == ""


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"unfinished": 0, "oldest": 0.0, "oldest_attempt": 0.0}, "-"),
        ({"unfinished": 3, "oldest": 0.0, "oldest_attempt": 0.0}, "-"),
        ({"unfinished": 1, "oldest": 2.0, "oldest_attempt": 2.0}, "≥2.00 s"),
    ],
)
def test_where_nothing_succeeded_the_greatest_time_is_that_of_what_was_unfinished(
    changes: dict[str, Any], text: str
) -> None:
    rows = cells.load_rows(document(result("load.get", load(operations=0, failed=9, error_rate=1.0, **changes))))
    assert cells.latency_text(rows[0], cells.latency_of, "max") == text
    assert any(line.startswith("≥") for line in cells.legend_lines(rows)) is text.startswith("≥")
