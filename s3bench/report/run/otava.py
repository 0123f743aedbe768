"""Runs as the CSV file that Apache Otava (formerly Hunter) reads, and the configuration that goes with it.

Otava looks for change points in series of runs (https://otava.apache.org/docs/csv): a row is a run, and its columns are
the time, attributes and metrics. A document is a row, its figures are medians. Every benchmark on every client is a
test with columns of its own in the one file. Otava takes no gaps: a column is there when every document has its figure.
The versions of a client make one series; if any document has several versions of it, each version makes its own.
"""

import csv
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO

import yaml

from s3bench.errors import BadInput
from s3bench.report.label import benchmark_text
from s3bench.report.run.csv import text_cell
from s3bench.report.run.figures import check_any, measured
from s3bench.results.document import Document, Result, render_time
from s3bench.results.foreign_tree import parse_time
from s3bench.results.metrics import METRICS_BY_NAME, Direction
from s3bench.units import counted

OTAVA_FILE = "otava.csv"
"""The name of the file of rows in the configuration."""

_TIME = "time"
_DIRECTIONS = {Direction.HIGHER: 1, Direction.LOWER: -1}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Test:
    """A benchmark on a client: its name in Otava, the version in each document, and each metric's medians."""

    name: str
    versions: tuple[str, ...]
    medians: Mapping[str, tuple[float, ...]]

    def column(self, metric: str) -> str:
        return f"{self.name} {metric}"

    @property
    def version_column(self) -> str:
        return self.column("version")


def render_otava(document: Document, *further: Document) -> str:
    """Render a row for each document, in the order of their times (RFC 4180).

    Raises `BadInput` if the documents have no figure in common, or one of them has no time.
    """
    documents = _in_order((document, *further))
    tests = _some_tests(documents, name="otava")
    text = StringIO()
    writer = csv.writer(text)
    versions = [test.version_column for test in tests]
    figures = [test.column(metric) for test in tests for metric in test.medians]
    writer.writerow([_TIME, "s3bench", *versions, *figures])
    for row, each in enumerate(documents):
        values = [repr(medians[row]) for test in tests for medians in test.medians.values()]
        writer.writerow([_time(each), text_cell(each.s3bench), *(test.versions[row] for test in tests), *values])
    return text.getvalue()


def render_otava_config(document: Document, *further: Document) -> str:
    """Render the YAML that describes the tests in `otava.csv`, which `render_otava` made of the same documents.

    Raises `BadInput` as it does.
    """
    tests = {
        test.name: {
            "type": "csv",
            "file": OTAVA_FILE,
            "time_column": _TIME,
            "attributes": ["s3bench", test.version_column],
            "metrics": {
                metric: {
                    "column": test.column(metric),
                    "direction": _DIRECTIONS[METRICS_BY_NAME[metric].direction],
                    "scale": 1,
                }
                for metric in test.medians
            },
        }
        for test in _some_tests(_in_order((document, *further)), name="otava-config")
    }
    return yaml.safe_dump({"tests": tests}, allow_unicode=False, sort_keys=False, width=1_000_000)


def gaps_in_words(documents: Sequence[Document]) -> str:
    """`2 tests and 1 more metric left out: not all documents have them`; empty where all documents have the same."""
    several = _of_several_versions(documents)
    found: dict[str, set[str]] = {}
    for document in documents:
        for name, result in _named(document, several).items():
            found.setdefault(name, set()).update(_medians(result))
    kept = {test.name: test.medians for test in _tests(documents)}
    tests = sum(bool(metrics) and name not in kept for name, metrics in found.items())
    metrics = sum(len(found[name]) - len(medians) for name, medians in kept.items())
    words = [counted(tests, "test")] if tests else []
    words += [counted(metrics, "more metric" if tests else "metric")] if metrics else []
    return f"{' and '.join(words)} left out: not all documents have them" if words else ""


def _in_order(documents: Sequence[Document]) -> tuple[Document, ...]:
    for each in documents:
        if parse_time(each.started_at) is None:
            raise BadInput("Otava needs the time of each run, and a document has none")
    return tuple(sorted(documents, key=_time))


def _time(document: Document) -> str:
    moment = parse_time(document.started_at)
    assert moment is not None, "documents without a time are refused"
    return render_time(moment)


def _some_tests(documents: Sequence[Document], *, name: str) -> tuple[_Test, ...]:
    """The tests; raises `BadInput` without any, named by the format that is asked for."""
    tests = _tests(documents)
    if len(documents) > 1 and not tests:
        raise BadInput(
            f"nothing to write as {name}: the documents have no test and metric in common",
            "Apache Otava takes no gaps, so that the format holds only figures that every document has",
            "report the documents of one suite together",
        )
    check_any(tests, name=name, holds="medians")
    return tests


def _tests(documents: Sequence[Document]) -> tuple[_Test, ...]:
    """The tests that all documents have a figure of, in the order of the first one."""
    several = _of_several_versions(documents)
    named = [_named(document, several) for document in documents]
    tests = []
    for name in named[0]:
        results = [each[name] for each in named if name in each]
        medians = _common_medians(results) if len(results) == len(named) else {}
        if medians:
            versions = tuple(text_cell(result.client.version) for result in results)
            tests.append(_Test(name=name, versions=versions, medians=medians))
    return tuple(tests)


def _of_several_versions(documents: Sequence[Document]) -> set[str]:
    """The names of the clients of which any document has several versions."""
    labels = ({(each.client.name, each.client.label) for each in document.results} for document in documents)
    return {name for each in labels for name, count in Counter(name for name, _ in each).items() if count > 1}


def _named(document: Document, several: Container[str]) -> dict[str, Result]:
    """The results by benchmark and client: by its name, so that versions make one series; of `several` by its label."""
    named: dict[str, Result] = {}
    for result in document.results:
        client = result.client.label if result.client.name in several else result.client.name
        named.setdefault(text_cell(f"{benchmark_text(result)} {client}"), result)
    return named


def _common_medians(results: Sequence[Result]) -> dict[str, tuple[float, ...]]:
    """The medians of each metric that every result has, in the table's order."""
    found = [_medians(result) for result in results]
    return {name: tuple(each[name] for each in found) for name in found[0] if all(name in each for each in found)}


def _medians(result: Result) -> dict[str, float]:
    """The median of each metric that has a direction."""
    return {
        metric.name: median
        for metric, figures in measured(result)
        if metric.direction in _DIRECTIONS and (median := figures.sample.median) is not None
    }
