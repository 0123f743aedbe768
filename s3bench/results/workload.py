"""Compares the workloads of two load documents: what each phase did, as their recorded options describe it.

The workload identifies a load result: rates of 4 KiB and of 64 KiB objects do not measure the same thing. How long a
phase ran, the endpoint and the number of workers are no part of the workload. Runs that become one result have to agree
in more: in all options but those of `_OF_ONE_RUN`. Runs of one series over time have to be against one endpoint as well
(`RecordedWorkload`).
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self, TypeGuard

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
    "range": "bytes of a range",
    "list_keys": "keys of a list",
    "overwrite": "overwriting",
    "read_bodies": "read bodies",
}
OF_WORKLOAD = frozenset({PHASES, *_RUN_KEYS})
"""The options of a load run that describe its workload."""

_OF_ONE_RUN = frozenset(
    {"endpoint_url", "bucket", "run", "seed", "workers", "calibrate", "found", "cluster", "ca_bundle", "merged"}
)
"""Options that may differ between runs that become one result."""

_SITE_KEYS = {"endpoint_url": "endpoint", "express": "directory bucket"}
_NESTED_KEYS = {
    ("network", "text"): "network",
    ("replay", "log"): "log",
    ("replay", "speed"): "replay speed",
    ("merged", "simultaneous"): "simultaneous runs",
}
"""Options that are objects, and the keys in them that distinguish series."""

_WHOLE = "load.all"
_BYTES = frozenset({"part_size", "range"})
_BITS_MAX = 64  # of a number that is a size; a larger one, which only a damaged document has, is shown as it is
_SECONDS = frozenset({"duration", "warmup", "ramp"})
_ABSENT = {"rate": "none (closed loop)"}


class WorkloadDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A property of the workload that differs, as text: `size`, `4KiB`, `64KiB`."""

    what: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.what} {self.before} -> {self.after}"


Pair = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedWorkload:
    """What the results of one load document measured, and at which endpoint, as its recorded options describe it.

    Properties are pairs of a name and a value as text: `size`, `4KiB`. Those that are absent or null are left out.
    """

    of_run: tuple[Pair, ...]
    phases: Mapping[tuple[Pair, ...], Sequence[Mapping[str, Any]]]

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Take it from the options of a document."""
        nested = (
            (what, _text(inner, value[inner]))
            for (key, inner), what in _NESTED_KEYS.items()
            if isinstance(value := options.get(key), Mapping) and value.get(inner) is not None
        )
        phases: dict[tuple[Pair, ...], list[Mapping[str, Any]]] = {}
        for phase in _recorded_phases(options):
            phases.setdefault(_phase_dimensions(phase), []).append(phase)
        return cls(of_run=(*_properties(options, {**_SITE_KEYS, **_RUN_KEYS}), *nested), phases=phases)

    def of_result(self, name: str, dimensions: Sequence[Pair]) -> tuple[Pair, ...]:
        """The properties of the result `name` with these dimensions, the first of which are those of its phase."""
        beginnings = (tuple(dimensions[:count]) for count in range(len(dimensions), -1, -1))
        phases = next((self.phases[each] for each in beginnings if each in self.phases), ())
        own = [phase for phase in phases if _has_result(phase, name)] or phases
        return (*self.of_run, *chain.from_iterable(_phase_properties(phase, is_only=len(own) == 1) for phase in own))


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
        found += _job_count_differences(before, after, where)
        found += _of_jobs(before, after, where, lambda *_: _JOB_KEYS)
    return tuple(found)


def length_differences(first: Document, second: Document) -> tuple[WorkloadDifference, ...]:
    """How much longer the phases of one document ran, which changes no rate in principle."""
    return tuple(
        difference
        for before, after, where in _common_phases(first, second)
        for difference in _differences(before, after, _LENGTH_KEYS, where)
    )


def option_differences(first: Document, second: Document) -> tuple[WorkloadDifference, ...]:
    """Everything in which two runs that become one result may not differ: workload, lengths and all other options."""
    described = OF_WORKLOAD if has_workload(first) and has_workload(second) else ()
    known = {*described, *_OF_ONE_RUN}
    return (
        *workload_differences(first, second),
        *length_differences(first, second),
        *_differences(first.options, second.options, _others(first.options, second.options, known), ""),
        *_other_phase_differences(first, second),
    )


def _other_phase_differences(first: Document, second: Document) -> Iterator[WorkloadDifference]:
    for before, after, where in _common_phases(first, second):
        known = {"jobs", *_PHASE_KEYS, *_LENGTH_KEYS}
        yield from _differences(before, after, _others(before, after, known), where)
        yield from _of_jobs(before, after, where, lambda one, other: _others(one, other, _JOB_KEYS))


def _others(before: Mapping[str, Any], after: Mapping[str, Any], known: Collection[str]) -> dict[str, str]:
    """The keys of either that are not known, with what messages call them."""
    return {key: key.replace("_", " ") for key in dict.fromkeys((*before, *after)) if key not in known}


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
    return {_name(phase): phase for phase in _recorded_phases(document.options)}


def _recorded_phases(options: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    phases = options.get(PHASES)
    return tuple(filter(_is_mapping, phases)) if isinstance(phases, Sequence) else ()


def _is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _name(phase: Mapping[str, Any]) -> str:
    pairs = (f"{key}={value}" for key, value in _phase_dimensions(phase))
    return " ".join((f"phase {phase.get('name', '')}".strip(), *pairs))


def _phase_dimensions(phase: Mapping[str, Any]) -> tuple[Pair, ...]:
    dimensions = phase.get("dimensions")
    known = dimensions if isinstance(dimensions, Sequence) else ()
    return tuple((key, str(value)) for each in filter(_is_mapping, known) for key, value in each.items())


def _has_result(phase: Mapping[str, Any], name: str) -> bool:
    """Whether a phase has a result of this name: of a kind of operation in it, or of all kinds if there are several."""
    mixes = (job.get("mix") for job in _jobs(phase) if _is_mapping(job))
    kinds = {f"load.{kind}" for mix in mixes if _is_mapping(mix) for kind in mix}
    return len(kinds) > 1 if name == _WHOLE else name in kinds


def _phase_properties(phase: Mapping[str, Any], *, is_only: bool) -> Iterator[Pair]:
    where = "" if is_only else f"{_name(phase)}: "
    jobs = _jobs(phase)
    yield from _properties(phase, _PHASE_KEYS, where)
    for number, job in enumerate(jobs, 1):
        if _is_mapping(job):
            yield from _properties(job, _JOB_KEYS, f"{where}job {number}: " if len(jobs) > 1 else where)


def _properties(options: Mapping[str, Any], keys: Mapping[str, str], where: str = "") -> Iterator[Pair]:
    for key, what in keys.items():
        if options.get(key) is not None:
            yield f"{where}{what}", _text(key, options[key])


def _jobs(phase: Mapping[str, Any]) -> Sequence[Any]:
    return jobs if isinstance(jobs := phase.get("jobs"), Sequence) else ()


def _job_count_differences(
    before: Mapping[str, Any], after: Mapping[str, Any], where: str
) -> Iterator[WorkloadDifference]:
    counts = [len(_jobs(phase)) for phase in (before, after)]
    if counts[0] != counts[1]:
        yield WorkloadDifference(what=f"{where}jobs", before=str(counts[0]), after=str(counts[1]))


def _of_jobs(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    where: str,
    keys: Callable[[Mapping[str, Any], Mapping[str, Any]], Mapping[str, str]],
) -> Iterator[WorkloadDifference]:
    """The differences in `keys` between the jobs of two phases that have as many."""
    jobs = _jobs(before), _jobs(after)
    if len(jobs[0]) != len(jobs[1]):
        return
    for number, (one, other) in enumerate(zip(*jobs, strict=True), 1):
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            place = f"{where}job {number}: " if len(jobs[0]) > 1 else where
            yield from _differences(one, other, keys(one, other), place)


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
            return ", ".join(f"{name} {_number(share)}" for name, share in sorted(value.items()))
        case list() | tuple():
            return ", ".join(sorted(map(str, value)))
        case int() if key in _BYTES and value.bit_length() <= _BITS_MAX:
            return render_bytes(value)
        case float():
            return f"{value:g}" + ("/s" if key == "rate" else " s" if key in _SECONDS else "")
        case _:
            return str(value)


def _number(share: object) -> str:
    """A number as short as it can be written; anything else, which only a damaged document has, as it is."""
    return f"{share:g}" if isinstance(share, float) else str(share)
