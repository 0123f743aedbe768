r"""A run as OpenMetrics text, for Prometheus and whatever reads its formats: medians as gauges, and counts.

The format is OpenMetrics 1.0 (https://prometheus.io/docs/specs/om/open_metrics_spec/): each family with its type, unit
and help; a name ends in its unit; label values escape `\`, `"` and line ends; the text ends in `# EOF`. Samples have no
timestamps, so that the text collector of node_exporter takes them; the times of the run are gauges themselves.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from s3bench.report.label import clipped
from s3bench.report.run.figures import measured
from s3bench.results.document import Document, Result
from s3bench.results.foreign_tree import parse_time
from s3bench.results.metrics import METRICS, Unit

_UNITS = {
    Unit.SECONDS: "seconds",
    Unit.BYTES: "bytes",
    Unit.CORES: "cores",
    Unit.COUNT: "",
    Unit.BYTES_PER_SECOND: "bytes_per_second",
    Unit.PER_SECOND: "per_second",
    Unit.SHARE: "ratio",
}
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_]")
_MEDIAN = "Median of the iterations: "

_Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    name: str
    unit: str
    help: str
    samples: tuple[tuple[_Labels, float], ...]


def render_openmetrics(document: Document) -> str:
    """Render the document; write it in UTF-8."""
    labelled = tuple(_labelled(document.results))
    lines = (line for family in _families(document, labelled) if family.samples for line in _family_lines(family))
    return "".join(f"{line}\n" for line in (*lines, "# EOF"))


def _families(document: Document, labelled: Iterable[tuple[_Labels, Result]]) -> Iterator[_Family]:
    medians: dict[str, list[tuple[_Labels, float]]] = {}
    for labels, result in labelled:
        for metric, figures in measured(result):
            median = figures.sample.median
            assert median is not None, "metrics without a figure are left out"
            medians.setdefault(metric.name, []).append((labels, median))
    for metric in METRICS:
        unit = _UNITS[metric.unit]
        yield _Family(
            name=_joined("s3bench", metric.name.replace(".", "_"), unit),
            unit=unit,
            help=_MEDIAN + metric.meaning,
            samples=tuple(medians.get(metric.name, ())),
        )
    yield _counts("iterations", "Iterations that were measured", labelled, lambda result: len(result.measurements))
    yield _counts(
        "failures",
        "Failures, of iterations and outside of them; an iteration may have several",
        labelled,
        lambda result: len(result.errors),
    )
    yield _counts("missing", "1 where iterations are missing, else 0", labelled, lambda result: int(result.is_running))
    yield _Family(
        name="s3bench_run_complete",
        unit="",
        help="1 if the run is complete, 0 if it ended early or is still running: whole results may be missing",
        samples=(((), int(not document.was_cut_short)),),
    )
    for name, moment in (("start", document.started_at), ("end", document.ended_at)):
        yield _time(name, parse_time(moment))


def _counts(
    name: str, words: str, labelled: Iterable[tuple[_Labels, Result]], count: Callable[[Result], int]
) -> _Family:
    samples = tuple((labels, count(result)) for labels, result in labelled)
    return _Family(name=_joined("s3bench", name), unit="", help=words, samples=samples)


def _time(name: str, moment: datetime | None) -> _Family:
    return _Family(
        name=_joined("s3bench_run", name, "timestamp_seconds"),
        unit="seconds",
        help=f"When the run's {name} was, in seconds since 1970",
        samples=(((), moment.timestamp()),) if moment else (),
    )


def _labelled(results: Iterable[Result]) -> Iterator[tuple[_Labels, Result]]:
    """Each result with its labels; those of equal labels, since names were cut or joined, are numbered."""
    counts: Counter[_Labels] = Counter()
    for result in results:
        labels = tuple(_labels(result).items())
        counts[labels] += 1
        yield (labels if counts[labels] == 1 else (*labels, ("occurrence", f"{counts[labels]}"))), result


def _labels(result: Result) -> dict[str, str]:
    """Labels by name; dimensions become `dimension_NAME`, so that none takes the place of another label."""
    client = result.client
    labels = {
        "benchmark": clipped(result.name),
        "client": clipped(client.label),
        "client_name": clipped(client.name),
        "client_version": clipped(client.version),
    }
    for name, value in result.dimension_pairs:
        label = f"dimension_{_NOT_IN_NAMES.sub('_', clipped(name))}"
        while label in labels:
            label += "_"
        labels[label] = clipped(value)
    return labels


def _family_lines(family: _Family) -> Iterator[str]:
    yield f"# TYPE {family.name} gauge"
    if family.unit:
        yield f"# UNIT {family.name} {family.unit}"
    yield f"# HELP {family.name} {_escaped(family.help)}"
    for labels, value in family.samples:
        text = ",".join(f'{name}="{_escaped(content)}"' for name, content in labels)
        yield f"{family.name}{f'{{{text}}}' if text else ''} {value!r}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _joined(*parts: str) -> str:
    return "_".join(part for part in parts if part)
