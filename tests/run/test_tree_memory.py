import os
import subprocess
import sys
from pathlib import Path

import pytest

from s3bench.run.tree import ProcTree
from s3bench.run.tree_memory import (
    PageShares,
    ProcessMemory,
    TreeMemory,
    open_tree_memory,
    read_memory,
    read_shares,
    read_waited_faults,
)

MS = 1_000_000
MIB = 1 << 20
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
CLIENT, CHILD, OTHER = 1, 2, 3
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")


def memory(
    anonymous: int = 0,
    *,
    file: int = 0,
    shmem: int = 0,
    high_water: int = 0,
    faults: int = 0,
    is_forked: bool = False,
    is_ending: bool = False,
    program: str = "python",
) -> ProcessMemory:
    """What a process holds, in MiB."""
    return ProcessMemory(
        anonymous=anonymous * MIB,
        file=file * MIB,
        shmem=shmem * MIB,
        high_water=max(high_water, anonymous + file + shmem) * MIB,
        faults=faults,
        is_forked=is_forked,
        is_ending=is_ending,
        program=program,
    )


class FakeSystem(ProcTree):
    """Processes, and a clock and CPU time that pass only when told to."""

    def __init__(self) -> None:
        self.now = 1000 * MS
        self.used = 0
        self.look_cost_ns = 0
        self.share_cost_ns = 0
        self.processes = {CLIENT: memory(10)}
        self.shares: dict[int, PageShares | None] = {}
        self.waited_faults = 0
        self.reads = self.share_reads = self.lists = 0
        self.listed: set[int] = {CLIENT}
        self.ends_when_counted: int | None = None
        self.ends_when_read: int | None = None

    def has_grown(self) -> bool:
        return bool(self.processes.keys() - self.listed)

    def unknown(self) -> list[int]:
        self.lists += 1
        self.listed |= self.processes.keys()
        return list(self.processes)

    def close(self) -> None:
        pass

    def read(self, pid: int) -> ProcessMemory | None:  # type: ignore[override]
        self.reads += 1
        self.used += self.look_cost_ns
        found = self.processes.get(pid)
        if found and pid == self.ends_when_read:
            self.waited_faults += found.faults
            del self.processes[pid]
        return found

    def read_shares(self, pid: int) -> PageShares | None:
        self.share_reads += 1
        self.used += self.share_cost_ns
        alone = self.processes[pid]
        if pid == self.ends_when_counted:
            self.processes[pid] = memory(1, is_forked=True, is_ending=True)
        return self.shares.get(pid, PageShares(anonymous_less=0, file=alone.file, shmem=alone.shmem))

    def watch(self, *, is_alone: bool = True, cost_ns: int = 20_000, expects_helpers: bool = False) -> TreeMemory:
        return TreeMemory(
            self,
            CLIENT,
            expects_helpers=expects_helpers,
            is_alone=is_alone,
            cost_ns=cost_ns,
            read=self.read,
            shares=self.read_shares,
            waited=lambda _: self.waited_faults,
            now_ns=lambda: self.now,
            used_ns=lambda: self.used,
        )


@pytest.fixture
def system() -> FakeSystem:
    return FakeSystem()


def look(watched: TreeMemory, system: FakeSystem, count: int = 1, *, wake_ns: int = 0) -> None:
    for _ in range(count):
        system.now = max(system.now, watched.due_ns)
        system.used += wake_ns
        watched.look()


class TestSum:
    def test_memory_of_their_own_adds_up(self, system: FakeSystem) -> None:
        watched = system.watch()
        system.processes |= {CHILD: memory(30), OTHER: memory(5)}
        look(watched, system)
        assert watched.peak_bytes == 45 * MIB
        assert watched.process_count == 3
        assert not watched.is_upper_bound

    def test_the_peak_is_of_one_moment(self, system: FakeSystem) -> None:
        watched = system.watch()
        system.processes[CHILD] = memory(30)
        look(watched, system)
        del system.processes[CHILD]
        look(watched, system)
        system.processes |= {CLIENT: memory(20), OTHER: memory(5)}
        look(watched, system)
        assert watched.peak_bytes == 40 * MIB

    def test_files_of_one_program_count_once(self, system: FakeSystem) -> None:
        watched = system.watch()
        system.processes = {
            CLIENT: memory(10, file=6),
            CHILD: memory(10, file=4),
            OTHER: memory(1, file=2, program="sh"),
        }
        system.shares = {pid: PageShares(anonymous_less=0, file=MIB, shmem=0) for pid in system.processes}
        look(watched, system)
        assert watched.peak_bytes == (21 + 6 + 2) * MIB

    def test_files_that_only_one_process_of_a_program_maps_count_in_full(self, system: FakeSystem) -> None:
        watched = system.watch()
        system.processes = {CLIENT: memory(10, file=40), CHILD: memory(10, file=30)}
        look(watched, system)
        assert watched.peak_bytes == 90 * MIB

    def test_shared_memory_counts_once(self, system: FakeSystem) -> None:
        watched = system.watch()
        system.processes = {CLIENT: memory(10, shmem=40), CHILD: memory(10, shmem=40)}
        system.shares = {pid: PageShares(anonymous_less=0, file=0, shmem=20 * MIB) for pid in system.processes}
        look(watched, system)
        assert watched.peak_bytes == 60 * MIB


class TestForks:
    def test_pages_that_a_fork_left_shared_count_once(self, system: FakeSystem) -> None:
        watched = system.watch()
        system.processes = {CLIENT: memory(50), CHILD: memory(60, is_forked=True)}
        system.shares = {pid: PageShares(anonymous_less=25 * MIB, file=0, shmem=0) for pid in system.processes}
        look(watched, system, 2)
        assert watched.peak_bytes == 60 * MIB

    def test_pages_written_after_a_fork_count_for_both_when_shared_pages_are_counted_again(
        self, system: FakeSystem
    ) -> None:
        watched = system.watch()
        system.processes = {CLIENT: memory(50), CHILD: memory(50, is_forked=True)}
        system.shares = {pid: PageShares(anonymous_less=25 * MIB, file=0, shmem=0) for pid in system.processes}
        look(watched, system, 2)
        system.shares = {}
        look(watched, system)
        assert watched.peak_bytes == 50 * MIB
        system.now += 50 * MS
        look(watched, system)
        assert watched.peak_bytes == 100 * MIB

    @pytest.mark.parametrize("looks_before", [0, 2])
    def test_a_child_that_ends_while_shared_pages_are_counted_does_not_raise_the_peak(
        self, system: FakeSystem, looks_before: int
    ) -> None:
        watched = system.watch()
        system.processes = {CLIENT: memory(50), CHILD: memory(60, is_forked=True)}
        system.shares = {pid: PageShares(anonymous_less=25 * MIB, file=0, shmem=0) for pid in system.processes}
        look(watched, system, looks_before)
        peak_bytes = watched.peak_bytes
        system.now += 50 * MS
        system.ends_when_counted = CHILD
        system.shares[CHILD] = PageShares(anonymous_less=MIB, file=0, shmem=0)  # it has given back the rest
        look(watched, system, 2)
        assert watched.peak_bytes == peak_bytes

    def test_a_forked_child_is_taken_in_only_when_it_was_found_twice(self, system: FakeSystem) -> None:
        watched = system.watch()
        system.processes[CHILD] = memory(10, is_forked=True)
        look(watched, system)
        assert (watched.peak_bytes, watched.process_count) == (0, 1)
        look(watched, system)
        assert (watched.peak_bytes, watched.process_count) == (20 * MIB, 2)

    def test_a_child_that_calls_exec_shares_no_memory_any_more(self, system: FakeSystem) -> None:
        watched = system.watch()
        system.processes = {CLIENT: memory(50), CHILD: memory(50, is_forked=True)}
        system.shares = {pid: PageShares(anonymous_less=25 * MIB, file=0, shmem=0) for pid in system.processes}
        system.share_cost_ns = 1000 * MS  # so that they are counted once only
        look(watched, system, 2)
        system.processes[CHILD] = memory(5)
        look(watched, system)
        assert watched.peak_bytes == 55 * MIB

    def test_where_the_kernel_does_not_tell_what_is_shared_the_peak_is_an_upper_bound(self, system: FakeSystem) -> None:
        watched = system.watch()
        system.processes = {CLIENT: memory(50), CHILD: memory(50, is_forked=True)}
        system.shares = {CHILD: None}
        look(watched, system, 2)
        assert watched.peak_bytes == 100 * MIB
        assert watched.is_upper_bound


class TestBetweenLooks:
    def test_growth_that_is_gone_again_is_added(self, system: FakeSystem) -> None:
        watched = system.watch()
        system.processes[CHILD] = memory(30)
        look(watched, system)
        system.processes[CLIENT] = memory(10, high_water=25)
        look(watched, system)
        assert watched.peak_bytes == 55 * MIB

    def test_what_the_client_held_before_it_had_a_child_is_not_added(self, system: FakeSystem) -> None:
        watched = system.watch()
        system.processes |= {CLIENT: memory(10, high_water=70), CHILD: memory(30)}
        look(watched, system, 3)
        assert watched.peak_bytes == 40 * MIB

    def test_what_a_new_child_held_before_it_was_seen_is_added(self, system: FakeSystem) -> None:
        watched = system.watch()
        system.processes[CHILD] = memory(5, high_water=30)
        look(watched, system)
        assert watched.peak_bytes == 40 * MIB

    def test_faults_of_children_that_were_never_seen_are_told(self, system: FakeSystem) -> None:
        watched = system.watch()
        system.waited_faults = 100
        watched.note_end()
        assert watched.unseen_bytes() == 100 * PAGE_BYTES

    def test_faults_that_were_seen_are_not_told(self, system: FakeSystem) -> None:
        watched = system.watch()
        system.processes |= {CLIENT: memory(10, faults=1000), CHILD: memory(30, faults=90)}
        look(watched, system)
        system.waited_faults = 100
        watched.note_end()
        assert watched.unseen_bytes() == 10 * PAGE_BYTES

    def test_a_child_that_faults_without_growing_is_expected_to_go_on(self, system: FakeSystem) -> None:
        watched = system.watch()
        for faults in (100, 150):
            system.processes[CHILD] = memory(30, faults=faults)
            look(watched, system)
        system.waited_faults = 200
        watched.note_end()
        assert watched.unseen_bytes() == 0

    def test_a_child_that_grew_may_have_gone_on_growing(self, system: FakeSystem) -> None:
        watched = system.watch()
        for faults in (100, 150):
            system.processes[CHILD] = memory(faults // 5, faults=faults)
            look(watched, system)
        system.waited_faults = 200
        watched.note_end()
        assert watched.unseen_bytes() == 50 * PAGE_BYTES

    def test_children_that_ended_unseen_raise_the_ceiling_of_their_time_and_not_of_later_ones(
        self, system: FakeSystem
    ) -> None:
        watched = system.watch()
        system.waited_faults = 4 * MIB // PAGE_BYTES
        system.listed = set()  # something was born
        look(watched, system)
        assert watched.ceiling_bytes == 14 * MIB
        system.processes[CLIENT] = memory(100)
        look(watched, system)
        watched.note_end()
        assert (watched.ceiling_bytes, watched.unseen_bytes()) == (14 * MIB, 0)

    def test_a_child_that_ended_unseen_raises_the_ceiling_above_what_the_others_hold(self, system: FakeSystem) -> None:
        watched = system.watch()
        system.processes[CHILD] = memory(30, faults=500)
        look(watched, system)
        system.waited_faults = 2 * MIB // PAGE_BYTES
        look(watched, system)
        assert (watched.peak_bytes, watched.ceiling_bytes) == (40 * MIB, 42 * MIB)

    def test_a_child_that_ends_during_a_look_that_saw_it_raises_no_ceiling(self, system: FakeSystem) -> None:
        watched = system.watch()
        system.processes[CHILD] = memory(30, faults=500)
        look(watched, system)
        system.ends_when_read = CHILD
        look(watched, system, 2)
        watched.note_end()
        assert (watched.ceiling_bytes, watched.unseen_bytes()) == (0, 0)

    def test_what_all_but_the_largest_held_at_the_last_look_is_kept_while_they_live(self, system: FakeSystem) -> None:
        watched = system.watch()
        system.processes |= {CHILD: memory(30, high_water=35), OTHER: memory(2)}
        look(watched, system)
        assert (watched.last_rest_bytes, watched.high_water_max) == (12 * MIB, 35 * MIB)
        system.processes = {CLIENT: memory(10), 4: memory(10, is_forked=True)}  # it may use the client's memory yet
        look(watched, system)
        assert watched.last_rest_bytes == 0


class TestCost:
    def test_a_single_process_is_never_read(self, system: FakeSystem) -> None:
        watched = system.watch()
        look(watched, system, 100)
        assert (system.reads, system.lists) == (0, 0)

    @pytest.mark.parametrize("cost_ns", [1_000, 20_000, 80_000, 280_000])
    def test_looking_for_births_takes_less_than_a_fifth_of_a_percent_of_a_core(
        self, system: FakeSystem, cost_ns: int
    ) -> None:
        watched = system.watch(cost_ns=cost_ns)
        start = system.now
        look(watched, system, 200, wake_ns=cost_ns)
        assert watched.cpu_used_ns() <= 0.002 * (system.now - start)

    def test_births_are_looked_for_every_ten_milliseconds_where_that_is_cheap(self, system: FakeSystem) -> None:
        watched = system.watch(cost_ns=10_000)
        look(watched, system, 3, wake_ns=10_000)
        assert watched.due_ns - system.now == 10 * MS

    def test_births_are_looked_for_more_often_where_helpers_are_expected(self, system: FakeSystem) -> None:
        watched = system.watch(cost_ns=100_000, expects_helpers=True)
        look(watched, system, 3, wake_ns=100_000)
        assert watched.due_ns - system.now == 30 * MS

    def test_a_program_has_helpers_when_they_add_to_its_peak_or_may_do_so(self, system: FakeSystem) -> None:
        watched = system.watch()
        assert not watched.has_helpers(100 * MIB)
        system.waited_faults = 4 * MIB // PAGE_BYTES
        watched.note_end()
        assert watched.has_helpers(100 * MIB)
        assert not watched.has_helpers(200 * MIB)

    def test_helpers_that_were_gone_before_the_client_grew_do_not_count(self, system: FakeSystem) -> None:
        watched = system.watch()
        system.processes[CHILD] = memory(30)
        look(watched, system)
        assert watched.has_helpers(35 * MIB)
        assert not watched.has_helpers(100 * MIB)

    def test_births_are_looked_for_every_ten_milliseconds_where_samples_wake_the_helper_anyway(
        self, system: FakeSystem
    ) -> None:
        watched = system.watch(is_alone=False)
        look(watched, system, 3, wake_ns=MS)
        assert watched.due_ns - system.now == 10 * MS

    def test_several_processes_are_read_for_two_percent_of_a_core_at_most(self, system: FakeSystem) -> None:
        system.look_cost_ns = 100_000
        watched = system.watch(cost_ns=0)
        system.processes[CHILD] = memory(5)
        look(watched, system)
        start, used = system.now, system.used
        look(watched, system, 50)
        assert system.used - used <= 0.02 * (system.now - start) + 200_000

    def test_shared_pages_are_counted_for_two_percent_of_a_core_at_most(self, system: FakeSystem) -> None:
        system.share_cost_ns = MS
        watched = system.watch(cost_ns=0)
        system.processes[CHILD] = memory(50, is_forked=True)
        start = system.now
        look(watched, system, 500)
        assert system.share_reads >= 10
        assert system.used <= 0.02 * (system.now - start) + 2 * MS

    def test_faults_stay_uncounted_while_shared_pages_cannot_be_counted(self, system: FakeSystem) -> None:
        system.share_cost_ns = 100 * MS
        watched = system.watch()
        system.processes[CHILD] = memory(50, is_forked=True, faults=10)
        look(watched, system, 2)
        peak_bytes = watched.peak_bytes
        system.processes[OTHER] = memory(50, is_forked=True, faults=70)
        look(watched, system, 3)
        system.waited_faults = 80
        assert watched.peak_bytes == peak_bytes
        watched.note_end()
        assert watched.unseen_bytes() == 70 * PAGE_BYTES


FORK = """
import os, sys
held = bytearray(b"x") * (32 << 20)
if not os.fork():
    print(os.getpid(), flush=True)  # it runs: a child that did not has no pages of files yet
sys.stdin.read()
"""

FORK_AND_WAIT = """
import os
if not os.fork():
    held = bytearray(b"x") * (8 << 20)
    os._exit(0)
os.wait()
"""


@linux_only
class TestProc:
    def test_a_forked_child_shares_its_parents_pages(self) -> None:
        with subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", FORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as parent:
            assert parent.stdout
            child = int(parent.stdout.readline())
            one, other, shares = read_memory(parent.pid), read_memory(child), read_shares(child)
            parent.communicate("", timeout=60)
        assert one
        assert other
        assert (one.is_forked, other.is_forked) == (False, True)
        assert one.program == other.program
        assert one.high_water >= one.resident > 32 * MIB
        if shares is None:
            pytest.skip("this kernel does not tell what is shared")
        assert shares.anonymous_less == pytest.approx(16 * MIB, rel=0.1)
        assert 0 < shares.file <= other.file

    def test_an_ended_process_holds_nothing(self) -> None:
        with subprocess.Popen([sys.executable, "-I", "-S", "-c", ""]) as child:
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            assert read_memory(child.pid) is None
            assert read_shares(child.pid) is None
        assert read_memory(child.pid) is None
        assert read_waited_faults(child.pid) == 0

    def test_a_process_tells_the_faults_of_the_children_it_waited_for_until_it_is_reaped(self) -> None:
        with subprocess.Popen([sys.executable, "-I", "-S", "-c", FORK_AND_WAIT]) as parent:
            os.waitid(os.P_PID, parent.pid, os.WEXITED | os.WNOWAIT)
            assert read_waited_faults(parent.pid) > 10

    def test_a_watch_of_this_process_starts_with_one_and_closes_its_files(self) -> None:
        before = len(list(Path("/proc/self/fd").iterdir()))
        watched = open_tree_memory(os.getpid(), expects_helpers=False, is_alone=True, cost_ns=1000)
        assert watched
        assert (watched.process_count, watched.peak_bytes) == (1, 0)
        watched.close()
        assert len(list(Path("/proc/self/fd").iterdir())) == before
