"""Load documents of different workloads: named property by property, and refused by a gate."""

from typing import Any

import pytest
from msgspec.structs import replace

from s3bench.compare.matching import DocumentSource
from s3bench.compare.similarity import differences_between
from s3bench.errors import BadInput
from s3bench.gate.unpaired import unpaired_record
from s3bench.results.document import Document
from s3bench.results.workload import RecordedWorkload, workload_differences
from tests.compare.documents import source
from tests.compare.test_load_comparison import result
from tests.gate.test_record import EMPTY

JOB = {"mix": {"get": 1.0}, "sizes": "4KiB", "threads": 4, "objects": 1000, "part_size": 8 << 20, "read_bodies": True}
PHASE: dict[str, Any] = {"duration": 20.0, "warmup": 0.0, "ramp": 0.0, "jobs": [JOB]}
RUN = {"keepalive": True, "retries": 0, "run": "1234", "endpoint_url": "http://one"}


def document(*phases: dict[str, Any], **options: Any) -> Document:
    known = source("load", result()).document
    return replace(known, options={**RUN, "phases": list(phases or (PHASE,)), **options})


def of_job(**changes: Any) -> dict[str, Any]:
    return {**PHASE, "jobs": [{**JOB, **changes}]}


def differences(first: Document, second: Document) -> list[str]:
    return [str(each) for each in workload_differences(first, second)]


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (document(of_job(sizes="64KiB")), "size 4KiB -> 64KiB"),
        (document(of_job(threads=16)), "threads 4 -> 16"),
        (document(of_job(rate=500.0)), "rate none (closed loop) -> 500/s"),
        (document(of_job(mix={"get": 0.9, "put": 0.1})), "operations get 1 -> get 0.9, put 0.1"),
        (document(of_job(part_size=16 << 20)), "part size 8.00 MiB -> 16.0 MiB"),
        (document(of_job(range=65536)), "bytes of a range none -> 64.0 KiB"),
        (document(of_job(read_bodies=False)), "read bodies yes -> no"),
        (document({**PHASE, "jobs": [JOB, JOB]}), "jobs 1 -> 2"),
        (document({**PHASE, "ramp": 5.0}), "ramp 0 s -> 5 s"),
        (document(retries=2), "retries 0 -> 2"),
    ],
)
def test_each_property_of_the_workload_is_named_with_both_values(other: Document, difference: str) -> None:
    assert differences(document(), other) == [difference]


def test_duration_run_and_endpoint_are_no_part_of_the_workload() -> None:
    other = document({**PHASE, "duration": 60.0}, endpoint_url="http://two", run="5678")
    assert differences(document(), other) == []
    sources = (DocumentSource(name="a", document=document()), DocumentSource(name="b", document=other))
    assert "different duration: 20 s in a, 60 s in b" in differences_between(sources), "it is a warning all the same"


def test_phases_match_by_their_dimensions_or_names() -> None:
    small, large = ({**of_job(sizes=size), "dimensions": [{"size": size}], "name": "get"} for size in ("4KiB", "1MiB"))
    assert differences(document(small, large), document(large, small)) == []
    changed = {**large, "jobs": [{**JOB, "sizes": "1MiB", "threads": 8}]}
    assert differences(document(small, large), document(small, changed)) == ["phase get size=1MiB: threads 4 -> 8"]


def test_documents_of_other_tools_do_not_describe_their_workload() -> None:
    assert differences(document(), replace(document(), options={})) == []


def test_a_gate_of_different_workloads_is_refused_with_the_differences() -> None:
    sides = ("a.json", document()), ("b.json", document(of_job(sizes="64KiB", threads=16)))
    with pytest.raises(BadInput, match=r"a\.json and b\.json measured different workloads: size 4KiB -> 64KiB, thr"):
        unpaired_record(EMPTY, *sides, are_metrics_declared=False)


def properties(options: dict[str, Any], *, name: str = "load.get", **dimensions: str) -> dict[str, str]:
    return dict(RecordedWorkload.of(options).of_result(name, tuple(dimensions.items())))


def test_a_result_has_the_properties_of_its_run_and_its_phase() -> None:
    options = {
        **RUN,
        "endpoint_url": ["http://two", "http://one"],
        "express": False,
        "network": {"text": "ttfb=5ms", "seed": 0},
        "replay": {"log": "access.log", "speed": 2.0, "lines": 9},
        "merged": {"simultaneous": 2, "runs": []},
        "phases": [PHASE],
    }
    assert properties(options) == {
        "endpoint": "http://one, http://two",
        "directory bucket": "no",
        "keep-alive": "yes",
        "retries": "0",
        "network": "ttfb=5ms",
        "log": "access.log",
        "replay speed": "2",
        "simultaneous runs": "2",
        "ramp": "0 s",
        "operations": "get 1",
        "size": "4KiB",
        "threads": "4",
        "objects": "1000",
        "part size": "8.00 MiB",
        "read bodies": "yes",
    }


def test_a_result_has_the_phase_whose_dimensions_it_begins_with() -> None:
    small, large = ({**of_job(sizes=size), "dimensions": [{"size": size}]} for size in ("4KiB", "1MiB"))
    options = {"phases": [small, large, of_job(sizes="1B")]}
    assert properties(options, size="1MiB", job="readers")["size"] == "1MiB"
    assert properties(options, size="4KiB")["size"] == "4KiB"
    assert properties(options, rate="9/s", step="1")["size"] == "1B"


def test_of_phases_without_dimensions_a_result_has_those_that_do_its_operation() -> None:
    reads, writes = of_job(), {**of_job(mix={"put": 1.0}, sizes="1MiB"), "name": "fill"}
    both = {**of_job(mix={"get": 1, "put": 1}, sizes="8KiB"), "name": "both"}
    assert properties({"phases": [reads, writes]})["size"] == "4KiB"
    assert properties({"phases": [reads, writes]}, name="load.put")["size"] == "1MiB"
    assert properties({"phases": [reads, writes, both]}, name="load.all")["size"] == "8KiB"
    assert properties({"phases": [writes, both]}, name="load.put")["phase fill: size"] == "1MiB"


def test_jobs_of_one_phase_are_numbered() -> None:
    found = properties({"phases": [{"jobs": [JOB, {**JOB, "threads": 8}]}]})
    assert (found["job 1: threads"], found["job 2: threads"]) == ("4", "8")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"phases": None},
        {"phases": "no"},
        {"phases": [1, {"jobs": 2, "dimensions": 3}, {"dimensions": [4], "jobs": [5, {"mix": 6}]}]},
        {"phases": [{"jobs": [{"mix": {"get": "many"}}]}], "network": 7, "replay": [8], "endpoint_url": [9]},
        {"phases": [{"jobs": [{"mix": {"get": 10**400}, "part_size": 10**400, "rate": 10**400}]}]},
    ],
)
def test_options_of_any_form_have_some_properties(options: dict[str, Any]) -> None:
    assert all(isinstance(value, str) for value in properties(options).values())
