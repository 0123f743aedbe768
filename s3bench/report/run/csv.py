"""A results document as CSV (RFC 4180): a line for each measurement with all its figures, and one for each failure.

A figure is written as it is stored, its unit stands in the header, and what was not measured is empty; `total_time` and
`cpu_time` of a load run too, since its duration was chosen. Lines end with CR LF.

Spreadsheets take a cell that begins with `=`, `+`, `-` or `@` for a formula, also behind a tab, a line end or a space,
and their full-width forms: a text that does gets an apostrophe in front, unless it is a number
(https://owasp.org/www-community/attacks/CSV_Injection).
"""

import csv
import re
from collections.abc import Iterable, Iterator
from io import StringIO

from s3bench.report.label import NAME_MAX, one_line
from s3bench.results.document import Document, Result
from s3bench.results.measurement import AnyMeasurement, Failure, figure
from s3bench.results.metrics import METRICS

_BEFORE = ("benchmark", "client", "version", "label")
_AFTER = ("iteration", "engine", "kind", "job", "operations", "failed", "error", "warnings")
_FORMULA = re.compile(r"[=+\-@\uff1d\uff0b\uff0d\uff20]")
_BREAKS = ("\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_SENTENCES_MAX = 5 * NAME_MAX

_Cell = str | int | float | None


def render_csv(document: Document) -> str:
    """Render as CSV: the header, then the lines of each result in the document's order.

    A column for each dimension follows those of the benchmark and its client; `kind`, `job`, `operations` and `failed`
    are of load runs, `error` is empty in the line of a measurement.
    """
    dimensions = tuple(dict.fromkeys(name for each in document.results for name, _ in each.dimension_pairs))
    lines = StringIO(newline="")
    writer = csv.writer(lines)
    writer.writerow([_cell(name) for name in _header(dimensions)])
    for result in document.results:
        writer.writerows([_cell(cell) for cell in row] for row in _rows(result, dimensions))
    return lines.getvalue()


def _header(dimensions: Iterable[str]) -> Iterator[str]:
    yield from _BEFORE
    yield from (f"dimension {name}" for name in dimensions)
    yield from _AFTER
    yield from (f"{metric.name} ({metric.unit})" for metric in METRICS)


def _rows(result: Result, dimensions: Iterable[str]) -> Iterator[list[_Cell]]:
    values = dict(result.dimension_pairs)
    client = result.client
    subject = [result.name, client.name, client.version, client.label, *(values.get(name, "") for name in dimensions)]
    for measurement in result.measurements:
        figures = (figure(measurement, metric.name) for metric in METRICS)
        yield [*subject, *_facts(measurement), *figures]
    for failure in result.errors:
        yield [*subject, *_failure(failure), *(None for _ in METRICS)]


def _facts(measurement: AnyMeasurement) -> Iterator[_Cell]:
    load = measurement.load
    yield from (measurement.iteration, measurement.engine)
    yield from (load.kind, load.job, load.operations, load.failed) if load else ("", "", None, None)
    yield from ("", "; ".join(measurement.warnings))


def _failure(failure: Failure) -> Iterator[_Cell]:
    code = "" if failure.exit_code is None else f" (exit code {failure.exit_code})"
    why = f": {failure.why}" if failure.why else ""
    yield from (failure.iteration, "", "", "", None, None)
    yield from (f"{failure.what}{code}{why}", "")


def _cell(cell: _Cell) -> _Cell:
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() else repr(cell)
    if not isinstance(cell, str):
        return cell
    return text_cell(cell, characters_max=_SENTENCES_MAX)


def text_cell(text: str, *, characters_max: int = NAME_MAX) -> str:
    """A text as a line that no spreadsheet takes for a formula."""
    line = one_line(text, characters_max=characters_max)
    is_formula = text.startswith(_BREAKS) or bool(_FORMULA.match(line))
    return f"'{line}" if is_formula and not _NUMBER.fullmatch(line) else line
