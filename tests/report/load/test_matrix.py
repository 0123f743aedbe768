"""The matrix: a table for each size, a line for each thread count, all latencies where there is room."""

import re
from collections.abc import Callable

import pytest

from s3bench.report.load.matrix import render_matrix
from s3bench.results.document import Document
from tests.report.loads import EMPTY, document, failures, load, result


def matrix() -> Document:
    """Two sizes on three thread counts, reads beside writes at the last."""
    results = []
    for size, size_bytes in (("4KiB", 4096), ("32MiB", 32 << 20)):
        for threads in (1, 16, 64):
            of = [{"size": size}, {"threads": str(threads)}]
            one = load(
                operations=20_000 if size == "4KiB" else 50 * threads,
                size=size_bytes,
                p50_s=0.002 * threads if size == "4KiB" else 0.02 * threads,
                failed=3 if threads == 64 else 0,
                failures=(failures("503 SlowDown", 3),) if threads == 64 else (),
            )
            results.append(result("load.get", one, dimensions=of))
    results.append(result("load.put", load("put"), dimensions=of))
    results.append(result("load.all", load("all"), dimensions=of))
    results.append(
        result("load.put", load("put"), dimensions=[*of, {"purpose": "preparation"}], warnings=["it is hot"])
    )
    return document(*results).with_warnings(["the machine is busy"])


@pytest.mark.parametrize("width", [80, 140])
def test_the_matrix_is_the_golden_one(assert_golden: Callable[[str, str], None], width: int) -> None:
    assert_golden(f"load_matrix_{width}.txt", render_matrix(matrix(), width=width, color=False))


@pytest.mark.parametrize("width", [80, 100, 140])
def test_no_line_of_a_table_is_wider_than_the_terminal(width: int) -> None:
    lines = render_matrix(matrix(), width=width, color=False).splitlines()
    table = [line for line in lines if re.match(r"  (threads|\d+) |.*─ first byte", line)]
    assert len(table) == 2 + 7
    assert max(map(len, table)) <= width


def test_wide_terminals_have_all_latencies_and_narrow_ones_the_three_that_matter() -> None:
    def headings(width: int) -> list[str]:
        lines = render_matrix(matrix(), width=width, color=False).splitlines()
        return next(line for line in lines if "threads " in line).split()

    points = ["avg", "min", "p25", "p50", "p75", "p90", "p99", "p99.9", "max"]
    assert headings(140) == ["threads", "rate/s", "throughput", *points, *points, "errors"]
    three = ["p50", "p90", "p99"]
    assert headings(60) == ["threads", "throughput", *three, *three, "errors"]


def test_color_adds_nothing_but_color() -> None:
    colored = render_matrix(matrix(), width=140, color=True)
    assert "\x1b[31m" in colored
    assert re.sub(r"\x1b\[[0-9]+m", "", colored) == render_matrix(matrix(), width=140, color=False)


def test_what_is_no_matrix_is_left_out() -> None:
    assert render_matrix(EMPTY, width=80, color=False) == "no matrix\n"
    assert render_matrix(document(result("get", load())), width=80, color=False) == "no matrix\n"


def test_percentiles_that_too_few_operations_carry_are_no_figures() -> None:
    few = result("load.get", load(operations=30), dimensions=[{"size": "1KiB"}, {"threads": "4"}])
    row = render_matrix(document(few), width=80, color=False).splitlines()[3]
    assert row.split() == ["4", "3.00", "12.0", "KiB/s", "0.50", "-", "-", "-", "1.00", "-", "-", "-", "0"]


def test_the_least_and_the_greatest_time_are_those_of_all_loops() -> None:
    loops = [load(p50_s=p50_s) for p50_s in (2e-3, 6e-3, 4e-3)]
    text = render_matrix(
        document(result("load.get", *loops, dimensions=[{"size": "1KiB"}, {"threads": "4"}])), width=140, color=False
    )
    (row,) = (line.split() for line in text.splitlines() if line.startswith("  4 "))
    assert row[4:-1] == [
        "2.20", "0.50", "1.60", "2.00", "2.50", "3.00", "4.00", "8.00", "30.0",
        "4.40", "1.00", "3.20", "4.00", "5.00", "6.00", "8.00", "16.0", "60.0",
    ]  # fmt: skip
