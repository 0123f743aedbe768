"""The words of a gate's report that all formats share: the bound that decided comes before the size."""

import re
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from s3bench.gate.evidence import Role
from s3bench.gate.policy import Policy
from s3bench.gate.record import GateRecord
from s3bench.gate.row import Verdict
from s3bench.gate.unpaired import NOT_INTERLEAVED
from s3bench.report.gate import digest as words
from s3bench.report.gate.annotations import render_annotations
from s3bench.report.gate.digest import digest
from s3bench.report.gate.junit import render_junit
from s3bench.report.gate.markdown import render_comment, render_summary
from s3bench.report.gate.text import render_gate
from s3bench.report.page.gate.section import gate_section
from tests.report.conftest import cell, controls, made_up_gates, record


@pytest.mark.parametrize(("name", "bound"), [("fail by size", r"> \+\d"), ("small", r"> \+\d"), ("inconclusive", "-")])
def test_the_bound_is_the_one_that_decided(gates: Mapping[str, GateRecord], name: str, bound: str) -> None:
    assert re.match(bound, words.bound(digest(gates[name]).decided[0]))


def test_a_row_that_passes_is_bounded_from_above(gates: Mapping[str, GateRecord]) -> None:
    assert words.bound(digest(gates["pass"]).rest[0]).startswith("< ")


def test_every_format_has_the_bound_before_the_size(gates: Mapping[str, GateRecord]) -> None:
    gate = gates["fail by size"]
    row = digest(gate).decided[0]
    bound, size = f"+{row.at_least:.1%}", f"+{row.change:.1%}"
    headline = gate_section(gate).headline
    assert headline is not None
    texts = {
        "terminal": render_gate(gate, width=120, color=False),
        "narrow terminal": render_gate(gate, width=40, color=False),
        "summary": render_summary(gate),
        "comment": render_comment(gate),
        "annotations": render_annotations(gate),
        "junit": render_junit(gate).decode().split("<testcase", 1)[1],
        "page": " ".join((headline.text, *headline.remarks)),
    }
    for name, text in texts.items():
        assert 0 <= text.find(bound) < text.find(size), name


def test_faults_have_the_two_limits_of_memory_and_other_counts_none(gates: Mapping[str, GateRecord]) -> None:
    rows = {row.metric: row for row in digest(gates["pass"]).rest}
    assert re.fullmatch(r"\d+\.\d%/\d+\.\d%", words.limits(rows["minor_faults"]))
    assert re.fullmatch(r"\+\d+\.\d%/\+\d+\.\d%", words.detectable(rows["minor_faults"]))
    assert words.limits(rows["requests"]) == "exact"
    assert words.limits(replace(rows["requests"], metric="instructions")) == "0.1%"


def test_a_control_that_differs_the_other_way_has_one_row_that_says_better() -> None:
    gate = record([cell(), *controls(itself=-0.12)])
    content = digest(gate)
    assert content.verdict is Verdict.INVALID
    rows = [row for row in content.controls if row.role is Role.NEGATIVE_CONTROL]
    assert sorted(row.metric for row in rows) == ["peak_memory", "total_time"]
    (row,) = (row for row in rows if row.metric == "total_time")
    assert content.decided == (row,)
    assert row.better_by is not None
    assert row.change is not None
    assert words.bound(row) == f"better by > {row.better_by:.1%}"
    assert row.better_by < -row.change
    assert words.change(row) == f"{row.change:+.1%} faster"
    assert f"at least {row.better_by:+.1%} better, above 2.0%" in render_gate(gate, width=160, color=False)


@pytest.mark.parametrize(("slower", "bound"), [(0.2, r"< -1\d\.\d%"), (0.0, r"> -[01]\.\d%"), (-0.1, r"> \+\d+\.\d%")])
def test_bounds_and_limits_of_a_throughput_are_changes_of_it(slower: float, bound: str) -> None:
    gate = record([cell(slower=slower, pairs=20)], policy=Policy(metrics=("throughput",)))
    (row,) = (row for row in digest(gate).decided + digest(gate).rest if row.metric == "throughput")
    assert re.fullmatch(bound, words.bound(row))
    assert words.limits(row) == "-2.0%/-6.0%"
    assert re.fullmatch(r"-\d\.\d%/-\d\.\d%", words.detectable(row))
    rest = words.rest_in_words(digest(gate))
    assert not rest or "detectable: throughput from -" in rest
    assert ("nothing got worse" in rest) is (slower < 0)
    assert ("largest possible worsening -" in rest) is (slower == 0)
    headline = gate_section(gate).headline
    assert headline is not None
    assert slower <= 0 or re.search(r"at least 1\d\.\d% lower, limit 2\.0%", headline.text)


def test_that_documents_were_not_interleaved_is_a_warning_and_no_note_as_well() -> None:
    gate = replace(made_up_gates()["two documents"], warnings=(NOT_INTERLEAVED,))
    content = digest(gate)
    assert content.warnings.count(NOT_INTERLEAVED) == 1
    assert render_gate(gate, width=120, color=False, verbose=True).count("one after the other") == 1
