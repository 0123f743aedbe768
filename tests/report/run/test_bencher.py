"""The Bencher Metric Format: valid by its published schema, values with their intervals."""

from typing import Any

import jsonschema
import pytest

from s3bench.errors import BadInput
from s3bench.report.run.bencher import render_bencher
from s3bench.results.document import Document
from tests.compare.documents import BASE, document, result
from tests.report import loads
from tests.report.runs import hostile, parsed, two_clients, with_failures

# https://bencher.dev/docs/reference/bencher-metric-format/, closed to other keys.
SCHEMA = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "properties": {key: {"type": "number"} for key in ("value", "lower_value", "upper_value")},
            "required": ["value"],
            "additionalProperties": False,
        },
    },
}


def benchmarks(whole: Document) -> Any:
    found = parsed(render_bencher(whole))
    jsonschema.validate(found, SCHEMA)
    for name, measures in found.items():
        assert 0 < len(name) <= 1024
        assert all(0 < len(measure) <= 64 for measure in measures)
    return found


def test_a_measure_is_a_median_with_its_interval_and_names_its_unit() -> None:
    found = benchmarks(two_clients())
    assert found["s3.cp.download FileSize=32MB on cli-crt"]["total_time (s)"] == {
        "value": pytest.approx(0.525),
        "lower_value": BASE[0],
        "upper_value": BASE[-1],
    }
    assert set(found["s3.cp.download on s5cmd"]) == {
        "total_time (s)",
        "cpu_time (s)",
        "peak_memory (bytes)",
        "first_client_invocation_time (s)",
        "throughput (bytes/s)",
        "wire.requests (count)",
    }


def test_five_iterations_have_a_value_alone() -> None:
    found = benchmarks(document(result(BASE[:5])))
    assert found["s3.cp.download on cli-crt"]["total_time (s)"] == {"value": 0.52}


def test_a_load_run_has_rates_and_latencies() -> None:
    found = benchmarks(loads.document(loads.result("load.get", loads.load())))["load.get on s3bench"]
    assert found["load.operations_rate (1/s)"] == {"value": 1000.0}
    assert found["load.latency.p99 (s)"] == {"value": 0.002}
    assert "total_time (s)" not in found


def test_results_without_a_figure_are_left_out() -> None:
    assert list(benchmarks(with_failures())) == ["s3.cp.download on cli-crt"]


def test_hostile_names_are_lines() -> None:
    assert len(benchmarks(hostile())) == 3
    assert all(name.isprintable() for name in benchmarks(hostile()))


def test_a_document_without_figures_is_bad_input() -> None:
    with pytest.raises(BadInput, match="nothing to write as bencher"):
        render_bencher(document())
