"""The words of a gate's report that all formats share: the bound that decided comes before the size."""

import re
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from s3bench.gate.record import GateRecord
from s3bench.report.gate import digest as words
from s3bench.report.gate.annotations import render_annotations
from s3bench.report.gate.digest import digest
from s3bench.report.gate.junit import render_junit
from s3bench.report.gate.markdown import render_comment, render_summary
from s3bench.report.gate.text import render_gate
from s3bench.report.page.gate.section import gate_section


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
