"""CSV of measurements: read back by any reader, with no figure lost, and no formula in it."""

import csv
from io import StringIO

import pytest
from msgspec.structs import replace

from s3bench.report.run.csv import render_csv
from s3bench.results.document import Document
from s3bench.results.measurement import Failure, figure
from s3bench.results.metrics import METRICS
from tests.compare.documents import client, document, result
from tests.report import loads
from tests.report.runs import HOSTILE, hostile, two_clients, with_failures


def read(whole: Document) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(render_csv(whole), newline=""), strict=True))


def test_a_failure_outside_of_the_iterations_has_no_number() -> None:
    warm_up = Failure(iteration=None, what="the warm-up failed")
    rows = read(document(replace(result(), errors=(warm_up,))))
    assert [row["iteration"] for row in rows if row["error"]] == [""]


def test_every_figure_of_every_measurement_is_read_back_as_it_is_stored() -> None:
    whole = two_clients()
    rows = read(whole)
    measurements = [each for item in whole.results for each in item.measurements]
    assert len(rows) == len(measurements) == 12
    for row, measurement in zip(rows, measurements, strict=True):
        for metric in METRICS:
            cell, value = row[f"{metric.name} ({metric.unit})"], figure(measurement, metric.name)
            assert (cell == "") if value is None else (float(cell) == value)


def test_a_row_says_what_was_measured() -> None:
    first = read(two_clients())[0]
    expected = {
        "benchmark": "s3.cp.download",
        "client": "cli-crt",
        "version": "2.38.5",
        "label": "cli-crt@2.38.5",
        "dimension FileSize": "32MB",
        "iteration": "0",
        "engine": "crt",
        "error": "",
    }
    assert {key: first[key] for key in expected} == expected


def test_a_result_without_a_dimension_has_an_empty_cell() -> None:
    assert read(two_clients())[-1]["dimension FileSize"] == ""


def test_a_failure_is_a_line_without_figures() -> None:
    *good, failed, never = read(with_failures())
    assert len(good) == 6
    assert failed["error"] == "the client failed (exit code 1): no such bucket"
    assert (failed["iteration"], failed["total_time (s)"]) == ("6", "")
    assert (never["benchmark"], never["error"]) == ("s3.rm", "the client failed")


def test_a_load_run_has_its_rates_and_no_run_time() -> None:
    row = read(loads.document(loads.result("load.get", loads.load(failed=3, job="mix"))))[0]
    assert (row["kind"], row["job"], row["operations"], row["failed"]) == ("get", "mix", "10000", "3")
    assert (row["total_time (s)"], row["load.operations_rate (1/s)"]) == ("", "1000")
    assert float(row["load.latency.p99 (s)"]) == 0.002


def test_a_document_without_results_is_a_header() -> None:
    assert read(document()) == []
    assert render_csv(document()).startswith("benchmark,client,")
    assert render_csv(document()).endswith("\r\n")


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'=1"),
        ("\r=1", "'=1"),
        ("\ttext", "'text"),
        (" =1+1", "'=1+1"),
        ("\u200e=1+1", "'=1+1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("-", "'-"),
        ("-5", "-5"),
        ("+1.5e-3", "+1.5e-3"),
        ("32MB", "32MB"),
        ("a=b", "a=b"),
    ],
)
def test_a_text_that_begins_like_a_formula_is_a_text(text: str, cell: str) -> None:
    row = read(document(result((0.5,), name=text, dimensions={"d": text}, of=client(text, text))))[0]
    assert (row["benchmark"], row["client"], row["version"], row["dimension d"]) == (cell, cell, cell, cell)


def test_hostile_texts_stay_in_their_cells() -> None:
    rows = read(hostile())
    assert len(rows) == 19
    assert all(None not in row and None not in row.values() for row in rows)
    text = render_csv(hostile())
    assert text.replace("\r\n", "").isprintable()
    assert max(len(cell) for row in rows for cell in row.values()) <= 1001
    assert rows[0]["benchmark"].startswith("'=1+1")
    assert HOSTILE not in text
