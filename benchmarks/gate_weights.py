#!/usr/bin/env python3
"""What the weights of false alarms change: the gates that gate_truth.py recorded, with and without weights.

Each gate is formed again from the log-ratios of its pairs, which are adjusted already, and decided twice. `time`: gates
with +6 % planted as work, by the verdict of the time in question, and whether equal shares give the verdict that was
recorded. `memory`: gates without a change, to one benchmark of which more peak memory is added by calculation; a gate
that ended after ten pairs has no more.

    benchmarks/gate_weights.py
"""

import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[1]
sys.path.insert(0, str(HERE))

from s3bench.gate.multiple_testing import decide_rows  # noqa: E402
from s3bench.gate.policy import Policy  # noqa: E402
from s3bench.gate.row import RowKind, Verdict  # noqa: E402
from tests.gate.evidence_maker import paired  # noqa: E402

DATA = HERE / "benchmarks" / "data" / "gate_truth"
POLICIES = {"equal": Policy(adjusts=False, alarm_weights={}), "weighted": Policy(adjusts=False)}
ADDED = (0.03, 0.05)
GATES_MAX = 120  # of one client


def main() -> int:
    """Print both tables."""
    _print_time()
    _print_memory()
    return 0


def _print_time() -> None:
    found: Counter[tuple[str, ...]] = Counter()
    for gate in _gates("time+6%"):
        if gate.get("is_adjusted") and gate.get("planted_is_work"):
            verdicts = (_verdict(gate, gate["victim"], "total_time", policy) for policy in POLICIES.values())
            found[(gate["client"], gate["verdict"], *verdicts)] += 1
    print("time, +6 %: client, recorded gate, equal, weighted, gates")
    for key, count in sorted(found.items()):
        print(" ", *key, count)


def _print_memory() -> None:
    taken: Counter[str] = Counter()
    failed: Counter[tuple[str, float, str]] = Counter()
    for gate in _gates("aa"):
        cells = _benchmarks(gate)
        if len(cells) < 2 or taken[gate["client"]] >= GATES_MAX:
            continue
        taken[gate["client"]] += 1
        for added in ADDED:
            for name, policy in POLICIES.items():
                verdict = _verdict(gate, cells[0]["benchmark"], "peak_memory", policy, added=added)
                failed[gate["client"], added, name] += verdict is Verdict.FAIL
    print("memory: client, added, shares, gates that FAIL for it")
    for (client, added, name), count in sorted(failed.items()):
        print(f"  {client} +{added:.0%} {name} {count} of {taken[client]}")


def _gates(condition: str) -> Iterator[dict[str, Any]]:
    for line in (DATA / f"{condition}.jsonl").read_text(encoding="utf-8").splitlines():
        gate = json.loads(line)
        if _benchmarks(gate):
            yield gate


def _benchmarks(gate: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """The benchmarks of which times and memories were kept."""
    cells = [cell for cell in gate.get("raw", ()) if cell["role"] == "benchmark"]
    return [cell for cell in cells if {"total_time", "peak_memory"} <= cell["log_ratios"].keys()]


def _verdict(gate: dict[str, Any], benchmark: str, metric: str, policy: Policy, *, added: float = 0.0) -> Verdict:
    """The verdict on one metric of a benchmark, to whose memory so much is added."""
    cells = []
    for cell in _benchmarks(gate):
        more = math.log1p(added) if cell["benchmark"] == benchmark else 0.0
        both = zip(cell["log_ratios"]["total_time"], cell["log_ratios"]["peak_memory"], strict=False)
        times, memories = zip(*((math.exp(time), math.exp(memory + more)) for time, memory in both), strict=True)
        cells.append(paired(times, memories, name=cell["benchmark"]))
    rows = decide_rows(cells, policy).rows
    [row] = (
        each for each in rows if (each.benchmark, each.metric) == (benchmark, metric) and each.kind is RowKind.SIZE
    )
    return row.verdict


if __name__ == "__main__":
    raise SystemExit(main())
