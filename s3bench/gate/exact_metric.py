"""Exact metrics: counts without noise, compared without statistics and listed by name when they differ.

A name differs only if every run of one side counts more of it than any run of the other side, so that a count that
varies by itself proves nothing. With fewer than `CONFIRMING_RUNS` runs per side a difference is `unconfirmed`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

import msgspec

from s3bench.gate.evidence import CellEvidence, Inspection, Side
from s3bench.results.load import LoadMeasurement
from s3bench.results.measurement import AnyMeasurement, Measurement
from s3bench.stats.exact_counts import CONFIRMING_RUNS

INSTRUCTIONS = "instructions"
"""The only exact metric that is off by default: it takes half a minute per run."""

PAGE_BYTES = 4096
COUNTED_PAIRS = 2
"""Pairs after which counts that do not differ are equal for good: further runs only widen the ranges of both sides."""
INSTRUCTION_TOLERANCE = 0.001
PER_MILLION = 1_000_000

Counts = Mapping[str, int]


class Difference(StrEnum):
    """How the candidate's count differs from the baseline's."""

    MORE = "more"
    FEWER = "fewer"
    UNCONFIRMED = "unconfirmed"


class CountChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One name whose count differs, with the minimum and maximum of each side.

    `medians` are those of baseline and candidate; former records have none.
    """

    name: str
    difference: Difference
    baseline: tuple[int, int]
    candidate: tuple[int, int]
    medians: tuple[float, float] | None = None

    @property
    def increase(self) -> int:
        """The smallest increase from baseline to candidate; negative for a decrease."""
        if self.candidate[0] > self.baseline[1]:
            return self.candidate[0] - self.baseline[1]
        return self.candidate[1] - self.baseline[0]

    @property
    def increase_max(self) -> int:
        """The largest increase, from the least count of the baseline to the greatest of the candidate."""
        return self.candidate[1] - self.baseline[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactMetric:
    """A metric of counts by name, taken from every measurement of a client or of a load, or from inspections only.

    `tolerance` is the relative difference that is still regarded as equal; `confirming_runs` is the number of runs of
    each side that confirms a difference. With `counts_pages`, the limits of peak memory are those of the count, so that
    an increase can be SMALL.
    """

    name: str
    meaning: str
    of_measurement: Callable[[Measurement], Counts | None] | None = None
    of_load: Callable[[LoadMeasurement], Counts | None] | None = None
    of_inspection: Callable[[Inspection], Counts | None] | None = None
    tolerance: float = 0.0
    counts_pages: bool = False
    confirming_runs: int = CONFIRMING_RUNS

    @property
    def needs_inspection(self) -> bool:
        """Whether only inspections show it."""
        return self.of_inspection is not None

    @property
    def has_relative_limits(self) -> bool:
        """Whether what is tolerated of it is a share of the count, so that a waiver may be one too."""
        return self.tolerance > 0 or self.counts_pages


def _requests(measurement: Measurement) -> Counts | None:
    return measurement.requests_by_kind if measurement.wire else None


def _bytes(measurement: Measurement) -> Counts | None:
    wire = measurement.wire
    return {"received": wire.bytes_received, "sent": wire.bytes_sent} if wire else None


def _connections(measurement: Measurement) -> Counts | None:
    return {"connections": measurement.wire.connections} if measurement.wire else None


def _minor_faults(measurement: Measurement) -> Counts | None:
    return None if measurement.minor_faults is None else {"minor faults": measurement.minor_faults}


def _failed_operations(measurement: LoadMeasurement) -> Counts | None:
    """Operations that failed for good, in a million, rounded up so that one failure is not equal to none."""
    load = measurement.load
    ended = load.operations + load.failed
    return {
        f"{each.label} per million operations": math.ceil((each.count - each.retried) * PER_MILLION / ended)
        for each in load.failures
        if ended
    }


def _each(names: Sequence[str] | None) -> Counts | None:
    return None if names is None else dict.fromkeys(names, 1)


EXACT_METRICS = (
    ExactMetric(name="requests", meaning="HTTP requests by kind", of_measurement=_requests),
    ExactMetric(name="bytes", meaning="payload bytes that the server received and sent", of_measurement=_bytes),
    ExactMetric(name="connections", meaning="connections opened", of_measurement=_connections),
    ExactMetric(
        name="minor_faults",
        meaning="page faults without disk, with the limits of peak memory",
        of_measurement=_minor_faults,
        counts_pages=True,
    ),
    ExactMetric(
        name="failed_operations",
        meaning="operations of a load that failed after all retries, by reason, per million operations",
        of_load=_failed_operations,
    ),
    ExactMetric(name="modules", meaning="Python modules imported", of_inspection=lambda each: _each(each.modules)),
    ExactMetric(name="files", meaning="files opened", of_inspection=lambda each: _each(each.files)),
    ExactMetric(name="system_calls", meaning="system calls by name", of_inspection=lambda each: each.system_calls),
    ExactMetric(
        name=INSTRUCTIONS,
        meaning="instructions executed in user space, 0.1 % tolerated",
        of_inspection=lambda each: None if each.instructions is None else {"instructions": each.instructions},
        tolerance=INSTRUCTION_TOLERANCE,  # ten times the spread of repeated runs, so that two of them suffice
        confirming_runs=2,
    ),
)

EXACT_BY_NAME = {metric.name: metric for metric in EXACT_METRICS}
DEFAULT_EXACT = tuple(metric.name for metric in EXACT_METRICS if metric.name != INSTRUCTIONS)


def counts_of(cell: CellEvidence, metric: ExactMetric, side: Side) -> tuple[Counts, ...]:
    """The counts of every run of `side` in which the metric was observed."""
    if metric.of_inspection:
        seen = [metric.of_inspection(inspection) for inspection in cell.inspections(side)]
    else:
        seen = [_counts_of_run(metric, run) for run in cell.counted(side)]
    return tuple(counts for counts in seen if counts is not None)


def _counts_of_run(metric: ExactMetric, run: AnyMeasurement) -> Counts | None:
    if isinstance(run, LoadMeasurement):
        return metric.of_load(run) if metric.of_load else None
    return metric.of_measurement(run) if metric.of_measurement else None


def compare_counts(
    baseline: Sequence[Counts],
    candidate: Sequence[Counts],
    *,
    tolerance: float = 0.0,
    confirming_runs: int = CONFIRMING_RUNS,
) -> tuple[CountChange, ...]:
    """The names whose counts differ between two sets of runs, sorted by name; an absent name counts 0."""
    if not baseline or not candidate:
        return ()
    names = sorted({name for counts in (*baseline, *candidate) for name in counts})
    enough = min(len(baseline), len(candidate)) >= confirming_runs
    changes = []
    for name in names:
        left = _range(name, baseline)
        right = _range(name, candidate)
        if right[0] > left[1] * (1 + tolerance):
            difference = Difference.MORE
        elif left[0] > right[1] * (1 + tolerance):
            difference = Difference.FEWER
        else:
            continue
        if not enough:
            difference = Difference.UNCONFIRMED
        medians = (median(_values(name, baseline)), median(_values(name, candidate)))
        changes.append(CountChange(name=name, difference=difference, baseline=left, candidate=right, medians=medians))
    return tuple(changes)


def _range(name: str, runs: Sequence[Counts]) -> tuple[int, int]:
    values = _values(name, runs)
    return min(values), max(values)


def _values(name: str, runs: Sequence[Counts]) -> list[int]:
    return [counts.get(name, 0) for counts in runs]
