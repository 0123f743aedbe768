"""Evidence made from chosen figures: measurements, pairs and cells for the tests of the verdict."""

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import Any

from msgspec.structs import replace

from s3bench.gate.evidence import ClientCellEvidence, Inspection, Role, RunPair, Side, SideFailure
from s3bench.gate.multiple_testing import RowDecisions
from s3bench.gate.row import GateRow, RowKind
from s3bench.results.measurement import Failure, Measurement, Wire, WireFacts, measure

MEMORY_BYTES = 100 * 1024 * 1024
_TEMPLATE = measure(iteration=0, total_s=1.0)
_QUANTILES = [NormalDist().inv_cdf((place + 0.5) / 10) for place in (3, 8, 1, 6, 4, 9, 0, 5, 2, 7)]


def run(total_time: float = 1.0, peak_memory: int | None = MEMORY_BYTES, **figures: Any) -> Measurement:
    """One measurement; what is not named was not measured."""
    return replace(_TEMPLATE, total_time=total_time, peak_memory=peak_memory, **figures)


def wired(**requests_by_kind: int) -> Measurement:
    """One measurement with a wire log of so many requests by kind."""
    wire = WireFacts(
        counts=Wire(
            requests=sum(requests_by_kind.values()),
            retries=0,
            connections=1,
            requests_in_flight_max=1,
            bytes_received=10,
            bytes_sent=20,
            part_size_max=10,
            checksums_verified=0,
        ),
        first_request_s=0.1,
        last_response_s=0.9,
        requests_by_kind=requests_by_kind,
        engine="python",
        server_cpu_s=None,
    )
    return measure(iteration=0, total_s=1.0, wire=wire)


def ratios(worsening: float, sigma: float = 0.0, count: int = 40, *, turn: int = 0) -> tuple[float, ...]:
    """Candidate over baseline of `count` pairs: every ten have the same spread around 1 + `worsening`.

    No two are equal, and none of chance. Two with another `turn` have their slow pairs at other times.
    """
    return tuple(
        math.exp(math.log1p(worsening) + sigma * _QUANTILES[(number + turn) % 10] * (1 + number / 1000) + number * 1e-9)
        for number in range(count)
    )


def pair(baseline: Measurement, candidate: Measurement, number: int = 0) -> RunPair:
    """The pair numbered `number`, in ABBA order."""
    order = "AB" if number % 4 in {0, 3} else "BA"
    return RunPair(order=order, hash_seed=number, started_s=float(number), baseline=baseline, candidate=candidate)


def paired(
    times: Iterable[float],
    memories: Iterable[float] | None = None,
    *,
    name: str = "s3.cp.upload",
    role: Role = Role.BENCHMARK,
    baseline_s: float = 1.0,
) -> ClientCellEvidence:
    """Pairs whose total times and peak memories have these ratios; equal memories unless they are given."""
    times = tuple(times)
    sizes = tuple(memories) if memories is not None else (1.0,) * len(times)
    pairs = (
        pair(run(baseline_s), run(baseline_s * time, round(MEMORY_BYTES * size)), number)
        for number, (time, size) in enumerate(zip(times, sizes, strict=True))
    )
    return ClientCellEvidence(name=name, role=role, pairs=tuple(pairs))


def unpaired(
    baseline: Sequence[float], candidate: Sequence[float], *, name: str = "s3.cp.upload"
) -> ClientCellEvidence:
    """Two sides of a document each, with these total times."""
    return ClientCellEvidence(name=name, baseline=tuple(map(run, baseline)), candidate=tuple(map(run, candidate)))


def inspected(baseline: Sequence[Inspection], candidate: Sequence[Inspection]) -> ClientCellEvidence:
    """Forty quiet pairs, and these runs under observation."""
    return replace(
        paired(ratios(0.0, 0.001)), baseline_inspections=tuple(baseline), candidate_inspections=tuple(candidate)
    )


def failed(
    cell: ClientCellEvidence, side: Side = Side.CANDIDATE, what: str = "the command exited 1"
) -> ClientCellEvidence:
    """The same, and a run of one side that failed."""
    failure = SideFailure(side=side, failure=Failure(iteration=0, what=what, why="boom"))
    return replace(cell, failures=(*cell.failures, failure))


def of_pairs(figures: Sequence[tuple[Measurement, Measurement]], name: str = "x") -> ClientCellEvidence:
    """A cell of pairs of these measurements."""
    return ClientCellEvidence(name=name, pairs=tuple(pair(*each, number=number) for number, each in enumerate(figures)))


def only(decisions: RowDecisions, metric: str = "total_time", kind: RowKind = RowKind.SIZE) -> GateRow:
    """The one row of its metric and kind."""
    (row,) = (row for row in decisions.rows if (row.metric, row.kind) == (metric, kind))
    return row
