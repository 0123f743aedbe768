"""Whole gates with a time limit, simulated: they decide, and levels hold. benchmarks/gate_time.py has more."""

from pathlib import Path

import numpy as np
import pytest

from s3bench.bench.runner import Settings
from s3bench.gate.evidence import Side
from s3bench.gate.indifference_zone import IndifferenceZone
from s3bench.gate.live import GateRules, run_gate
from s3bench.gate.multiple_testing import RowDecisions, decide_rows
from s3bench.gate.row import GateRow, RowKind, Verdict
from s3bench.results.measurement import Measurement
from s3bench.spec.definition import Definition
from tests.bench.scripted_bench import Run, ScriptedBench, client, measured
from tests.gate.simulated_gate import SizePolicy

SIGMA = 0.055
PAIRS_EACH = 15
DEFINITIONS = tuple(Definition(name=f"{number}", command=("s3", "ls")) for number in range(6))
POLICY = SizePolicy(metrics=("total_time",), zones={"total_time": IndifferenceZone(d0=0.02, d1=0.06, floor=0.0)})
ABOVE, BELOW = {Verdict.FAIL, Verdict.SMALL}, {Verdict.PASS, Verdict.SMALL}


def decided(root: Path, seed: int, worsenings: dict[str, float]) -> RowDecisions:
    """A gate that has time for so many pairs of each benchmark, with noise of Student's t."""
    rng = np.random.default_rng(seed)

    def script(run: Run) -> Measurement:
        worsening = worsenings.get(run.definition.name, 0.0) if run.client.version == Side.CANDIDATE else 0.0
        return measured(float((1 + worsening) * np.exp(rng.standard_t(4) * SIGMA / 2)))

    bench = ScriptedBench(root=root, script=script)
    rules = GateRules(
        policy=POLICY,
        settings=Settings(interval_s=None),
        seed=seed,
        has_controls=False,
        deadline_s=2.0 * len(DEFINITIONS) * (1 + PAIRS_EACH),
    )
    clients = {side: client(root, side.value) for side in Side}
    *_, end = run_gate(bench, DEFINITIONS, clients, rules, None, now=bench.now)
    return decide_rows(end.cells, POLICY, is_over=end.is_out_of_time)


def sized(decisions: RowDecisions) -> list[GateRow]:
    return [row for row in decisions.rows if row.kind is RowKind.SIZE]


def test_six_percent_in_one_benchmark_fails_and_the_others_pass(tmp_path: Path) -> None:
    gates = [sized(decided(tmp_path, seed, {"0": 0.06})) for seed in range(20)]
    assert sum(rows[0].verdict is Verdict.FAIL for rows in gates) >= 14
    assert sum(row.verdict is Verdict.PASS for rows in gates for row in rows[1:]) >= 90
    assert not any(row.verdict in ABOVE for rows in gates for row in rows[1:])


@pytest.mark.parametrize("worsening", [0.02, 0.06])
def test_levels_hold_though_the_numbers_of_pairs_depend_on_the_data(tmp_path: Path, worsening: float) -> None:
    changes = dict.fromkeys((each.name for each in DEFINITIONS), worsening)
    rows = [row for seed in range(12) for row in sized(decided(tmp_path, seed, changes))]
    if worsening == 0.02:
        assert not any(row.verdict in ABOVE for row in rows)  # 1 % of gates at most
    else:
        assert sum(row.verdict in BELOW for row in rows) <= 10  # 5 % of 72 rows, with a chance of 1 in 1,000
    assert len({row.pairs for row in rows}) >= 3, "the case is worth its name"
