"""The helper process that starts clients: small, so that its own memory does not show in their figures.

Forks and executes a client in a session of its own, restricted by `landlock`; notes when it ends; collects what the
kernel accounted to it and its descendants; and kills those that outlive it. Between two clients it removes files, while
the harness is busy with what the last one showed. `process` is the harness's side. It imports little, and only from the
standard library: a client's `ru_maxrss` begins with what its parent held when it forked. (Hence no `typing` or
`contextlib` in what it imports.)

Requests and replies are marshalled dicts behind a four-byte length on the socket that is file descriptor 0; both ends
are the same interpreter. When the stream ends, during a run too, the client's tree is killed and the helper ends.
"""

from __future__ import annotations

import gc
import marshal
import os
import select
import signal
from array import array
from resource import RUSAGE_SELF, getrusage
from time import monotonic_ns

from s3bench.run.landlock import restrict_writes
from s3bench.run.removal import remove_files
from s3bench.run.sample_loop import SampleLoop, open_sample_loop
from s3bench.run.sampler import Sampler
from s3bench.run.speed_probe import SpeedProbe
from s3bench.run.tree import descendants, open_tree
from s3bench.run.tree_memory import COST_GUESS_NS, TreeMemory, open_tree_memory
from s3bench.system.processes import adopt_orphans, die_with_parent, load_prctl, maxrss_bytes, orphans, own_rss_bytes

TYPE_CHECKING = False  # importing `typing` would add a megabyte to every client's high-water mark
if TYPE_CHECKING:
    from typing import Any

    from s3bench.run.tree import ProcTree, PsutilTree

CONTROL = 0
_KILL_WAIT_NS = 10_000_000_000
_SECOND_NS = 1_000_000_000
_NEVER_NS = 1 << 62
_SELECT_MAX_S = 86_400.0  # select(2) refuses times of some years
_LENGTH_BYTES = 4
_TOLD_COUNT = 9
_TOLD_BYTES = _TOLD_COUNT * array("q").itemsize


class StreamEnded(Exception):
    """The other end has closed the stream or died."""


class _Usage:
    """The accounts (wait4) of all processes that were reaped, summed up."""

    def __init__(self) -> None:
        self.user_s = self.system_s = 0.0
        self.rss_bytes_max = 0
        self.minor_faults = self.major_faults = self.voluntary_switches = self.involuntary_switches = 0
        self.reaped = 0

    def add(self, usage: Any) -> None:
        self.user_s += usage.ru_utime
        self.system_s += usage.ru_stime
        self.rss_bytes_max = max(self.rss_bytes_max, maxrss_bytes(usage))
        self.minor_faults += usage.ru_minflt
        self.major_faults += usage.ru_majflt
        self.voluntary_switches += usage.ru_nvcsw
        self.involuntary_switches += usage.ru_nivcsw
        self.reaped += 1


class _BeforeExec:
    """What a forked child, still a copy of the helper, had used right before exec, when its run began.

    The kernel's accounts of a process begin at the fork, so this has to be subtracted from the client's.
    """

    def __init__(self, told: bytes, forked_ns: int) -> None:
        numbers = array("q", told) if told else (*(0,) * (_TOLD_COUNT - 1), forked_ns)  # empty: it was stopped before
        self.rss_bytes, self.waited_ns, self.user_us, self.system_us, *counts, self.started_ns = numbers
        self.minor_faults, self.major_faults, self.voluntary_switches, self.involuntary_switches = counts

    @property
    def cpu_ns(self) -> int:
        """User and system time together."""
        return (self.user_us + self.system_us) * 1000

    def subtracted_from(self, usage: _Usage) -> dict[str, Any]:
        """What the client used itself: `usage` without what the copy of the helper used."""
        return {
            "user_s": max(0.0, usage.user_s - self.user_us / 1e6),
            "system_s": max(0.0, usage.system_s - self.system_us / 1e6),
            "minor_faults": max(0, usage.minor_faults - self.minor_faults),
            "major_faults": max(0, usage.major_faults - self.major_faults),
            "voluntary_switches": max(0, usage.voluntary_switches - self.voluntary_switches),
            "involuntary_switches": max(0, usage.involuntary_switches - self.involuntary_switches),
            "rss_bytes_max": usage.rss_bytes_max,
        }


def _used_before_exec() -> array[int]:
    """In the child: the numbers of `_BeforeExec`, the time last. What comes after is in all accounts of the run."""
    rss_bytes = own_rss_bytes()
    waited_ns = _runqueue_wait_ns("self") or 0
    usage, started_ns = getrusage(RUSAGE_SELF), monotonic_ns()
    return array(
        "q",
        (
            rss_bytes,
            waited_ns,
            round(usage.ru_utime * 1e6),
            round(usage.ru_stime * 1e6),
            usage.ru_minflt,
            usage.ru_majflt,
            usage.ru_nvcsw,
            usage.ru_nivcsw,
            started_ns,
        ),
    )


def _runqueue_wait_ns(process: int | str) -> int | None:
    """How long the first thread of a process was ready to run and waited for a core; `None` if the kernel has none."""
    try:
        file = os.open(f"/proc/{process}/schedstat", os.O_RDONLY)
        waited_ns = int(os.read(file, 128).split()[1])  # Documentation/scheduler/sched-stats.rst
        os.close(file)
    except OSError:
        return None
    return waited_ns


class _Client:
    """The process under test and all that descend from it. Orphans among them become our children where they can."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.status: int | None = None
        self.runqueue_wait_ns: int | None = None
        self.usage = _Usage()
        self.has_children = True

    def reap(self) -> None:
        """Take the accounts of every child that has ended."""
        try:
            while True:
                if self.status is None:  # it can be read until the client is reaped
                    self.runqueue_wait_ns = _runqueue_wait_ns(self.pid)
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if not pid:
                    return
                self.usage.add(usage)
                if pid == self.pid:
                    self.status = status
        except ChildProcessError:
            self.has_children = bool(orphans(self.pid))

    def kill_all(self, wake: int) -> tuple[int, int]:
        """Kill and reap what is left of the tree; return how many were alive, and how many would not die."""
        self.reap()
        alive: set[int] = set()
        deadline_ns = monotonic_ns() + _KILL_WAIT_NS
        while self.has_children and monotonic_ns() < deadline_ns:
            for pid in self._left():
                alive.add(pid)
                _kill(pid)
            select.select([wake], (), (), 0.02)
            _drain(wake)
            self.reap()
        return len(alive), len(self._left()) if self.has_children else 0

    def _left(self) -> list[int]:
        return [*descendants(os.getpid()), *orphans(self.pid)]


def _kill(pid: int) -> None:
    try:  # noqa: SIM105 (no contextlib, see above)
        os.kill(pid, signal.SIGKILL)
    except OSError:  # it has ended meanwhile, or is no longer ours to kill: the caller counts what stays
        pass


def main() -> None:
    """Serve launches and removals until the harness closes the stream or dies."""
    gc.disable()
    helper = _Helper()
    try:
        while True:
            request = receive(CONTROL)
            if "removed" in request:
                remove_files(request["directory"], request["removed"])
            else:
                send(CONTROL, helper.run(request))
    except (StreamEnded, ConnectionError):
        pass


def receive(control: int) -> dict[str, Any]:
    """Read one message."""
    length = int.from_bytes(_read(control, _LENGTH_BYTES), "little")
    message: dict[str, Any] = marshal.loads(_read(control, length))  # noqa: S302 (from our own parent)
    return message


def _read(control: int, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        chunk = os.read(control, length - len(data))
        if not chunk:
            raise StreamEnded
        data += chunk
    return bytes(data)


def send(control: int, message: dict[str, Any]) -> None:
    """Write one message."""
    body = marshal.dumps(message)
    data = memoryview(len(body).to_bytes(_LENGTH_BYTES, "little") + body)
    while data:
        data = data[os.write(control, data) :]


class _Observers:
    """What looks at a client while it runs, each `None` where it is not wanted or not possible."""

    def __init__(
        self,
        tree: ProcTree | PsutilTree | None,
        sampler: Sampler | None,
        memory: TreeMemory | None,
        probe: SpeedProbe | None,
    ) -> None:
        self._tree = tree
        self.sampler = sampler
        self.memory = memory
        self.probe = probe

    @property
    def process_count(self) -> int:
        """The number of processes that were seen, the client among them."""
        return max(*(seen.process_count for seen in (self._tree, self.memory) if seen), 1, 1)

    def facts(self) -> dict[str, Any]:
        """What was seen, for the reply; ends probing."""
        if self.probe:
            self.probe.stop()
        return {**_sampled(self.sampler), **_watched(self.memory), **_probed(self.probe)}

    def close(self) -> None:
        """End all of it."""
        if self.probe:
            self.probe.stop()
        for each in (self._tree, self.memory):
            if each:
                each.close()


class _Helper:
    """What outlasts single runs: how we hear of deaths, and what one sample and one probe were found to cost."""

    def __init__(self) -> None:
        self._sample_cost_ns = self._probe_cost_ns = 0
        self._probe: SpeedProbe | None = None  # of the run before
        self._look_cost_ns = COST_GUESS_NS
        self._with_helpers: set[bytes] = set()  # programs
        self._prctl = load_prctl()
        adopt_orphans(self._prctl)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        self._wake, writer = os.pipe()
        self._sample_loop = open_sample_loop(self._wake, CONTROL)
        os.set_blocking(self._wake, False)
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        self._changed_signals = [
            number for number in signal.valid_signals() if signal.getsignal(number) not in {signal.SIG_DFL, None}
        ]

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run one launch to its end; what it took, or why it could not start."""
        if self._probe:
            self._probe.wait()
        forked_ns = monotonic_ns()
        timeout_ns = round(min(request["timeout_s"] * _SECOND_NS, _NEVER_NS)) if request["timeout_s"] else None
        pid, exec_pipe = self._fork(request)
        client = _Client(pid)
        observers = None
        try:
            told = _await_exec(exec_pipe, _deadline_ns(forked_ns, timeout_ns))
            if len(told) > _TOLD_BYTES:
                return {"failure": marshal.loads(told[_TOLD_BYTES:])}  # noqa: S302 (from our own child)
            before = _BeforeExec(told, forked_ns)
            started_ns = before.started_ns
            observers = self._observers(pid, request, started_ns)
            deadline_ns = _deadline_ns(started_ns, timeout_ns)
            ended_ns = _watch(client, self._wake, observers.sampler, self._sample_loop, observers.memory, deadline_ns)
            timed_out = client.status is None
            seen = observers.facts()
        finally:
            if observers:
                observers.close()
            alive, immortal = client.kill_all(self._wake)
        self._learn(request["program"], observers, client.usage.rss_bytes_max)
        waited_ns = client.runqueue_wait_ns
        if waited_ns is not None:
            waited_ns = max(0, waited_ns - before.waited_ns)
        return {
            **seen,
            "pid": pid,
            "status": client.status,
            "timed_out": timed_out,
            "started_ns": started_ns,
            "ended_ns": ended_ns,
            "alive": alive,
            "immortal": immortal,
            "process_count": max(observers.process_count, client.usage.reaped),
            "rss_bytes_floor": before.rss_bytes,
            "cpu_before_ns": before.cpu_ns,
            "usage": before.subtracted_from(client.usage),
            "runqueue_wait_ns": waited_ns,
        }

    def _observers(self, pid: int, request: dict[str, Any], started_ns: int) -> _Observers:
        tree = sampler = None
        if request["interval_ns"]:
            tree = open_tree()
            sampler = Sampler(
                tree,
                pid,
                interval_ns=request["interval_ns"],
                cost_ns=self._sample_cost_ns,
                started_ns=started_ns,
            )
        memory = open_tree_memory(
            pid,
            expects_helpers=request["program"] in self._with_helpers,
            is_alone=sampler is None,
            cost_ns=self._look_cost_ns,
        )
        if request["measures_speed"]:
            self._probe = SpeedProbe(pid, cost_ns=self._probe_cost_ns)
        return _Observers(tree, sampler, memory, self._probe if request["measures_speed"] else None)

    def _learn(self, program: bytes, observers: _Observers, high_water_bytes: int) -> None:
        """Keep for the next runs what observing cost, and which programs start helper processes."""
        if observers.sampler:
            self._sample_cost_ns = observers.sampler.cost_ns
        if observers.probe:
            self._probe_cost_ns = observers.probe.cost_ns
        if observers.memory:
            self._look_cost_ns = observers.memory.cost_ns
            if observers.memory.has_helpers(high_water_bytes):
                self._with_helpers.add(program)

    def _fork(self, request: dict[str, Any]) -> tuple[int, int]:
        """Fork, restrict and execute; return the child's id and a pipe.

        Through the pipe the child sends `_used_before_exec`, and why exec failed if it did.
        """
        reader, writer = os.pipe()
        helper = os.getpid()
        pid = os.fork()
        if pid:
            os.close(writer)
            return pid, reader
        stage = "start"
        try:
            os.setsid()
            die_with_parent(self._prctl, signal.SIGKILL)
            if os.getppid() != helper:
                os._exit(127)  # it died before the kernel knew that we must die with it
            for number in self._changed_signals:
                signal.signal(number, signal.SIG_DFL)
            stage = "cwd"
            os.chdir(request["cwd"])
            stage = "stdin"
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for stage, file in (("stdout", 1), ("stderr", 2)):
                os.dup2(os.open(request[stage], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), file)
            if request["landlock_abi"]:
                stage = "landlock"
                restrict_writes(request["writable"], request["landlock_abi"])
            stage = "exec"
            os.write(writer, _used_before_exec())
            os.execve(request["program"], request["argv"], request["env"])  # noqa: S606 (no shell is the point)
        except BaseException as error:  # noqa: BLE001 (whatever it is, this copy of the helper must not live on)
            if stage != "exec":
                os.write(writer, bytes(_TOLD_BYTES))
            os.write(writer, marshal.dumps((stage, getattr(error, "errno", None) or 0, str(error))))
        finally:
            os._exit(127)


def _deadline_ns(started_ns: int, timeout_ns: int | None) -> int | None:
    return None if timeout_ns is None else started_ns + timeout_ns


def _sampled(sampler: Sampler | None) -> dict[str, Any]:
    if sampler is None:
        none = dict.fromkeys(("at_ns", "rss_bytes", "cpu_ns"), b"")
        return {"sampler_cpu_ns": 0, "sampled_rss_bytes_max": 0, "samples_left_out": 0, "interval_ns": 0, **none}
    return {
        "sampler_cpu_ns": sampler.cpu_used_ns(),
        "sampled_rss_bytes_max": sampler.rss_bytes_max,
        "at_ns": sampler.at_ns.tobytes(),
        "rss_bytes": sampler.rss_bytes.tobytes(),
        "cpu_ns": sampler.cpu_ns.tobytes(),
        "samples_left_out": sampler.left_out,
        "interval_ns": sampler.due_interval_ns,
    }


def _probed(probe: SpeedProbe | None) -> dict[str, Any]:
    if probe is None:
        return {"probed_at_ns": b"", "probe_work_ns": b"", "probe_cpu_ns": 0}
    return {
        "probed_at_ns": probe.at_ns,
        "probe_work_ns": probe.work_ns,
        "probe_cpu_ns": probe.cpu_ns,
    }


def _watched(memory: TreeMemory | None) -> dict[str, Any]:
    if memory is None:
        return {"tree": None, "watch_cpu_ns": 0}
    tree = {
        "bytes_max": memory.peak_bytes,
        "is_upper_bound": memory.is_upper_bound,
        "ceiling_bytes": memory.ceiling_bytes,
        "unseen_bytes": memory.unseen_bytes(),
        "high_water_max": memory.high_water_max,
        "last_rest_bytes": memory.last_rest_bytes,
    }
    return {"tree": tree, "watch_cpu_ns": memory.cpu_used_ns()}


def _await_exec(exec_pipe: int, deadline_ns: int | None) -> bytes:
    """Collect what the child writes before its exec closes the pipe; stop where `_watch` will end the run anyway."""
    told = b""
    try:
        while exec_pipe in select.select((exec_pipe, CONTROL), (), (), _left_s(deadline_ns))[0]:
            chunk = os.read(exec_pipe, 4096)
            if not chunk:
                break
            told += chunk
    finally:
        os.close(exec_pipe)
    return told


def _left_s(due_ns: int | None) -> float | None:
    return None if due_ns is None else min(max(0, due_ns - monotonic_ns()) / _SECOND_NS, _SELECT_MAX_S)


def _watch(
    client: _Client,
    wake: int,
    sampler: Sampler | None,
    sample_loop: SampleLoop | None,
    memory: TreeMemory | None,
    deadline_ns: int | None,
) -> int:
    """Sample until the client ends or its time is over; return when that was. A client without status still runs."""
    watched = (wake, CONTROL)
    while True:
        if sampler and sampler.due_ns <= monotonic_ns():
            sampler.sample()
        due_ns = _look(memory, deadline_ns, is_sampling=sampler is not None)
        if sampler:
            due_ns = _sample_until(due_ns, sampler, sample_loop)
        ready = select.select(watched, (), (), _left_s(due_ns))[0]
        now_ns = monotonic_ns()
        if ready:
            if wake in ready:
                _drain(wake)
                if memory:
                    memory.note_end()
                client.reap()
            if client.status is not None:
                return now_ns
            if CONTROL in ready:
                raise StreamEnded
        if deadline_ns is not None and now_ns >= deadline_ns:
            return now_ns


def _sample_until(due_ns: int | None, sampler: Sampler, sample_loop: SampleLoop | None) -> int:
    """Have the loop sample until `due_ns` at most; return when to wake up next."""
    until_ns = _NEVER_NS if due_ns is None else due_ns
    if sample_loop:
        sampler.run(sample_loop, until_ns)
    return min(sampler.due_ns, until_ns)


def _look(memory: TreeMemory | None, due_ns: int | None, *, is_sampling: bool) -> int | None:
    """Look at the tree's memory if it is time; return when to wake up next.

    A client without children needs no wake-up of its own while the sampler looks for births as well.
    """
    if memory is None:
        return due_ns
    if memory.due_ns <= monotonic_ns():
        memory.look()
    if is_sampling and memory.is_quiet():
        return due_ns
    return memory.due_ns if due_ns is None else min(due_ns, memory.due_ns)


def _drain(wake: int) -> None:
    try:
        while os.read(wake, 512):
            pass
    except BlockingIOError:
        pass
