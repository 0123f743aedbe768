"""Samples the stacks of a program from outside, with perf(1) of Linux, also of one that is not written in Python.

Samples are taken by the kernel's clock of CPU time (the event cpu-clock), which needs no counter of the processor, and
stacks are followed by frame pointers, which Go keeps. A thread is sampled while it runs, never while it waits.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from s3bench.errors import MachineError
from s3bench.run.inspection import Unavailable

RATE_HZ = 4000
"""Samples per second of CPU time. Programs in Go often run for a few milliseconds only."""

_EVENTS = ("cpu-clock", "cpu-clock:u")
_LOOP = "import time\nend = time.perf_counter() + 0.1\nwhile time.perf_counter() < end: pass"
_TRY_OUT_TIMEOUT_S = 60.0
_READ_TIMEOUT_S = 300.0
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_USER_EVENTS_MAX = 2  # with a higher setting (of Debian and Ubuntu) only root has any events
_FORBIDDEN = ("No permission to enable", "operations is limited", "perf_event_paranoid")
_WRONG_KERNEL = "perf not found for kernel"
_UNKNOWN_EVENT = ("not supported", "event syntax error")
_SAID_CHARACTERS = 300
_PROGRESS = re.compile(r"^\[ perf record: .*\]$|^Error:$", re.MULTILINE)
_INSTALL = "install it: `apt-get install linux-perf` (Debian), `apt-get install linux-tools-$(uname -r)` (Ubuntu) or "
_INSTALL += "`dnf install perf` (Fedora, RHEL, Amazon)"
_KERNEL_UNSEEN = "CPU time in the kernel is not sampled: perf may sample user space alone here (see "
_KERNEL_UNSEEN += "kernel.perf_event_paranoid)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Perf:
    """A perf that works here, how often it samples, and its event: `cpu-clock:u` is that of user space alone."""

    executable: str
    rate_hz: int = RATE_HZ
    event: str = _EVENTS[0]

    name = "perf"
    sees_waiting = False

    @property
    def interval_s(self) -> float:
        """The CPU time that one sample stands for."""
        return 1 / self.rate_hz

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is missing in its samples."""
        return () if self.event == _EVENTS[0] else (_KERNEL_UNSEEN,)

    def prefix(self, output: Path, *, waits: bool) -> tuple[str, ...]:
        """Make what goes before a command's argv to have its stacks, and those of its children, sampled into `output`.

        Threads cannot be sampled while they wait, so `waits` is false. perf ends with the exit code of the client.
        """
        assert not waits, "perf samples threads while they run"
        # Without the build IDs nothing is written below the home directory. Without the events of BPF perf does not
        # wait for a thread of its own, which wakes up once in a second.
        quick = ("--no-buildid", "--no-buildid-cache", "--no-bpf-event")
        sampled = ("-F", str(self.rate_hz), "-e", self.event, "--call-graph", "fp")
        return (self.executable, "record", *quick, *sampled, "-o", str(output), "--")

    def write_text(self, recorded: Path, text: Path) -> None:
        """Write what was sampled into `recorded` as text, for `parse_perf`. Raises `MachineError`."""
        complaint = _write_text(self.executable, recorded, text)
        if complaint:
            raise MachineError("stacks could not be sampled", f"perf cannot read what it recorded ({complaint})")


def find_perf() -> Perf | Unavailable:
    """Find perf on the PATH, and find out whether it may sample here, and the kernel too, by sampling a loop."""
    executable = shutil.which("perf")
    if executable is None:
        return Unavailable(reason="perf is not installed", fix=_INSTALL)
    whole, user = _EVENTS
    found = _tried_out(Perf(executable=executable, event=whole))
    return found if isinstance(found, Perf) else _tried_out(Perf(executable=executable, event=user))


def why_perf_failed(said: str, *, paranoid: int = 0) -> Unavailable:
    """Explain what perf `said` on stderr; `paranoid` is the setting kernel.perf_event_paranoid."""
    complaint = " ".join(_PROGRESS.sub("", said).split())[:_SAID_CHARACTERS]
    shown = f" ({complaint})" if complaint else ""
    if _WRONG_KERNEL in said:
        return Unavailable(reason=f"perf is not installed for this kernel{shown}", fix=_INSTALL)
    if any(word in said for word in _FORBIDDEN):
        return Unavailable(reason="perf may not sample here: the kernel does not permit it", fix=_permission(paranoid))
    if any(word in said for word in _UNKNOWN_EVENT):
        return Unavailable(reason=f"perf does not have the event cpu-clock here{shown}", fix="update perf")
    if not complaint:
        return Unavailable(reason="perf sampled nothing", fix="choose a benchmark that takes longer")
    return Unavailable(reason=f"perf failed{shown}")


def perf_event_paranoid() -> int:
    """The kernel's setting of who may use performance events; 0 where it cannot be read."""
    try:
        return int(_PARANOID.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


def _permission(paranoid: int) -> str:
    if paranoid > _USER_EVENTS_MAX:
        return f"sysctl kernel.perf_event_paranoid={_USER_EVENTS_MAX}, or run as root"
    return "allow the system call perf_event_open: in a container, `--cap-add PERFMON`"


def _tried_out(perf: Perf) -> Perf | Unavailable:
    """Sample a loop; the event of what is returned is the one that was sampled, as perf leaves out the kernel itself.

    Only root may sample the kernel where kernel.perf_event_paranoid is 2, the kernel's own default.
    """
    with tempfile.TemporaryDirectory(prefix="s3bench-perf-") as directory:
        recorded, text = Path(directory) / "perf.data", Path(directory) / "perf.txt"
        argv = (*perf.prefix(recorded, waits=False), sys.executable, "-I", "-S", "-c", _LOOP)
        try:
            done = _run(argv, home=directory)
        except (OSError, subprocess.TimeoutExpired) as error:
            return Unavailable(reason=f"perf does not run here ({error})", fix=_INSTALL)
        if done.returncode or not recorded.is_file():
            return why_perf_failed(done.stderr.decode("utf-8", "backslashreplace"), paranoid=perf_event_paranoid())
        complaint = _write_text(perf.executable, recorded, text)
        if complaint:
            return Unavailable(reason=f"perf cannot read what it recorded ({complaint})")
        if not text.stat().st_size:
            return Unavailable(reason="perf sampled nothing of a short loop")
        return replace(perf, event=_EVENTS[1]) if _is_user_alone(perf.executable, recorded) else perf


def _is_user_alone(executable: str, recorded: Path) -> bool:
    """Whether the event that was recorded is that of user space."""
    try:
        done = _run((executable, "evlist", "--force", "-i", str(recorded)), home=recorded.parent)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return _EVENTS[1].encode() in done.stdout.split()


def _write_text(executable: str, recorded: Path, text: Path) -> str:
    """Have the samples written as text; what perf said where that failed, else nothing."""
    fields = ("-F", "comm,pid,tid,ip,sym,dso")
    argv = (executable, "script", "--force", "--no-inline", *fields, "-i", str(recorded))
    try:
        with text.open("wb") as file:
            done = _run(argv, home=recorded.parent, stdout=file, timeout_s=_READ_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if not done.returncode:
        return ""
    said = " ".join(done.stderr.decode("utf-8", "backslashreplace").split())
    return said[-_SAID_CHARACTERS:] or f"exit code {done.returncode}"


def _run(
    argv: Sequence[str],
    *,
    home: str | Path,
    stdout: IO[bytes] | int = subprocess.PIPE,
    timeout_s: float = _TRY_OUT_TIMEOUT_S,
) -> subprocess.CompletedProcess[bytes]:
    """Run perf without settings of the user's, and without a server that is asked for symbols."""
    environment = {"HOME": str(home), "LC_ALL": "C", "PATH": os.environ.get("PATH", os.defpath)}
    return subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=timeout_s,
        check=False,
        env=environment,
    )
