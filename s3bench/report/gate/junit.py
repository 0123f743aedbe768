"""A gate as JUnit XML, which CI servers show as tests: a suite for each benchmark, a case for each row.

The shape is that of Jenkins' xUnit plug-in (its `junit-10.xsd`), which knows properties of suites and not of cases; so
the raw figures are the suite's, each named by its metric. A failed case always means a failed gate: a row that the
verdict does not rest on is skipped, and a verdict that rests on no row has a case of its own.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from s3bench.gate.evidence import CellEvidence, Role, Side
from s3bench.gate.record import GateRecord
from s3bench.gate.row import GateRow, Verdict
from s3bench.report.gate import digest as words
from s3bench.report.gate.digest import Digest, digest
from s3bench.report.junit import add_counts, add_properties
from s3bench.report.terminal import printable

_FIGURES = (
    *("pairs", "at_least", "at_most", "baseline", "candidate", "change", "low", "high"),
    *("d0", "d1", "p", "level", "sigma", "detectable", "detectable_small"),
)
_GATE = "the gate as a whole"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """What became of a case: the element that says so (none: it passed) and why."""

    element: str = ""
    type: str = ""
    message: str = ""


def render_junit(record: GateRecord) -> bytes:
    """Render a concluded gate as an XML document, in UTF-8. Of a strict gate, SMALL is a failure."""
    content = digest(record)
    suites: dict[str, list[GateRow]] = {}
    assert record.conclusion is not None
    for row in record.conclusion.rows:
        if row.decides:
            suites.setdefault(words.benchmark(row), []).append(row)
    root = ET.Element("testsuites", name=f"s3bench gate, {content.headline}")
    cells = {printable(cell.title): cell for cell in record.cells if cell.role is Role.BENCHMARK}
    for benchmark, rows in suites.items():
        suite = ET.SubElement(root, "testsuite", name=benchmark, timestamp=printable(record.started_at[:19]))
        if benchmark in cells:
            suite.set("time", f"{_measured_s(cells[benchmark]):.3f}")
        add_properties(suite, _figures(rows))
        for row in rows:
            outcome = _outcome(row, content, is_strict=record.is_strict)
            _add_case(suite, row.metric, benchmark, outcome, words.sentence(row, content))
    if content.verdict is Verdict.INVALID or (
        content.verdict is Verdict.INCONCLUSIVE and root.find(".//error") is None
    ):
        suite = ET.SubElement(root, "testsuite", name=_GATE, timestamp=printable(record.started_at[:19]))
        outcome = _Outcome(element="error", type=content.verdict, message="; ".join(content.notes))
        _add_case(suite, "verdict", _GATE, outcome, words.controls_in_words(record, content))
    add_counts(root)
    ET.indent(root)
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _outcome(row: GateRow, content: Digest, *, is_strict: bool) -> _Outcome:
    reason = f"{row.verdict}: {printable(row.reason)}"
    if row.waived_by:
        return _Outcome(element="skipped", type="waived", message=f"waived: {printable(row.waived_by)}; {reason}")
    if content.verdict is Verdict.INVALID:
        return _Outcome(element="skipped", type="withdrawn", message=f"the gate is INVALID, nothing is known; {reason}")
    if row.verdict is Verdict.FAIL:
        return _Outcome(element="failure", type="FAIL", message=reason)
    if is_strict and row.verdict is Verdict.SMALL and content.verdict in {Verdict.SMALL, Verdict.FAIL}:
        return _Outcome(element="failure", type="SMALL", message=f"{reason}; --strict")
    if row.verdict is not Verdict.INCONCLUSIVE:
        return _Outcome()
    if row.benchmark:
        return _Outcome(element="error", type="INCONCLUSIVE", message=reason)
    return _Outcome(element="skipped", type="INCONCLUSIVE", message=f"decides only when it FAILs; {reason}")


def _add_case(suite: ET.Element, name: str, class_name: str, outcome: _Outcome, text: str) -> None:
    case = ET.SubElement(suite, "testcase", name=name, classname=class_name)
    if outcome.element:
        element = ET.SubElement(case, outcome.element, type=outcome.type, message=outcome.message)
        element.text = text
    else:
        ET.SubElement(case, "system-out").text = text


def _figures(rows: Iterable[GateRow]) -> Iterator[tuple[str, str]]:
    """The raw figures of each row by their names in the record; changes and limits are shares, not per cent.

    With `is_drop`, which is there where more is better, bounds and limits are decreases.
    """
    for row in rows:
        yield f"{row.metric}.verdict", f"{row.verdict}"
        if row.is_drop:
            yield f"{row.metric}.is_drop", "true"
        for name in _FIGURES:
            if (value := getattr(row, name)) is not None:
                yield f"{row.metric}.{name}", repr(value)
        for found in row.changes:
            yield f"{row.metric}.{found.difference}", words.change_line(found)


def _measured_s(cell: CellEvidence) -> float:
    return sum(run.total_time for side in Side for run in cell.runs(side))
