"""A run as JUnit XML, which CI servers show as tests: a suite for each benchmark, a case for each client.

A case fails when an iteration did, or a warm-up. One whose iterations are missing has an error. A run that was cut
short is never green: it has an error of its own, since benchmarks may be missing that never began. The medians are
properties of the suite, named by client and metric (seconds, bytes, cores).
"""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

from s3bench.report.junit import add_counts, add_properties
from s3bench.report.label import benchmark_text, clipped
from s3bench.report.run.figures import failures_in_words, measured
from s3bench.report.run.problems import CUT_SHORT
from s3bench.report.terminal import printable
from s3bench.results.document import Document, Result
from s3bench.results.measurement import Failure

_TEXT_MAX = 20_000
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", re.ASCII)
_WHOLE = "the run as a whole"
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'


def render_junit(document: Document) -> str:
    """Render the document as an XML document; write it in UTF-8."""
    suites: dict[str, list[Result]] = {}
    for result in document.results:
        suites.setdefault(benchmark_text(result), []).append(result)
    root = ET.Element("testsuites", name="s3bench run")
    started = _DATE_TIME.match(document.started_at)
    for benchmark, results in suites.items():
        suite = ET.SubElement(root, "testsuite", name=benchmark)
        if started:
            suite.set("timestamp", started[0])
        suite.set("time", f"{sum(_measured_s(result) for result in results):.3f}")
        add_properties(suite, (each for result in results for each in _figures(result)))
        for result in results:
            _add_case(suite, result, benchmark)
        ET.SubElement(suite, "system-out").text = _shown("\n".join(document.warnings))
    if document.was_cut_short:
        suite = ET.SubElement(root, "testsuite", name=_WHOLE)
        case = ET.SubElement(suite, "testcase", name="complete", classname=_WHOLE)
        ET.SubElement(case, "error", type="cut short", message=CUT_SHORT)
    add_counts(root)
    ET.indent(root)
    return f"{_DECLARATION}{ET.tostring(root, encoding='unicode')}\n"


def _measured_s(result: Result) -> float:
    return sum(each.total_time for each in result.measurements)


def _figures(result: Result) -> Iterator[tuple[str, str]]:
    client = clipped(result.client.label)
    yield f"{client}.version", clipped(result.client.version)
    yield f"{client}.iterations", f"{len(result.measurements)}"
    for metric, figures in measured(result):
        yield f"{client}.{metric.name}", repr(figures.sample.median)


def _add_case(suite: ET.Element, result: Result, benchmark: str) -> None:
    name = clipped(result.client.label)
    case = ET.SubElement(suite, "testcase", name=name, classname=benchmark, time=f"{_measured_s(result):.3f}")
    if result.errors:
        message = f"{failures_in_words((result,))}: {result.errors[0].what}"
        element = ET.SubElement(case, "failure", type="failed", message=clipped(message))
        element.text = _shown("\n\n".join(_failure_text(each) for each in result.errors))
    elif result.is_running:
        words = "iterations are missing: the run ended early, or is still running"
        ET.SubElement(case, "error", type="running", message=words)
    warnings = dict.fromkeys(warning for each in result.measurements for warning in each.warnings)
    ET.SubElement(case, "system-out").text = _shown("\n".join(warnings))


def _failure_text(failure: Failure) -> str:
    exited = "" if failure.exit_code is None else f" (exit code {failure.exit_code})"
    request = f"request: {failure.request}" if failure.request else ""
    lines = (f"{failure.place}: {failure.what}{exited}", _shortened(failure.why), request)
    return "\n".join(line for line in lines if line)


def _shown(text: str) -> str:
    return "\n".join(printable(line) for line in _shortened(text).splitlines())


def _shortened(text: str) -> str:
    """The beginning and the end of a text that is too long."""
    half = _TEXT_MAX // 2
    return text if len(text) <= _TEXT_MAX else f"{text[:half]}\n[...]\n{text[-half:]}"
