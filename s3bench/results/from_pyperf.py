"""Reads pyperf's JSON as a results document: each value becomes a measurement with that total time.

The formats are those of pyperf 0.9.6 and later (`_JSON_VERSION` and the history above it in pyperf/_bench.py,
https://pyperf.readthedocs.io/en/latest/api.html): values are seconds per loop iteration, and metadata common to several
runs is stored once above them. Warm-up values and calibration runs are left out, as pyperf does.
"""

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Annotated, Any

import msgspec

from s3bench.results.document import Client, Document, Result
from s3bench.results.foreign_tree import foreign_document, foreign_result, shaped, unreadable
from s3bench.results.measurement import Measurement, UsageFacts, measure

WHAT = "pyperf file"

_VERSIONS = (6, "1.0")
_SECONDS = "second"
_PEAKS = ("command_max_rss", "mem_max_rss")  # of the command if one was run, else of the worker itself
_MACHINE = {"cpu_model": "cpu_model_name", "cores_logical": "cpu_count", "python": "python_version"}

_Seconds = Annotated[float, msgspec.Meta(gt=0)]
_Metadata = dict[str, Any]


class _Run(msgspec.Struct, frozen=True):
    values: tuple[_Seconds, ...] = ()
    metadata: _Metadata = {}


class _Benchmark(msgspec.Struct, frozen=True):
    runs: Annotated[tuple[_Run, ...], msgspec.Meta(min_length=1)]
    metadata: _Metadata = {}


class _Suite(msgspec.Struct, frozen=True):
    benchmarks: Annotated[tuple[_Benchmark, ...], msgspec.Meta(min_length=1)]
    metadata: _Metadata = {}


def is_pyperf(tree: dict[str, Any]) -> bool:
    """Whether the keys are those of a pyperf file."""
    return "benchmarks" in tree and "version" in tree


def from_pyperf(tree: dict[str, Any], *, source: str) -> Document:
    """Read a pyperf file. Raises `BadInput` with the JSON path of the error, or if no benchmark measures time."""
    if tree["version"] not in _VERSIONS or isinstance(tree["version"], bool):
        raise unreadable(source, "$.version", f"it is {tree['version']!r}, but only '1.0' can be read", what=WHAT)
    suite = shaped(tree, _Suite, source=source, what=WHAT)
    results, warnings = [], []
    for index, benchmark in enumerate(suite.benchmarks):
        common = suite.metadata | benchmark.metadata
        name, unit = _common(benchmark, common, "name"), _common(benchmark, common, "unit") or _SECONDS
        if not isinstance(name, str) or not name:
            raise unreadable(source, f"$.benchmarks[{index}]", "the benchmark has no name in its metadata", what=WHAT)
        if unit != _SECONDS:
            warnings.append(f"{name} was left out: its values have the unit {unit}, but only seconds are supported")
            continue
        results.append(_result(name, benchmark, common))
        warnings += _warnings(name, benchmark)
    if not results:
        raise unreadable(source, "$.benchmarks", "; ".join(warnings), what=WHAT)
    return foreign_document(
        results,
        source=source,
        what=f"a {WHAT}",
        started=None,
        machine=_machine(suite),
        warnings=warnings,
    )


def _common(benchmark: _Benchmark, common: _Metadata, key: str) -> object:
    return (common | benchmark.runs[0].metadata).get(key)


def _result(name: str, benchmark: _Benchmark, common: _Metadata) -> Result:
    version = _common(benchmark, common, "perf_version") or _common(benchmark, common, "pyperf_version")
    client = Client(name="pyperf", version=version if isinstance(version, str) else "", label="pyperf")
    return foreign_result(name, client, measurements=_measurements(benchmark.runs, common))


def _measurements(runs: Iterable[_Run], common: _Metadata) -> Iterator[Measurement]:
    numbers = count()
    for run in runs:
        metadata = common | run.metadata
        peak = next((metadata[name] for name in _PEAKS if isinstance(metadata.get(name), int)), None)
        for value in run.values:
            # The peak is of the whole process, so with several values it belongs to none of them.
            usage = UsageFacts(peak_memory_bytes=peak if len(run.values) == 1 else None)
            whole = measure(iteration=next(numbers), total_s=value, usage=usage)
            yield msgspec.structs.replace(whole, max_memory=None)


def _warnings(name: str, benchmark: _Benchmark) -> Iterator[str]:
    most = max(len(run.values) for run in benchmark.runs)
    if most > 1:
        yield (
            f"{name}: up to {most} values come from one process: they are not independent, so intervals from them are"
            " too narrow"
        )
    if not any(run.values for run in benchmark.runs):
        yield f"{name} has no values: all its runs are calibration runs"


def _machine(suite: _Suite) -> dict[str, Any]:
    first = suite.benchmarks[0]
    metadata = suite.metadata | first.metadata | first.runs[0].metadata
    return {ours: metadata[theirs] for ours, theirs in _MACHINE.items() if theirs in metadata}
