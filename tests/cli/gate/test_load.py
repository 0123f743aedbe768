"""Two load runs through the gate: rates and latencies decide, and the load generator is not what is compared."""

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from s3bench.cli.gate.command import gate_command
from s3bench.results.document import Result, encode_document
from tests.compare.documents import document
from tests.compare.test_load_comparison import result

P50S = tuple(0.01 * (1 + step / 1000) for step in range(12))


def written(path: Path, results: Sequence[Result]) -> str:
    path.write_bytes(encode_document(document(*results)))
    return str(path)


@pytest.mark.parametrize(("factor", "verdict", "code"), [(1.0, "PASS", 0), (1.3, "FAIL", 1)])
def test_load_runs_are_judged_by_rate_and_latency(tmp_path: Path, factor: float, verdict: str, code: int) -> None:
    before = written(tmp_path / "before.json", [result(P50S)])
    after = written(tmp_path / "after.json", [result([p50 * factor for p50 in P50S])])
    run = CliRunner().invoke(gate_command, [before, after, "--json"])
    told = json.loads(run.stdout)
    decided = {row["metric"] for row in told["conclusion"]["rows"] if row["kind"] == "size"}
    assert decided == {"load.operations_rate", "load.latency.p50", "load.latency.p99"}
    assert told["conclusion"]["verdict"] == verdict
    assert run.exit_code == code or getattr(run.exception, "exit_code", None) == code


def test_metrics_that_were_asked_for_decide(tmp_path: Path) -> None:
    before = written(tmp_path / "before.json", [result(P50S)])
    run = CliRunner().invoke(gate_command, [before, before, "--json", "--metric", "load.latency.p99"])
    rows = json.loads(run.stdout)["conclusion"]["rows"]
    assert {row["metric"] for row in rows if row["kind"] == "size"} == {"load.latency.p99"}


def test_runs_of_clients_are_not_of_load() -> None:
    assert document(result(P50S)).is_of_load
    assert not document(msgspec.structs.replace(result(P50S), measurements=())).is_of_load
