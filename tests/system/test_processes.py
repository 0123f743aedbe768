import ctypes
import os
import signal
import subprocess
import sys

import psutil
import pytest

from s3bench.system import processes

ORPHAN = """
import os, subprocess, sys
sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdout=subprocess.DEVNULL)
print(os.getpid(), sleeper.pid, flush=True)
os._exit(0)
"""


@pytest.fixture(params=[False, True], ids=["linux", "portable"])
def portable(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(processes, "IS_PORTABLE", request.param)
    return bool(request.param)


@pytest.mark.usefixtures("portable")
def test_a_process_is_told_from_others_by_when_it_started() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        started = processes.started_at(other.pid)
        assert started is not None
        assert started == processes.started_at(other.pid)
        assert started != processes.started_at(1)
        assert other.stdin is not None
        other.communicate(b"\n")
    assert processes.started_at(other.pid) is None


@pytest.mark.usefixtures("portable")
def test_the_resident_memory_of_this_process_is_what_psutil_says() -> None:
    assert processes.own_rss_bytes() == pytest.approx(psutil.Process().memory_info().rss, rel=0.1)


def test_orphans_are_found_by_their_session_where_they_cannot_be_adopted(portable: bool) -> None:
    parent = subprocess.run([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, check=True, start_new_session=True)
    session, orphan = map(int, parent.stdout.split())
    try:
        assert processes.orphans(session) == ([orphan] if portable else [])
    finally:
        os.kill(orphan, signal.SIGKILL)


def test_what_only_linux_tells_is_left_out_elsewhere(portable: bool) -> None:
    assert processes.cores_allowed() == (None if portable else len(os.sched_getaffinity(0)))
    assert (processes.boot_id() == "") == portable


def test_orphans_and_parents_are_asked_of_prctl() -> None:
    asked: list[tuple[int, ...]] = []
    processes.adopt_orphans(lambda *arguments: asked.append(arguments))
    processes.die_with_parent(lambda *arguments: asked.append(arguments), signal.SIGKILL)
    assert asked == [(36, 1, 0, 0, 0), (1, signal.SIGKILL, 0, 0, 0)]  # as <linux/prctl.h> numbers them


def test_without_prctl_no_library_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "IS_PORTABLE", True)
    monkeypatch.setattr(ctypes, "CDLL", None)
    assert processes.load_prctl()(36, 1, 0, 0, 0) == 0
