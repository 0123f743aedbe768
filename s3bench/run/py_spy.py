"""Samples the stacks of a Python client from outside, with py-spy (https://github.com/benfred/py-spy).

py-spy reads the memory of another process, so it needs the permission to trace it, and has to know its Python.
"""

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from s3bench.extras import install_command
from s3bench.run.inspection import Unavailable

EXTRA = "profile"
"""The extra that brings py-spy."""

RATE_HZ = 200
"""Samples per second. At this rate a client needs about 5 % more time; at 1000, several times as much."""

_LOOP = "import time\nend = time.perf_counter() + {}\nwhile time.perf_counter() < end: pass"
# Where it may not trace it tries again for about a second, and says why only if the program still runs then.
_LOOPS_S = (0.25, 3.0)
_TRY_OUT_TIMEOUT_S = 60.0
_YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")
_FORBIDDEN = ("Permission denied", "Permission Denied", "Operation not permitted", "EPERM")
_UNKNOWN_PYTHON = ("Unsupported version", "Failed to find python version", "failed to find version", "_PyRuntime")
_GONE = ("Failed to get process executable name", "No such process", "process is running", "os error 3")
_BACKTRACE = "Stack backtrace:"
_SAID_CHARACTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class PySpy:
    """A py-spy that works here, how often it samples, and whether it shows functions of libraries in C as well."""

    executable: str
    rate_hz: int = RATE_HZ
    native: bool = False

    name = "py-spy"
    sees_waiting = True
    warnings = ()

    @property
    def interval_s(self) -> float:
        """The time that one sample stands for."""
        return 1 / self.rate_hz

    def prefix(self, output: Path, *, waits: bool) -> tuple[str, ...]:
        """Make what goes before a command's argv to have its stacks counted into `output`.

        With `waits`, threads are sampled while they wait too, else only while they run. Child processes are not
        sampled. py-spy ends with exit code 0 whatever the client's was.
        """
        shown = ("-f", "raw", "--full-filenames", "-t", *(("-i",) if waits else ()), *(("-n",) if self.native else ()))
        return (self.executable, "record", "-r", str(self.rate_hz), *shown, "-o", str(output), "--")


def find_py_spy() -> PySpy | Unavailable:
    """Find py-spy beside our interpreter or on the PATH, and find out whether it may trace here, by tracing a loop."""
    beside = Path(sys.executable).parent / "py-spy"
    executable = str(beside) if beside.is_file() else shutil.which("py-spy")
    if executable is None:
        return Unavailable(reason="py-spy is not installed", fix=install_command(EXTRA))
    with tempfile.TemporaryDirectory(prefix="s3bench-py-spy-") as directory:
        output = Path(directory) / "stacks"
        prefix = PySpy(executable=executable).prefix(output, waits=True)
        for seconds in _LOOPS_S:
            argv = (*prefix, sys.executable, "-I", "-S", "-c", _LOOP.format(seconds))
            try:
                done = subprocess.run(
                    argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRY_OUT_TIMEOUT_S, check=False
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                return Unavailable(reason=f"py-spy does not run here ({error})", fix=install_command(EXTRA))
            if done.returncode == 0 and output.is_file() and output.stat().st_size:
                return PySpy(executable=executable)
            said = done.stderr.decode("utf-8", "backslashreplace")
            if not any(word in said for word in _GONE):
                break
    return why_py_spy_failed(said, scope=_ptrace_scope())


def why_py_spy_failed(said: str, *, scope: int = 0) -> Unavailable:
    """Explain what py-spy `said` on stderr; `scope` is the setting kernel.yama.ptrace_scope, 0 where there is none."""
    complaint = " ".join(said.partition(_BACKTRACE)[0].partition("Error:")[2].split())[:_SAID_CHARACTERS]
    shown = f" ({complaint})" if complaint else ""
    if any(word in said for word in _FORBIDDEN):
        return Unavailable(reason=f"py-spy may not trace processes here{shown}", fix=_permission(scope))
    if any(word in said for word in _UNKNOWN_PYTHON):
        return Unavailable(
            reason=f"py-spy does not know the Python of this program{shown}",
            fix=f"update py-spy: {sys.executable} -m pip install --upgrade py-spy",
        )
    if any(word in said for word in _GONE):
        return Unavailable(
            reason=f"the program ended before py-spy could look at it{shown}",
            fix="choose a benchmark that takes longer",
        )
    return Unavailable(reason=f"py-spy failed{shown or ' (it said nothing)'}")


def _permission(scope: int) -> str:
    if scope > 2:  # noqa: PLR2004 (3: no process may trace, until the next boot)
        return "boot with another setting of kernel.yama.ptrace_scope than 3"
    if scope == 2:  # noqa: PLR2004 (2: only with CAP_SYS_PTRACE)
        return "sysctl kernel.yama.ptrace_scope=1, or run as root"
    return "allow the system call ptrace: in a container, `--cap-add SYS_PTRACE`"


def _ptrace_scope() -> int:
    try:
        return int(_YAMA.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0
