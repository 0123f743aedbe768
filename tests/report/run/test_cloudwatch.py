"""A run for CloudWatch: by botocore's own validation of PutMetricData, and within the limits of the API reference."""

import json
from typing import Any

import pytest
from botocore.loaders import Loader
from botocore.model import OperationModel, ServiceModel
from botocore.validate import ParamValidator
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from s3bench.errors import BadInput
from s3bench.report.run.cloudwatch import DIMENSIONS_MAX, render_cloudwatch
from s3bench.results.document import Document
from tests.report.loads import everything
from tests.report.machine_samples import CRT, EMPTY, hostile, result, run


def _operation() -> OperationModel:
    model = ServiceModel(Loader().load_service_model("cloudwatch", "service-2"))
    return model.operation_model("PutMetricData")


_INPUT = _operation().input_shape
_UNITS = set(_operation().service_model.shape_for("StandardUnit").enum)


def calls(document: Document) -> list[dict[str, Any]]:
    """The calls, each within the limits."""
    found = []
    for line in render_cloudwatch(document).splitlines():
        assert line.isascii()
        assert len(line) < 131_072
        call = json.loads(line)
        report = ParamValidator().validate(call, _INPUT)
        assert not report.has_errors(), report.generate_report()
        assert len(call["MetricData"]) <= 1000
        for datum in call["MetricData"]:
            _check(datum)
        found.append(call)
    return found


def _check(datum: dict[str, Any]) -> None:
    assert datum["Unit"] in _UNITS
    assert len(datum["Values"]) == len(datum["Counts"]) <= 150
    assert len(set(datum["Values"])) == len(datum["Values"])
    assert len(datum["Dimensions"]) <= 30
    names = [dimension["Name"] for dimension in datum["Dimensions"]]
    assert len(set(names)) == len(names)
    for dimension in datum["Dimensions"]:
        assert 1 <= len(dimension["Name"]) <= 255
        assert 1 <= len(dimension["Value"]) <= 1024
        assert dimension["Name"].strip()
        assert dimension["Value"].strip()
        assert not dimension["Name"].startswith(":")
        assert dimension["Name"].isprintable()
        assert dimension["Value"].isprintable()


def data(document: Document, metric: str) -> list[dict[str, Any]]:
    return [datum for call in calls(document) for datum in call["MetricData"] if datum["MetricName"] == metric]


def test_a_metric_has_the_raw_figures_of_all_iterations() -> None:
    first, *_ = data(run(), "total_time")
    assert first["Values"] == [1.0, 3.0, 1.5]
    assert first["Counts"] == [1.0, 1.0, 1.0]
    assert first["Unit"] == "Seconds"
    assert first["Timestamp"] == "2026-11-21T10:05:00.000Z"
    assert first["Dimensions"] == [
        {"Name": "Benchmark", "Value": "s3.cp.upload"},
        {"Name": "Client", "Value": "cli-crt"},
        {"Name": "ClientVersion", "Value": "2.38.5"},
        {"Name": "ClientLabel", "Value": "cli-crt@2.38.5"},
        {"Name": "FileSize", "Value": "32MB"},
    ]
    (peak, *_) = data(run(), "peak_memory")
    assert (peak["Values"], peak["Counts"], peak["Unit"]) == ([100_000_000.0], [3.0], "Bytes")


def test_iterations_and_failures_are_counted() -> None:
    assert [datum["Values"] for datum in data(run(), "iterations")] == [[3.0], [1.0], [1.0], [0.0]]
    assert [datum["Values"] for datum in data(run(), "failures")] == [[0.0], [0.0], [1.0], [0.0]]


def test_more_values_than_a_metric_takes_become_several() -> None:
    many = EMPTY.with_result(result("a", CRT, *(1 + number / 1000 for number in range(400))))
    found = data(many, "total_time")
    assert [len(datum["Values"]) for datum in found] == [150, 150, 100]
    assert sum(sum(datum["Counts"]) for datum in found) == 400


def test_more_metrics_than_a_call_takes_become_several_calls() -> None:
    many = EMPTY
    for number in range(40):
        many = many.with_result(result(f"benchmark {number}", CRT, 1.0))
    found = calls(many)
    assert len(found) > 1
    (alone,) = calls(EMPTY.with_result(result("benchmark", CRT, 1.0)))
    assert sum(len(call["MetricData"]) for call in found) == 40 * len(alone["MetricData"])


def test_more_dimensions_than_a_metric_takes_are_joined() -> None:
    many = result("a", CRT, 1.0, **{f"d{number:02}": f"{number}" for number in range(40)})
    (datum,) = data(EMPTY.with_result(many), "total_time")
    assert len(datum["Dimensions"]) == DIMENSIONS_MAX
    assert datum["Dimensions"][-1] == {
        "Name": "further",
        "Value": " ".join(f"d{number:02}={number}" for number in range(25, 40)),
    }


def test_a_dimension_takes_the_place_of_no_other() -> None:
    one = replace(result("a", CRT, 1.0), dimensions=({"Client": "x"}, {":Client": "y"}))
    (datum,) = data(EMPTY.with_result(one), "total_time")
    named = {dimension["Name"]: dimension["Value"] for dimension in datum["Dimensions"]}
    assert (named["Client"], named["Client_"], named["Client__"]) == ("cli-crt", "x", "y")


def test_a_document_without_a_time_sends_none() -> None:
    (datum, *_) = data(replace(run(), started_at="", ended_at=None), "total_time")
    assert "Timestamp" not in datum


def test_an_empty_document_is_refused() -> None:
    with pytest.raises(BadInput, match="nothing to write as cloudwatch"):
        render_cloudwatch(EMPTY)


def test_a_load_run_is_within_the_limits() -> None:
    assert data(everything(), "load.latency.p99")
    assert not data(everything(), "total_time")


def test_hostile_names_are_within_the_limits_and_apart() -> None:
    found = data(hostile(), "total_time")
    assert len({json.dumps(datum["Dimensions"]) for datum in found}) == 3


@settings(max_examples=30)
@given(st.text(), st.dictionaries(st.text(), st.text(), max_size=4))
def test_any_name_is_within_the_limits(name: str, dimensions: dict[str, str]) -> None:
    one = result(name, CRT, 1.0)
    calls(EMPTY.with_result(replace(one, dimensions=tuple({key: value} for key, value in dimensions.items()))))
