"""A results document for github-action-benchmark, as its `customSmallerIsBetter`.

The format is https://github.com/benchmark-action/github-action-benchmark#examples: an array of `name`, `unit`, `value`,
`range` and `extra`; a chart for each name. The tool takes a larger value for a worse one, so figures of which more is
better, throughput and the rate of operations, are left out. Values are medians; `range` is the 95 % interval, where
there is one; `extra` says how many iterations, how many failed, and of which version.

The action puts names between backticks into the cells of a table (`src/write.ts`): backticks and bars are replaced.
"""

from collections.abc import Iterator

from s3bench.report.label import one_line, result_names, unique
from s3bench.report.run.figures import HEADLINES, MedianEstimate, check_any, estimates, shortfall
from s3bench.results.document import Document, Result
from s3bench.results.encoding import pretty_json
from s3bench.results.metrics import Direction

_METRICS = tuple(metric for metric in HEADLINES if metric.direction is Direction.LOWER)
_SAFE = str.maketrans({"`": "'", "|": "/"})


def render_github(document: Document) -> str:
    """Render as JSON. Raises `BadInput` without any figure: the action fails at an empty array."""
    names = unique(name.translate(_SAFE) for name in result_names(document))
    named = zip(names, document.results, strict=True)
    entries = [_entry(name, result, each) for name, result in named for each in estimates(result, _METRICS)]
    check_any(entries, name="github-action-benchmark", holds="figures of which less is better")
    return pretty_json(entries).decode()


def _entry(name: str, result: Result, each: MedianEstimate) -> dict[str, str | float]:
    entry: dict[str, str | float] = {
        "name": f"{name}: {each.metric.name}",
        "unit": str(each.metric.unit),
        "value": each.median,
    }
    if each.low is not None and each.high is not None:
        entry["range"] = f"{each.low!r} to {each.high!r}, 95 %"
    return entry | {"extra": "\n".join(_extra(result, each))}


def _extra(result: Result, each: MedianEstimate) -> Iterator[str]:
    yield f"median of {each.count}"
    if lack := shortfall(result):
        yield lack
    yield f"{one_line(result.client.name)} {one_line(result.client.version)}".translate(_SAFE)
