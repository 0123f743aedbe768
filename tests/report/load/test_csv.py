"""CSV of seconds and of a matrix: read back by any reader, with nothing lost."""

import csv
from io import StringIO

from s3bench.report.load.csv import MATRIX_COLUMNS, SECOND_COLUMNS, matrix_csv, second_row, seconds_header
from tests.report.loads import document, latency, load, result, second


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text, newline="")))


def test_seconds_are_read_back() -> None:
    text = seconds_header() + second_row(second(7, failures=3, stalled=True), phase="mixed", kind="get", loop=2)
    assert read(text) == [
        {
            "phase": "mixed",
            "loop": "2",
            "second": "7",
            "kind": "get",
            "operations": "1000",
            "failures": "3",
            "bytes": "4096000",
            "p50": "0.001",
            "p99": "0.002",
            "max": "0.0123456789",
            "in_flight": "15.9",
            "stalled": "1",
        }
    ]
    assert seconds_header().rstrip() == ",".join(SECOND_COLUMNS)


def test_lines_end_as_rfc_4180_says_and_names_may_hold_anything() -> None:
    row = second_row(second(0), phase='a,"b"\nc', kind="gét")
    assert row.endswith("\r\n")
    (back,) = read(seconds_header() + row)
    assert (back["phase"], back["kind"]) == ('a,"b"\nc', "gét")


def test_what_is_not_known_is_empty() -> None:
    row = second_row(second(0, operations=0, p50=None, p99=None, max=None), phase="p", kind="get")
    assert row == "p,1,0,get,0,0,0,,,,15.9,0\r\n"


def test_a_matrix_has_every_latency_of_every_cell_and_loop() -> None:
    of = [{"size": "4KiB"}, {"threads": "16"}]
    cells = document(
        result("load.get", load(), load(operations=300, failed=2), dimensions=of),
        result("load.all", load("all"), dimensions=of),
        result("load.get", load()),
    )
    first, second_loop = read("".join(matrix_csv(cells)))
    expected = latency(1e-3)
    assert {
        name: float(first[f"last_byte_{name}"])
        for name in ("avg", "min", "p25", "p50", "p75", "p90", "p99", "p999", "max")
    } == {
        "avg": expected.mean,
        "min": expected.min,
        "p25": expected.p25,
        "p50": expected.p50,
        "p75": expected.p75,
        "p90": expected.p90,
        "p99": expected.p99,
        "p999": expected.p999,
        "max": expected.max,
    }
    assert float(first["first_byte_p99"]) == 1e-3
    assert (first["kind"], first["size"], first["threads"], first["loop"]) == ("get", "4KiB", "16", "1")
    assert (float(first["rate"]), float(first["throughput"])) == (1000.0, 4096_000.0)
    assert (second_loop["loop"], second_loop["failed"], second_loop["last_byte_p99"]) == ("2", "2", "")
    assert tuple(first) == MATRIX_COLUMNS
