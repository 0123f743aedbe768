"""Compares the workloads of two load documents: what each phase did, as their recorded options describe it.

The workload identifies a load result: rates of 4 KiB and of 64 KiB objects do not measure the same thing. How long a
phase ran, the endpoint and the number of workers are no part of the workload.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from s3bench.results.document import Document
from s3bench.units import render_bytes

PHASES = "phases"
_PHASE_KEYS = {"ramp": "ramp"}
_LENGTH_KEYS = {"duration": "duration", "warmup": "warm-up", "stable": "ends when stable"}
_RUN_KEYS = {
    "keepalive": "keep-alive",
    "payload": "payload",
    "compressible": "compressible",
    "sign_payload": "signed payload",
    "checksum": "checksum",
    "verify": "verification",
    "retries": "retries",
}
_JOB_KEYS = {
    "mix": "operations",
    "sizes": "size",
    "threads": "threads",
    "rate": "rate",
    "arrivals": "arrivals",
    "objects": "objects",
    "keys": "key distribution",
    "zipf_exponent": "Zipf exponent",
    "part_size": "part size",
    "list_keys": "keys of a list",
    "overwrite": "overwriting",
    "read_bodies": "read bodies",
}
OF_WORKLOAD = frozenset({PHASES, *_RUN_KEYS})
"""The options of a load run that describe its workload."""

_BYTES = frozenset({"part_size"})
_SECONDS = frozenset({"duration", "warmup", "ramp"})
_ABSENT = {"rate": "none (closed loop)"}


class WorkloadDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A property of the workload that differs, as text: `size`, `4KiB`, `64KiB`."""

    what: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.what} {self.before} -> {self.after}"


def has_workload(document: Document) -> bool:
    """Whether a document describes its workload; those of other tools do not."""
    return bool(_phases(document))


def workload_differences(first: Document, second: Document) -> tuple[WorkloadDifference, ...]:
    """The differences between the phases that both documents have, and between the options of their runs.

    Empty if one of them does not describe its workload.
    """
    if not has_workload(first) or not has_workload(second):
        return ()
    found = list(_differences(first.options, second.options, _RUN_KEYS, ""))
    for before, after, where in _common_phases(first, second):
        found += _differences(before, after, _PHASE_KEYS, where)
        found += _of_jobs(before, after, where)
    return tuple(found)


def length_differences(first: Document, second: Document) -> tuple[WorkloadDifference, ...]:
    """How much longer the phases of one document ran, which changes no rate in principle."""
    return tuple(
        difference
        for before, after, where in _common_phases(first, second)
        for difference in _differences(before, after, _LENGTH_KEYS, where)
    )


def _common_phases(first: Document, second: Document) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any], str]]:
    """The phases that both have, each with what messages put before its differences; the only ones match each other."""
    before, after = _phases(first), _phases(second)
    if len(before) == len(after) == 1:
        yield next(iter(before.values())), next(iter(after.values())), ""
        return
    for name, phase in before.items():
        if name in after:
            yield phase, after[name], f"{name}: "


def _phases(document: Document) -> dict[str, Mapping[str, Any]]:
    """The phases by their dimensions or names, which their results have as well; `{}` if they are not recorded."""
    phases = document.options.get(PHASES)
    if not isinstance(phases, Sequence):
        return {}
    return {_name(phase): phase for phase in phases if isinstance(phase, Mapping)}


def _name(phase: Mapping[str, Any]) -> str:
    dimensions = phase.get("dimensions")
    known = dimensions if isinstance(dimensions, Sequence) else ()
    pairs = [f"{key}={value}" for each in known if isinstance(each, Mapping) for key, value in each.items()]
    return " ".join((f"phase {phase.get('name', '')}".strip(), *pairs))


def _of_jobs(before: Mapping[str, Any], after: Mapping[str, Any], where: str) -> Iterator[WorkloadDifference]:
    jobs = [each if isinstance(each := phase.get("jobs"), Sequence) else () for phase in (before, after)]
    if len(jobs[0]) != len(jobs[1]):
        yield WorkloadDifference(what=f"{where}jobs", before=str(len(jobs[0])), after=str(len(jobs[1])))
        return
    for number, (one, other) in enumerate(zip(*jobs, strict=True), 1):
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from _differences(one, other, _JOB_KEYS, f"{where}job {number}: " if len(jobs[0]) > 1 else where)


def _differences(
    before: Mapping[str, Any], after: Mapping[str, Any], keys: Mapping[str, str], where: str
) -> Iterator[WorkloadDifference]:
    for key, what in keys.items():
        one, other = before.get(key), after.get(key)
        if one != other:
            yield WorkloadDifference(what=f"{where}{what}", before=_text(key, one), after=_text(key, other))


def _text(key: str, value: object) -> str:
    match value:
        case None:
            return _ABSENT.get(key, "none")
        case bool():
            return "yes" if value else "no"
        case Mapping():
            return ", ".join(f"{name} {share:g}" for name, share in sorted(value.items()))
        case int() if key in _BYTES:
            return render_bytes(value)
        case float():
            return f"{value:g}" + ("/s" if key == "rate" else " s" if key in _SECONDS else "")
        case _:
            return str(value)
