"""The probe that looks at memory, in real interpreters, by way of the plug-in and of our driver."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from s3bench.profiling.allocations import AllocationProfile, held_by_function, parse_probe_report
from s3bench.run.inspection import inspection_variables
from tests.clients.conftest import PYTHONS
from tests.clients.test_inspection_probe import FORKED, attempt, drive

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
# The main thread's first call after `drop` has returned comes before any other call of that thread.
DROPPED_BEFORE_ANOTHER_THREAD_GOES_ON = """
import threading
begin, dropped, end = threading.Lock(), threading.Lock(), threading.Lock()
begin.acquire(); dropped.acquire(); end.acquire()
def drop():
    block = b"x" * (8 << 20)
    return len(block)
def run():
    begin.acquire()
    drop()
    dropped.release()
    end.acquire()
def go_on():
    pass
thread = threading.Thread(target=run); thread.start()
begin.release(); dropped.acquire()
go_on()
end.release(); thread.join()
"""
# The main thread sees the memory before `drop` returns with somewhat more; at the second look it comes too early to.
DROPPED_AFTER_ANOTHER_THREAD_SAW_IT = """
import os, threading
begin, held, seen = threading.Lock(), threading.Lock(), threading.Lock()
begin.acquire(); held.acquire(); seen.acquire()
def drop():
    begin.acquire()
    block = b"x" * (31 << 18)
    held.release(); seen.acquire()
    more = b"x" * (1 << 18)
    return len(block) + len(more)
def see():
    pass
thread = threading.Thread(target=drop); thread.start()
is_second = "S3BENCH_ALLOCATIONS_MOMENTS" in os.environ
if is_second: see()
begin.release(); held.acquire()
if not is_second: see()
seen.release(); thread.join()
"""
WORKS = {
    "kept": (KEPT, "keep"),
    "dropped": (DROPPED, "drop"),
    "dropped between two calls": (DROPPED_UNSEEN, "drop"),
    "dropped on a thread": (DROPPED_ON_A_THREAD, "drop"),
    "dropped before another thread goes on": (DROPPED_BEFORE_ANOTHER_THREAD_GOES_ON, "drop"),
    "dropped after another thread saw it": (DROPPED_AFTER_ANOTHER_THREAD_SAW_IT, "drop"),
}
IN_EVERY_PYTHON = "dropped"


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


@pytest.mark.parametrize(
    ("work", "python"),
    [
        pytest.param(
            work, python, marks=[] if python == sys.executable or work == IN_EVERY_PYTHON else [pytest.mark.campaign]
        )
        for work in WORKS
        for python in PYTHONS
    ],
    indirect=["python"],
)
def test_what_is_held_at_the_peak_is_found_whether_it_is_dropped_later_or_not(
    work: str, python: str, tmp_path: Path
) -> None:
    program, function = WORKS[work]
    found, done = looked_at(lambda variables: attempt(variables, python=python, work=program, by=FORKED), tmp_path)
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
    assert "absent" in drive(inspection_variables(allocations_file=file), tmp_path, "crt-python").stderr
    report = parse_probe_report(file.read_bytes())
    assert report.start == "imports"
    assert report.peak_bytes > 16 * MB
