"""Warns about differences between compared runs: machine, operating system, workload, options.

Client versions cause no warning: they are what people compare.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from s3bench.compare.matching import DocumentSource
from s3bench.results.document import Document
from s3bench.results.workload import OF_WORKLOAD, PHASES, has_workload, length_differences, workload_differences
from s3bench.units import render_bytes

_MACHINE = {
    "cpu_model": "CPU",
    "architecture": "architecture",
    "cores_logical": "number of cores",
    "cores_physical": "number of physical cores",
    "cores_allowed": "number of allowed cores",
    "cpu_quota_cores": "CPU quota",
    "hyperthreading": "hyperthreading",
    "governor": "CPU frequency governor",
    "frequency_max_mhz": "highest CPU frequency",
    "turbo": "turbo",
    "memory_limit": "memory limit",
    "system": "operating system",
    "kernel": "kernel",
    "virtualization": "virtualization",
    "product": "machine",
    "on_battery": "power supply",
    "clock_source": "clock source",
    "address_randomization": "address randomization",
    "python": "Python",
    "git_commit": "s3bench checkout",
}
_WORKSPACE = "workspace_file_system"  # older documents do not have it
_CLUSTER = "cluster"
_SIZES = frozenset({"memory_total", "memory_limit"})
_SIZE_MAX = 1 << 62
_MEMORY_TOLERANCE = 0.02  # kernels reserve a little more or less of the same memory
_COUNTS_FROM_EXEC = 7
"""The first version of documents whose CPU times and page faults begin when the client's program does."""
_COUNTED = {False: "about 1 ms and 250 faults of s3bench are in them", True: "of the client alone"}
_CHANGES_NO_FIGURE = frozenset({"num_iterations", "timeout", "run", "loops", "seed", "found"})


def differences_between(sources: Sequence[DocumentSource]) -> tuple[str, ...]:
    """The differences of each document from the first, as warnings."""
    first = sources[0]
    return tuple(
        f"different {what}: {before} in {first.name}, {after} in {source.name}"
        for source in sources[1:]
        for what, before, after in _differences(first.document, source.document)
    )


def same_machine(first: Document, second: Document) -> bool:
    """Whether both were measured on equal machines, as far as they are described."""
    return all(first.machine.get(key) == second.machine.get(key) for key in _MACHINE)


def counts_from_exec(document: Document) -> bool:
    """Whether CPU times and page faults are those of the client alone, without those of its launch by s3bench."""
    return document.schema_version >= _COUNTS_FROM_EXEC or document.is_of_load


def _differences(first: Document, second: Document) -> Iterator[tuple[str, str, str]]:
    for key, what in _MACHINE.items():
        before, after = first.machine.get(key), second.machine.get(key)
        if before != after:
            yield what, _rendered(key, before), _rendered(key, after)
    yield from _memory(first.machine, second.machine)
    before, after = first.machine.get(_WORKSPACE), second.machine.get(_WORKSPACE)
    if before and after and before != after:
        yield "file system of the workspace", _rendered(_WORKSPACE, before), _rendered(_WORKSPACE, after)
    if first.s3bench != second.s3bench:
        yield "s3bench", first.s3bench, second.s3bench
    if counts_from_exec(first) is not counts_from_exec(second):
        before, after = (_COUNTED[counts_from_exec(document)] for document in (first, second))
        yield "counting of CPU times and page faults", before, after
    for each in (*workload_differences(first, second), *length_differences(first, second)):
        yield each.what, each.before, each.after
    described = OF_WORKLOAD if has_workload(first) and has_workload(second) else {PHASES}
    for key in dict.fromkeys((*first.options, *second.options)):
        if key in described:
            continue
        before, after = (_of_figures(key, document.options.get(key)) for document in (first, second))
        if before != after and key not in _CHANGES_NO_FIGURE:
            yield key.replace("_", " "), _rendered(key, before), _rendered(key, after)


def _of_figures(key: str, value: object) -> object:
    """The part of an option that can change a figure: of a cluster its engine, nodes and workers."""
    match value:
        case {"engine": engine, **facts} if key == _CLUSTER:
            label = " ".join(str(word) for word in (engine, facts.get("version")) if word is not None)
            match facts:
                case {"nodes": list(nodes), "workers_per_node": workers}:
                    return f"{len(nodes)} nodes with {workers} workers each, by {label}"
            return label
        case _:
            return value


def _memory(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    before, after = first.get("memory_total"), second.get("memory_total")
    if before == after:
        return
    if _is_size(before) and _is_size(after) and abs(after - before) <= _MEMORY_TOLERANCE * before:
        return
    yield "amount of memory", _rendered("memory_total", before), _rendered("memory_total", after)


def _rendered(key: str, value: object) -> str:
    match value:
        case None:
            return "unknown" if key in _MACHINE or key in _SIZES else "none"
        case bool():
            return "yes" if value else "no"
        case {"text": str(text)}:  # a network model, as it was typed
            return text
        case int() | float() if key in _SIZES and _is_size(value):
            return render_bytes(value)
        case _:
            return str(value)


def _is_size(value: object) -> TypeGuard[int | float]:
    """Whether a fact of a document is a number of bytes; it may have been edited by hand."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _SIZE_MAX
