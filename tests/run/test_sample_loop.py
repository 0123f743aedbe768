"""The loop in C takes the samples that the tree would have taken, and leaves what has to be decided to the caller."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from s3bench.run import sample_loop
from s3bench.run.sample_loop import LoopSamples, SampleLoop, open_sample_loop
from s3bench.run.tree import ProcTree

MS = 1_000_000
NEVER_NS = 1 << 62

pytestmark = pytest.mark.skipif(open_sample_loop(0, 0) is None, reason="s3bench was installed without the loops in C")


@dataclass
class Watched:
    """The loop, two pipes that end it, and a tree of one child that is stopped."""

    loop: SampleLoop
    tree: ProcTree
    child: subprocess.Popen[bytes]
    writers: tuple[int, int]

    def run(self, **changes: int) -> LoopSamples:
        now_ns = time.monotonic_ns()
        defaults = {
            "due_ns": now_ns,
            "step_ns": MS,
            "until_ns": NEVER_NS,
            "find_due_ns": NEVER_NS,
            "find_anyway_ns": NEVER_NS,
            "samples_max": 5,
        }
        return self.loop.run(self.tree, **{**defaults, **changes})


@pytest.fixture
def watched() -> Iterator[Watched]:
    wake, wake_writer = os.pipe()
    control, control_writer = os.pipe()
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "print(flush=True); input()"], stdin=-1, stdout=-1)
    assert child.stdout is not None
    child.stdout.readline()
    os.kill(child.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    tree = ProcTree()
    tree.adopt(child.pid)
    tree.unknown()
    yield Watched(SampleLoop(wake, control), tree, child, (wake_writer, control_writer))
    tree.close()
    os.kill(child.pid, signal.SIGCONT)
    child.communicate(b"\n")
    for each in (wake, wake_writer, control, control_writer):
        os.close(each)


def test_samples_are_those_of_the_tree_at_least_a_step_apart(watched: Watched) -> None:
    before = watched.tree.read()
    samples = watched.run()
    assert set(samples.rss_bytes) == {before[0]}
    assert list(samples.cpu_ns) == [before[1]] * 5
    assert samples.due_ns > samples.at_ns[-1]
    # Due times are whole steps apart; a sample is never before its own, and takes the next step when it comes late.
    first_due_ns = samples.due_ns % MS
    assert len({(at_ns - first_due_ns) // MS for at_ns in samples.at_ns}) == 5


def test_cpu_time_of_processes_that_are_gone_is_kept(watched: Watched) -> None:
    other = subprocess.Popen([sys.executable, "-I", "-S", "-c", "print(flush=True); input()"], stdin=-1, stdout=-1)
    assert other.stdout is not None
    other.stdout.readline()
    watched.tree.adopt(other.pid)
    both = watched.run(samples_max=1)
    other.communicate(b"\n")
    assert list(watched.run().at_ns) == []  # its end is for the caller
    watched.tree.read()
    alone = watched.run(samples_max=1)
    assert alone.rss_bytes[0] < both.rss_bytes[0]
    assert alone.cpu_ns[0] >= both.cpu_ns[0]


@pytest.mark.parametrize("which", [0, 1])
def test_a_readable_descriptor_ends_it(watched: Watched, which: int) -> None:
    os.write(watched.writers[which], b"x")
    assert len(watched.run().at_ns) == 1
    assert len(watched.run(due_ns=time.monotonic_ns() + 3_600_000 * MS).at_ns) == 0


def test_the_end_of_its_time_ends_it(watched: Watched) -> None:
    until_ns = time.monotonic_ns() + 3 * MS
    samples = watched.run(due_ns=until_ns + 3_600_000 * MS, until_ns=until_ns)
    assert time.monotonic_ns() >= until_ns
    assert list(samples.at_ns) == []


def test_a_birth_ends_it_once_births_are_looked_for(watched: Watched) -> None:
    subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True)
    assert len(watched.run().at_ns) == 5
    assert list(watched.run(find_due_ns=0).at_ns) == []


def test_births_are_looked_for_by_the_caller_after_a_while_in_any_case(watched: Watched) -> None:
    assert list(watched.run(find_due_ns=0, find_anyway_ns=0).at_ns) == []


def test_there_is_no_loop_where_it_was_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_loop, "LIBRARY", "/nowhere")
    assert open_sample_loop(0, 0) is None
