"""A gate on the page: the verdict first, in its tone, and the record's own figures in every chart."""

import re
from collections.abc import Mapping
from functools import cache

import pytest
from msgspec.structs import replace

from s3bench.gate.evidence import Role
from s3bench.gate.record import GateRecord, encode_record, parse_record
from s3bench.gate.row import RowKind
from s3bench.report.gate import digest as words
from s3bench.report.gate.digest import digest
from s3bench.report.page.drawing import draw
from s3bench.report.page.gate.section import PAIRS_SHOWN_MAX, gate_section
from s3bench.report.page.section import Section
from s3bench.report.table import Tone
from tests.report.conftest import made_up_gates, many_gate
from tests.report.page.chart_reader import figures
from tests.report.page.forest_reader import drawn, labels, layers


@cache
def section_of(name: str) -> Section:
    """The section of the gate of that name."""
    return gate_section(made_up_gates()[name])


def part(section: Section, name: str) -> Section:
    (found,) = (each for each in section.parts if each.name == name)
    return found


@pytest.mark.parametrize(
    ("name", "tone"),
    [
        ("pass", Tone.GOOD),
        ("small", Tone.WARNING),
        ("fail by size", Tone.BAD),
        ("fail by imports", Tone.BAD),
        ("inconclusive", Tone.WARNING),
        ("invalid by a failure", Tone.BAD),
        ("waived", Tone.GOOD),
        ("nothing", Tone.WARNING),
        ("two documents", Tone.BAD),
    ],
)
def test_the_headline_is_the_verdict_in_its_tone(gates: Mapping[str, GateRecord], name: str, tone: Tone) -> None:
    headline = section_of(name).headline
    assert headline is not None
    assert headline.verdict == digest(gates[name]).verdict
    assert headline.tone is tone


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("fail by size", "total_time of s3.cp.upload FileSize=32MB at least +9.3% worse, limit 2.0%"),
        ("fail by requests", "requests of s3.cp.upload FileSize=32MB: 1 more: PUT (4 -> 5)"),
        ("nothing", "cli-crt@2.38.5 against cli-crt@2.36.0"),
    ],
)
def test_the_headline_names_the_row_and_the_bound_that_decided(name: str, text: str) -> None:
    headline = section_of(name).headline
    assert headline is not None
    assert headline.text == text


def test_a_headline_of_a_pass_is_the_largest_possible_worsening() -> None:
    headline = section_of("pass").headline
    assert headline is not None
    assert re.fullmatch(r"No row is worse by more than \d\.\d%", headline.text)


def test_every_gate_makes_a_section_whose_figures_have_names_of_their_own() -> None:
    for section in map(section_of, made_up_gates()):
        names = [figure.name for figure in section.figures]
        assert len(set(names)) == len(names)
        assert len({each.name for each in section.parts}) == len(section.parts)


def test_a_forest_draws_each_row_judged_by_its_size_with_its_zone(gates: Mapping[str, GateRecord]) -> None:
    told = digest(gates["small"])
    rows = [row for row in (*told.decided, *told.rest) if row.metric == "total_time" and row.kind is not RowKind.EXACT]
    figure = section_of("small").figures[0]
    (points,) = layers(figure.chart, "point")
    assert [value["ratio"] for value in points] == [1 + (row.change or 0.0) for row in rows]
    assert [value["word"] for value in points] == [row.verdict for row in rows]
    limits, _ = layers(figure.chart, "rect")
    assert [value["d1_worse"] for value in limits] == [1 + (row.d1 or 0.0) for row in rows]
    for label, row in zip(labels(figure.chart), rows, strict=True):
        assert label.startswith(
            f"{row.verdict}: {words.subject(row)} {words.bound(row)}, size {words.change(row)}, 95 %"
        )
        assert words.interval(row) in label
        assert label.endswith(f"limits {words.limits(row)}, detectable from {words.detectable(row)}")


def test_the_tables_have_every_row_and_what_it_could_have_seen(gates: Mapping[str, GateRecord]) -> None:
    for name in gates:
        section = section_of(name)
        told = digest(gates[name])
        shown = [row for table in section.tables for row in table.rows]
        rows = [*told.decided, *told.waived, *told.rest]
        assert [row[3].text for row in shown] == [words.bound(row) for row in rows]
        assert [row[9].text for row in shown] == [words.detectable(row) for row in rows]
        assert [row[5].text + row[5].more for row in shown] == [words.change(row) for row in rows]


def test_pairs_are_drawn_as_measured_in_run_order(gates: Mapping[str, GateRecord]) -> None:
    gate = gates["fail by size"]
    (figure,) = part(section_of("fail by size"), "pairs").figures
    cell = gate.cells[0]
    dots, known = layers(figure.chart, "point")
    assert [value["pair"] for value in dots] == list(range(1, 21))
    for value, pair in zip(dots, cell.pairs, strict=True):
        assert value["ratio"] == pytest.approx(pair.candidate.total_time / pair.baseline.total_time)
        assert value["order"] == ("baseline first" if pair.order == "AB" else "candidate first")
    assert labels(figure.chart)[0].startswith("pair 1: +")
    assert figure.table is not None
    assert len(figure.table.rows) == 20
    (row,) = digest(gate).decided
    assert known[-1]["ratio"] == 1 + (row.change or 0.0)
    assert (known[-1]["from"], known[-1]["to"]) == (1 + (row.low or 0.0), 1 + (row.high or 0.0))
    assert known[-1]["label"] == f"after 20 pairs: {words.change(row)}, 95 % interval {words.interval(row)}"
    assert [value["label"].split(":")[0] for value in known] == ["after 10 pairs", "after 20 pairs"]


def test_pairs_that_came_after_the_decision_are_pale(gates: Mapping[str, GateRecord]) -> None:
    (figure,) = part(section_of("small"), "pairs").figures
    counted, pale, _ = layers(figure.chart, "point")
    (row,) = digest(gates["small"]).decided
    assert (len(counted), len(pale)) == (row.pairs, 40 - row.pairs)
    assert "are not counted" in figure.description


def test_a_pass_shows_the_pairs_of_the_row_that_may_be_worst(gates: Mapping[str, GateRecord]) -> None:
    pairs = part(section_of("pass"), "pairs")
    (figure,) = pairs.figures
    worst = max(
        (row for row in digest(gates["pass"]).rest if row.kind is RowKind.SIZE), key=lambda row: row.at_most or 0
    )
    assert figure.title == f"Pairs: {words.subject(worst)}"
    assert "may be worst" in pairs.title


def test_two_documents_have_no_pairs() -> None:
    assert "pairs" not in {each.name for each in section_of("two documents").parts}


def test_controls_stand_apart() -> None:
    controls = part(section_of("pass"), "controls")
    assert controls.is_folded
    assert any("with a planted delay" in label for label in labels(controls.figures[0].chart))
    assert not any("planted" in label for figure in section_of("pass").figures for label in labels(figure.chart))


def test_counts_that_differ_are_listed_by_name() -> None:
    (table,) = part(section_of("fail by imports"), "counts").tables
    assert [row[2].text for row in table.rows] == [f"module_{number}: 0 -> 1" for number in range(7)]


def test_a_waiver_and_a_warning_are_told() -> None:
    lines = [line.text for line in section_of("waived").lines]
    assert any(text.startswith("waived: total_time of s3.cp.upload") for text in lines)
    assert any("expired on 2026-01-01" in text for text in lines)


def test_a_replayed_record_makes_the_same_charts(gates: Mapping[str, GateRecord]) -> None:
    again = parse_record(encode_record(gates["small"]), source="x").concluded()
    first, second = (gate_section(gate) for gate in (gates["small"], again))
    assert [figure.chart.to_dict(validate=False) for figure in figures(first)] == [
        figure.chart.to_dict(validate=False) for figure in figures(second)
    ]


def test_200_rows_that_fail_draw_60_and_a_few_pairs(many: GateRecord) -> None:
    section = gate_section(many)
    assert len(section.tables[0].rows) >= 200
    assert len(labels(section.figures[0].chart)) == 60
    pairs = part(section, "pairs")
    assert len(pairs.figures) == PAIRS_SHOWN_MAX
    assert "of 200 rows are drawn" in pairs.lines[0].text


def test_names_of_characters_beyond_16_bits_are_not_cut_in_their_midst() -> None:
    assert drawn(gate_section(many_gate(1)).figures[0]).startswith("<svg")


def test_every_chart_can_be_drawn() -> None:
    for figure in figures(section_of("fail by creep")):
        assert drawn(figure).startswith("<svg")


def test_what_comes_from_outside_does_no_harm(hostile: GateRecord) -> None:
    section = gate_section(hostile)
    for each in (section, *section.parts):
        shown = [line.text for line in each.lines] + [cell.text for t in each.tables for row in t.rows for cell in row]
        assert all(text.isprintable() for text in shown)
    for figure in figures(section):
        svg = draw(figure, element_id="x")
        assert "<b>" not in svg
        assert "\x1b" not in svg
        assert "\u202e" not in svg


def test_a_gate_that_stopped_early_has_its_reason(gates: Mapping[str, GateRecord]) -> None:
    gate = replace(gates["time limit"], stopped="stopped after 30 minutes").concluded()
    assert "stopped after 30 minutes" in [line.text for line in gate_section(gate).lines]
    assert any(row.role is Role.POSITIVE_CONTROL for row in digest(gate).controls)
