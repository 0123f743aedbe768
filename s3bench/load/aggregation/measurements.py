"""The figures of a phase on their way into the results document.

Owns how a phase becomes results: `load.get`, `load.put` and so on, and `load.all` where there are several; one
measurement for each loop; and what each node did, with the dimension `node`, where there are several. Figures that
Little's law refutes do not get in: an error does.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import msgspec

from s3bench.load.aggregation.nodes import NodeResult, node_name
from s3bench.load.aggregation.phase_result import PhaseResult
from s3bench.load.profile.profile import Phase
from s3bench.results.document import NODE, Client, Document, Result, Status
from s3bench.results.load import Load, LoadMeasurement
from s3bench.results.measurement import Failure

ENGINE = "s3bench"
_JOB = "job"


def client(version: str) -> Client:
    """The load generator as the client of its results."""
    return Client(name=ENGINE, version=version, label=f"{ENGINE}@{version}")


def results(
    findings: PhaseResult, phase: Phase, *, iteration: int, version: str, peak_memory_bytes: int | None = None
) -> tuple[Result, ...]:
    """The results of one loop of a phase: all kinds together first, where there are several, and the nodes last.

    `peak_memory_bytes` is that of all workers together.
    """
    whole = tuple(
        _result(
            _blank(load, (*phase.dimensions, *_told_apart(load, phase)), version),
            _measurement(load, findings, iteration=iteration, peak_memory_bytes=peak_memory_bytes),
            findings,
        )
        for load in (findings.whole, *findings.parts)
    )
    return (*whole, *(_of_node(each, findings, phase, iteration, version) for each in findings.nodes))


def recorded(document: Document, new: Iterable[Result]) -> Document:
    """Add results to a document: the measurements of a further loop to those of the ones before."""
    for result in new:
        old = next((each for each in document.results if each.identity == result.identity), None)
        document = document.with_result(result if old is None else _together(old, result))
    return document


def _blank(load: Load, dimensions: tuple[dict[str, str], ...], version: str) -> Result:
    return Result(name=f"load.{load.kind}", dimensions=dimensions, client=client(version), status=Status.COMPLETE)


def _of_node(node: NodeResult, findings: PhaseResult, phase: Phase, iteration: int, version: str) -> Result:
    """What one node did. Its memory is not told apart; losses are told of the whole, which has them as errors."""
    alone = replace(findings, whole=node.load, cpu_s=node.cpu_s, warnings=(), losses=())
    measurement = _measurement(node.load, alone, iteration=iteration, peak_memory_bytes=None)
    return _result(_blank(node.load, (*phase.dimensions, {NODE: node_name(node.node)}), version), measurement, alone)


def _result(blank: Result, measurement: LoadMeasurement, findings: PhaseResult) -> Result:
    if not findings.refusal:
        result = blank.with_measurement(measurement)
        for loss in findings.losses:
            result = result.with_failure(Failure(iteration=measurement.iteration, what=loss))
        return result.completed()
    failure = Failure(
        iteration=measurement.iteration, what="the figures contradict each other and are left out", why=findings.refusal
    )
    return blank.with_failure(failure).completed()


def _told_apart(load: Load, phase: Phase) -> Iterator[dict[str, str]]:
    if len(phase.jobs) > 1 and load.job:
        yield {_JOB: load.job}


def _measurement(
    load: Load, findings: PhaseResult, *, iteration: int, peak_memory_bytes: int | None
) -> LoadMeasurement:
    return LoadMeasurement(
        iteration=iteration,
        total_time=findings.window_s,
        cpu_time=findings.cpu_s,
        peak_memory=peak_memory_bytes,
        throughput=(load.bytes_up + load.bytes_down) / findings.window_s if findings.window_s > 0 else None,
        engine=ENGINE,
        load=load,
        warnings=findings.warnings if load is findings.whole else (),
    )


def _together(old: Result, new: Result) -> Result:
    joined = msgspec.structs.replace(
        old, measurements=(*old.measurements, *new.measurements), errors=(*old.errors, *new.errors)
    )
    return joined.completed()
