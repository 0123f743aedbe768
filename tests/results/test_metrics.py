"""The one table of metrics agrees with the measurement's type and with the documentation."""

from pathlib import Path

import msgspec

from s3bench.results.document import SCHEMA_VERSION, Client, Document, Result
from s3bench.results.measurement import Failure, Harness, Measurement, Milestones, Wire
from s3bench.results.metrics import METRICS, METRICS_BY_NAME, render_metrics

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "results.md"
NO_METRICS = {"iteration", "engine", "requests_by_kind", "network", "warnings"}


def test_every_figure_of_a_measurement_is_in_the_table_and_the_other_way_round() -> None:
    nested = {"milestones": Milestones, "wire": Wire, "harness": Harness}
    figures = set(Measurement.__struct_fields__) - NO_METRICS - nested.keys()
    figures |= {f"{name}.{field}" for name, struct in nested.items() for field in struct.__struct_fields__}
    assert set(METRICS_BY_NAME) == figures


def test_names_are_unique_and_every_metric_is_explained() -> None:
    assert len(METRICS_BY_NAME) == len(METRICS)
    assert all(metric.meaning and metric.source for metric in METRICS)


def test_the_documented_table_is_the_one_in_the_code() -> None:
    assert render_metrics() in DOCUMENTATION.read_text(encoding="utf-8")


def test_every_key_of_the_document_is_documented() -> None:
    text = DOCUMENTATION.read_text(encoding="utf-8")
    structs: tuple[type[msgspec.Struct], ...] = (Document, Result, Client, Failure, Measurement)
    for struct in structs:
        for field in struct.__struct_fields__:
            assert f"`{field}`" in text or f"`{field}." in text, f"{struct.__name__}.{field}"
    assert f"`schema_version` is {SCHEMA_VERSION}" in text
