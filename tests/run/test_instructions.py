"""Counting instructions: what the counters write, the choice between them, and valgrind on a small program."""

import subprocess
import sys
from pathlib import Path

import pytest

from s3bench.errors import MachineError
from s3bench.run.inspection import Unavailable
from s3bench.run.instructions import PerfCounter, ValgrindCounter, instruction_counter, parse_cachegrind, parse_perf

CACHEGRIND = """\
desc: I1 cache:         32768 B, 64 B, 8-way associative
cmd: ./client jent_
events: Ir
fl=/src/main.c
fn=main
1 100
2 20
fl=/src/jitterentropy-library/noise.c
fn=rol64
7 1000
fl=???
fn=jent_measure
0 300
fn=agent_start
0 5
summary: 1425
"""


def test_a_process_is_counted_without_what_was_drawn_from_time() -> None:
    assert parse_cachegrind(CACHEGRIND) == 125


def test_output_without_its_end_is_refused() -> None:
    with pytest.raises(MachineError, match="cut short"):
        parse_cachegrind(CACHEGRIND.replace("summary", "sum"))


def test_the_processes_of_a_run_are_summed(tmp_path: Path) -> None:
    counter = ValgrindCounter(executable="valgrind")
    for pid, count in ((1, 1425), (2, 2425)):
        (tmp_path / f"cachegrind.{pid}.out").write_text(CACHEGRIND.replace("1425", str(count)))
    assert counter.read(tmp_path) == 125 + 1125


def test_no_output_is_the_machines_fault(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="counted nothing"):
        ValgrindCounter(executable="valgrind").read(tmp_path)
    with pytest.raises(MachineError, match="perf left no output"):
        PerfCounter(executable="perf").read(tmp_path)


def test_a_directory_with_a_percent_sign_is_no_directive() -> None:
    prefix = ValgrindCounter(executable="valgrind").prefix(Path("/x/50%p"))
    assert "--cachegrind-out-file=/x/50%%p/cachegrind.%p.out" in prefix


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("# started on Sat\n\n1234567,,instructions:u,600000,100.00,,\n", 1234567),
        ("1000,,cpu_core/instructions:u/,6,100.00,,\n234,,cpu_atom/instructions:u/,6,100.00,,\n", 1234),
        ("1000,,cpu_core/instructions:u/,6,100.00,,\n<not counted>,,cpu_atom/instructions:u/,0,100.00,,\n", 1000),
        ("1000,,instructions:u,6,,,\n", 1000),
    ],
)
def test_perf_is_read(text: str, count: int) -> None:
    assert parse_perf(text) == count


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<not supported>,,instructions:u,0,100.00,,\n", "not supported"),
        ("0,,instructions:u,0,100.00,,\n", "is 0"),
        ("1000,,instructions:u,6,42.00,,\n", "42.00 %"),
        ("", "is 0"),
    ],
)
def test_a_counter_that_counts_nothing_or_a_part_is_absent(text: str, reason: str) -> None:
    count = parse_perf(text)
    assert isinstance(count, Unavailable)
    assert reason in count.reason


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))
    return directory


def put(directory: Path, name: str, script: str) -> None:
    (directory / name).write_text(f"#!/bin/sh\n{script}\n")
    (directory / name).chmod(0o755)


PERF = 'while [ "$1" != -o ]; do shift; done; echo "%s,,instructions:u,9,100.00,," > "$2"; exit %d'


def test_a_machine_without_counters_is_told_how_to_install_valgrind(path: Path) -> None:
    found = instruction_counter()
    assert isinstance(found, Unavailable)
    assert "perf is not installed" in found.reason
    assert "valgrind is not installed" in found.reason
    assert "apt-get install valgrind" in found.fix
    assert "dnf install valgrind" in found.fix


def test_hardware_counters_are_taken_where_they_count(path: Path) -> None:
    put(path, "perf", PERF % ("7000000", 0))
    found = instruction_counter()
    assert isinstance(found, PerfCounter)
    assert "setarch is not installed" in found.warnings[0]


@pytest.mark.parametrize(
    ("perf", "reason"),
    [
        (PERF % ("<not supported>", 0), "not supported"),
        (PERF % ("0", 0), "is 0"),
        (PERF % ("999", 0), "saw 999 instructions"),
        ("echo 'No permission to enable instructions:u' >&2; exit 1", "No permission"),
    ],
)
def test_hardware_counters_that_do_not_count_are_named_with_the_reason(path: Path, perf: str, reason: str) -> None:
    put(path, "perf", perf)
    found = instruction_counter()
    assert isinstance(found, Unavailable)
    assert reason in found.reason


def test_a_valgrind_that_cannot_run_is_missing_with_what_it_said(path: Path) -> None:
    put(path, "valgrind", "echo 'valgrind: fatal: not today' >&2; exit 1")
    found = instruction_counter()
    assert isinstance(found, Unavailable)
    assert "not today" in found.reason


PROGRAM = """
import os, sys
script = "turn=0; while [ $turn -lt $1 ]; do turn=$((turn + 1)); done"
os.spawnv(os.P_WAIT, "/bin/sh", ["sh", "-c", script, "sh", sys.argv[1]])
"""


@pytest.fixture(scope="module")
def counter() -> ValgrindCounter:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("s3bench.run.instructions._perf", lambda *_: Unavailable(reason="set aside"))
        found = instruction_counter()
    if not isinstance(found, ValgrindCounter):
        pytest.skip(str(found))
    return found


def count(counter: ValgrindCounter, directory: Path, turns: int) -> int:
    directory.mkdir()
    command = [*counter.prefix(directory), sys.executable, "-S", "-c", PROGRAM, str(turns)]  # -I would ignore the seed
    done = subprocess.run(command, env=dict(counter.env), capture_output=True, check=True, timeout=200)
    assert (done.stdout, done.stderr) == (b"", b"")  # what valgrind says must not pass for the client's words
    return counter.read(directory)


@pytest.mark.campaign
def test_valgrind_counts_alike_and_sees_work_in_a_child(counter: ValgrindCounter, tmp_path: Path) -> None:
    base, again, more = (count(counter, tmp_path / name, turns) for name, turns in (("%p", 90), ("b", 90), ("c", 9990)))
    assert abs(again / base - 1) < 1e-4
    assert 9900 * 20 < more - base < 9900 * 20_000
