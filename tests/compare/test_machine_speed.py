from msgspec.structs import replace

from s3bench.compare.machine_speed import speed_warnings
from s3bench.compare.matching import DocumentSource, group_by_document, match
from s3bench.results.document import Client, Document, Result
from s3bench.results.machine_speed import MachineSpeed
from s3bench.results.measurement import measure

CLIENT = Client(name="s5cmd", version="2", label="s5cmd@2")


def source(name: str, rate: float, *, runs: int = 5, kernel: str = "6.1", s3bench: str = "0.1.0") -> DocumentSource:
    """A document of one result whose runs had this speed of the machine."""
    speed = MachineSpeed(rate=rate, error=0.001, probes=100)
    measured = tuple(replace(measure(iteration=each, total_s=1.0), machine_speed=speed) for each in range(runs))
    document = Document(s3bench=s3bench, started_at="2026-11-21T00:00:00.000Z", machine={"kernel": kernel})
    result = Result(name="upload", dimensions=(), client=CLIENT, measurements=measured)
    return DocumentSource(name=name, document=replace(document, results=(result,)))


def told(first: DocumentSource, other: DocumentSource) -> list[str]:
    groups = group_by_document([first, other]).groups
    return list(speed_warnings(first, other, match(groups[0], groups[1]).matches))


def test_a_machine_that_was_slower_in_one_document_is_told() -> None:
    assert told(source("a", 100.0), source("b", 91.0)) == [
        "the machine was 9% slower in b than in a: CPU times there are about as much longer for that reason"
    ]


def test_a_machine_that_was_faster_is_told_too() -> None:
    (words,) = told(source("a", 100.0), source("b", 110.0))
    assert "10% faster in b" in words
    assert "shorter" in words


def test_less_than_two_percent_is_not_told() -> None:
    assert told(source("a", 100.0), source("b", 99.0)) == []


def test_speeds_of_other_machines_versions_and_of_too_few_runs_are_not_compared() -> None:
    assert told(source("a", 100.0), source("b", 50.0, kernel="6.2")) == []
    assert told(source("a", 100.0), source("b", 50.0, s3bench="0.2.0")) == []
    assert told(source("a", 100.0), source("b", 50.0, runs=2)) == []
