"""A gate as JUnit XML: valid whatever names hold, and red exactly when the gate is."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping

import pytest
from msgspec.structs import replace

from s3bench.gate.policy import Policy
from s3bench.gate.record import GateRecord
from s3bench.gate.row import Verdict
from s3bench.report.gate.junit import render_junit
from s3bench.report.terminal import printable
from tests.report.conftest import cell, record

# The parts of Jenkins' junit-10.xsd that are in use: attributes required and allowed, and children.
_SHAPE: Mapping[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"time", "skipped", "timestamp"},
        {"properties", "testcase"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "testcase": ({"name"}, {"classname", "time"}, {"skipped", "error", "failure", "system-out"}),
    "skipped": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "failure": (set(), {"type", "message"}, set()),
    "system-out": (set(), set(), set()),
}


def parsed(gate: GateRecord, *, is_strict: bool = False) -> ET.Element:
    return ET.fromstring(render_junit(replace(gate, options={**gate.options, "strict": is_strict})))


def case(root: ET.Element, suite: str, name: str) -> ET.Element:
    found = [each for each in root if each.get("name") == suite]
    assert len(found) == 1, suite
    (one,) = (each for each in found[0].iter("testcase") if each.get("name") == name)
    return one


def outcomes(root: ET.Element) -> dict[str, int]:
    return {name: len(list(root.iter(name))) for name in ("failure", "error", "skipped")}


def test_the_document_is_the_golden_one(
    gates: Mapping[str, GateRecord], assert_golden: Callable[[str, str], None]
) -> None:
    text = render_junit(gates["waived"]).decode()
    # Figures are whole doubles there: libraries differ in the last digits.
    assert_golden("gate_junit.xml", re.sub(r"(\d\.\d{6})\d+(e-\d+)?", r"\1\2", text))


def test_bounds_that_are_decreases_are_named_so() -> None:
    gate = record([cell(pairs=20)], policy=Policy(metrics=("total_time", "throughput")))
    names = [each.get("name") for each in parsed(gate).iter("property")]
    assert [name for name in names if name and name.endswith("is_drop")] == ["throughput.is_drop"]


def test_it_has_the_shape_that_servers_read(
    gates: Mapping[str, GateRecord], hostile: GateRecord, many: GateRecord
) -> None:
    for gate in (*gates.values(), hostile, many):
        root = parsed(gate)
        assert root.tag == "testsuites"
        for element in root.iter():
            required, optional, children = _SHAPE[element.tag]
            assert required <= set(element.attrib) <= required | optional
            assert {child.tag for child in element} <= children
        for suite in root:
            assert re.fullmatch(r"\d+\.\d{3}", suite.get("time", "0.000"))
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp", ""))
            names = [each.get("name") for each in suite.iter("testcase")]
            assert len(names) == len(set(names))
        assert len({suite.get("name") for suite in root}) == len(root)


def test_the_counts_are_those_of_the_cases(gates: Mapping[str, GateRecord]) -> None:
    for gate in gates.values():
        root = parsed(gate)
        for suite in root:
            assert int(suite.get("tests", "")) == len(suite.findall("testcase"))
            assert int(suite.get("failures", "")) == len(suite.findall("testcase/failure"))
            assert int(suite.get("errors", "")) == len(suite.findall("testcase/error"))
            assert int(suite.get("skipped", "")) == len(suite.findall("testcase/skipped"))
        for name in ("tests", "failures", "errors"):
            assert int(root.get(name, "")) == sum(int(suite.get(name, "")) for suite in root)


@pytest.mark.parametrize("is_strict", [False, True])
def test_it_is_red_exactly_when_the_gate_is(gates: Mapping[str, GateRecord], *, is_strict: bool) -> None:
    for gate in gates.values():
        assert gate.conclusion
        found = outcomes(parsed(gate, is_strict=is_strict))
        verdict = gate.conclusion.verdict
        assert bool(found["failure"]) == (verdict is Verdict.FAIL or (is_strict and verdict is Verdict.SMALL))
        assert bool(found["error"]) == (verdict in {Verdict.INCONCLUSIVE, Verdict.INVALID})


def test_a_row_that_fails_is_a_failure_with_its_reason(gates: Mapping[str, GateRecord]) -> None:
    suite = "s3.cp.upload FileSize=32MB"
    failure = case(parsed(gates["fail by size"]), suite, "total_time").find("failure")
    assert failure is not None
    assert failure.get("message", "").startswith("FAIL: at least +")
    assert "95 % interval" in (failure.text or "")
    named = case(parsed(gates["fail by requests"]), suite, "requests").find("failure")
    assert named is not None
    assert named.get("message") == "FAIL: 1 more: PUT (4 -> 5)"
    assert case(parsed(gates["fail by creep"]), "all benchmarks together", "total_time").find("failure") is not None


def test_a_small_row_is_a_failure_of_a_strict_gate_unless_that_is_undecided(gates: Mapping[str, GateRecord]) -> None:
    suite = "s3.cp.upload FileSize=32MB"
    failure = case(parsed(gates["small"], is_strict=True), suite, "total_time").find("failure")
    assert failure is not None
    assert failure.get("type") == "SMALL"
    assert failure.get("message", "").startswith("SMALL: at least +")
    assert failure.get("message", "").endswith("; --strict")
    conclusion = gates["small"].conclusion
    assert conclusion
    undecided = replace(gates["small"], conclusion=replace(conclusion, verdict=Verdict.INCONCLUSIVE))
    assert not outcomes(parsed(undecided, is_strict=True))["failure"]


def test_a_waived_row_is_skipped_with_the_reason(gates: Mapping[str, GateRecord]) -> None:
    skipped = case(parsed(gates["waived"]), "s3.cp.upload FileSize=32MB", "total_time").find("skipped")
    assert skipped is not None
    assert skipped.get("message", "").startswith("waived: new hash (https://example.com/issues/7, until 2026-11-21); ")


def test_an_undecided_row_is_an_error_unless_it_decides_by_failing_alone(gates: Mapping[str, GateRecord]) -> None:
    root = parsed(gates["inconclusive"])
    assert case(root, "s3.cp.upload FileSize=32MB", "total_time").find("error") is not None
    assert case(root, "all benchmarks together", "total_time").find("skipped") is not None


def test_a_verdict_of_no_row_has_a_case_of_its_own(gates: Mapping[str, GateRecord]) -> None:
    for name, reason in (
        ("same program", "baseline and candidate are the same program"),
        ("nothing", "no benchmark was measured on both sides"),
        ("invalid by the negative control", "the baseline differs from itself: total_time of startup"),
        ("invalid by the positive control", "a planted delay was not detected"),
        ("invalid by a failure", "the client failed: ERROR"),
    ):
        error = case(parsed(gates[name]), "the gate as a whole", "verdict").find("error")
        assert error is not None
        assert reason in error.get("message", "")


def test_the_raw_figures_are_properties(gates: Mapping[str, GateRecord]) -> None:
    gate = gates["fail by size"]
    assert gate.conclusion
    row = gate.conclusion.rows[0]
    found = {each.get("name"): each.get("value") for each in parsed(gate)[0].iter("property")}
    assert float(found["total_time.change"] or "") == row.change
    assert float(found["total_time.detectable"] or "") == row.detectable
    assert found["total_time.verdict"] == "FAIL"
    assert found["total_time.pairs"] == "20"


def test_hostile_names_come_back_as_they_can_be_printed(hostile: GateRecord) -> None:
    written = render_junit(hostile)
    assert not re.search(rb"[\x00-\x08\x0b-\x1f]", written)
    assert [suite.get("name") for suite in ET.fromstring(written)] == [printable(hostile.cells[0].name)]
