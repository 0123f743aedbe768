"""The probe that looks at memory, in real interpreters, by way of the plug-in and of our driver."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from s3bench.profiling.allocations import AllocationProfile, held_by_function, parse_probe_report
from s3bench.run.inspection import inspection_variables
from tests.clients.test_inspection_probe import FORKED, PYTHONS, attempt, drive

MB = 1 << 20
KEPT = """
KEPT = []
def keep():
    KEPT.append(b"x" * (8 << 20))
keep()
"""
DROPPED = """
def drop():
    block = b"x" * (8 << 20)
    return len(block)
drop()
"""
DROPPED_UNSEEN = """
def call():
    pass
def drop():
    block = [None] * (1 << 20)
    del block
    call()
drop()
"""
DROPPED_ON_A_THREAD = """
import threading
def drop():
    block = b"x" * (8 << 20)
    return len(block)
thread = threading.Thread(target=drop); thread.start(); thread.join()
"""


def looked_at(
    run: Callable[[dict[str, str]], subprocess.CompletedProcess[str]], directory: Path
) -> tuple[AllocationProfile, subprocess.CompletedProcess[str]]:
    """Look at it as `profile_memory` does: once to learn the moment of the peak, and then there."""
    file = directory / "allocations"
    run(inspection_variables(allocations_file=file))
    learned = parse_probe_report(file.read_bytes())
    moments = msgspec.json.encode(learned.moments).decode()
    done = run(inspection_variables(allocations_file=file, allocations_moments=moments))
    return parse_probe_report(file.read_bytes()).profile(peak_bytes=learned.peak_bytes), done


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize(
    ("work", "function"),
    [(KEPT, "keep"), (DROPPED, "drop"), (DROPPED_UNSEEN, "drop"), (DROPPED_ON_A_THREAD, "drop")],
    ids=("kept", "dropped", "dropped between two calls", "dropped on a thread"),
)
def test_what_is_held_at_the_peak_is_found_whether_it_is_dropped_later_or_not(
    work: str, function: str, python: str, tmp_path: Path
) -> None:
    if subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip(f"{python} does not start")
    found, done = looked_at(lambda variables: attempt(variables, python=python, work=work, by=FORKED), tmp_path)
    assert done.returncode == 0, done.stderr
    frame, own, _ = held_by_function(found)[0]
    assert (frame.module, frame.function, found.start) == ("__main__", function, "plug-in")
    assert own == pytest.approx(8 * MB, rel=0.01)
    assert found.peak_bytes > found.taken_bytes > 8 * MB


def test_without_a_known_moment_nothing_but_the_peak_is_told(tmp_path: Path) -> None:
    file = tmp_path / "allocations"
    attempt(inspection_variables(allocations_file=file), work=KEPT, by=FORKED)
    report = parse_probe_report(file.read_bytes())
    assert (report.held, report.taken_bytes) == ((), 0)
    assert report.peak_bytes > 8 * MB


def test_a_forked_child_tells_nothing(tmp_path: Path) -> None:
    file = tmp_path / "allocations"
    attempt(
        inspection_variables(allocations_file=file),
        work="import os\nif os.fork() == 0:\n    sys.exit()\nos.wait()",
        by=FORKED,
    )
    assert parse_probe_report(file.read_bytes()).peak_bytes > 0


def test_the_driver_is_looked_at_from_its_imports_on(tmp_path: Path) -> None:
    file = tmp_path / "allocations"
    assert "absent" in drive(inspection_variables(allocations_file=file), tmp_path).stderr
    report = parse_probe_report(file.read_bytes())
    assert report.start == "imports"
    assert report.peak_bytes > 16 * MB
