r"""A run as input of CloudWatch's PutMetricData: one call a line, each a JSON object for the AWS CLI.

    while IFS= read -r call; do aws cloudwatch put-metric-data --cli-input-json "$call"; done < calls.jsonl

The limits are those of
https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricData.html: 1,000 metrics and 1 MB a call,
150 values a metric, 30 dimensions of ASCII. A line also fits into one argument of a command (Linux takes 128 KiB). The
raw figures are sent (`Values` and `Counts`), so that CloudWatch can tell percentiles of them. It takes figures of the
last two weeks alone.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from s3bench.report.label import clipped
from s3bench.report.run.figures import check_any, measured
from s3bench.results.document import Document, Result, render_time
from s3bench.results.foreign_tree import parse_time
from s3bench.results.metrics import Unit

METRICS_MAX = 1000
VALUES_MAX = 150
DIMENSIONS_MAX = 30
LINE_BYTES_MAX = 120_000

_NAMESPACE = "s3bench"
_NAME_MAX = 255
_VALUE_MAX = 1024
_UNITS = {
    Unit.SECONDS: "Seconds",
    Unit.BYTES: "Bytes",
    Unit.COUNT: "Count",
    Unit.BYTES_PER_SECOND: "Bytes/Second",
    Unit.PER_SECOND: "Count/Second",
    Unit.CORES: "None",
    Unit.SHARE: "None",
}
_EMPTY = "(empty)"
_FURTHER = "further"

_Datum = dict[str, Any]


def render_cloudwatch(document: Document) -> str:
    """Render the calls, one a line. Raises `BadInput` for a document without results."""
    lines = tuple(_lines(document))
    check_any(lines, name="cloudwatch", holds="the figures of results and how many iterations failed")
    return "".join(f"{line}\n" for line in lines)


def _lines(document: Document) -> Iterator[str]:
    head = f'{{"Namespace":"{_NAMESPACE}","MetricData":['
    call: list[str] = []
    size = len(head)
    for datum in _data(document):
        text = json.dumps(datum, allow_nan=False, separators=(",", ":"))
        if call and (len(call) == METRICS_MAX or size + len(text) + 3 > LINE_BYTES_MAX):
            yield f"{head}{','.join(call)}]}}"
            call, size = [], len(head)
        call.append(text)
        size += len(text) + 1
    if call:
        yield f"{head}{','.join(call)}]}}"


def _data(document: Document) -> Iterator[_Datum]:
    moment = parse_time(document.ended_at) or parse_time(document.started_at)
    stamp = {"Timestamp": render_time(moment)} if moment else {}
    for result in document.results:
        common = {"Dimensions": _dimensions(result)} | stamp
        for metric, figures in measured(result):
            for values in _batches(figures.values):
                yield {"MetricName": metric.name} | common | values | {"Unit": _UNITS[metric.unit]}
        for name, count in (("iterations", len(result.measurements)), ("failures", len(result.errors))):
            yield {"MetricName": name} | common | {"Values": [float(count)], "Counts": [1.0], "Unit": "Count"}


def _batches(values: Sequence[float]) -> Iterator[_Datum]:
    """The values with how often each is there, no more of them together than a metric takes."""
    counted = iter(Counter(values).items())
    while batch := tuple(islice(counted, VALUES_MAX)):
        yield {"Values": [float(value) for value, _ in batch], "Counts": [float(count) for _, count in batch]}


def _dimensions(result: Result) -> list[dict[str, str]]:
    """Benchmark, client and version, then the result's own; those beyond the limit are joined into the last one."""
    named: dict[str, str] = {
        "Benchmark": result.name,
        "Client": result.client.name,
        "ClientVersion": result.client.version,
        "ClientLabel": result.client.label,
    }
    for name, value in result.dimension_pairs:
        free = _ascii_name(name, _NAME_MAX - DIMENSIONS_MAX)
        while free in named:
            free += "_"
        named[free] = value
    pairs = tuple(named.items())
    if len(pairs) > DIMENSIONS_MAX:
        kept, joined = pairs[: DIMENSIONS_MAX - 1], pairs[DIMENSIONS_MAX - 1 :]
        pairs = (*kept, (_FURTHER, " ".join(f"{name}={value}" for name, value in joined)))
    return [{"Name": name, "Value": _ascii(value, _VALUE_MAX)} for name, value in pairs]


def _ascii(text: str, most: int) -> str:
    r"""`text` in printable ASCII, other characters as `\u00fc`; never blank."""
    line = clipped(text.encode("ascii", "backslashreplace").decode("ascii"), most=most)
    return line if line.strip() else _EMPTY


def _ascii_name(text: str, most: int) -> str:
    """The same for names, which may not begin with a colon."""
    return _ascii(text, most).lstrip(":") or _EMPTY
