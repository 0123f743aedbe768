"""Reads hyperfine's JSON (`--export-json`) as a results document: each run becomes a measurement.

Two formats: that of hyperfine 1 (https://docs.rs/crate/hyperfine/1.20.0/source/src/benchmark/benchmark_result.rs), in
which figures stand in lists beside their means, and that of hyperfine 2 (schema version 2,
https://docs.rs/crate/hyperfine/2.0.0/source/src/export/json.rs), in which each run has its own. Both store seconds and
bytes. A run whose command failed (`--ignore-failure`) becomes a failure.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec

from s3bench.results.document import Client, Document, Result
from s3bench.results.foreign_tree import foreign_document, foreign_result, parse_time, shaped, unreadable
from s3bench.results.measurement import Failure, Measurement, UsageFacts, measure

WHAT = "hyperfine export"

_SCHEMA_VERSION = 2

_Seconds = Annotated[float, msgspec.Meta(ge=0)]
_Bytes = Annotated[float, msgspec.Meta(ge=0)]


class _Summed(msgspec.Struct, frozen=True):
    """One command in the format of hyperfine 1; `user` and `system` are means over its runs."""

    command: str
    times: Annotated[tuple[_Seconds, ...], msgspec.Meta(min_length=1)]
    user: _Seconds | None = None
    system: _Seconds | None = None
    memory_usage_byte: tuple[_Bytes, ...] | None = None
    exit_codes: tuple[int | None, ...] | None = None
    parameters: dict[str, str] = {}


class _SummedExport(msgspec.Struct, frozen=True):
    results: Annotated[tuple[_Summed, ...], msgspec.Meta(min_length=1)]


class _Quantity(msgspec.Struct, frozen=True):
    value: Annotated[float, msgspec.Meta(ge=0)]
    unit: str


class _Run(msgspec.Struct, frozen=True):
    time_wall_clock: _Quantity
    exit_code: int | None
    time_user: _Quantity | None = None
    time_system: _Quantity | None = None
    memory_peak_resident: _Quantity | None = None


class _Measured(msgspec.Struct, frozen=True):
    """One command in the format of hyperfine 2."""

    command: str
    measurements: Annotated[tuple[_Run, ...], msgspec.Meta(min_length=1)]
    name: str | None = None
    parameters: dict[str, str] = {}


class _Metadata(msgspec.Struct, frozen=True):
    hyperfine_version: str = ""
    start_time: str = ""


class _MeasuredExport(msgspec.Struct, frozen=True):
    results: Annotated[tuple[_Measured, ...], msgspec.Meta(min_length=1)]
    metadata: _Metadata = _Metadata()


def is_hyperfine(tree: dict[str, Any]) -> bool:
    """Whether the keys are those of a hyperfine export: only `results` in version 1, with metadata in version 2."""
    return "results" in tree and (set(tree) == {"results"} or "primary_metric" in tree)


def from_hyperfine(tree: dict[str, Any], *, source: str) -> Document:
    """Read a hyperfine export of either format. Raises `BadInput` with the JSON path of the error."""
    if "schema_version" not in tree:
        return _from_summed(shaped(tree, _SummedExport, source=source, what=WHAT), source)
    if tree["schema_version"] != _SCHEMA_VERSION:
        problem = f"it is {tree['schema_version']!r}, but only {_SCHEMA_VERSION} can be read"
        raise unreadable(source, "$.schema_version", problem, what=WHAT)
    return _from_measured(shaped(tree, _MeasuredExport, source=source, what=WHAT), source)


def _from_summed(export: _SummedExport, source: str) -> Document:
    client = Client(name="hyperfine", version="", label="hyperfine")
    results = []
    for index, each in enumerate(export.results):
        _check_lengths(each, f"$.results[{index}]", source)
        results.append(_result(each.command, each.parameters, client, tuple(_summed_runs(each))))
    several = any(len(each.times) > 1 for each in export.results)
    means = "its user and system times are means over all runs and were left out"
    return foreign_document(
        results, source=source, what=f"a {WHAT}", started=None, warnings=(means,) if several else ()
    )


def _check_lengths(each: _Summed, path: str, source: str) -> None:
    for name in ("exit_codes", "memory_usage_byte"):
        values = getattr(each, name)
        if values is not None and len(values) != len(each.times):
            problem = f"it has {len(values)} values for {len(each.times)} times"
            raise unreadable(source, f"{path}.{name}", problem, what=WHAT)


def _summed_runs(each: _Summed) -> Iterator[Measurement | Failure]:
    is_single = len(each.times) == 1
    for number, total_s in enumerate(each.times):
        code = each.exit_codes[number] if each.exit_codes is not None else 0
        peak = each.memory_usage_byte[number] if each.memory_usage_byte is not None else None
        user_s, system_s = (each.user, each.system) if is_single else (None, None)
        yield _run(number, code, total_s, user_s=user_s, system_s=system_s, peak_bytes=peak)


def _from_measured(export: _MeasuredExport, source: str) -> Document:
    version = export.metadata.hyperfine_version
    client = Client(name="hyperfine", version=version, label="hyperfine")
    results = []
    for index, each in enumerate(export.results):
        runs = tuple(_measured_runs(each.measurements, f"$.results[{index}].measurements", source))
        results.append(_result(each.name or each.command, each.parameters, client, runs))
    started = parse_time(export.metadata.start_time)
    return foreign_document(results, source=source, what=f"a {WHAT}", started=started)


def _measured_runs(runs: Sequence[_Run], path: str, source: str) -> Iterator[Measurement | Failure]:
    for number, run in enumerate(runs):
        at = f"{path}[{number}]"

        def figure(name: str, unit: str, run: _Run = run, at: str = at) -> float | None:
            return _value(getattr(run, name), unit, f"{at}.{name}", source)

        total_s = figure("time_wall_clock", "second")
        assert total_s is not None, "the type requires it"
        yield _run(
            number,
            run.exit_code,
            total_s,
            user_s=figure("time_user", "second"),
            system_s=figure("time_system", "second"),
            peak_bytes=figure("memory_peak_resident", "byte"),
        )


def _value(quantity: _Quantity | None, unit: str, path: str, source: str) -> float | None:
    if quantity is None:
        return None
    if quantity.unit != unit:
        raise unreadable(source, f"{path}.unit", f"it is {quantity.unit!r}, not {unit!r}", what=WHAT)
    return quantity.value


def _run(
    number: int,
    exit_code: int | None,
    total_s: float,
    *,
    user_s: float | None,
    system_s: float | None,
    peak_bytes: float | None,
) -> Measurement | Failure:
    """The measurement or failure of one run; `exit_code` is `None` after a signal."""
    if exit_code != 0:
        return Failure(iteration=number, what="the command failed", exit_code=exit_code)
    # hyperfine stores 0 on systems without this figure (Windows).
    peak = round(peak_bytes) if peak_bytes else None
    usage = UsageFacts(user_cpu_s=user_s, system_cpu_s=system_s, peak_memory_bytes=peak)
    whole = measure(iteration=number, total_s=total_s, usage=usage)
    return msgspec.structs.replace(whole, max_memory=None)


def _result(name: str, parameters: dict[str, str], client: Client, runs: Sequence[Measurement | Failure]) -> Result:
    return foreign_result(
        name,
        client,
        dimensions=parameters.items(),
        measurements=(run for run in runs if isinstance(run, Measurement)),
        errors=(run for run in runs if isinstance(run, Failure)),
    )
