import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from s3bench.run import tree as tree_module
from s3bench.run.tree import ProcTree, PsutilTree, descendants, open_tree

MIB = 1 << 20
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")

HOLD = """
import sys, time
held = bytearray(b"x") * (32 << 20)
end = time.process_time() + 0.1
while time.process_time() < end: pass
print("ready", flush=True)
sys.stdin.read()
"""

FORK_IN_THREAD = """
import subprocess, sys, threading
done = threading.Event()
def fork():
    child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"])
    print(child.pid, flush=True)
    done.wait()
threading.Thread(target=fork).start()
sys.stdin.read()
done.set()
"""


@contextmanager
def running(code: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A child and its first line; it goes when its stdin is closed."""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        try:
            yield child, child.stdout.readline()
        finally:
            with suppress(BrokenPipeError):
                child.communicate("", timeout=60)


@linux_only
def test_a_child_forked_by_another_thread_is_found() -> None:
    with running(FORK_IN_THREAD) as (child, line):
        assert {child.pid, int(line)} <= set(descendants(os.getpid()))


def test_psutil_finds_the_same_descendants(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(FORK_IN_THREAD) as (child, line):
        monkeypatch.setattr(tree_module, "_HAS_CHILDREN_FILE", False)
        assert {child.pid, int(line)} <= set(descendants(os.getpid()))
        assert isinstance(open_tree(), PsutilTree)


@linux_only
def test_both_sources_tell_the_same_of_a_process_at_rest() -> None:
    with running(HOLD) as (child, _):
        exact, portable = ProcTree(), PsutilTree()
        assert child.pid in exact.unknown()
        assert child.pid in portable.unknown()
        exact.adopt(child.pid)
        portable.adopt(child.pid)
        rss_bytes, cpu_ns = exact.read()
        assert rss_bytes > 32 * MIB
        assert portable.read()[0] == pytest.approx(rss_bytes, rel=0.05)
        assert cpu_ns > 100_000_000
        assert portable.read()[1] == pytest.approx(cpu_ns, abs=30_000_000)  # psutil counts in ticks of 10 ms
        assert child.pid not in exact.unknown()
        exact.close()
        portable.close()


@pytest.mark.parametrize("source", [pytest.param(ProcTree, marks=linux_only), PsutilTree])
def test_a_process_that_ended_holds_no_memory_but_keeps_its_cpu_time(source: type[ProcTree] | type[PsutilTree]) -> None:
    tree = source()
    with running(HOLD) as (child, _):
        tree.adopt(child.pid)
        used_ns = tree.read()[1]
    assert tree.read() == (0, used_ns)
    assert tree.read() == (0, used_ns)
    assert tree.process_count == 1
    tree.close()


@pytest.mark.parametrize("source", [pytest.param(ProcTree, marks=linux_only), PsutilTree])
def test_adopting_a_process_that_is_gone_changes_nothing(source: type[ProcTree] | type[PsutilTree]) -> None:
    tree = source()
    with running(HOLD) as (child, _):
        pid = child.pid
    assert tree.adopt(pid) == 0
    assert tree.read() == (0, 0)
    assert tree.process_count == 0
    tree.close()


@linux_only
def test_growth_is_noticed_after_a_birth() -> None:
    tree = ProcTree()
    tree.unknown()
    with running(HOLD):
        assert tree.has_grown()
    tree.close()
