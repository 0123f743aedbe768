"""A pyperf suite: what is in it, and that pyperf itself opens it."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from s3bench.errors import BadInput
from s3bench.report.run.pyperf import render_pyperf
from s3bench.results.document import Document
from tests.compare.documents import BASE, document, result
from tests.report import loads
from tests.report.runs import hostile, parsed, two_clients, with_failures

needs_pyperf = pytest.mark.skipif(importlib.util.find_spec("pyperf") is None, reason="pyperf is not installed")


def benchmarks(whole: Document) -> dict[str, Any]:
    suite = parsed(render_pyperf(whole))
    assert suite["version"] == "1.0"
    found = {each["metadata"]["name"]: each for each in suite["benchmarks"]}
    assert len(found) == len(suite["benchmarks"])
    return found


def values(benchmark: Any) -> list[float]:
    return [value for run in benchmark["runs"] for value in run["values"]]


def test_run_times_and_peak_memory_are_benchmarks_of_their_own() -> None:
    found = benchmarks(two_clients())
    time, memory, *_ = found.values()
    assert list(found) == [
        "s3.cp.download FileSize=32MB on cli-crt",
        "s3.cp.download FileSize=32MB on cli-crt: peak_memory",
        "s3.cp.download on s5cmd",
        "s3.cp.download on s5cmd: peak_memory",
    ]
    assert (values(time), time["metadata"]["unit"]) == (list(BASE), "second")
    assert (values(memory), memory["metadata"]["unit"]) == ([80 << 20] * 6, "byte")
    assert time["metadata"]["dimension_FileSize"] == "32MB"
    assert [run["metadata"]["duration"] for run in memory["runs"]] == list(BASE)
    assert {run["metadata"]["command_max_rss"] for run in time["runs"]} == {80 << 20}


def test_the_suite_says_where_and_when() -> None:
    metadata = parsed(render_pyperf(two_clients()))["metadata"]
    assert metadata["cpu_model_name"] == "Model 1"
    assert metadata["s3bench_started_at"] == "2026-11-21T00:00:00.000Z"
    assert "cpu_count" not in metadata  # it is not known in this document


def test_failures_and_results_without_figures_are_counted() -> None:
    suite = parsed(render_pyperf(with_failures()))
    assert {each["metadata"]["iterations_failed"] for each in suite["benchmarks"]} == {1}
    assert suite["metadata"]["results_without_figures"] == 2


def test_a_warm_up_that_failed_is_no_iteration() -> None:
    failed = with_failures().results[0]
    warm_up = replace(failed, errors=(replace(failed.errors[0], iteration=None),))
    metadata = parsed(render_pyperf(document(warm_up)))["benchmarks"][0]["metadata"]
    assert (metadata["failures_outside_of_iterations"], "iterations_failed" in metadata) == (1, False)


def test_a_load_run_has_latencies_and_no_rates() -> None:
    found = benchmarks(loads.document(loads.result("load.get", loads.load(), loads.load(p50_s=2e-3))))
    assert values(found["load.get on s3bench: load.latency.p50"]) == [1e-3, 2e-3]
    assert not [name for name in found if "rate" in name or "total_time" in name]
    assert "load.get on s3bench" not in found


def test_a_value_that_pyperf_does_not_take_is_left_out() -> None:
    zero = replace(result(), measurements=result((0.5, 0.6)).measurements[:1] + result((0.5,), peak=0).measurements)
    assert values(benchmarks(document(zero))["s3.cp.download on cli-crt: peak_memory"]) == [80 << 20]


def test_a_document_without_figures_is_bad_input() -> None:
    with pytest.raises(BadInput, match="nothing to write as pyperf"):
        render_pyperf(document())


@needs_pyperf
@pytest.mark.parametrize("name", ["runs", "failures", "hostile", "load"])
def test_pyperf_reads_it(name: str, tmp_path: Path) -> None:
    made = {"runs": two_clients(), "failures": with_failures(), "hostile": hostile(), "load": loads.everything()}
    (tmp_path / "suite.json").write_text(render_pyperf(made[name]), encoding="utf-8")
    said = pyperf("stats", str(tmp_path / "suite.json"))
    for benchmark in benchmarks(made[name]):
        assert benchmark in said


@needs_pyperf
def test_pyperf_compares_two_releases(tmp_path: Path) -> None:
    for name, whole in (("old", two_clients("1")), ("new", two_clients("2", factor=1.2))):
        (tmp_path / f"{name}.json").write_text(render_pyperf(whole), encoding="utf-8")
    said = pyperf("compare_to", "--table", str(tmp_path / "old.json"), str(tmp_path / "new.json"))
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in said.splitlines()]
    assert ["s3.cp.download FileSize=32MB on cli-crt", "525 ms", "630 ms: 1.20x slower"] in rows
    assert ["s3.cp.download on s5cmd: peak_memory", "80.0 MiB", "80.0 MiB: no change"] in rows


def pyperf(*arguments: str) -> str:
    command = (sys.executable, "-m", "pyperf", *arguments)
    finished = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=200, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout
