"""Prepares inspections, which are untimed runs of a client: environment variables, fixed addresses, the probe's report.

Also has the reason where this machine cannot observe something. System calls are counted by `tracing`, instructions by
`instructions`.
"""

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType

from s3bench.errors import MachineError

STEADY_VARIABLES: Mapping[str, str] = MappingProxyType({"PYTHONHASHSEED": "0"})
"""Set for every inspection, on both sides: Python draws its hashes, and with them the work of its dictionaries and the
order of its sets, anew at each start. AWS's frozen aws-cli draws none and ignores the variable; so does `python -I`.
"""

_PROBE_TIMEOUT_S = 60.0
_COMPLAINT_CHARACTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable:
    """Something this machine cannot observe: why, and what would mend it (empty: nothing we know of)."""

    reason: str
    fix: str = ""

    def __str__(self) -> str:
        """Both, as one sentence."""
        return f"{self.reason}; {self.fix}" if self.fix else self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultInjection:
    """A fault of known size for a client to carry, so that a gate shows whether it sees it; zero plants nothing.

    `turns`: how often a fixed source text is compiled. `hold_bytes`: memory touched and held until the end. `requests`:
    GET requests more, on one connection of their own, to an endpoint of plain HTTP. `imports`: at least so many modules
    of the standard library more. Programs that are not Python (`s5cmd`) cannot carry one.
    """

    turns: int = 0
    hold_bytes: int = 0
    requests: int = 0
    imports: int = 0


def inspection_variables(
    *,
    modules_file: Path | None = None,
    call_counts_file: Path | None = None,
    allocations_file: Path | None = None,
    allocations_moments: str = "",
    injection: FaultInjection | None = None,
) -> dict[str, str]:
    """Make the variables that tell the probe what to do; they take effect where the probe is loaded alone.

    All files are absolute paths in a directory that exists; `read_modules` reads the first, `profiling.counting` the
    second, `profiling.memory` the third. A fault injection that plants nothing is loaded all the same: give
    `FaultInjection()` to the other side of a comparison, and both pay for reading its source (6 million instructions in
    a frozen aws-cli, a quarter of a percent), so that the fault is all they differ by.
    """
    variables = {}
    if modules_file is not None:
        variables["S3BENCH_MODULES_FILE"] = str(modules_file)
    if call_counts_file is not None:
        variables["S3BENCH_CALL_COUNTS_FILE"] = str(call_counts_file)
    if allocations_file is not None:
        variables["S3BENCH_ALLOCATIONS_FILE"] = str(allocations_file)
    if allocations_moments:
        variables["S3BENCH_ALLOCATIONS_MOMENTS"] = allocations_moments
    if injection is not None:
        variables["S3BENCH_FAULT_INJECTION"] = json.dumps(
            {name: size for name, size in asdict(injection).items() if size}
        )
    return variables


def read_modules(modules_file: Path) -> tuple[str, ...] | None:
    """The modules that the client had imported at its end, sorted; `None` when its probe was not there to tell.

    So it is for `s5cmd`, for an aws-cli that ends before it loads plug-ins, and for a client that was killed.
    """
    try:
        text = modules_file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    return tuple(text.splitlines()) or None


def fixed_addresses() -> tuple[str, ...] | Unavailable:
    """Make the prefix of a command line that switches address randomisation off, personality(2), if that works here.

    Some containers forbid it.
    """
    setarch = shutil.which("setarch")
    if setarch is None:
        return Unavailable(reason="setarch is not installed", fix="install util-linux")
    complaint = try_out((setarch, "-R", "true"))
    if complaint is None:
        return setarch, "-R"
    return Unavailable(
        reason=f"address randomisation cannot be switched off ({complaint})",
        fix="in a container, allow the system call personality",
    )


def try_out(argv: tuple[str, ...]) -> str | None:
    """Run a short command; `None` when it ends well, else what it said at the end."""
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROBE_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    said = (done.stderr or done.stdout).decode(errors="replace").strip()
    return said[-_COMPLAINT_CHARACTERS:] or f"exit code {done.returncode}"


def read_output(path: Path, *, of: str) -> str:
    """Read what an observer wrote; raises `MachineError` when it wrote nothing, naming `of`."""
    try:
        return path.read_text(encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise MachineError(f"{of} left no output", str(error), "see the client's stderr for what it said") from error
