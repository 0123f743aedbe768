"""A results document as Go benchmark text, for benchstat and all that reads https://go.dev/design/14313-benchmark-format.

A line for each measurement, so that benchstat has the sample and makes its own medians and intervals. Dimensions and
client are parts of the name (`/FileSize=32MB/client=cli-crt`), for `benchstat -col /client`; what makes figures of two
documents incomparable, machine and endpoint, are configuration lines, by which benchstat makes tables of their own.
Versions and failures are comments, lines that begin with `#`, which every reader skips.

Names follow `testing`: a space is `_`, and a name that came before gets `#01`. A hyphen with digits at the end would be
read as GOMAXPROCS, and becomes `_`. Readers take lines of less than 64 KiB (`bufio.Scanner`): texts are cut.
"""

import re
from collections.abc import Iterator

from s3bench.report.label import client_text, one_line, unique
from s3bench.report.run.figures import check_any, endpoint_text, shortfall
from s3bench.results.document import Document, Result
from s3bench.results.measurement import AnyMeasurement, figure
from s3bench.results.metrics import METRICS_BY_NAME, Direction

_NS = 1e9
_UNITS: tuple[tuple[str, str, float], ...] = (
    ("total_time", "ns/op", _NS),
    ("cpu_time", "cpu-ns/op", _NS),
    ("first_client_invocation_time", "first-call-ns/op", _NS),
    ("peak_memory", "peak-memory-B", 1),
    ("throughput", "B/s", 1),
    ("wire.requests", "requests/op", 1),
    ("load.operations_rate", "ops/s", 1),
    ("load.error_rate", "failed/op", 1),
    ("load.latency.p50", "p50-latency-ns", _NS),
    ("load.latency.p90", "p90-latency-ns", _NS),
    ("load.latency.p99", "p99-latency-ns", _NS),
    ("load.first_byte.p50", "p50-first-byte-ns", _NS),
    ("load.first_byte.p99", "p99-first-byte-ns", _NS),
    ("load.response.p50", "p50-response-ns", _NS),
    ("load.response.p99", "p99-response-ns", _NS),
)
"""Metric, unit, and how many of that unit are one of the metric's; benchstat scales `ns` and `B` by itself."""

_BETTER = {Direction.LOWER: "lower", Direction.HIGHER: "higher"}
_DIGITS = 15  # a double's that any decimal survives
_UNSAFE = re.compile(r"[\s/]")
_LIKE_GOMAXPROCS = re.compile(r"-(?=[0-9]+$)")


def render_gobench(document: Document) -> str:
    """Render as text. Raises `BadInput` without any figure: benchstat would say nothing."""
    used = {unit for each in document.results for item in each.measurements for unit in _values(item)}
    check_any(used, name="gobench", holds="times, memory, requests, rates and latencies")
    lines = [*_comments(document), *_configuration(document), *_unit_lines(used)]
    names = unique(
        (_name(document, each) for each in document.results), lambda name, number: f"{name}#{number - 1:02d}"
    )
    for name, result in zip(names, document.results, strict=True):
        lines += _result_lines(name, result)
    return "\n".join(lines) + "\n"


def _comments(document: Document) -> Iterator[str]:
    yield f"# s3bench {one_line(document.s3bench)}, {one_line(document.started_at)}"
    for client in dict.fromkeys(each.client for each in document.results):
        yield f"# client {one_line(client.label)}: {one_line(client.version)}"


def _configuration(document: Document) -> Iterator[str]:
    """`key: value` lines of what is known; `goos` and `goarch` are left out, they name Go's own builds."""
    network = document.options.get("network")
    facts = {
        "cpu": document.machine.get("cpu_model"),
        "cores": document.machine.get("cores_allowed"),
        "architecture": document.machine.get("architecture"),
        "endpoint": endpoint_text(document),
        "network": network.get("text") if isinstance(network, dict) else None,
    }
    for key, value in facts.items():
        if isinstance(value, str | int) and (line := one_line(str(value))):
            yield f"{key}: {line}"


def _unit_lines(used: set[str]) -> Iterator[str]:
    """Which way is better, of the units that occur."""
    for metric, unit, _ in _UNITS:
        if unit in used:
            yield f"Unit {unit} better={_BETTER[METRICS_BY_NAME[metric].direction]}"


def _result_lines(name: str, result: Result) -> Iterator[str]:
    """A line for each measurement that has a figure; the count is that of operations, one for a process."""
    if lack := shortfall(result):
        yield f"# {name}: {lack}"
    for measurement in result.measurements:
        if values := _values(measurement):
            count = measurement.load.operations if measurement.load else 1
            yield " ".join((name, str(count), *(f"{value:.{_DIGITS}g} {unit}" for unit, value in values.items())))


def _values(measurement: AnyMeasurement) -> dict[str, float]:
    figures = ((unit, factor, figure(measurement, metric)) for metric, unit, factor in _UNITS)
    return {unit: value * factor for unit, factor, value in figures if value is not None}


def _name(document: Document, result: Result) -> str:
    """`BenchmarkS3.cp.upload/FileSize=32MB/client=cli-crt`; an upper-case letter follows `Benchmark`."""
    base = _part(result.name)
    base = base[:1].upper() + base[1:]
    pairs = (*result.dimension_pairs, ("client", client_text(document, result)))
    parts = "".join(f"/{_part(key).replace('=', '_')}={_part(value)}" for key, value in pairs)
    return _LIKE_GOMAXPROCS.sub("_", f"Benchmark{base if base[:1].isupper() else f'X_{base}'}{parts}")


def _part(text: str) -> str:
    return _UNSAFE.sub("_", one_line(text))
