"""hyperfine's JSON: the keys and types of its documented record."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import msgspec
import pytest

from s3bench.errors import BadInput
from s3bench.report.run.hyperfine import render_hyperfine
from s3bench.results.document import Document
from tests.compare.documents import BASE, document, measurement, result
from tests.report import loads
from tests.report.runs import hostile, parsed, two_clients, with_failures


class Record(msgspec.Struct, forbid_unknown_fields=True):
    """`BenchmarkResult` of hyperfine 1.20.0 as it is written; `user` and `system` are left out where unknown."""

    command: str
    mean: float
    stddev: float | None
    median: float
    min: float
    max: float
    exit_codes: list[int | None]
    times: list[float]
    user: float = -1.0
    system: float = -1.0
    memory_usage_byte: list[int] = []
    parameters: dict[str, str] = {}


class Export(msgspec.Struct, forbid_unknown_fields=True):
    """`HyperfineSummary`."""

    results: list[Record]


def records(whole: Document) -> list[Record]:
    parsed(render_hyperfine(whole))
    return msgspec.json.decode(render_hyperfine(whole), type=Export).results


def test_a_result_is_a_command_with_its_runs() -> None:
    first, _ = records(two_clients())
    assert first.command == "s3.cp.download FileSize=32MB on cli-crt"
    assert first.times == list(BASE)
    assert (first.mean, first.stddev) == (fmean(BASE), stdev(BASE))
    assert first.median == pytest.approx(0.525)
    assert (first.min, first.max) == (BASE[0], BASE[-1])
    assert first.user == pytest.approx(0.8 * fmean(BASE))
    assert first.system == 0.01
    assert first.memory_usage_byte == [80 << 20] * 6
    assert first.exit_codes == [0] * 6
    assert first.parameters == {"client": "cli-crt@2.38.5", "client version": "2.38.5", "FileSize": "32MB"}


def test_a_single_run_has_no_deviation() -> None:
    (only,) = records(document(result((0.5,))))
    assert (only.stddev, only.times) == (None, [0.5])


def test_what_one_run_lacks_is_left_out_for_all() -> None:
    bare = msgspec.structs.replace(measurement(1, 0.6), user_cpu_time=None, peak_memory=None)
    mixed = msgspec.structs.replace(result(), measurements=(measurement(0, 0.5), bare))
    tree: Any = parsed(render_hyperfine(document(mixed)))["results"][0]
    assert not {"user", "memory_usage_byte"} & set(tree)
    assert tree["system"] == 0.01


def test_results_without_a_run_time_are_left_out() -> None:
    assert [each.command for each in records(with_failures())] == ["s3.cp.download on cli-crt"]


@pytest.mark.parametrize("whole", [document(), loads.everything()], ids=["empty", "load"])
def test_a_document_without_run_times_is_bad_input(whole: Document) -> None:
    with pytest.raises(BadInput, match="nothing to write as hyperfine"):
        render_hyperfine(whole)


def test_hostile_texts_are_lines() -> None:
    for record in records(hostile()):
        assert all(text.isprintable() for text in (record.command, *record.parameters, *record.parameters.values()))


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """hyperfine's own scripts for its export, from the crate of the program."""
    cargo = shutil.which("cargo") or shutil.which("cargo", path=str(Path.home() / ".cargo" / "bin"))
    if cargo is None:
        pytest.skip("hyperfine's scripts come with its crate, and there is no cargo to fetch it")
    (tmp_path / "lib.rs").touch()
    (tmp_path / "Cargo.toml").write_text(
        '[package]\nname = "fetch"\nversion = "0.1.0"\n[lib]\npath = "lib.rs"\n[dependencies]\nhyperfine = "1"\n'
    )

    done = subprocess.run((cargo, "fetch"), cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    sources = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "registry" / "src"
    found = sorted(sources.glob("*/hyperfine-1.*/scripts"))
    if done.returncode or not found:
        pytest.skip(f"hyperfine's crate could not be fetched: {done.stderr[-300:]}")
    return found[-1]


@pytest.mark.campaign
@pytest.mark.timeout(600)
def test_hyperfines_own_scripts_read_it(scripts: Path, tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    file.write_text(render_hyperfine(two_clients()))

    def said(script: str) -> str:
        command = [sys.executable, str(scripts / script), str(file)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout

    statistics = said("advanced_statistics.py")
    assert "Command 's3.cp.download FileSize=32MB on cli-crt'" in statistics
    assert f"  mean:      {fmean(BASE):.3f} s" in statistics
    assert "A statistically significant difference in mean runtime was detected" in said("welch_ttest.py")
