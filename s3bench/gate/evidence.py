"""What a gate has measured, raw: pairs of runs, runs under inspection, failures. Everything a verdict is made from.

Owns the shapes alone. Figures are kept as measured, in the units of `s3bench.results.metrics`; nothing is left out.
"""

from enum import StrEnum

import msgspec

from s3bench.results.document import Result
from s3bench.results.measurement import Failure, Measurement


class Side(StrEnum):
    """The two that are held against each other."""

    BASELINE = "baseline"
    CANDIDATE = "candidate"


class Role(StrEnum):
    """What a cell is for. Controls show that the gate can be believed: baseline against itself, and against a delay."""

    BENCHMARK = "benchmark"
    NEGATIVE_CONTROL = "negative control"
    POSITIVE_CONTROL = "positive control"


class RunPair(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two neighbouring runs. `order` is `AB` when the baseline ran first, `BA` otherwise; `started_s` since the start.

    `hash_seed` is the PYTHONHASHSEED of both.
    """

    order: str
    hash_seed: int
    started_s: float
    baseline: Measurement
    candidate: Measurement


class Inspection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one untimed run under observation showed; `None` where that could not be observed.

    `modules`: names of the imported modules. `files`: names of the files opened, the run's own directories replaced by
    `$WORK` and the like. `system_calls`: how often each was made, those left out whose number depends on timing.
    `instructions`: executed in user space.
    """

    modules: tuple[str, ...] | None = None
    files: tuple[str, ...] | None = None
    system_calls: dict[str, int] | None = None
    instructions: int | None = None


class SideFailure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run of one side that gave no measurement."""

    side: Side
    failure: Failure


class CellEvidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One benchmark on both sides: `pairs` of a live gate, or the unpaired `baseline` and `candidate` of documents.

    `planted_s` is the delay planted into the candidate of a positive control, in seconds.
    """

    name: str
    dimensions: tuple[dict[str, str], ...] = ()
    role: Role = Role.BENCHMARK
    pairs: tuple[RunPair, ...] = ()
    baseline: tuple[Measurement, ...] = ()
    candidate: tuple[Measurement, ...] = ()
    baseline_inspections: tuple[Inspection, ...] = ()
    candidate_inspections: tuple[Inspection, ...] = ()
    failures: tuple[SideFailure, ...] = ()
    planted_s: float = 0.0

    @property
    def identity(self) -> tuple[object, ...]:
        """What tells this cell from all others of a gate."""
        return self.role, self.name, tuple(tuple(dimension.items()) for dimension in self.dimensions)

    @property
    def title(self) -> str:
        """The benchmark with its dimensions, for people: `s3.cp.upload FileSize=32MB`."""
        words = (f"{name}={value}" for dimension in self.dimensions for name, value in dimension.items())
        return " ".join((self.name, *words))

    def runs(self, side: Side) -> tuple[Measurement, ...]:
        """All measurements of one side, in order."""
        if self.pairs:
            return tuple(pair.baseline if side is Side.BASELINE else pair.candidate for pair in self.pairs)
        return self.baseline if side is Side.BASELINE else self.candidate

    def inspections(self, side: Side) -> tuple[Inspection, ...]:
        """All inspections of one side, in order."""
        return self.baseline_inspections if side is Side.BASELINE else self.candidate_inspections


def unpaired_cell(
    baseline: Result | None, candidate: Result | None, *, dimensions: tuple[dict[str, str], ...] = ()
) -> CellEvidence:
    """The evidence of two results documents for one benchmark; a side that is missing has no runs.

    `dimensions` tell it from others where its own do not.
    """
    known = baseline or candidate
    assert known is not None
    sides = ((Side.BASELINE, baseline), (Side.CANDIDATE, candidate))
    return CellEvidence(
        name=known.name,
        dimensions=(*known.dimensions, *dimensions),
        baseline=baseline.measurements if baseline else (),
        candidate=candidate.measurements if candidate else (),
        failures=tuple(
            SideFailure(side=side, failure=failure) for side, result in sides if result for failure in result.errors
        ),
    )
