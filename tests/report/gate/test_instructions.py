"""What follows from instructions, counted because time was undecided, in every format of a gate."""

from collections.abc import Callable
from html import unescape

import pytest
from msgspec.structs import replace

from s3bench.gate.evidence import Inspection
from s3bench.gate.record import GateRecord, encode_record, parse_record
from s3bench.gate.row import Verdict
from s3bench.report.gate.annotations import render_annotations
from s3bench.report.gate.junit import render_junit
from s3bench.report.gate.markdown import render_comment, render_summary
from s3bench.report.gate.text import render_gate
from s3bench.report.page.gate.section import gate_section
from tests.report.conftest import cell, controls, record

USUAL = 1_826_552_714
FORMATS: tuple[Callable[[GateRecord], str], ...] = (
    lambda gate: render_gate(gate, width=120, color=False),
    lambda gate: render_gate(gate, width=40, color=False),
    render_summary,
    render_comment,
    render_annotations,
    lambda gate: render_junit(gate).decode(),
    lambda gate: encode_record(gate).decode(),
    lambda gate: str(gate_section(gate)),
)


def unescaped(text: str) -> str:
    """The text without the escapes of Markdown, XML and GitHub's commands."""
    return unescape(text).replace("\\", "").replace("%25", "%").replace("%3A", ":")


def counted(change: float) -> GateRecord:
    undecided = replace(
        cell(noise=0.2, pairs=40),
        baseline_inspections=(Inspection(instructions=USUAL),) * 2,
        candidate_inspections=(Inspection(instructions=round(USUAL * (1 + change))),) * 2,
    )
    return record([undecided, *controls()])


@pytest.mark.parametrize("render", FORMATS)
def test_unchanged_instructions_are_told_beside_the_undecided_time(render: Callable[[GateRecord], str]) -> None:
    gate = counted(0.0001)
    assert gate.conclusion is not None
    assert gate.conclusion.verdict is Verdict.INCONCLUSIVE
    assert "CPU work in user space unchanged (+0.01%); time undecided" in unescaped(render(gate))


@pytest.mark.parametrize("render", FORMATS)
def test_more_instructions_are_told_as_a_failure(render: Callable[[GateRecord], str]) -> None:
    gate = counted(0.031)
    text = unescaped(render(gate))
    assert "FAIL" in text
    assert "+3.10% instructions in user space, 2.0% or more" in text


def test_the_row_shows_both_counts_and_the_limits() -> None:
    text = render_gate(counted(0.031), width=140, color=False)
    assert "1,826.6 M -> 1,883.2 M" in text
    assert "+3.10%" in text
    assert "0.5%/2.0%" in text


def test_the_page_begins_with_what_failed() -> None:
    headline = gate_section(counted(0.031)).headline
    assert headline is not None
    assert headline.text.endswith(": +3.10% instructions in user space, 2.0% or more")
    assert headline.remarks == ("1,826.6 M -> 1,883.2 M in 2 runs of each side.",)


def test_junit_fails_the_case_of_the_instructions_with_its_figures() -> None:
    text = render_junit(counted(0.031)).decode()
    assert '<failure type="FAIL" message="FAIL: +3.10% instructions' in text
    assert 'name="instructions.change" value="0.03' in text


def test_a_replay_says_the_same() -> None:
    gate = counted(0.0001)
    again = parse_record(encode_record(gate), source="gate.json")
    assert again.concluded().conclusion == gate.conclusion
