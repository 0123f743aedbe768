"""A results document as a pyperf benchmark suite, for `pyperf stats`, `hist`, `check` and `compare_to`.

The format is version 1.0 of https://pyperf.readthedocs.io/en/latest/api.html (`BenchmarkSuite.dump`): benchmarks of
runs, a run for each fresh process, so one value in each. pyperf takes a larger value for a slower one and knows the
units second and byte: it gets times and peak memory, each a benchmark of its own. Of a load run it gets the latencies,
a value for each loop. It takes no value of 0 and no null; those are left out.

A benchmark with failures says so in its metadata (`iterations_failed`, and for a warm-up or `--cleanup`
`failures_outside_of_iterations`); the suite says how many results had no figure at all (`results_without_figures`).
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from s3bench.report.label import one_line, result_names, unique
from s3bench.report.run.figures import check_any, endpoint_text
from s3bench.results.document import Document, Result
from s3bench.results.measurement import figure
from s3bench.results.metrics import METRICS_BY_NAME, Metric, Unit

_VERSION = "1.0"
_UNITS = {Unit.SECONDS: "second", Unit.BYTES: "byte"}
_PLAIN = "total_time"  # the benchmark that has the result's name and no more
_METRICS = tuple(
    METRICS_BY_NAME[name]
    for name in (
        _PLAIN,
        "peak_memory",
        "load.latency.p50",
        "load.latency.p90",
        "load.latency.p99",
        "load.first_byte.p50",
        "load.first_byte.p99",
        "load.response.p50",
        "load.response.p99",
    )
)


def render_pyperf(document: Document) -> str:
    """Render as a suite of one line of JSON. Raises `BadInput` without any figure: pyperf opens no empty suite."""
    found = [
        (name if metric.name == _PLAIN else f"{name}: {metric.name}", metric, result)
        for name, result in zip(result_names(document), document.results, strict=True)
        for metric in _METRICS
        if any(_runs(result, metric))
    ]
    check_any(found, name="pyperf", holds="run times, latencies and peak memory")
    titles = unique(title for title, _, _ in found)
    benchmarks = [
        {"metadata": _texts(_metadata(title, metric, result)), "runs": list(_runs(result, metric))}
        for title, (_, metric, result) in zip(titles, found, strict=True)
    ]
    without = len(document.results) - len({id(result) for _, _, result in found})
    suite = {"benchmarks": benchmarks, "metadata": _suite_metadata(document, without), "version": _VERSION}
    return msgspec.json.encode(suite).decode() + "\n"


def _runs(result: Result, metric: Metric) -> Iterator[dict[str, Any]]:
    """A run for each measurement; its duration is said, or else pyperf takes the value for one, bytes too."""
    for measurement in result.measurements:
        value = figure(measurement, metric.name)
        if value is None or value <= 0:
            continue
        metadata: dict[str, float] = {"duration": measurement.total_time}
        if metric.name == _PLAIN and measurement.peak_memory:
            metadata["command_max_rss"] = measurement.peak_memory
        yield {"values": [value], "metadata": metadata}


def _metadata(title: str, metric: Metric, result: Result) -> Iterator[tuple[str, object]]:
    """Metadata of a benchmark; pyperf shows what it does not know as it stands."""
    yield "name", title
    yield "unit", _UNITS[metric.unit]
    yield "metric", f"{metric.name}: {metric.meaning}"
    yield "client", result.client.label
    yield "client_version", result.client.version
    yield from ((f"dimension_{one_line(name)}", value) for name, value in result.dimension_pairs)
    if result.failed_iterations:
        yield "iterations_failed", result.failed_iterations
    if result.failures_outside:
        yield "failures_outside_of_iterations", result.failures_outside


def _suite_metadata(document: Document, without: int) -> dict[str, str | int]:
    """Metadata of all benchmarks; machine facts under the names that pyperf compares between two suites."""
    machine = document.machine
    facts: tuple[tuple[str, object], ...] = (
        ("cpu_model_name", machine.get("cpu_model")),
        ("cpu_count", machine.get("cores_allowed")),
        ("platform", machine.get("kernel")),
        ("s3bench_version", document.s3bench),
        ("s3bench_started_at", document.started_at),
        ("endpoint", endpoint_text(document)),
        ("results_without_figures", without or None),
    )
    return _texts(facts)


def _texts(facts: Any) -> dict[str, str | int]:
    """What pyperf takes as metadata: whole numbers, and lines that are not empty."""
    lines = ((name, one_line(value) if isinstance(value, str) else value) for name, value in facts)
    return {name: value for name, value in lines if isinstance(value, str | int) and value != ""}
