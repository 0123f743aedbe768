"""The results of a phase for a results document.

A phase gives the results `load.get`, `load.put` and so on, and `load.all` if there are several; a result for each node,
with the dimension `node`, if there are several; and a measurement in each for every loop. If Little's law contradicts
the figures, or if nothing was measured, an error takes the place of the measurement.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from s3bench.load.aggregation.nodes import node_name
from s3bench.load.aggregation.phase_result import PhaseResult
from s3bench.load.profile.profile import Phase
from s3bench.results.document import NODE, Client, Document, Result, render_time
from s3bench.results.load import Load, LoadMeasurement
from s3bench.results.measurement import Failure

ENGINE = "s3bench"
_JOB = "job"


def client(version: str) -> Client:
    """The load generator as the client of its results."""
    return Client(name=ENGINE, version=version, label=f"{ENGINE}@{version}")


def results(
    phase_result: PhaseResult,
    phase: Phase,
    *,
    iteration: int,
    version: str,
    started_at: datetime | None = None,
    peak_memory_bytes: int | None = None,
) -> tuple[Result, ...]:
    """The results of one loop of a phase: all kinds together first, if there are several, and the nodes last.

    The phase began at `started_at`. `peak_memory_bytes` is that of all workers together; it is not known for single
    nodes. Losses are errors of the results of the whole, warnings are those of all kinds together.
    """
    found = []
    for load in (phase_result.whole, *phase_result.parts):
        measurement = LoadMeasurement(
            iteration=iteration,
            started_at=None if started_at is None else render_time(started_at),
            total_time=phase_result.window_s,
            cpu_time=phase_result.cpu_s,
            peak_memory=peak_memory_bytes,
            throughput=_throughput(load, phase_result.window_s),
            engine=ENGINE,
            load=load,
            warnings=phase_result.warnings if load is phase_result.whole else (),
        )
        job = ({_JOB: load.job},) if len(phase.jobs) > 1 and load.job else ()
        errors = [Failure(iteration=iteration, what=loss) for loss in phase_result.losses]
        found.append((measurement, job, errors))
    for node in phase_result.nodes:
        measurement = msgspec.structs.replace(
            found[0][0],
            cpu_time=node.cpu_s,
            peak_memory=None,
            throughput=_throughput(node.load, phase_result.window_s),
            load=node.load,
            warnings=(),
        )
        found.append((measurement, ({NODE: node_name(node.node)},), []))
    if phase_result.contradiction:
        what, why = "the figures contradict each other and are left out", phase_result.contradiction
        if not phase_result.window_s:
            what, why = why, ""
        failure = Failure(iteration=iteration, what=what, why=why)
        return tuple(_result(each, (*phase.dimensions, *more), version, errors=(failure,)) for each, more, _ in found)
    return tuple(
        _result(each, (*phase.dimensions, *more), version, measurements=(each,), errors=tuple(errors))
        for each, more, errors in found
    )


def _result(measured: LoadMeasurement, dimensions: tuple[dict[str, str], ...], version: str, **outcome: Any) -> Result:
    return Result(
        name=f"load.{measured.load.kind}", dimensions=dimensions, client=client(version), **outcome
    ).completed()


def _throughput(load: Load, window_s: float) -> float | None:
    return (load.bytes_up + load.bytes_down) / window_s if window_s > 0 else None


def recorded(document: Document, new: Iterable[Result]) -> Document:
    """Add results to a document: the measurements of a further loop to those of the loops before."""
    for result in new:
        old = next((each for each in document.results if each.identity == result.identity), None)
        document = document.with_result(result if old is None else _joined(old, result))
    return document


def _joined(old: Result, new: Result) -> Result:
    return msgspec.structs.replace(
        old, measurements=(*old.measurements, *new.measurements), errors=(*old.errors, *new.errors)
    ).completed()
