"""From the figures of a phase to the results document."""

import msgspec

from s3bench.load.aggregation.measurements import recorded, results
from s3bench.load.aggregation.phase_aggregation import PhaseAggregation
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import Job, Phase, Share
from s3bench.load.profile.sizes import fixed
from s3bench.results.document import Document, Result, Status, encode_document, parse_document
from tests.load.simulated import NS, closed_loop, endings, records

MS = 1_000_000
BLANK = Document(s3bench="0.1.0", started_at="2026-11-21T00:00:00.000Z")


def phase(*jobs: Job) -> Phase:
    return Phase(jobs=jobs, dimensions=({"size": "1KiB"}, {"threads": "4"}))


def job(*kinds: OperationKind, name: str = "") -> Job:
    return Job(name=name, mix=tuple(Share(kind=kind) for kind in kinds), sizes=fixed(1000), threads=4)


GETS = phase(job(OperationKind.GET))


def made(of: Phase = GETS, *, iteration: int = 0, length_ns: int = 10 * MS, clock: float = 1.0) -> tuple[Result, ...]:
    loop = [
        each
        for index, one in enumerate(of.jobs)
        for kind in one.kinds
        for each in closed_loop(length_ns=length_ns, end_ns=2 * NS, kind=kind, job=index)
    ]
    aggregation = PhaseAggregation(of, workers=1)
    for record in records(loop, end_ns=2 * NS, clock=clock):
        aggregation.add(record)
    for ended in endings(loop, end_ns=2 * NS):
        aggregation.end(ended)
    return results(aggregation.measure(), of, iteration=iteration, version="0.1.0", peak_memory_bytes=1 << 20)


def test_a_phase_of_one_kind_is_one_result_with_its_measurement() -> None:
    (result,) = made()
    (measurement,) = result.measurements
    assert (result.name, result.status) == ("load.get", Status.COMPLETE)
    assert result.dimensions == ({"size": "1KiB"}, {"threads": "4"})
    assert (result.client.name, result.client.label) == ("s3bench", "s3bench@0.1.0")
    assert measurement.load is not None
    assert measurement.total_time == 2.0
    assert measurement.throughput == measurement.load.bytes_down / 2.0
    assert (measurement.cpu_time, measurement.peak_memory, measurement.engine) == (0.5, 1 << 20, "s3bench")


def test_a_mix_has_a_result_of_all_and_one_of_each() -> None:
    assert [result.name for result in made(phase(job(OperationKind.GET, OperationKind.PUT)))] == [
        "load.all",
        "load.get",
        "load.put",
    ]


def test_jobs_are_a_dimension_where_there_are_several() -> None:
    both = made(phase(job(OperationKind.GET, name="small"), job(OperationKind.GET, name="large")))
    assert [(result.name, dict(result.dimensions[-1])) for result in both] == [
        ("load.all", {"threads": "4"}),
        ("load.get", {"job": "small"}),
        ("load.get", {"job": "large"}),
    ]
    assert len({result.identity for result in both}) == 3
    assert made(phase(job(OperationKind.GET, name="only")))[0].dimensions == GETS.dimensions


def test_loops_are_measurements_of_one_result() -> None:
    document = recorded(recorded(BLANK, made()), made(iteration=1, length_ns=20 * MS))
    (result,) = document.results
    assert [each.iteration for each in result.measurements] == [0, 1]
    assert result.status is Status.COMPLETE
    assert parse_document(encode_document(document), source="load.json") == document


def test_figures_that_contradict_each_other_are_an_error_and_no_measurement() -> None:
    (result,) = made(clock=0.5)
    assert (result.measurements, result.status) == ((), Status.FAILED)
    assert "Little's law" in result.errors[0].why
    both = recorded(recorded(BLANK, made()), made(iteration=1, clock=0.5)).results[0]
    assert (len(both.measurements), len(both.errors), both.status) == (1, 1, Status.FAILED)
    assert both.errors[0].iteration == 1


def test_where_nothing_was_measured_the_error_speaks_of_no_contradiction() -> None:
    (result,) = results(PhaseAggregation(GETS, workers=1).measure(), GETS, iteration=0, version="0.1.0")
    assert result.measurements == ()
    assert [(error.what, error.why) for error in result.errors] == [
        ("nothing was measured: the phase ended before its first record", "")
    ]


def test_each_node_has_a_result_with_its_own_figures_and_no_peak_memory() -> None:
    loop = closed_loop(length_ns=10 * MS, end_ns=2 * NS, workers=2)
    aggregation = PhaseAggregation(GETS, workers=2, nodes=2)
    for record in records(loop, end_ns=2 * NS, workers=2):
        aggregation.add(record)
    for ended in endings(loop, end_ns=2 * NS, workers=2):
        aggregation.end(ended)
    whole, *nodes = results(aggregation.measure(), GETS, iteration=0, version="0.1.0", peak_memory_bytes=1 << 20)
    assert [node.dimensions[-1] for node in nodes] == [{"node": "node-1"}, {"node": "node-2"}]
    (together,) = whole.loops
    for node in nodes:
        (own,) = node.loops
        assert own.load.operations == together.load.operations / 2
        assert (own.throughput, own.cpu_time) == (together.throughput / 2, together.cpu_time / 2)
        assert (own.peak_memory, together.peak_memory) == (None, 1 << 20)


def test_doubts_stand_beside_the_figures_of_all_together_once() -> None:
    aggregation = PhaseAggregation(phase(job(OperationKind.GET, OperationKind.PUT)), workers=2)
    for record in records(closed_loop(length_ns=MS, end_ns=NS), end_ns=NS, workers=2):
        aggregation.add(msgspec.structs.replace(record, cpu_ns=NS))
    phase_result = aggregation.measure()
    whole, *parts = results(
        phase_result, phase(job(OperationKind.GET, OperationKind.PUT)), iteration=0, version="0.1.0"
    )
    assert whole.measurements[0].warnings == phase_result.warnings
    assert len(phase_result.warnings) == 2
    assert [part.measurements[0].warnings for part in parts] == [(), ()]
