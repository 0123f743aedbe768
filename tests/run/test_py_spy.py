"""py-spy is found, and what it says when it fails becomes a reason and a remedy."""

import platform
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from s3bench.run import py_spy
from s3bench.run.inspection import Unavailable
from s3bench.run.py_spy import PySpy, find_py_spy, why_py_spy_failed


def test_the_command_line_samples_waiting_threads_only_where_asked() -> None:
    spy = PySpy(executable="/opt/py-spy", rate_hz=250)
    waiting = spy.prefix(Path("/tmp/out"), waits=True)
    assert waiting[:4] == ("/opt/py-spy", "record", "-r", "250")
    assert waiting[-3:] == ("-o", "/tmp/out", "--")
    assert "-i" in waiting
    assert "-i" not in spy.prefix(Path("/tmp/out"), waits=False)
    assert "-n" not in waiting
    assert "-n" in replace(spy, native=True).prefix(Path("/tmp/out"), waits=True)
    assert spy.interval_s == 0.004


@pytest.mark.parametrize(
    ("said", "scope", "reason", "fix"),
    [
        ("Error: Permission denied (os error 13)", 0, "may not trace", "--cap-add SYS_PTRACE"),
        ("Error: Operation not permitted", 2, "may not trace", "sysctl kernel.yama.ptrace_scope=1"),
        ("Error: Operation not permitted", 3, "may not trace", "boot with another setting"),
        ("Error: Unsupported version of Python: 3.99.1", 0, "does not know the Python", "--upgrade py-spy"),
        ("Error: No such process (os error 3)", 0, "ended before", "takes longer"),
        ("Error: something else", 0, "something else", ""),
        ("", 0, "it said nothing", ""),
    ],
)
def test_what_it_says_becomes_a_reason_and_a_remedy(said: str, scope: int, reason: str, fix: str) -> None:
    found = why_py_spy_failed(f"{said}\n\nStack backtrace:\n 0: main", scope=scope)
    assert reason in found.reason
    assert fix in found.fix
    assert "main" not in found.reason


def test_without_py_spy_the_line_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    found = find_py_spy()
    assert isinstance(found, Unavailable)
    assert found.reason == "py-spy is not installed"
    assert "pip install" in found.fix
    assert "py-spy" in found.fix


# Forbids ptrace(2) and process_vm_readv(2), as a container without SYS_PTRACE may; see seccomp(2).
FORBIDDEN = """
import ctypes, struct
def step(code, value, true=0, false=0):
    return struct.pack("HBBI", code, true, false, value)
steps = (step(0x20, 0), step(0x15, 101, 2), step(0x15, 310, 1), step(0x06, 0x7FFF0000), step(0x06, 0x00050001))
program = ctypes.create_string_buffer(b"".join(steps))
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Filter(len(steps), ctypes.addressof(program))), 0, 0) == 0
from s3bench.run.py_spy import find_py_spy
print(find_py_spy())
"""


@pytest.mark.skipif((sys.platform, platform.machine()) != ("linux", "x86_64"), reason="the filter is for Linux on x86")
def test_where_tracing_is_forbidden_the_permission_is_the_reason() -> None:
    if isinstance(found := find_py_spy(), Unavailable):
        pytest.skip(f"stacks cannot be sampled here at all: {found}")
    told = subprocess.run([sys.executable, "-c", FORBIDDEN], check=True, capture_output=True, text=True, timeout=200)
    assert "py-spy may not trace processes here" in told.stdout
    assert "--cap-add SYS_PTRACE" in told.stdout


def test_one_that_may_not_trace_is_not_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "py-spy"
    program.write_text("#!/bin/sh\necho 'Error: Permission denied' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(py_spy, "_ptrace_scope", lambda: 2)
    found = find_py_spy()
    assert isinstance(found, Unavailable)
    assert found.fix == "sysctl kernel.yama.ptrace_scope=1, or run as root"
