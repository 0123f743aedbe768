"""Load documents of different workloads: named property by property, and refused by a gate."""

from typing import Any

import pytest
from msgspec.structs import replace

from s3bench.compare.matching import DocumentSource
from s3bench.compare.similarity import differences_between
from s3bench.errors import BadInput
from s3bench.gate.unpaired import unpaired_record
from s3bench.results.document import Document
from s3bench.results.workload import workload_differences
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
