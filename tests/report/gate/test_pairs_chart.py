"""The chart of a row's pairs has the zone of the row's forest plot."""

import pytest

from s3bench.gate.policy import Policy
from s3bench.gate.record import GateRecord
from s3bench.report.page.gate.section import gate_section
from tests.report.conftest import cell, controls, record
from tests.report.page.forest_reader import layers


def zones_of(gate: GateRecord, forest: str) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """The ends of both zones in the forest plot of that name, and in the first chart of pairs; the outer zone first."""
    section = gate_section(gate)
    parts = {part.name: part for part in section.parts}
    plots = section.figures if forest == "forest" else parts["controls"].figures
    bands = layers(parts["pairs"].figures[0].chart, "rect")
    row = (
        layers(plots[0].chart, "rect")[0][-1]
        if forest == "forest"
        else next(value for value in layers(plots[0].chart, "rect")[0] if "itself" in value["name"])
    )
    drawn = [tuple(sorted((row[f"{limit}_worse"], row[f"{limit}_better"]))) for limit in ("d1", "d0")]
    return drawn, [tuple(sorted((band[0]["top"], band[0]["bottom"]))) for band in bands]


@pytest.mark.parametrize("itself", [0.12, -0.12])
def test_neither_side_of_a_negative_control_may_be_better(itself: float) -> None:
    forest, pairs = zones_of(record([cell(), *controls(itself=itself)]), "controls")
    assert pairs == [pytest.approx(zone) for zone in forest]
    assert pairs[0] == pytest.approx((1 / 1.06, 1.06))


def test_a_benchmark_may_be_better() -> None:
    forest, pairs = zones_of(record([cell(slower=0.12, pairs=20)]), "forest")
    assert pairs == [pytest.approx(zone) for zone in forest]
    assert pairs[0] == pytest.approx((1, 1.06))


def test_the_zone_of_a_throughput_ends_at_the_decrease_that_was_declared() -> None:
    forest, pairs = zones_of(record([cell(slower=0.3, pairs=20)], policy=Policy(metrics=("throughput",))), "forest")
    assert pairs == [pytest.approx(zone) for zone in forest]
    assert pairs[0] == pytest.approx((0.94, 1))
