"""What `s3bench bisect --resume` continues, and what it refuses to. How it ends is tests/cli/test_bisect.py's."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from s3bench.cli.bisect import action
from s3bench.cli.bisect.command import bisect_command
from s3bench.errors import BadInput
from tests.bench.scripted_bench import ScriptedBench, client, measured

VERSIONS = ("0.0", "0.1", "0.2", "0.3")
ENDS = ("--client", "s5cmd", "--good", "0.0", "--bad", "0.3")
UPLOAD: dict[str, Any] = {
    "name": "upload",
    "command": ["s3", "cp", "file", "s3://bucket/key"],
    "clients": ["s5cmd"],
    "environment": {"files": [{"name": "file", "size": 4096}]},
    "responses": [{"match": {"method": "PUT"}, "instances": "any"}],
}

Bisect = Callable[..., int]


@pytest.fixture
def run(
    bench: ScriptedBench,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Bisect:
    """Search among versions, the third of which is slower; gives the exit code."""
    bench.script = lambda run: measured((1.2 if run.client.version >= "0.2" else 1.0) + len(bench.runs) * 1e-6)
    programs = tmp_path_factory.mktemp("programs")
    monkeypatch.setattr(action, "releases_between", lambda *_: VERSIONS)
    monkeypatch.setattr(action, "installed_release", lambda _, version, *__: client(programs, version))

    def call(*arguments: object) -> int:
        try:
            code = bisect_command.main([*map(str, arguments), "-q", "--no-explain"], standalone_mode=False)
        except click.exceptions.Exit as stop:
            code = stop.exit_code
        capfd.readouterr()
        return int(code)

    return call


@pytest.fixture
def benchmarks(tmp_path: Path) -> Path:
    return written(tmp_path / "benchmarks.json")


def written(path: Path, **changes: Any) -> Path:
    path.write_text(json.dumps([UPLOAD | changes]))
    return path


def edited(record: Path, **changes: Any) -> Path:
    record.write_text(json.dumps(json.loads(record.read_text()) | changes))
    return record


@pytest.fixture
def begun(run: Bisect, benchmarks: Path, tmp_path: Path) -> Path:
    """The record of a search that its time ended."""
    record = tmp_path / "record.json"
    assert run(*ENDS, benchmarks, "-o", record, "--max-time", "1m") == 3
    return record


@pytest.mark.parametrize(
    "changes",
    [
        {"environment": {"files": [{"name": "file", "size": 64_000_000}]}},
        {"command": ["s3", "cp", "file", "s3://bucket/another"]},
        {"responses": [{"match": {"method": "PUT"}, "instances": "any", "delay": 0.5}]},
        {"timeout": 5},
    ],
)
def test_a_benchmark_that_is_another_under_the_same_name_is_refused(
    run: Bisect, begun: Path, benchmarks: Path, bench: ScriptedBench, changes: dict[str, Any]
) -> None:
    written(benchmarks, **changes)
    before, runs = begun.read_bytes(), len(bench.runs)
    with pytest.raises(BadInput, match="the benchmarks are not those of the record"):
        run("--resume", begun)
    assert (begun.read_bytes(), len(bench.runs)) == (before, runs)


def test_the_same_benchmark_written_in_another_way_is_gone_on_with(run: Bisect, begun: Path, benchmarks: Path) -> None:
    written(benchmarks, tags=["mine"], dimensions=[])
    assert run("--resume", begun) == 0
    assert json.loads(begun.read_text())["found"]["first"] == 2


def test_a_former_record_without_a_digest_of_its_benchmarks_is_gone_on_with(run: Bisect, begun: Path) -> None:
    raw = json.loads(begun.read_text())
    assert len(raw.pop("benchmarks_digest")) == 64
    begun.write_text(json.dumps(raw))
    assert run("--resume", begun) == 0


def test_a_former_search_that_can_find_nothing_is_not_gone_on_with_and_can_be_read_when_it_has_ended(
    run: Bisect, begun: Path, bench: ScriptedBench
) -> None:
    policy = json.loads(begun.read_text())["policy"]
    edited(begun, policy=policy | {"looks": {"pairs": [4]}})
    runs = len(bench.runs)
    with pytest.raises(BadInput, match="4 pairs are too few to show any change"):
        run("--resume", begun)
    assert len(bench.runs) == runs
    edited(begun, policy=policy)
    assert run("--resume", begun) == 0
    edited(begun, policy=policy | {"looks": {"pairs": [4]}})
    assert run("--resume", begun) == 0
