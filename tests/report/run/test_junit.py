"""A run as JUnit XML: valid whatever names hold, and green only when everything was measured."""

import xml.etree.ElementTree as ET
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from s3bench.report.run.junit import render_junit
from s3bench.results.document import Document, Result
from tests.report.loads import everything
from tests.report.machine_samples import CRT, EMPTY, hostile, result, run

# The parts of Jenkins' junit-10.xsd that are in use: attributes required and allowed, and children in their order.
_SHAPE: Mapping[str, tuple[set[str], set[str], list[str]]] = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, ["testsuite"]),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"time", "skipped", "timestamp"},
        ["properties", "testcase", "system-out"],
    ),
    "properties": (set(), set(), ["property"]),
    "property": ({"name", "value"}, set(), []),
    "testcase": ({"name"}, {"classname", "time"}, ["error", "failure", "system-out"]),
    "error": (set(), {"type", "message"}, []),
    "failure": (set(), {"type", "message"}, []),
    "system-out": (set(), set(), []),
}


def parsed(document: Document) -> ET.Element:
    root = ET.fromstring(render_junit(document).encode())
    assert root.tag == "testsuites"
    for element in root.iter():
        required, optional, children = _SHAPE[element.tag]
        assert required <= set(element.keys()) <= required | optional
        places = [children.index(child.tag) for child in element]
        assert places == sorted(places)
    return root


def case(root: ET.Element, suite: str, name: str) -> ET.Element:
    (found,) = (each for each in root if each.get("name") == suite)
    (one,) = (each for each in found.iter("testcase") if each.get("name") == name)
    return one


def test_a_benchmark_is_a_suite_and_each_client_a_case() -> None:
    root = parsed(run())
    assert [suite.get("name") for suite in root] == ["s3.cp.upload FileSize=32MB", "s3.mv", "s3.rm"]
    (suite,) = (each for each in root if each.get("name") == "s3.cp.upload FileSize=32MB")
    assert [each.get("name") for each in suite.iter("testcase")] == ["cli-crt@2.38.5", "cli-classic@2.38.5"]
    assert suite.get("timestamp") == "2026-11-21T10:00:00"
    assert suite.get("time") == "7.500"
    assert case(root, "s3.cp.upload FileSize=32MB", "cli-crt@2.38.5").get("time") == "5.500"


def test_a_failure_is_a_failure_and_a_run_cut_short_an_error() -> None:
    root = parsed(run())
    failure = case(root, "s3.mv", "cli-crt@2.38.5").find("failure")
    assert failure is not None
    assert failure.get("message") == "1 iteration failed: the client failed"
    assert failure.text == "iteration 1: the client failed (exit code 255)\nno such\nbucket\nrequest: PUT /b/k"
    error = case(root, "s3.rm", "cli-crt@2.38.5").find("error")
    assert error is not None
    assert "missing" in (error.get("message") or "")
    assert {name: root.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "4",
        "failures": "1",
        "errors": "1",
    }


def test_an_iteration_whose_audit_failed_too_is_counted_once_and_both_failures_are_told() -> None:
    failed = run().results[2]
    twice = failed.with_failure(replace(failed.errors[0], what="the audit failed"))
    failure = case(parsed(EMPTY.with_result(twice)), "s3.mv", "cli-crt@2.38.5").find("failure")
    assert failure is not None
    assert failure.get("message") == "1 iteration failed: the client failed"
    assert (failure.text or "").count("iteration 1: ") == 2


def test_a_warm_up_that_failed_is_no_iteration() -> None:
    failed = run().results[2]
    warm_up = replace(failed, errors=(replace(failed.errors[0], iteration=None),))
    failure = case(parsed(EMPTY.with_result(warm_up)), "s3.mv", "cli-crt@2.38.5").find("failure")
    assert failure is not None
    assert failure.get("message") == "1 failure outside of the iterations: the client failed"


def test_the_medians_are_properties_by_client_and_metric() -> None:
    properties = {each.get("name"): each.get("value") for each in parsed(run()).iter("property")}
    assert properties["cli-crt@2.38.5.iterations"] == "0"  # of the last benchmark, which has none
    (suite,) = (each for each in parsed(run()) if each.get("name") == "s3.cp.upload FileSize=32MB")
    of_suite = {each.get("name"): each.get("value") for each in suite.iter("property")}
    assert of_suite["cli-crt@2.38.5.iterations"] == "3"
    assert of_suite["cli-crt@2.38.5.total_time"] == "1.5"
    assert of_suite["cli-classic@2.38.5.peak_memory"] == "100000000"
    assert not any(name and name.endswith("max_cpu") for name in of_suite)


def test_doubts_stand_in_the_output() -> None:
    root = parsed(run())
    assert case(root, "s3.mv", "cli-crt@2.38.5").findtext("system-out") == "stub-bound: the server was busy"
    assert [suite.findtext("system-out") for suite in root] == ["the machine was busy"] * 3


def test_a_load_run_and_an_empty_one_have_the_shape_too() -> None:
    assert parsed(EMPTY).get("tests") == "0"
    assert parsed(everything()).get("tests") == "5"


def test_a_time_that_is_none_is_left_out() -> None:
    root = parsed(replace(run(), started_at="=1+1"))
    assert root[0].get("timestamp") is None


def test_hostile_texts_do_no_harm_and_do_not_fill_the_file() -> None:
    text = render_junit(hostile())
    parsed(hostile())
    assert "<script>" not in text
    assert not set(text) & set("\x1b\x00\r\u202e\ud800")
    assert len(text) < 400_000


@settings(max_examples=30)
@given(st.text(), st.text())
def test_any_text_is_valid_xml(name: str, value: str) -> None:
    root = parsed(EMPTY.with_result(result(name, CRT, 1.0, dimension=value)))
    assert root.get("tests") == "1"


@pytest.mark.parametrize("results", [(), (result("s3.mv", CRT, 1.0),)])
def test_a_run_that_was_cut_short_is_never_green(results: tuple[Result, ...]) -> None:
    killed = replace(EMPTY, ended_at=None, options={"warmup": 0}, results=results)
    root = parsed(killed)
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == (f"{1 + len(results)}", "0", "1")
    error = case(root, "the run as a whole", "complete").find("error")
    assert error is not None
    assert error.get("message") == "the run is not complete: it ended early, or is still running"
    assert parsed(replace(killed, ended_at=EMPTY.ended_at)).get("errors") == "0"
