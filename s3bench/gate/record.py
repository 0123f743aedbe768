"""The record of a gate as versioned JSON: evidence, policy and conclusion.

A replay of the record gives the same conclusion again.

History of the format (`gate_version`):
1: the first.
2: `sizing`, the fresh pairs of a benchmark; `floor_d1` of zones; times adjusted for the machine (`policy.adjusts`,
   `adjustment` of rows). Before, the floor of d1 was that of d0, and the default floor of times 2 ms: records of
   version 1 are concluded with these.
3: limits where higher is better are decreases (`is_drop` of zones and rows), and rows say that the sides are exchanged
   (`is_mirrored`). Before, a limit was that of baseline over candidate, and records are concluded with it.
"""

import datetime as dt
import math
from typing import Any

import msgspec

from s3bench.errors import BadInput
from s3bench.gate.conclusion import Conclusion, conclude
from s3bench.gate.evidence import CellEvidence, ClientCellEvidence, LoadCellEvidence
from s3bench.gate.exact_metric import EXACT_BY_NAME
from s3bench.gate.looks import check_looks
from s3bench.gate.policy import Policy, check_gating
from s3bench.gate.waiver import Waiver, check_waiver
from s3bench.profiling.explanation import Explanation
from s3bench.results.decoding import decode
from s3bench.results.encoding import pretty_json
from s3bench.results.former import FormerLoadMeasurement, recast, without_client_keys
from s3bench.results.versioned import decode_versioned

RECORD_VERSION = 3


class ProgramIdentity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One side: the client's label (`cli-crt@2.38.5`), its name and version, and a digest of what was executed."""

    label: str
    name: str
    version: str
    digest: str = ""


class GateRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One gate. Times are UTC in ISO 8601; `today` is the day on which waivers were checked.

    `is_paired`: pairs were measured live; otherwise two documents were compared. `stopped` is the reason of an early
    end; `is_out_of_time`: it was the clock, so that open tests have a last look at all of their pairs. `machine` and
    `options` are as in a results document. `conclusion` is null until the end. `explanations` are of
    what FAILs, and decide nothing.
    """

    gate_version: int = RECORD_VERSION
    s3bench: str
    started_at: str
    ended_at: str | None = None
    command_line: tuple[str, ...] = ()
    machine: dict[str, Any] = {}
    options: dict[str, Any] = {}
    is_paired: bool = True
    policy: Policy
    baseline: ProgramIdentity
    candidate: ProgramIdentity
    same_program: bool = False
    today: dt.date
    waivers: tuple[Waiver, ...] = ()
    warnings: tuple[str, ...] = ()
    stopped: str = ""
    is_out_of_time: bool = False
    cells: tuple[CellEvidence, ...] = ()
    conclusion: Conclusion | None = None
    explanations: tuple[Explanation, ...] = ()

    @property
    def is_strict(self) -> bool:
        """Whether SMALL fails the gate."""
        return self.options.get("strict") is True

    def concluded(self) -> "GateRecord":
        """The same with its conclusion computed (again)."""
        conclusion = conclude(
            self.cells,
            self.policy,
            waivers=self.waivers,
            today=self.today,
            same_program=self.same_program,
            stopped=self.stopped,
            is_out_of_time=self.is_out_of_time,
        )
        return msgspec.structs.replace(self, conclusion=conclusion)


def encode_record(record: GateRecord) -> bytes:
    """Encode as indented JSON."""
    return pretty_json(record, indent=1)


def parse_record(text: bytes, *, source: str) -> GateRecord:
    """Parse a record strictly. Raises `BadInput` with `source` and the JSON path of the error."""
    read = decode_versioned(
        text,
        _LoadRecord if _is_of_load(text) else _ClientRecord,
        key="gate_version",
        newest=RECORD_VERSION,
        source=source,
        noun="record of a gate",
        fix="pass a file that `s3bench gate -o FILE` wrote",
    )
    record = recast(read, GateRecord)
    if isinstance(read, _LoadRecord):
        record = msgspec.structs.replace(record, cells=tuple(_without_client_keys(cell) for cell in read.cells))
    _check(record, source)
    return msgspec.structs.replace(
        record, gate_version=RECORD_VERSION, policy=record.policy.of_record(record.gate_version)
    )


class _ClientRecord(GateRecord, frozen=True, kw_only=True, forbid_unknown_fields=True):
    cells: tuple[ClientCellEvidence, ...] = ()


class _FormerLoadCell(LoadCellEvidence, frozen=True, kw_only=True, forbid_unknown_fields=True):
    baseline: tuple[FormerLoadMeasurement, ...] = ()
    candidate: tuple[FormerLoadMeasurement, ...] = ()


class _LoadRecord(GateRecord, frozen=True, kw_only=True, forbid_unknown_fields=True):
    cells: tuple[_FormerLoadCell, ...] = ()


def _without_client_keys(cell: _FormerLoadCell) -> LoadCellEvidence:
    return msgspec.structs.replace(
        recast(cell, LoadCellEvidence),
        baseline=without_client_keys(cell.baseline),
        candidate=without_client_keys(cell.candidate),
    )


class _MeasurementOutline(msgspec.Struct, frozen=True):
    load: dict[str, msgspec.Raw] | None = None


class _CellOutline(msgspec.Struct, frozen=True):
    baseline: tuple[_MeasurementOutline, ...] = ()
    candidate: tuple[_MeasurementOutline, ...] = ()


class _Outline(msgspec.Struct, frozen=True):
    """What is read of a record to know whether it is of load runs."""

    cells: tuple[_CellOutline, ...] = ()


def _is_of_load(text: bytes) -> bool:
    try:
        cells = decode(text, _Outline).cells
    except msgspec.DecodeError:
        return False
    return any(each.load for cell in cells for each in (*cell.baseline, *cell.candidate))


def _check(record: GateRecord, source: str) -> None:
    """Check what types cannot express, so that a record edited by hand is rejected before it is replayed."""
    policy = record.policy
    try:
        check_gating((*policy.metrics, *policy.zones))
        check_looks(policy.looks)
    except BadInput as error:
        raise BadInput(f"{source}: $.policy: {error.what}", error.why, error.fix) from error
    for name, zone in policy.zones.items():
        if not 0 <= zone.d0 < zone.d1 < math.inf:
            raise BadInput(
                f"{source}: $.policy.zones.{name}: d0 is {zone.d0:g} and d1 is {zone.d1:g}",
                fix="d0 is at least 0 and below d1",
            )
        if zone.is_drop and zone.d1 >= 1:
            raise BadInput(
                f"{source}: $.policy.zones.{name}: d1 is {zone.d1:g}", fix="d1 is a decrease, and below 1 (100 %)"
            )
    unknown = [name for name in policy.exact if name not in EXACT_BY_NAME]
    if unknown:
        raise BadInput(
            f"{source}: $.policy.exact: unknown {unknown[0]!r}", fix=f"use any of {', '.join(EXACT_BY_NAME)}"
        )
    for number, waiver in enumerate(record.waivers):
        check_waiver(waiver, f"{source}: $.waivers[{number}]")
