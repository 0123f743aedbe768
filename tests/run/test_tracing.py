"""strace's output read into counts that two runs share, and strace itself on a small program."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from s3bench.run.inspection import Unavailable
from s3bench.run.tracing import TIMING_DEPENDENT, Traced, Tracer, find_tracer, parse_strace

THREADED = """\
10 execve(0x7ffd, 0x7ffe, 0x7fff) = 0
10 openat(AT_FDCWD</w>, "a", O_RDONLY|O_CLOEXEC) = 3</w/a>
10 clone3(0x7f, 0x58 <unfinished ...>
11 openat(AT_FDCWD</w>, "b", O_RDONLY <unfinished ...>
10 <... clone3 resumed>)            = 0xb
11 <... openat resumed>)            = 4</w/b>
11 getdents64(0x4, 0x7f, 0x8000 <unfinished ...>
10 --- SIGCHLD {si_signo=SIGCHLD, si_pid=12} ---
11 <... getdents64 resumed>)        = 0x30
10 ????( <unfinished ...>
11 +++ exited with 0 +++
10 exit_group(0)                     = ?
10 +++ exited with 0 +++
"""


def traced(text: str, **roots: str) -> Traced:
    return parse_strace(text, roots={path: f"${name}" for name, path in roots.items()})


def opened(path: str, **roots: str) -> tuple[str, ...]:
    return traced(f'1 openat(AT_FDCWD</x>, "y", O_RDONLY) = 3<{path}>\n', **roots).files_opened


def test_a_call_that_another_thread_interrupts_counts_once() -> None:
    assert traced(THREADED).system_calls == {
        "clone3": 1, "execve": 1, "exit_group": 1, "getdents64": 1, "openat": 2
    }  # fmt: skip


def test_files_are_listed_by_their_real_paths_once_and_when_opened_alone() -> None:
    failed = '1 openat(AT_FDCWD</w>, "c", O_RDONLY) = -1 ENOENT (No such file or directory)\n'
    again = '1 open("/link", O_RDONLY) = 3</w/a>\n'
    assert traced(THREADED + failed + again).files_opened == ("/w/a", "/w/b")


def test_a_call_that_the_kernel_restarts_counts_once() -> None:
    text = (
        "1 wait4(0x5, 0, 0, 0) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)\n"
        "1 --- SIGWINCH {si_signo=SIGWINCH} ---\n"
        "1 wait4(0x5, 0, 0, 0 <unfinished ...>\n"
        "1 <... wait4 resumed>) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)\n"
        "1 wait4(0x5, 0, 0, 0) = 0x5\n"
    )
    assert traced(text).system_calls == {"wait4": 1}


def test_only_a_restarted_call_leaves_no_count_of_nothing() -> None:
    assert traced("1 pause() = ? ERESTARTNOHAND (To be restarted if no handler)\n").system_calls == {}


def test_the_longest_root_is_replaced_and_only_as_whole_directories() -> None:
    roots = {"ROOT": "/tmp/run-1", "WORK": "/tmp/run-1/work"}
    assert opened("/tmp/run-1/work/file", **roots) == ("$WORK/file",)
    assert opened("/tmp/run-1/work", **roots) == ("$WORK",)
    assert opened("/tmp/run-1/home/x", **roots) == ("$ROOT/home/x",)
    assert opened("/tmp/run-10/x", **roots) == ("/tmp/run-10/x",)


@pytest.mark.parametrize(
    ("path", "stable"),
    [
        ("/proc/4711/status", "/proc/$PID/status"),
        ("/proc/4711/task/4712/comm", "/proc/$PID/task/$TID/comm"),
        ("/w/object.1b2C3d4E", "/w/object.$RANDOM"),
        ("/client/object1049202136", "$W/object$RANDOM"),
        ("/usr/lib/date20240722", "/usr/lib/date20240722"),
        ("/w/m.cpython-311.pyc.140012345678", "/w/m.cpython-311.pyc.$NUMBER"),
        ("/t/tmpab_12xyz/file", "/t/$RANDOM/file"),
        ("pipe:[4711]", "pipe"),
        ("/usr/lib/libssl.so.3", "/usr/lib/libssl.so.3"),
    ],
)
def test_names_made_up_for_one_run_are_replaced(path: str, stable: str) -> None:
    assert opened(path, W="/client") == (stable,)


def test_escaped_and_deleted_names_are_read() -> None:
    line = '1 openat(AT_FDCWD</w>, "x", O_RDONLY) = 4</w/n\\303\\244\\74x\\76 \\n\\"\\\\>(deleted)\n'
    assert traced(line).files_opened == ('/w/nä<x> \n"\\',)


PROGRAM = """
import os, sys, threading
os.chdir(sys.argv[1])
open("first").close()
worker = threading.Thread(target=lambda: open("second").close())
worker.start(); worker.join()
if os.fork() == 0:
    open("third").close()
    os._exit(0)
os.wait()
for _ in range(int(sys.argv[2])):
    os.access("first", os.F_OK)
"""


def trace(tracer: Tracer, directory: Path, accesses: int) -> Traced:
    work = directory / "work"
    work.mkdir(exist_ok=True)
    for name in ("first", "second", "third"):
        (work / name).touch()
    output = directory / "trace"
    command = [*tracer.prefix(output), sys.executable, "-I", "-S", "-c", PROGRAM, str(work), str(accesses)]
    subprocess.run(command, env={"PATH": os.defpath}, check=True, timeout=200, stderr=subprocess.PIPE)
    return parse_strace(output.read_text(), roots={str(work): "$WORK"})


def exact(run: Traced) -> dict[str, int]:
    return {name: count for name, count in run.system_calls.items() if name not in TIMING_DEPENDENT}


@pytest.fixture(scope="module")
def tracer() -> Tracer:
    found = find_tracer()
    if isinstance(found, Unavailable):
        assert "saw nothing" not in found.reason  # that is our command line's fault, not the machine's
        pytest.skip(str(found))
    return found


def test_a_real_program_with_threads_and_children_is_seen_whole_and_alike_each_time(
    tracer: Tracer, tmp_path: Path
) -> None:
    runs = [trace(tracer, tmp_path, 0) for _ in range(3)]
    assert set(runs[0].files_opened) >= {"$WORK/first", "$WORK/second", "$WORK/third"}
    assert {run.files_opened for run in runs} == {runs[0].files_opened}
    assert [exact(run) for run in runs] == [exact(runs[0])] * 3


def test_one_call_more_is_one_call_more(tracer: Tracer, tmp_path: Path) -> None:
    few, many = (exact(trace(tracer, tmp_path, accesses)) for accesses in (1, 2))
    changed = {name: (few.get(name), many.get(name)) for name in few.keys() | many if few.get(name) != many.get(name)}
    before, after = changed["access" if "access" in changed else "faccessat"]
    assert len(changed) == 1
    assert after == (before or 0) + 1


def test_without_strace_the_command_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = find_tracer()
    assert isinstance(found, Unavailable)
    assert "apt-get install strace" in found.fix


@pytest.mark.parametrize("body", ["echo 'ptrace: Operation not permitted' >&2; exit 1", "exit 0"])
def test_a_strace_that_may_not_trace_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str) -> None:
    (tmp_path / "strace").write_text(f"#!/bin/sh\n{body}\n")
    (tmp_path / "strace").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = find_tracer()
    assert isinstance(found, Unavailable)
    assert ("not permitted" in found.reason) == ("ptrace" in body)
    assert "SYS_PTRACE" in found.fix
