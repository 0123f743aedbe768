"""A results document as hyperfine's `--export-json`, for the scripts and dashboards that read it.

The format is that of hyperfine 1, `BenchmarkResult` of
https://docs.rs/crate/hyperfine/1.20.0/source/src/benchmark/benchmark_result.rs: seconds and bytes; `mean`, `stddev`,
`user` and `system` over the runs, `stddev` null of a single run, one element of `times`, `memory_usage_byte` and
`exit_codes` for each run. hyperfine measures commands: results of load runs are left out, and so are those without a
measurement. Failed iterations have no time, and stand in none of the lists.

What was not measured in every run is left out, key and all: hyperfine has no null there.
"""

from collections.abc import Iterator, Sequence
from statistics import fmean, median, stdev
from typing import Any

from s3bench.compare.sample import figures_of
from s3bench.report.label import one_line, result_names
from s3bench.report.run.figures import check_any
from s3bench.results.document import Document, Result
from s3bench.results.encoding import pretty_json


def render_hyperfine(document: Document) -> str:
    """Render as JSON. Raises `BadInput` without any run time."""
    named = zip(result_names(document), document.results, strict=True)
    results = [dict(_record(name, result)) for name, result in named if figures_of(result, "total_time").values]
    check_any(results, name="hyperfine", holds="run times of commands")
    return pretty_json({"results": results}).decode()


def _record(name: str, result: Result) -> Iterator[tuple[str, Any]]:
    times = figures_of(result, "total_time").values
    yield "command", name
    yield "mean", fmean(times)
    yield "stddev", stdev(times) if len(times) > 1 else None
    yield "median", median(times)
    for key, metric in (("user", "user_cpu_time"), ("system", "system_cpu_time")):
        if values := _of_every_run(result, metric):
            yield key, fmean(values)
    yield from (("min", min(times)), ("max", max(times)), ("times", times))
    if memory := _of_every_run(result, "peak_memory"):
        yield "memory_usage_byte", [int(value) for value in memory]
    yield "exit_codes", [0] * len(times)  # an iteration that ends otherwise is a failure and no measurement
    yield "parameters", _parameters(result)


def _of_every_run(result: Result, metric: str) -> Sequence[float]:
    """The figures of a metric, one for each run; none where any run lacks it."""
    values = figures_of(result, metric).values
    return values if len(values) == len(result.measurements) else ()


def _parameters(result: Result) -> dict[str, str]:
    """Dimensions and client as the values of parameters, which hyperfine has as text."""
    client = (("client", result.client.label), ("client version", result.client.version))
    return {one_line(name): one_line(value) for name, value in (*client, *result.dimension_pairs)}
