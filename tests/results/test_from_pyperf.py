"""pyperf's files: each value a measurement, and what has no place is told."""

import copy
import json
from typing import Any

import pytest

from s3bench.errors import BadInput
from s3bench.results.document import Document, Status
from s3bench.results.foreign import read_any

# As `pyperf command -o` of pyperf 2.10.0 writes it, shortened.
COMMAND: dict[str, Any] = {
    "version": "1.0",
    "metadata": {
        "cpu_count": 2,
        "cpu_model_name": "Xeon",
        "hostname": "secret-host",
        "loops": 1,
        "name": "s3.cp.upload",
        "perf_version": "2.10.0",
        "python_version": "3.11.7 (64-bit)",
        "unit": "second",
    },
    "benchmarks": [
        {
            "runs": [
                {"metadata": {"calibrate_loops": 1}, "warmups": [[1, 0.9], [1, 0.8]]},
                {
                    "metadata": {"command_max_rss": 9_000_000, "mem_max_rss": 7_000_000},
                    "values": [0.5],
                    "warmups": [[1, 2.0]],
                },
                {"metadata": {"mem_max_rss": 8_000_000}, "values": [0.75]},
            ]
        }
    ],
}


def read(tree: dict[str, Any]) -> Document:
    return read_any(json.dumps(tree).encode(), source="bench.json")


def changed(**changes: Any) -> dict[str, Any]:
    return copy.deepcopy(COMMAND) | changes


def test_each_value_is_a_measurement_in_seconds_and_warm_ups_are_none() -> None:
    (result,) = read(COMMAND).results
    assert (result.name, result.client.label, result.client.version) == ("s3.cp.upload", "pyperf", "2.10.0")
    assert result.status is Status.COMPLETE
    assert [(each.iteration, each.total_time) for each in result.measurements] == [(0, 0.5), (1, 0.75)]


def test_the_peak_of_a_process_is_that_of_its_only_value() -> None:
    (result,) = read(COMMAND).results
    assert [each.peak_memory for each in result.measurements] == [9_000_000, 8_000_000]
    several = changed(
        benchmarks=[{"runs": [{"metadata": {"mem_max_rss": 8_000_000}, "values": [0.5, 0.6]}]}],
    )
    document = read(several)
    assert [each.peak_memory for each in document.results[0].measurements] == [None, None]
    assert "up to 2 values come from one process" in document.warnings[1]


def test_what_pyperf_does_not_tell_is_null() -> None:
    (first, _) = read(COMMAND).results[0].measurements
    assert (first.max_memory, first.user_cpu_time, first.throughput, first.wire) == (None, None, None, None)


def test_the_machine_has_the_facts_that_are_ours_and_no_names() -> None:
    document = read(COMMAND)
    assert document.machine == {"cpu_model": "Xeon", "cores_logical": 2, "python": "3.11.7 (64-bit)"}
    assert "secret-host" not in str(document)


def test_values_that_are_no_seconds_are_left_out_and_reported() -> None:
    memory = {"metadata": {"name": "memory", "unit": "byte"}, "runs": [{"values": [4096]}]}
    document = read(changed(benchmarks=[*COMMAND["benchmarks"], memory]))
    assert [result.name for result in document.results] == ["s3.cp.upload"]
    assert document.warnings[1] == "memory was left out: its values have the unit byte, but only seconds are supported"
    with pytest.raises(BadInput, match="have the unit byte"):
        read(changed(benchmarks=[memory]))


def test_benchmarks_of_one_name_are_numbered() -> None:
    document = read(changed(benchmarks=COMMAND["benchmarks"] * 3))
    assert [result.dimensions for result in document.results] == [(), ({"occurrence": "2"},), ({"occurrence": "3"},)]


def test_the_format_before_is_read_as_well() -> None:
    assert read(changed(version=6)).results == read(COMMAND).results


@pytest.mark.parametrize(
    ("tree", "reported"),
    [
        (changed(version="2.0"), "it is '2.0', but only '1.0' can be read - at `$.version`"),
        (changed(version=True), "at `$.version`"),
        (changed(benchmarks=[]), "at `$.benchmarks`"),
        (changed(benchmarks=[{"runs": []}]), "at `$.benchmarks[0].runs`"),
        (changed(benchmarks=[{"runs": [{"values": [0]}]}]), "at `$.benchmarks[0].runs[0].values[0]`"),
        (changed(benchmarks=[{"runs": [{"values": ["1"]}]}]), "at `$.benchmarks[0].runs[0].values[0]`"),
        (changed(metadata={}), "the benchmark has no name in its metadata - at `$.benchmarks[0]`"),
        (changed(metadata=None), "at `$.metadata`"),
    ],
)
def test_what_is_wrong_is_reported_with_its_path(tree: dict[str, Any], reported: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(tree)
    assert reported in str(caught.value)
    assert "bench.json" in str(caught.value)


def test_a_file_that_pyperf_itself_wrote_is_read() -> None:
    pyperf = pytest.importorskip("pyperf", reason="pyperf is not installed")
    runs = [pyperf.Run([0.5 + number / 10], metadata={"name": "mine"}, collect_metadata=False) for number in range(3)]
    suite = pyperf.BenchmarkSuite([pyperf.Benchmark(runs)])
    (result,) = read(json.loads(json.dumps(suite._as_json()))).results
    assert [each.total_time for each in result.measurements] == list(suite.get_benchmark("mine").get_values())
