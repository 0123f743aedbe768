"""The evidence of a gate: pairs of runs, inspections and failures, from which the verdict is computed.

Figures are kept as measured, in the units of `s3bench.results.metrics`.
"""

from enum import StrEnum
from typing import Annotated, Any

import msgspec

from s3bench.results.document import Result
from s3bench.results.load import LoadMeasurement
from s3bench.results.measurement import AnyMeasurement, Failure, Measurement
from s3bench.spec.label import benchmark_label, dimension_pairs


class Side(StrEnum):
    """The two sides of a gate."""

    BASELINE = "baseline"
    CANDIDATE = "candidate"


class Role(StrEnum):
    """The role of a cell. Controls check the gate: the baseline against itself, without and with a planted delay."""

    BENCHMARK = "benchmark"
    NEGATIVE_CONTROL = "negative control"
    POSITIVE_CONTROL = "positive control"


class RunPair(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two neighbouring runs.

    `order` is `AB` if the baseline ran first, else `BA`; `started_s` counts from the start of the gate; `hash_seed` is
    the PYTHONHASHSEED of both.
    """

    order: str
    hash_seed: int
    started_s: float
    baseline: Measurement
    candidate: Measurement


class Inspection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The counts of one untimed run under observation; `None` for what could not be observed.

    `modules`: names of the imported modules. `files`: names of the opened files, with the run's own directories
    replaced by `$WORK` and the like. `system_calls`: the number of each, without those whose number depends on timing.
    `instructions`: executed in user space.
    """

    modules: tuple[str, ...] | None = None
    files: tuple[str, ...] | None = None
    system_calls: dict[str, int] | None = None
    instructions: Annotated[int, msgspec.Meta(gt=0)] | None = None


class SideFailure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run of one side without a measurement."""

    side: Side
    failure: Failure


class CellEvidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One benchmark on both sides: `pairs` of a live gate, or the unpaired `baseline` and `candidate` of documents.

    Made and read as one of the subclasses.

    `planted_s` is the delay planted into the candidate of a positive control, in seconds. `sizing` are fresh pairs that
    were run after a change was shown: they measure its size and take no part in the verdict. `baseline_counted` and
    `candidate_counted` are untimed runs of a live gate, which confirm a difference between counts.
    """

    name: str
    dimensions: tuple[dict[str, str], ...] = ()
    role: Role = Role.BENCHMARK
    pairs: tuple[RunPair, ...] = ()
    baseline: tuple[AnyMeasurement, ...] = ()
    candidate: tuple[AnyMeasurement, ...] = ()
    baseline_inspections: tuple[Inspection, ...] = ()
    candidate_inspections: tuple[Inspection, ...] = ()
    failures: tuple[SideFailure, ...] = ()
    planted_s: float = 0.0
    sizing: tuple[RunPair, ...] = ()
    baseline_counted: tuple[Measurement, ...] = ()
    candidate_counted: tuple[Measurement, ...] = ()

    @property
    def identity(self) -> tuple[object, ...]:
        """The key that distinguishes this cell from all others of a gate."""
        return self.role, self.name, tuple(tuple(dimension.items()) for dimension in self.dimensions)

    @property
    def title(self) -> str:
        """The benchmark with its dimensions, for people: `s3.cp.upload FileSize=32MB`."""
        return benchmark_label(self.name, dimension_pairs(self.dimensions))

    def runs(self, side: Side) -> tuple[AnyMeasurement, ...]:
        """All measurements of one side, in order."""
        if self.pairs:
            return tuple(pair.baseline if side is Side.BASELINE else pair.candidate for pair in self.pairs)
        return self.baseline if side is Side.BASELINE else self.candidate

    def counted(self, side: Side) -> tuple[AnyMeasurement, ...]:
        """All runs of one side whose counts count: the timed ones, then the untimed ones."""
        return self.runs(side) + (self.baseline_counted if side is Side.BASELINE else self.candidate_counted)

    def inspections(self, side: Side) -> tuple[Inspection, ...]:
        """All inspections of one side, in order."""
        return self.baseline_inspections if side is Side.BASELINE else self.candidate_inspections


class ClientCellEvidence(CellEvidence, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The evidence of a benchmark of clients."""

    baseline: tuple[Measurement, ...] = ()
    candidate: tuple[Measurement, ...] = ()


class LoadCellEvidence(CellEvidence, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The evidence of two documents of load runs."""

    baseline: tuple[LoadMeasurement, ...] = ()
    candidate: tuple[LoadMeasurement, ...] = ()


def unpaired_cell(
    baseline: Result | None, candidate: Result | None, *, dimensions: tuple[dict[str, str], ...] = ()
) -> CellEvidence:
    """The evidence of two results documents for one benchmark; a missing side has no runs.

    `dimensions` are added where the benchmark's own do not distinguish it from others.
    """
    known = baseline or candidate
    assert known is not None
    sides = ((Side.BASELINE, baseline), (Side.CANDIDATE, candidate))
    facts: dict[str, Any] = {
        "name": known.name,
        "dimensions": (*known.dimensions, *dimensions),
        "failures": tuple(
            SideFailure(side=side, failure=failure) for side, result in sides if result for failure in result.errors
        ),
    }
    loops = [result.loops if result else () for _, result in sides]
    if any(loops):
        return LoadCellEvidence(**facts, baseline=loops[0], candidate=loops[1])
    runs = [result.runs if result else () for _, result in sides]
    return ClientCellEvidence(**facts, baseline=runs[0], candidate=runs[1])
