"""Runs one client process from start to end by the helper process (`spawner`), and records what it took."""

import errno
import os
import shutil
import sys
import tempfile
import time
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice, pairwise
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import IO, Any, Self

from s3bench.errors import BadInput, ClientNotFound, MachineError
from s3bench.results.machine_speed import SpeedFacts
from s3bench.results.measurement import UsageFacts
from s3bench.results.timeline import SeriesFacts
from s3bench.run import landlock, spawner, speed_probe
from s3bench.run.sampler import CPU_SHARE_MAX
from s3bench.system.child import ChildProcess
from s3bench.system.processes import cores_allowed

INTERVAL_S_MAX = 86_400
"""The longest time between samples: a day, as a run may last at most."""

_SECOND_NS = 1_000_000_000
_INTERVAL_MIN_NS = 100_000
_SAMPLE_BYTES = array("q").itemsize
_STOP_WAIT_S = 15.0
_KILL_ROUNDS_MAX = 10
_KILL_WAIT_S = 1.0
_BOOT_TIME_SLACK_S = 2.0
"""The kernel tells when a process started from the boot on, and the time of that in whole seconds."""
_REMOVED_AT_ONCE = 500
"""So many names go into one message, since a long one would make the helper process larger."""
_RSS_SLACK_BYTES = 1 << 20
"""Per-CPU counters make `ru_maxrss` uncertain by this much; a mark this close to its floor says nothing."""

_SAMPLES_TRUSTED = 5
_SAMPLES_CHECKED_MIN = 20
_STRETCH_WARN = 1.5
_UNSEEN_MEMORY_SHARE = 0.03
_UNSEEN_CPU_SHARE = 0.2
_UNSEEN_CPU_MIN_S = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A command to run. `env` is all of its environment; `stdout` and `stderr` are files, emptied first.

    `cwd` is a directory in which nothing else works: if the helper process dies, all that this user has started to work
    there since the launch is killed.

    `argv[0]` without a slash is looked up in `env`'s PATH. Where the kernel has Landlock, the client can write only
    below `writable`; `None` lets it write anywhere. After `timeout_s` the whole process tree is killed. An
    `interval_s` of `None` takes no samples; where sampling at `interval_s` would take over `sampler.CPU_SHARE_MAX` of a
    core, samples are further apart. `measures_speed` probes the speed of the core on which the client runs
    (`speed_probe`).
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    stdout: Path
    stderr: Path
    timeout_s: float | None
    interval_s: float | None
    measures_speed: bool = False
    writable: tuple[Path, ...] | None = None


def check_interval(interval_s: float | None, *, option: str) -> None:
    """Check the time between samples that `option` was given. Raises `BadInput`."""
    if interval_s is not None and round(interval_s * _SECOND_NS) < _INTERVAL_MIN_NS:
        raise BadInput(
            f"{option} is shorter than 100us",
            "a sample of memory and CPU itself takes some 20 microseconds",
            "Write 100us or more.",
        )
    if interval_s is not None and interval_s > INTERVAL_S_MAX:
        raise BadInput(f"{option} is longer than {INTERVAL_S_MAX:,} seconds, a day", fix="Write a day or less.")


class PeakSource(StrEnum):
    """Where the peak of memory comes from.

    `KERNEL`: the kernel's high-water mark of the largest process, and never less than a sample of it: the mark is kept
    in per-CPU counters that lag by some pages. `TREE`: the largest sum over
    processes alive at the same time, as sampled; pages that they share count once where the system shows which
    (`tree_memory`), and for each of them elsewhere. `SAMPLED`: the largest sample of a client so small that the
    spawner's own memory hides its high-water mark; of several processes, where no look showed them together.
    """

    KERNEL = "kernel high-water mark"
    TREE = "sampled sum over the process tree"
    SAMPLED = "largest sample"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRecord:
    """What one run took, the client and all its descendants together.

    `exit_code` is negative when a signal ended the client, and `None` when it was ended for taking too long.
    `started_ns`, right before exec, and `ended_ns` are CLOCK_MONOTONIC. `process_count` counts the processes that were
    seen: one that lives for a few milliseconds and is waited for by its parent may be missed, its CPU time is not.
    `series` is `None` where nothing was sampled, `speed` where the core's speed was not probed.
    """

    pid: int
    exit_code: int | None
    started_ns: int
    ended_ns: int
    usage: UsageFacts
    peak_memory_source: PeakSource
    process_count: int
    sampler_cpu_s: float
    series: SeriesFacts | None
    speed: SpeedFacts | None
    warnings: tuple[str, ...]


class Spawner:
    """The helper process that runs clients one at a time; open it with `with`.

    A process of its own keeps the harness's memory out of the clients' high-water marks and its threads out of the
    fork. When the harness dies, however it dies, the helper kills the client's tree and ends.
    """

    def __init__(self) -> None:
        self._process: ChildProcess | None = None
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by __exit__)

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        self._stderr.close()

    @property
    def pid(self) -> int:
        """The helper's process id."""
        assert self._process is not None, "open the spawner with `with`"
        return self._process.pid

    def run(self, launch: Launch) -> ProcessRecord:
        """Run `launch` to its end and record what it took; none of its processes is alive afterwards.

        Raises `ClientNotFound` where the program cannot be executed, `MachineError` where the helper or its files fail.
        When this is interrupted (Ctrl-C), the client's tree is killed before the exception is raised; a later run
        starts a new helper.
        """
        request = _request(launch)
        process = self._process or self._start()
        control, launched_at_s = process.control.fileno(), time.time()
        try:
            spawner.send(control, request)
            reply = spawner.receive(control)
        except (spawner.StreamEnded, ConnectionError) as error:
            self._stop()
            _kill_below(launch.cwd, since_s=launched_at_s)
            raise self._helper_died(process) from error
        except BaseException:
            self._stop()
            raise
        if "failure" in reply:
            raise _launch_error(launch, *reply["failure"])
        return _record(launch, reply)

    def remove(self, directory: Path, names: Iterable[str]) -> None:
        """Have files below `directory` removed before the next client starts, without waiting for it.

        `names` are relative paths. Symbolic links are not followed, and what cannot be removed stays.
        """
        process = self._process or self._start()
        encoded = map(os.fsencode, names)
        while batch := list(islice(encoded, _REMOVED_AT_ONCE)):
            request = {"directory": os.fsencode(directory.absolute()), "removed": batch}
            try:
                spawner.send(process.control.fileno(), request)
            except ConnectionError as error:
                self._stop()
                raise self._helper_died(process) from error

    def _start(self) -> ChildProcess:
        paths = [str(Path(__file__).parents[2]), *sys.path]
        program = "import sys; sys.path += sys.argv[1:]; from s3bench.run.spawner import main; main()"
        command = (sys.executable, "-I", "-S", "-c", program, *paths)  # without `site`, which would weigh on clients
        self._process = ChildProcess(command, stderr=self._stderr)
        return self._process

    def _stop(self) -> None:
        """End the stream, at which the helper kills what it runs and ends itself."""
        process, self._process = self._process, None
        if process is not None:
            process.end(_STOP_WAIT_S)

    def _helper_died(self, process: ChildProcess) -> MachineError:
        return MachineError(
            "the helper process that starts clients has died",
            process.last_words or "It left no message; the system may have killed it for want of memory.",
            "Look into the system's log; run fewer things beside the benchmark.",
        )


def _kill_below(directory: Path, *, since_s: float) -> None:
    """Kill what works in `directory`, started by this user since that time: a client, and whatever it started.

    For when nobody else does so any more.
    """
    import psutil  # noqa: PLC0415 (for a helper that died alone)

    place = directory.resolve()
    for _ in range(_KILL_ROUNDS_MAX):
        found = psutil.process_iter(("cwd", "uids", "create_time"))
        working = [each for each in found if _is_below(each.info["cwd"], place) and _is_ours(each.info, since_s)]
        if not working:
            return
        for each in working:
            with suppress(psutil.Error):
                each.kill()
        psutil.wait_procs(working, timeout=_KILL_WAIT_S)


def _is_below(cwd: str | None, place: Path) -> bool:
    return cwd is not None and Path(cwd).is_relative_to(place)


def _is_ours(facts: Mapping[str, Any], since_s: float) -> bool:
    uids, created_at_s = facts["uids"], facts["create_time"]  # `None` where the system does not tell
    return (
        uids is not None
        and uids.real == os.getuid()
        and created_at_s is not None
        and created_at_s > since_s - _BOOT_TIME_SLACK_S
    )


def _request(launch: Launch) -> dict[str, Any]:
    program = launch.argv[0]
    if "/" not in program:
        program = shutil.which(program, path=launch.env.get("PATH", os.defpath)) or program
    return {
        "program": os.fsencode(program),
        "argv": [os.fsencode(word) for word in launch.argv],
        "env": {os.fsencode(name): os.fsencode(value) for name, value in launch.env.items()},
        "cwd": os.fsencode(launch.cwd),
        "stdout": os.fsencode(launch.stdout.absolute()),
        "stderr": os.fsencode(launch.stderr.absolute()),
        "timeout_s": launch.timeout_s,
        "interval_ns": round(launch.interval_s * _SECOND_NS) if launch.interval_s is not None else 0,
        "measures_speed": launch.measures_speed and not speed_probe.missing(),
        "landlock_abi": 0 if launch.writable is None else landlock.abi_version(),
        "writable": [os.fsencode(path.absolute()) for path in launch.writable or ()],
    }


def _launch_error(launch: Launch, stage: str, number: int, message: str) -> ClientNotFound | MachineError:
    reason = os.strerror(number) if number else message
    if stage == "exec":
        hint = {
            errno.ENOENT: "Check the path. For a script, also check that the interpreter in its first line exists.",
            errno.EACCES: "Make it executable, or name another program.",
            errno.ENOEXEC: "This system cannot run it: add a first line `#!INTERPRETER` to a script, or rebuild it.",
        }.get(number, "Try the command in a shell.")
        return ClientNotFound(f"cannot execute `{launch.argv[0]}`", f"The system says: {reason}.", hint)
    if stage == "landlock":
        return MachineError(
            f"cannot restrict `{launch.argv[0]}` to its workspace",
            message,
            "Check that its workspace has not been removed.",
        )
    place = {"cwd": launch.cwd, "stdout": launch.stdout, "stderr": launch.stderr}.get(stage, stage)
    return MachineError(
        f"cannot start `{launch.argv[0]}`", f"{place}: {reason}.", "Check that the directory exists and is writable."
    )


def _record(launch: Launch, reply: dict[str, Any]) -> ProcessRecord:
    usage = reply["usage"]
    series = None if launch.interval_s is None else _series(reply)
    source, peak_bytes = _peak(reply)
    return ProcessRecord(
        pid=reply["pid"],
        exit_code=None if reply["timed_out"] else os.waitstatus_to_exitcode(reply["status"]),
        started_ns=reply["started_ns"],
        ended_ns=reply["ended_ns"],
        usage=UsageFacts(
            user_cpu_s=usage["user_s"],
            system_cpu_s=usage["system_s"],
            peak_memory_bytes=peak_bytes,
            minor_faults=usage["minor_faults"],
            major_faults=usage["major_faults"],
            voluntary_context_switches=usage["voluntary_switches"],
            involuntary_context_switches=usage["involuntary_switches"],
            runqueue_wait_s=None if reply["runqueue_wait_ns"] is None else reply["runqueue_wait_ns"] / _SECOND_NS,
        ),
        peak_memory_source=source,
        process_count=reply["process_count"],
        sampler_cpu_s=(max(reply["sampler_cpu_ns"], reply["watch_cpu_ns"]) + reply["probe_cpu_ns"]) / _SECOND_NS,
        series=series,
        speed=_speed(reply),
        warnings=(
            *_process_warnings(reply),
            *_peak_warnings(reply, source, peak_bytes),
            *_sampling_warnings(reply, series),
        ),
    )


def _series(reply: dict[str, Any]) -> SeriesFacts:
    at_ns, rss_bytes, cpu_ns = (_numbers(reply[name]) for name in ("at_ns", "rss_bytes", "cpu_ns"))
    started_ns = reply["started_ns"]
    return SeriesFacts(
        at_s=tuple((at - started_ns) / _SECOND_NS for at in at_ns),
        rss_bytes=tuple(rss_bytes),
        cpu_s=tuple(max(0, used - reply["cpu_before_ns"]) / _SECOND_NS for used in cpu_ns),
        interval_s=reply["interval_ns"] / _SECOND_NS,
        cores=cores_allowed() or os.cpu_count() or 1,
        left_out=reply["samples_left_out"],
    )


def _speed(reply: dict[str, Any]) -> SpeedFacts | None:
    at_ns, work_ns = _numbers(reply["probed_at_ns"]), _numbers(reply["probe_work_ns"])
    if not at_ns:
        return None
    started_ns = reply["started_ns"]
    return SpeedFacts(
        at_s=tuple((at - started_ns) / _SECOND_NS for at in at_ns),
        work_s=tuple(each / _SECOND_NS for each in work_ns),
    )


def _numbers(data: bytes) -> "array[int]":
    numbers = array("q")
    numbers.frombytes(data)
    return numbers


def _peak(reply: dict[str, Any]) -> tuple[PeakSource, int]:
    kernel_bytes, sampled_bytes = reply["usage"]["rss_bytes_max"], reply["sampled_rss_bytes_max"]
    samples = len(reply["at_ns"]) // _SAMPLE_BYTES
    if samples >= _SAMPLES_TRUSTED and _is_hidden(reply):
        looked_bytes = _looked_peak_bytes(reply)
        return (PeakSource.TREE, looked_bytes) if looked_bytes else (PeakSource.SAMPLED, sampled_bytes)
    if reply["process_count"] == 1:
        return PeakSource.KERNEL, max(kernel_bytes, sampled_bytes)
    tree_bytes = _tree_peak_bytes(reply)
    return (PeakSource.TREE, tree_bytes) if tree_bytes > kernel_bytes else (PeakSource.KERNEL, kernel_bytes)


def _looked_peak_bytes(reply: dict[str, Any]) -> int:
    """The most that looks at several processes showed, of all together or of one alone; 0 without such looks."""
    tree = reply["tree"]
    return 0 if tree is None or reply["process_count"] == 1 else max(tree["bytes_max"], tree["high_water_max"])


def _tree_peak_bytes(reply: dict[str, Any]) -> int:
    tree = reply["tree"]
    if tree is None:
        return int(reply["sampled_rss_bytes_max"])
    kernel_bytes = reply["usage"]["rss_bytes_max"]
    has_grown = kernel_bytes > tree["high_water_max"] + _RSS_SLACK_BYTES and not _is_hidden(reply)
    if has_grown and tree["last_rest_bytes"]:  # the largest grew after the last look, beside the others
        return int(max(tree["bytes_max"], tree["last_rest_bytes"] + kernel_bytes))
    return int(tree["bytes_max"])


def _is_hidden(reply: dict[str, Any]) -> bool:
    """Whether the spawner's own memory hides the client's high-water mark."""
    return bool(reply["usage"]["rss_bytes_max"] < reply["rss_bytes_floor"] + _RSS_SLACK_BYTES)


def _process_warnings(reply: dict[str, Any]) -> Iterator[str]:
    if reply["alive"] and not reply["timed_out"]:
        yield f"the client left {_processes(reply['alive'])} running, which had to be killed"
    if reply["immortal"]:
        yield f"{_processes(reply['immortal'])} of the client could not be killed"


def _peak_warnings(reply: dict[str, Any], source: PeakSource, peak_bytes: int) -> Iterator[str]:
    is_hidden = source is PeakSource.KERNEL and _is_hidden(reply)
    if is_hidden:
        yield "the peak of memory is an upper bound: the client held less than the process that started it"
    tree = reply["tree"]
    if _counts_shared_pages_for_each(reply, source):
        yield "the peak of memory is an upper bound: pages that the client's processes share count for each of them"
    ceiling_bytes = max(tree["ceiling_bytes"], peak_bytes + tree["unseen_bytes"]) if tree else 0
    if ceiling_bytes > peak_bytes * (1 + _UNSEEN_MEMORY_SHARE) and not is_hidden:
        yield (
            "the peak of memory is a lower bound: with processes that ended between two looks at them, it is at most "
            f"{ceiling_bytes / (1 << 20):.1f} MiB"
        )


def _counts_shared_pages_for_each(reply: dict[str, Any], source: PeakSource) -> bool:
    tree = reply["tree"]
    if source is PeakSource.TREE:
        return tree is None or bool(tree["is_upper_bound"])
    return source is PeakSource.SAMPLED and reply["process_count"] > 1


def _sampling_warnings(reply: dict[str, Any], series: SeriesFacts | None) -> Iterator[str]:
    if series is None or len(series.at_s) < _SAMPLES_CHECKED_MIN:
        return
    spacing_s = median(after_s - before_s for before_s, after_s in pairwise(series.at_s))
    if spacing_s > series.interval_s * _STRETCH_WARN:
        share = reply["sampler_cpu_ns"] / (reply["ended_ns"] - reply["started_ns"])
        yield (
            f"samples are {spacing_s * 1e3:.2g} ms apart, not {series.interval_s * 1e3:g} ms: "
            f"on this machine {_sampling_cost(share)} of a core"
        )
    used_s = reply["usage"]["user_s"] + reply["usage"]["system_s"]
    unseen_s = used_s - series.cpu_s[-1]
    if unseen_s > max(_UNSEEN_CPU_MIN_S, used_s * _UNSEEN_CPU_SHARE):
        yield f"{unseen_s:.3f} s of {used_s:.3f} s CPU were used by processes too short-lived for the samples"
    elif -unseen_s > max(_UNSEEN_CPU_MIN_S, used_s * _UNSEEN_CPU_SHARE):
        yield f"the CPU time lacks at least {-unseen_s:.3f} s of processes that their parent did not wait for"


def _sampling_cost(share: float) -> str:
    if share <= CPU_SHARE_MAX:
        return f"more would take over {CPU_SHARE_MAX:.0%}"
    return f"even these take {share:.1%}"


def _processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"
