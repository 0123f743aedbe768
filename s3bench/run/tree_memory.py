"""Watches the memory that the processes of one client hold together, at a cost that a single process does not feel.

While the client is one process, the kernel's high-water mark is its peak, and this only looks for births. While several
processes are alive, it adds up what they hold; pages that they share count once. Runs inside the spawner, so it imports
next to nothing.

The control groups of the kernel are not used: their peak (`memory.peak`) includes the page cache and the kernel's own
memory, so it depends on which files were in the cache before, and it needs rights that most machines do not give.
"""

from __future__ import annotations

import os
from time import monotonic_ns, thread_time_ns

from s3bench.run.tree import open_births

TYPE_CHECKING = False  # `typing` is not imported here: see `spawner`
if TYPE_CHECKING:
    from collections.abc import Callable

    from s3bench.run.tree import ProcTree

_KIB = 1024
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_PF_EXITING = 0x4
_PF_FORKNOEXEC = 0x40
"""Flags of a process in proc_pid_stat(5), from include/linux/sched.h of the kernel."""
_READ_BYTES = 1 << 13

_ALONE_SHARE = 700
_EXPECTED_SHARE = 300
_ALONE_PAUSE_NS = 10_000_000
_ALONE_PAUSE_MAX_NS = 200_000_000
"""While one process is alive, births are looked for so that it takes one part in so many, within these bounds.

More often where helper processes are expected.
"""

_SEVERAL_SHARE = 50
_SEVERAL_PAUSE_NS = 5_000_000
"""While several are alive, their memory is read this far apart at least, and takes one part in so many."""

_SHARED_SHARE = 50
_SHARED_PAUSE_NS = 50_000_000
_SHARED_FILES_PAUSE_NS = 500_000_000
"""Shared pages are counted this far apart at least for the same processes, and take one part in so many in total.

Less often where only files can be shared.
"""

_HELPER_SHARE = 0.03
"""A program whose helper processes add more than this to its peak, or may do so, is watched more closely later on."""

COST_GUESS_NS = 50_000
"""What a look costs, its wake-up included, before it was measured."""


class ProcessMemory:
    """What one process holds, in bytes. `is_forked`: it has not called exec since it was forked.

    `is_ending`: it is exiting, and may have given back a part of its memory.
    """

    __slots__ = ("anonymous", "faults", "file", "high_water", "is_ending", "is_forked", "program", "shmem")

    def __init__(
        self,
        *,
        anonymous: int,
        file: int,
        shmem: int,
        high_water: int,
        faults: int,
        is_forked: bool,
        is_ending: bool,
        program: object,
    ) -> None:
        self.anonymous = anonymous
        self.file = file
        self.shmem = shmem
        self.high_water = high_water
        self.faults = faults
        self.is_forked = is_forked
        self.is_ending = is_ending
        self.program = program

    @property
    def resident(self) -> int:
        """All its resident memory."""
        return self.anonymous + self.file + self.shmem


class PageShares:
    """What one process shares, in bytes; a page that n processes map counts 1/n for each (Pss in proc_pid_smaps(5)).

    `anonymous_less` is what its anonymous memory is less than resident by that count; `file` and `shmem` are by it.
    """

    __slots__ = ("anonymous_less", "file", "shmem")

    def __init__(self, *, anonymous_less: int, file: int, shmem: int) -> None:
        self.anonymous_less = anonymous_less
        self.file = file
        self.shmem = shmem


def read_memory(pid: int) -> ProcessMemory | None:
    """The memory of a process; `None` when it has ended."""
    try:
        status = _sizes(_read(f"/proc/{pid}/status"))
        stat = _stat(pid)
    except OSError:
        return None
    if b"VmRSS" not in status:  # a zombie
        return None
    try:
        exe = os.stat(f"/proc/{pid}/exe")  # noqa: PTH116 (pathlib costs the spawner a megabyte)
        program: object = (exe.st_dev, exe.st_ino)
    except OSError:  # not ours to see: taken for a program of its own
        program = pid
    return ProcessMemory(
        anonymous=status[b"RssAnon"],
        file=status[b"RssFile"],
        shmem=status[b"RssShmem"],
        high_water=status[b"VmHWM"],
        faults=int(stat[7]),
        is_forked=bool(int(stat[6]) & _PF_FORKNOEXEC),
        is_ending=bool(int(stat[6]) & _PF_EXITING),
        program=program,
    )


def read_shares(pid: int) -> PageShares | None:
    """The page shares of a process; `None` where it has ended, or the kernel does not tell."""
    try:
        sizes = _sizes(_read(f"/proc/{pid}/smaps_rollup"))
        return PageShares(
            anonymous_less=sizes[b"Anonymous"] - sizes[b"Pss_Anon"],
            file=sizes[b"Pss_File"],
            shmem=sizes[b"Pss_Shmem"],
        )
    except (OSError, KeyError):
        return None


def read_waited_faults(pid: int) -> int:
    """Page faults of the children that this process has waited for, and of those that they waited for."""
    try:
        return int(_stat(pid)[8])
    except OSError:
        return 0


def _read(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, _READ_BYTES)
    finally:
        os.close(file)


def _stat(pid: int) -> list[bytes]:
    """The fields of /proc/PID/stat from the third on: state, parent, and so on."""
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def _sizes(text: bytes) -> dict[bytes, int]:
    """The lines `Name: 12 kB`, in bytes."""
    sizes: dict[bytes, int] = {}
    for line in text.split(b"\n"):
        if line.endswith(b" kB"):
            name, _, size = line.partition(b":")
            sizes[name] = int(size[:-3]) * _KIB
    return sizes


class TreeMemory:
    """The most that the processes below this one have held together, looked at when `due_ns` says so.

    Memory of their own counts in full. Pages that a fork left shared, and shared memory, count once, as the kernel's
    page shares tell. Files (programs and libraries) count once for all processes of the same program. Between two looks
    the high-water mark of each process shows how far it grew: the largest such growth is added.

    A child that has not called exec is taken in when it was found twice: until then it may use its parent's memory
    (vfork). What a process does after its last look, and one that ends before its first, is not in `peak_bytes`. How
    much that can be is seen from the page faults of the children that the client has waited for: a page for each fault
    that was not seen. `ceiling_bytes` is what was held at most with them at any look, and `unseen_bytes()` what is to
    be added to the final peak for those since the last look. Children that nobody waited for are left out.

    `high_water_max` is the highest mark read, and `last_rest_bytes` what all processes but the largest held at the last
    look, 0 if there was only one: with the marks that the kernel keeps until the end they tell of growth after it.

    `expects_helpers`: this program had some before. `is_alone`: nothing else wakes this process up meanwhile, so
    that the CPU time between two looks is their cost. `cost_ns` is learnt, and may be handed from run to run.
    """

    def __init__(
        self,
        births: ProcTree,
        pid: int,
        *,
        expects_helpers: bool,
        is_alone: bool,
        cost_ns: int,
        read: Callable[[int], ProcessMemory | None] = read_memory,
        shares: Callable[[int], PageShares | None] = read_shares,
        waited: Callable[[int], int] = read_waited_faults,
        now_ns: Callable[[], int] = monotonic_ns,
        used_ns: Callable[[], int] = thread_time_ns,
    ) -> None:
        self._cpu_start_ns = self._cpu_ns = used_ns()
        self._births, self._read, self._shares, self._waited = births, read, shares, waited
        self._now_ns, self._used_ns = now_ns, used_ns
        self._pid = pid
        self._is_alone = is_alone
        self._alone_share = _EXPECTED_SHARE if expects_helpers else _ALONE_SHARE
        self.cost_ns = cost_ns
        self.peak_bytes = 0
        self.is_upper_bound = False
        self.ceiling_bytes = 0
        self._waited_faults = 0
        self._unseen_faults = 0  # of those, as far as they are in the ceiling
        self._pids = [pid]
        self._seen: set[int] = {pid}  # found by the look before
        self._marks: dict[int, int] = {}  # high-water marks at the look before
        self._faults: dict[int, int] = {}  # of children, when last counted
        self._faults_expected: dict[int, int] = {}  # of children, until the next look, without growing
        self._known: set[int] = {pid}  # every process taken in so far
        self.high_water_max = 0
        self.last_rest_bytes = 0
        self._shared_of: frozenset[tuple[int, bool]] = frozenset()
        self._shared_bytes = 0
        self._shared_is_known = True
        self._shared_at_ns = self._started_ns = now_ns()
        self._shared_cost_ns = 0
        self.due_ns = self._started_ns + self._pause_ns()

    @property
    def process_count(self) -> int:
        """The number of processes taken in so far."""
        return len(self._known)

    def look(self) -> None:
        """Look once; afterwards `due_ns` says when to come again."""
        before_ns, shared_before_ns = self._used_ns(), self._shared_cost_ns
        may_have_helpers = len(self._pids) > 1 or self._births.has_grown()
        if may_have_helpers:
            # before the list, so that it counts no process that the list finds
            self._waited_faults = self._waited(self._pid)
            self._pids = self._births.unknown()
        if len(self._pids) > 1:
            self._add_up()
        else:
            self._seen = set(self._pids)
            self._marks = {}
            self.last_rest_bytes = 0
            if may_have_helpers:
                self._raise_ceiling(0)
        used_ns = self._used_ns()
        if len(self._pids) > 1:
            cost_ns = used_ns - before_ns - (self._shared_cost_ns - shared_before_ns)
            pause_ns = max(_SEVERAL_PAUSE_NS, (cost_ns + self.cost_ns) * _SEVERAL_SHARE)
        else:
            if self._is_alone:
                self.cost_ns = (self.cost_ns + used_ns - self._cpu_ns) // 2
            pause_ns = self._pause_ns()
        self.due_ns = self._now_ns() + pause_ns
        self._cpu_ns = used_ns

    def is_quiet(self) -> bool:
        """Whether the client is alone, and no process was born since the last look."""
        return len(self._pids) == 1 and not self._births.has_grown()

    def note_end(self) -> None:
        """Take down what the client's children did, before the client is reaped."""
        self._waited_faults = self._waited(self._pid)

    def unseen_bytes(self) -> int:
        """What processes can have touched that have ended since the last look."""
        return max(0, self._count_unseen(set()) - self._unseen_faults) * _PAGE_BYTES

    def has_helpers(self, high_water_bytes: int) -> bool:
        """Whether helper processes add to this high-water mark of the largest process, or may do so."""
        most_bytes = max(self.peak_bytes, self.ceiling_bytes, high_water_bytes + self.unseen_bytes())
        return most_bytes > high_water_bytes * (1 + _HELPER_SHARE)

    def cpu_used_ns(self) -> int:
        """CPU time of this process from the start to the last look."""
        return self._cpu_ns - self._cpu_start_ns

    def close(self) -> None:
        """Close all files."""
        self._births.close()

    def _pause_ns(self) -> int:
        if not self._is_alone:
            return _ALONE_PAUSE_NS
        return min(max(_ALONE_PAUSE_NS, self.cost_ns * self._alone_share), _ALONE_PAUSE_MAX_NS)

    def _add_up(self) -> None:
        held: dict[int, ProcessMemory] = {}
        found: set[int] = set()
        for pid in self._pids:
            memory = self._read(pid)
            if memory is None:
                continue
            found.add(pid)
            if not memory.is_forked or pid in self._seen:
                held[pid] = memory
        self._known |= held.keys()
        self._pids = [pid for pid in self._pids if pid in found]
        self.last_rest_bytes = 0
        held_bytes = self._keep_peak(held) if len(held) > 1 else 0
        self._marks = {pid: memory.high_water for pid, memory in held.items()}
        self.high_water_max = max(self.high_water_max, *self._marks.values(), 0)
        self._seen = found
        self._raise_ceiling(held_bytes)

    def _keep_peak(self, held: dict[int, ProcessMemory]) -> int:
        """Keep what they hold together if it is the most; return it, or at least as much where that is unknown."""
        needs_shares = _can_share(held)
        is_counted = self._is_time_to_count(held, needs_shares=needs_shares) and self._count_shared(held)
        is_current = _identity(held) == self._shared_of
        if needs_shares and not is_current:
            return _sum(held)  # their faults stay uncounted too, so that the ceiling counts them
        for pid, memory in held.items():
            if pid != self._pid and (is_counted or not memory.is_forked):
                self._count_faults(pid, memory)
        sum_bytes = _sum(held) - (self._shared_bytes if is_current else 0)
        self.last_rest_bytes = sum_bytes - max(each.resident for each in held.values())
        peak_bytes = sum_bytes + self._momentary(held)
        if peak_bytes > self.peak_bytes:
            self.peak_bytes = peak_bytes
            self.is_upper_bound = needs_shares and not self._shared_is_known
        return peak_bytes

    def _raise_ceiling(self, held_bytes: int) -> None:
        """Add what children can have touched that ended unseen since the look before to what was held by now."""
        unseen = self._count_unseen(self._seen)
        if unseen <= self._unseen_faults:
            return
        client = self._read(self._pid)
        if client is None:  # it has ended: `unseen_bytes` counts them
            return
        unseen_bytes = (unseen - self._unseen_faults) * _PAGE_BYTES
        self.ceiling_bytes = max(self.ceiling_bytes, max(held_bytes, client.high_water) + unseen_bytes)
        self._unseen_faults = unseen

    def _count_unseen(self, alive: set[int]) -> int:
        """The faults of ended children that were not seen.

        A process that faulted without growing (it frees memory and takes it again) is expected to go on like that.
        """
        seen = sum(
            faults + self._faults_expected.get(pid, 0) for pid, faults in self._faults.items() if pid not in alive
        )
        return self._waited_faults - seen

    def _count_faults(self, pid: int, memory: ProcessMemory) -> None:
        has_grown = memory.high_water > self._marks.get(pid, 0)
        self._faults_expected[pid] = 0 if has_grown else memory.faults - self._faults.get(pid, memory.faults)
        self._faults[pid] = memory.faults

    def _is_time_to_count(self, held: dict[int, ProcessMemory], *, needs_shares: bool) -> bool:
        now_ns = self._now_ns()
        pause_ns = _SHARED_PAUSE_NS if needs_shares else _SHARED_FILES_PAUSE_NS
        is_due = _identity(held) != self._shared_of or now_ns >= self._shared_at_ns + pause_ns
        return is_due and now_ns >= self._started_ns + self._shared_cost_ns * _SHARED_SHARE

    def _count_shared(self, held: dict[int, ProcessMemory]) -> bool:
        """Count shared pages anew, unless one of the processes ends meanwhile: it shares less than `held` says."""
        before_ns = self._used_ns()
        known = [each for pid in held if (each := self._shares(pid))]
        later = [self._read(pid) for pid in held]
        self._shared_cost_ns += self._used_ns() - before_ns
        if any(each is None or each.is_ending for each in later):
            return False
        self._shared_is_known = len(known) == len(held)
        self._shared_bytes = _shared_bytes(held, known) if self._shared_is_known else 0
        self._shared_of = _identity(held)
        self._shared_at_ns = self._now_ns()
        return True

    def _momentary(self, held: dict[int, ProcessMemory]) -> int:
        """The largest growth since the look before that is gone again."""
        gone_bytes = 0
        for pid, memory in held.items():
            is_new = pid not in self._seen and not memory.is_forked
            mark = 0 if is_new else self._marks.get(pid, memory.high_water)
            if memory.high_water > mark:
                gone_bytes = max(gone_bytes, memory.high_water - memory.resident)
        return gone_bytes


def _identity(held: dict[int, ProcessMemory]) -> frozenset[tuple[int, bool]]:
    """Which processes they are; calling exec makes another one."""
    return frozenset((pid, memory.is_forked) for pid, memory in held.items())


def _can_share(held: dict[int, ProcessMemory]) -> bool:
    """Whether pages that are not of files can be shared among these processes."""
    return any(each.is_forked for each in held.values()) or sum(each.shmem > 0 for each in held.values()) > 1


def _sum(held: dict[int, ProcessMemory]) -> int:
    """What they hold together; files once for each program."""
    return sum(each.anonymous + each.shmem for each in held.values()) + _files(held)


def _files(held: dict[int, ProcessMemory]) -> int:
    largest: dict[object, int] = {}
    for each in held.values():
        largest[each.program] = max(largest.get(each.program, 0), each.file)
    return sum(largest.values())


def _shared_bytes(held: dict[int, ProcessMemory], shares: list[PageShares]) -> int:
    """What `_sum` counts more than once. Negative where processes of one program map files of their own."""
    anonymous = sum(each.anonymous_less for each in shares)
    resident_shmem = [each.shmem for each in held.values()]
    shmem = sum(resident_shmem) - max(sum(each.shmem for each in shares), *resident_shmem)
    unlike_files = max(0, sum(each.file for each in shares) - _files(held))
    return anonymous + shmem - unlike_files


def open_tree_memory(pid: int, *, expects_helpers: bool, is_alone: bool, cost_ns: int) -> TreeMemory | None:
    """Watch the client `pid`; `None` where births cannot be looked for cheaply."""
    births = open_births(pid)
    if births is None:
        return None
    return TreeMemory(births, pid, expects_helpers=expects_helpers, is_alone=is_alone, cost_ns=cost_ns)
