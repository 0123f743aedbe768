"""The one table of metrics agrees with the measurement's type and with the documentation."""

from pathlib import Path

import msgspec

from s3bench.results.document import SCHEMA_VERSION, Client, Document, Result
from s3bench.results.load import Failures, Latency, Load, Second
from s3bench.results.machine_speed import MachineSpeed
from s3bench.results.measurement import Failure, Harness, Measurement, Milestones, Wire
from s3bench.results.metrics import METRICS, METRICS_BY_NAME, render_metrics
from s3bench.results.timeline import RequestSpan, UsageSeries

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "results.md"
LATENCIES = Latency.__struct_fields__
NO_METRICS = {"iteration", "engine", "requests_by_kind", "network", "load", "warnings"}
NO_METRICS |= {"series", "requests", "requests_left_out"}


def test_every_figure_of_a_measurement_is_in_the_table_and_the_other_way_round() -> None:
    nested = {"milestones": Milestones, "wire": Wire, "harness": Harness, "machine_speed": MachineSpeed}
    figures = set(Measurement.__struct_fields__) - NO_METRICS - nested.keys()
    figures |= {f"{name}.{field}" for name, struct in nested.items() for field in struct.__struct_fields__}
    assert {name for name in METRICS_BY_NAME if not name.startswith("load.")} == figures


def test_every_metric_of_a_load_run_is_a_figure_of_it() -> None:
    plain = {field for field in Load.__struct_fields__ if field not in {"latency", "first_byte", "response"}}
    figures = {f"load.{field}" for field in plain}
    figures |= {f"load.{name}.{field}" for name in ("latency", "first_byte", "response") for field in LATENCIES}
    assert {name for name in METRICS_BY_NAME if name.startswith("load.")} < figures


def test_names_are_unique_and_every_metric_is_explained() -> None:
    assert len(METRICS_BY_NAME) == len(METRICS)
    assert all(metric.meaning and metric.source for metric in METRICS)


def test_the_documented_table_is_the_one_in_the_code() -> None:
    assert render_metrics() in DOCUMENTATION.read_text(encoding="utf-8")


def test_every_key_of_the_document_is_documented() -> None:
    text = DOCUMENTATION.read_text(encoding="utf-8")
    structs: tuple[type[msgspec.Struct], ...] = (
        Document,
        Result,
        Client,
        Failure,
        Measurement,
        Load,
        Latency,
        Failures,
        Second,
        UsageSeries,
        RequestSpan,
    )
    for struct in structs:
        for field in struct.__struct_fields__:
            assert f"`{field}`" in text or f"`{field}." in text, f"{struct.__name__}.{field}"
    assert f"`schema_version` is {SCHEMA_VERSION}" in text
