"""Asks for an explanation as a gate does after a FAIL, with what its pairs and inspections would have shown."""

import datetime as dt
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from s3bench.bench.runner import ClientRunner, Conditions, Settings
from s3bench.errors import S3BenchError
from s3bench.gate.conclusion import conclude
from s3bench.gate.evidence import ClientCellEvidence, Inspection, RunPair, Side
from s3bench.gate.exact_metric import DEFAULT_EXACT
from s3bench.gate.explaining import BENCHMARK_LIMIT_S
from s3bench.gate.inspection import find_inspector
from s3bench.gate.known_causes import changed_phases, counted_causes
from s3bench.gate.live import INSPECTIONS
from s3bench.gate.policy import Policy
from s3bench.profiling.explaining import Explainer
from s3bench.profiling.explanation import Explanation
from s3bench.profiling.observed_change import ObservedChange, ProfiledSide
from s3bench.results.measurement import Failure, Measurement
from s3bench.results.metrics import METRICS_BY_NAME
from s3bench.stats.signed_rank import hodges_lehmann

PAIRS = 10
"""As many pairs as the first look of a gate has."""


def explain(
    runners: Mapping[Side, ClientRunner],
    conditions: Mapping[Side, Conditions],
    *,
    metric: str,
    settings: Settings,
    directory: Path,
) -> Explanation:
    """Observe the change on some pairs, and explain it."""
    policy = Policy(exact=DEFAULT_EXACT)
    pairs = _pairs(runners, conditions, settings)
    inspections = _inspections(runners, conditions, settings, directory / "inspections", policy)
    cell = ClientCellEvidence(
        name=runners[Side.BASELINE].definition.name,
        pairs=pairs,
        baseline_inspections=inspections[Side.BASELINE],
        candidate_inspections=inspections[Side.CANDIDATE],
    )
    rows = conclude([cell], policy, today=dt.datetime.now(dt.UTC).date()).rows
    sides = {side: ProfiledSide(runner=runners[side], conditions=conditions[side]) for side in Side}
    change = ObservedChange(
        benchmark=cell.title,
        metric=metric,
        unit=METRICS_BY_NAME[metric].unit,
        change=hodges_lehmann([getattr(pair.candidate, metric) - getattr(pair.baseline, metric) for pair in pairs]),
        baseline=sides[Side.BASELINE],
        candidate=sides[Side.CANDIDATE],
        settings=settings,
        known=(*changed_phases(cell), *counted_causes(rows, cell.title)),
        until_s=time.monotonic() + BENCHMARK_LIMIT_S,
    )
    return Explainer(directory=directory / "profiles", now=time.monotonic).explain(change)


def _pairs(
    runners: Mapping[Side, ClientRunner], conditions: Mapping[Side, Conditions], settings: Settings
) -> tuple[RunPair, ...]:
    found = []
    for number in range(PAIRS + 1):
        order = tuple(Side) if number % 2 else tuple(Side)[::-1]
        started_s = time.monotonic()
        runs: dict[Side, Measurement] = {}
        for side in order:
            seeded = replace(conditions[side], env={**conditions[side].env, "PYTHONHASHSEED": str(number)})
            runs[side] = _measured(runners[side].run_once(number, settings, "pairs", seeded))
        found.append(
            RunPair(
                order="AB" if order[0] is Side.BASELINE else "BA",
                hash_seed=number,
                started_s=started_s,
                baseline=runs[Side.BASELINE],
                candidate=runs[Side.CANDIDATE],
            )
        )
    return tuple(found[1:])  # the first one is cold


def _measured(run: Measurement | Failure) -> Measurement:
    if isinstance(run, Failure):
        raise S3BenchError(f"a copy failed: {run.what}", run.why)
    return run


def _inspections(
    runners: Mapping[Side, ClientRunner],
    conditions: Mapping[Side, Conditions],
    settings: Settings,
    directory: Path,
    policy: Policy,
) -> dict[Side, tuple[Inspection, ...]]:
    """As many of each side as confirm a difference."""
    inspector = find_inspector(directory, policy)
    seen: dict[Side, list[Inspection]] = {side: [] for side in Side}
    for _ in range(2 * INSPECTIONS if inspector else 0):
        for side in Side:
            assert inspector is not None
            found = inspector.inspect(runners[side], settings, conditions[side])
            if isinstance(found, Failure):
                raise S3BenchError(f"a copy failed under observation: {found.what}", found.why)
            seen[side].append(found)
    return {side: tuple(each) for side, each in seen.items()}
