"""Merges the results documents of several load runs into one.

Runs of one workload can be merged if they were made at the same time or one after the other; recorded times decide
which. Runs at the same time are one load: counts, histograms and rates add (`merged_load`). Runs one after the other
are loops of one run: each keeps its measurements, and nothing is added.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import combinations, pairwise
from typing import Any, TypeGuard, TypeVar

import msgspec

from s3bench.errors import BadInput
from s3bench.load.aggregation.measurements import ENGINE, recorded
from s3bench.load.aggregation.merged_load import (
    PhaseWindow,
    merge_warnings,
    merged_contradiction,
    merged_load,
    overlap_share,
    window_of,
    with_seconds,
)
from s3bench.results.document import Document, Result
from s3bench.results.load import Load, LoadMeasurement
from s3bench.results.measurement import Failure
from s3bench.results.warnings import warning_kind
from s3bench.results.workload import option_differences

OVERLAP_SHARE_MIN = 0.9
"""Runs are at the same time if all of them were measured for this share of the longest window of every phase."""

_OVERLAP_SHARE_FULL = 0.99
_COUNTED = re.compile(r"(?P<having>[0-9]+) of [0-9]+ runs: (?P<words>.*)", re.DOTALL)

_MOMENTARY = frozenset(
    {"load_1min", "load_5min", "load_15min", "memory_available", "frequency_mhz", "swap_used", "git_commit"}
)
"""Facts about a machine that change while it stays the same."""

_EMULATOR = "emulator"
_DIFFERENCES_MAX = 5

Identity = tuple[object, ...]
_Numbered = TypeVar("_Numbered", LoadMeasurement, Failure)
_Number = TypeVar("_Number", int, float)


class Arrangement(StrEnum):
    """How the runs were made."""

    SIMULTANEOUS = "simultaneous"
    SEQUENTIAL = "sequential"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPart:
    """The document of one run, and the `name` by which messages call it, such as its file."""

    name: str
    document: Document


def merge_runs(given: Sequence[RunPart], *, command_line: Sequence[str]) -> Document:
    """The document of all runs together.

    Raises `BadInput` for documents that are not of load runs of one workload, or whose runs overlapped in part.
    """
    parts = [RunPart(name=part.name, document=part.document.without_parts()) for part in given]
    _check_documents(parts)
    _check_workload(parts)
    arrangement = arrangement_of(parts)
    if arrangement is Arrangement.SEQUENTIAL:
        _check_simultaneous(parts)
    parts.sort(key=_span_s)
    documents = [part.document for part in parts]
    ends = [document.ended_at for document in documents if document.ended_at is not None]
    merged = Document(
        s3bench=documents[0].s3bench,
        started_at=min(document.started_at for document in documents),
        ended_at=max(ends) if len(ends) == len(documents) else None,
        command_line=tuple(command_line),
        machine=_common([document.machine for document in documents]),
        clients=documents[0].clients,
        options=_common([document.options for document in documents]) | {"merged": _origin(parts, arrangement)},
        warnings=(
            *_gathered([(document.warnings, _runs(document.options)) for document in documents]),
            *_document_warnings([part.document for part in given]),
        ),
    )
    if arrangement is Arrangement.SEQUENTIAL:
        return _in_sequence(merged, documents)
    return msgspec.structs.replace(merged, results=tuple(_simultaneous_results(parts)))


def arrangement_of(parts: Sequence[RunPart]) -> Arrangement:
    """Whether runs were made one after the other or at the same time. Raises `BadInput` if neither."""
    spans = sorted(map(_span_s, parts))
    if all(before[1] <= after[0] for before, after in pairwise(spans)):
        return Arrangement.SEQUENTIAL
    for windows in _windows_by_phase(parts):
        share = overlap_share(windows)
        if share < OVERLAP_SHARE_MIN:
            raise BadInput(
                "the runs overlapped in part",
                f"all of them were measured together for {share:.0%} of a phase, so that no rate is true of the whole; "
                f"runs at the same time need {OVERLAP_SHARE_MIN:.0%}, and runs one after the other have none",
                "start the runs together, for the same duration; merge overlapping runs first, and others with those",
            )
    return Arrangement.SIMULTANEOUS


def _check_documents(parts: Sequence[RunPart]) -> None:
    if len(parts) < 2:  # noqa: PLR2004 (what can be merged)
        raise BadInput("one document cannot be merged", fix="pass the documents of two runs or more")
    for part in parts:
        if not any(result.loops for result in part.document.results):
            raise BadInput(
                f"{part.name} has no figures of a load run", fix="pass documents that `s3bench load -o FILE` wrote"
            )
        if any(loop.engine != ENGINE for result in part.document.results for loop in result.loops):
            raise BadInput(
                f"{part.name} is of another tool", "it has no histograms", "pass documents of `s3bench load`"
            )
    for left, right in combinations(parts, 2):
        _check_disjoint(left, right)


def _check_disjoint(left: RunPart, right: RunPart) -> None:
    """Refuse two documents of the same run, and a run beside a document that was merged from it and others."""
    runs, others = (_runs_of(part.document) for part in (left, right))
    if not runs & others:
        return
    if runs == others:
        what, why = f"{left.name} and {right.name} are the same run", ""
    elif runs < others:
        what, why = f"{left.name} is in {right.name} already", "that is a merged document"
    elif others < runs:
        what, why = f"{right.name} is in {left.name} already", "that is a merged document"
    else:
        what, why = f"{left.name} and {right.name} have runs in common", "they are merged documents"
    raise BadInput(what, why, "pass each run once")


def _check_workload(parts: Sequence[RunPart]) -> None:
    """Refuse runs of different workloads, and name what differs."""
    first = parts[0]
    for other in parts[1:]:
        differences = [
            *_different_versions(first.document, other.document),
            *map(str, option_differences(first.document, other.document)),
            *_different_results(first.document, other.document),
        ]
        if differences:
            shown = "; ".join(differences[:_DIFFERENCES_MAX])
            more = f"; {len(differences) - _DIFFERENCES_MAX} more" * (len(differences) > _DIFFERENCES_MAX)
            raise BadInput(
                f"{first.name} and {other.name} are not of the same workload",
                f"{shown}{more}",
                "merge runs with the same options; `s3bench compare` shows different ones side by side",
            )


def _check_simultaneous(parts: Sequence[RunPart]) -> None:
    """Refuse to make one load of loops that different numbers of runs made at the same time."""
    counts = [_simultaneous(part.document) for part in parts]
    if len(set(counts)) > 1:
        shown = "; ".join(f"{part.name}: {count}" for part, count in zip(parts, counts, strict=True))
        raise BadInput(
            "the documents are not of the same load",
            f"different numbers of runs made it at the same time ({shown})",
            "merge documents of equally many simultaneous runs",
        )


def _simultaneous(document: Document) -> int:
    """How many runs made the load of a document at the same time."""
    merged = document.options.get("merged")
    count = merged.get("simultaneous") if isinstance(merged, Mapping) else None
    return count if isinstance(count, int) else 1


def _different_versions(left: Document, right: Document) -> list[str]:
    return [f"s3bench {left.s3bench} -> {right.s3bench}"] if left.s3bench != right.s3bench else []


def _runs(options: Mapping[str, Any]) -> int:
    """How many single runs a document with these options was merged from."""
    merged = options.get("merged")
    runs = merged.get("runs") if isinstance(merged, Mapping) else None
    if not isinstance(runs, Sequence):
        return 1
    return sum(_runs(each["options"]) if isinstance(each, Mapping) and "options" in each else 1 for each in runs)


def _runs_of(document: Document) -> frozenset[tuple[str, ...]]:
    """The single runs of a document, each by its name and its times: runs that read one data set share the name."""
    return _single_runs(document.options, {"started_at": document.started_at, "ended_at": document.ended_at})


def _single_runs(options: Mapping[str, Any], times: Mapping[str, Any]) -> frozenset[tuple[str, ...]]:
    merged = options.get("merged")
    runs = merged.get("runs") if isinstance(merged, Mapping) else None
    if not isinstance(runs, Sequence):
        return frozenset({(str(options.get("run")), str(times.get("started_at")), str(times.get("ended_at")))})
    common = {name: value for name, value in options.items() if name != "merged"}
    return frozenset().union(
        *(_single_runs({**common, **each["options"]}, each) for each in runs if _is_described(each))
    )


def _is_described(run: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(run, Mapping) and isinstance(run.get("options"), Mapping)


def _shown(value: object) -> str:
    return "not set" if value is None else msgspec.json.encode(value).decode()


def _different_results(left: Document, right: Document) -> list[str]:
    own, others = ({result.identity: result for result in document.results} for document in (left, right))
    missing = [result for identity, result in (own | others).items() if (identity in own) != (identity in others)]
    return [f"only one of them has {result.label}" for result in missing]


def _windows_by_phase(parts: Sequence[RunPart]) -> Iterable[list[PhaseWindow]]:
    """The windows of all runs for each loop of each phase that every run has measured."""
    for together in _phases(parts):
        windows = []
        for part, measurement in zip(parts, together, strict=True):
            window = window_of(measurement)
            if window is None:
                raise BadInput(
                    f"{part.name} does not record when its phases began",
                    "an earlier s3bench wrote it, and its run and another one's overlapped",
                    "merge runs of this s3bench, or runs one after the other",
                )
            windows.append(window)
        yield windows


def _phases(parts: Sequence[RunPart]) -> Iterable[list[LoadMeasurement]]:
    for result in parts[0].document.results:
        every = [_loops_by_iteration(part.document, result.identity) for part in parts]
        for iteration in every[0]:
            measured = [loops[iteration] for loops in every if iteration in loops]
            if len(measured) == len(parts) and _is_whole(measured[0].load):
                yield measured


def _loops_by_iteration(document: Document, identity: Identity) -> dict[int, LoadMeasurement]:
    (result,) = (each for each in document.results if each.identity == identity)
    return {loop.iteration: loop for loop in result.loops}


def _is_whole(load: Load) -> bool:
    """Whether the figures are of all kinds of operations of a phase."""
    return bool(load.seconds)


def _span_s(part: RunPart) -> tuple[float, float]:
    """From when to when a run lasted, its preparations included."""
    loops = [loop for result in part.document.results for loop in result.loops]
    ends = [window.until_s for window in map(window_of, loops) if window is not None]
    if part.document.ended_at is not None:
        ends.append(_seconds(part.document.ended_at))
    if not ends:
        raise BadInput(
            f"{part.name} does not record when its run ended", "it ended early", "leave it out, or measure again"
        )
    return _seconds(part.document.started_at), max(ends)


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


def _in_sequence(merged: Document, documents: Sequence[Document]) -> Document:
    """All loops of all runs, in the order of time."""
    before = 0
    for document in documents:
        for result in document.results:
            moved = msgspec.structs.replace(
                result,
                measurements=tuple(_moved(loop, before) for loop in result.loops),
                errors=tuple(_moved(failure, before) for failure in result.errors),
            )
            merged = recorded(merged, (moved,))
        before += 1 + max(iteration for result in document.results for iteration in _iterations(result))
    return merged


def _iterations(result: Result) -> set[int]:
    """The loops of which a result has figures or errors."""
    failed = {failure.iteration for failure in result.errors if failure.iteration is not None}
    return failed | {loop.iteration for loop in result.loops}


def _moved(each: _Numbered, loops: int) -> _Numbered:
    return each if each.iteration is None else msgspec.structs.replace(each, iteration=each.iteration + loops)


def _simultaneous_results(parts: Sequence[RunPart]) -> Iterable[Result]:
    violations: dict[tuple[Identity, int], str] = {}
    counts = [_simultaneous(part.document) for part in parts]
    for result in parts[0].document.results:
        same = [_result_of(part.document, result.identity) for part in parts]
        errors = [
            msgspec.structs.replace(failure, what=f"{part.name}: {failure.what}")
            for part, each in zip(parts, same, strict=True)
            for failure in each.errors
        ]
        loops: list[LoadMeasurement] = []
        for iteration in sorted({loop.iteration for each in same for loop in each.loops}):
            measured = [loop for each in same for loop in each.loops if loop.iteration == iteration]
            if len(measured) < len(parts):
                errors += _missing(parts, same, iteration)
                continue
            phase, loop = (_phase_of(result), iteration), _merged_measurement(measured, counts)
            if found := merged_contradiction(loop.load, window_s=loop.total_time):
                violations[phase] = found
            if phase in violations:
                what = "the merged figures contradict each other and are left out"
                errors.append(Failure(iteration=iteration, what=what, why=violations[phase]))
            else:
                loops.append(loop)
        yield msgspec.structs.replace(result, measurements=tuple(loops), errors=tuple(errors)).completed()


def _missing(parts: Sequence[RunPart], same: Sequence[Result], iteration: int) -> Iterable[Failure]:
    """Errors for the runs that have neither figures of a loop nor an error that says why."""
    for part, result in zip(parts, same, strict=True):
        if iteration not in _iterations(result):
            yield Failure(iteration=iteration, what=f"{part.name} has no figures of this loop")


def _phase_of(result: Result) -> Identity:
    """What the results of a phase have in common; the job is not part of it."""
    return tuple(pair for pair in result.dimension_pairs if pair[0] != "job")


def _result_of(document: Document, identity: Identity) -> Result:
    (result,) = (each for each in document.results if each.identity == identity)
    return result


def _merged_measurement(measured: Sequence[LoadMeasurement], counts: Sequence[int]) -> LoadMeasurement:
    """The measurement of documents that `counts` runs each made at the same time."""
    window_s = max(each.total_time for each in measured)
    load = merged_load(measured, window_s=window_s)
    warnings = [*_gathered([(each.warnings, count) for each, count in zip(measured, counts, strict=True)])]
    if _is_whole(measured[0].load):
        windows = [window for each in measured if (window := window_of(each)) is not None]
        load = with_seconds(load, [(window, each.load) for window, each in zip(windows, measured, strict=True)])
        warnings += merge_warnings([each.load for each in measured])
        share = overlap_share(windows)
        if share < _OVERLAP_SHARE_FULL:
            warnings.append(f"all {len(measured)} runs were measured together for {share:.1%} of the longest window")
    return LoadMeasurement(
        iteration=measured[0].iteration,
        started_at=min((each.started_at for each in measured if each.started_at), default=None),
        total_time=window_s,
        cpu_time=_sum([each.cpu_time for each in measured]),
        peak_memory=_sum([each.peak_memory for each in measured]),
        throughput=(load.bytes_up + load.bytes_down) / window_s,
        engine=ENGINE,
        load=load,
        warnings=tuple(warnings),
    )


def _sum(values: Sequence[_Number | None]) -> _Number | None:
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if len(known) == len(values) else None


def _common(trees: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The keys that have the same value in all of them."""
    first, *others = trees
    return {
        name: value for name, value in first.items() if all(name in each and each[name] == value for each in others)
    }


def _origin(parts: Sequence[RunPart], arrangement: Arrangement) -> dict[str, Any]:
    """What is kept of each run: where and when it was made, and the options and facts that are not the same in all."""
    options = _common([part.document.options for part in parts])
    counts = [_simultaneous(part.document) for part in parts]
    return {
        "arrangement": str(arrangement),
        "simultaneous": sum(counts) if arrangement is Arrangement.SIMULTANEOUS else counts[0],
        "runs": [
            {
                "file": part.name,
                "started_at": part.document.started_at,
                "ended_at": part.document.ended_at,
                "command_line": list(part.document.command_line),
                "machine": part.document.machine,
                "options": {name: value for name, value in part.document.options.items() if name not in options},
            }
            for part in parts
        ],
    }


def _gathered(given: Sequence[tuple[Sequence[str], int]]) -> Iterable[str]:
    """The warnings of several documents, each kind once, with the number of runs that have it.

    Each document is given with the number of its runs. If it is merged already, its warnings have such numbers, which
    are added; one without a number concerns all of its runs.
    """
    examples: dict[str, str] = {}
    runs: Counter[str] = Counter()
    for warnings, count in given:
        own: dict[str, int] = {}
        for warning in warnings:
            counted = _COUNTED.fullmatch(warning) if count > 1 else None
            words, having = (counted["words"], int(counted["having"])) if counted else (warning, count)
            kind = warning_kind(words)
            examples.setdefault(kind, words)
            own[kind] = max(having, own.get(kind, 0))
        runs.update(own)
    total = sum(count for _, count in given)
    for kind, example in examples.items():
        yield f"{runs[kind]} of {total} runs: {example}"


def _document_warnings(documents: Sequence[Document]) -> Iterable[str]:
    endpoints = dict.fromkeys(_shown(document.options.get("endpoint_url")) for document in documents)
    if list(endpoints) == [_shown(_EMULATOR)]:
        yield "each run measured an S3 in memory of its own, not one and the same"
    elif len(endpoints) > 1:
        yield f"the runs name different endpoints: {', '.join(endpoints)}"
    lasting = {name: None for document in documents for name in document.machine if name not in _MOMENTARY}
    different = [name for name in lasting if len({_shown(each.machine.get(name)) for each in documents}) > 1]
    if different:
        yield f"the machines differ: {', '.join(different)}"
    if any(len(document.without_parts().results) < len(document.results) for document in documents):
        yield "figures of single cluster nodes are left out"
