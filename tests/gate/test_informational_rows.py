"""Rows that decide nothing: other metrics that changed."""

import pytest

from s3bench.gate.evidence import ClientCellEvidence
from s3bench.gate.multiple_testing import decide_rows
from s3bench.gate.policy import Policy
from s3bench.gate.row import RowKind
from tests.gate.evidence_maker import of_pairs, only, ratios, run


def with_cpu(worsening: float, name: str = "x", sigma: float = 0.01) -> ClientCellEvidence:
    return of_pairs([(run(cpu_time=1.0), run(cpu_time=ratio)) for ratio in ratios(worsening, sigma)], name)


@pytest.mark.parametrize(("worsening", "reported"), [(0.1, "worse"), (-0.1, "better")])
def test_other_metrics_that_changed_inform_and_decide_nothing(worsening: float, reported: str) -> None:
    row = only(decide_rows([with_cpu(worsening)], Policy()), "cpu_time", RowKind.INFORMING)
    assert (row.verdict, row.reason, row.decides) == (None, reported, False)
    assert row.change == pytest.approx(worsening, abs=1e-3)


@pytest.mark.parametrize(("worsening", "sigma"), [(0.015, 0.001), (0.03, 0.3)])
def test_other_metrics_that_changed_little_or_perhaps_are_not_shown(worsening: float, sigma: float) -> None:
    rows = decide_rows([with_cpu(worsening, sigma=sigma)], Policy()).rows
    assert RowKind.INFORMING not in {row.kind for row in rows}


def test_false_discoveries_among_many_metrics_are_held_down() -> None:
    one = with_cpu(0.035, sigma=0.08)
    row = only(decide_rows([one], Policy()), "cpu_time", RowKind.INFORMING)
    assert row.p is not None
    assert 0.005 < row.p < 0.05
    many = [one, *(with_cpu(0.0, f"b{number}", 0.08) for number in range(12))]
    assert RowKind.INFORMING not in {row.kind for row in decide_rows(many, Policy()).rows}
