"""Counts the instructions that a run of a client takes in user space, its children's included.

With the processor's own counters (perf) or valgrind's, each verified by counting something known. Cachegrind without
cache simulation is the fastest of valgrind's tools that count: two thirds of callgrind's time, an eighth of lackey's,
nearly as fast as valgrind without any tool.
"""

import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from s3bench.errors import MachineError
from s3bench.run.inspection import STEADY_VARIABLES, Unavailable, fixed_addresses, read_output, try_out

_TURNS = 1_000
"""Of a loop in a shell, which starts quicker than Python, that a counter is tried on."""

_INSTRUCTIONS_MIN = 100_000
"""What it must have counted of the loop: a shell takes hundreds a turn, and so many to start already."""

_VALGRIND_FIX = (
    "install it: `apt-get install valgrind` (Debian, Ubuntu) or `dnf install valgrind` (Fedora, RHEL, Amazon)"
)
_PERF_FILE = "perf.csv"
_PERF_FIELDS_MIN = 5
_WHOLE_PERCENT = 100.0
_SUMMARY = re.compile(r"^summary: (\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValgrindCounter:
    """Counts by running every process of the client in valgrind, some 10 to 30 times as slowly.

    Not counted are the work of a process before it replaces itself by another program (exec) and that of one which is
    killed by a signal: valgrind writes nothing then. Counted twice is what a process did before it forked a child that
    goes on with the same program: the child's count begins with it. Both are the same in every run.
    """

    executable: str
    addresses: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    name = "valgrind"

    @property
    def env(self) -> Mapping[str, str]:
        """Variables that the client needs for its count to be steady."""
        return STEADY_VARIABLES

    def prefix(self, output_directory: Path) -> tuple[str, ...]:
        """Make what goes before a command's argv; `output_directory` exists, is absolute, and empty of other counts.

        What valgrind says goes there too, and not into the client's stderr.
        """
        # A percent sign starts a directive in these options, `%p` the process id.
        directory = str(output_directory).replace("%", "%%")
        return (
            *self.addresses,
            self.executable,
            "-q",
            "--tool=cachegrind",
            "--cache-sim=no",
            "--trace-children=yes",
            "--vgdb=no",  # makes pipes in /tmp
            f"--log-file={directory}/valgrind.%p.log",
            f"--cachegrind-out-file={directory}/cachegrind.%p.out",
        )

    def read(self, output_directory: Path) -> int:
        """Instructions of all processes, but for those that make randomness out of the processor's jitter.

        AWS's CRT seeds its cryptography so (jitterentropy in aws-lc). It repeats a loop of 100,000 instructions as
        often as its timing happens to look regular: for a short command the largest difference between two runs.
        """
        outputs = sorted(output_directory.glob("cachegrind.*.out"))
        if not outputs:
            raise MachineError(
                "valgrind counted nothing",
                f"no cachegrind output in {output_directory}",
                "see valgrind.*.log and stderr there",
            )
        return sum(parse_cachegrind(read_output(path, of="valgrind")) for path in outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfCounter:
    """Counts by the processor's own counter of instructions, at full speed."""

    executable: str
    addresses: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    name = "perf"

    @property
    def env(self) -> Mapping[str, str]:
        """Variables that the client needs for its count to be steady."""
        return STEADY_VARIABLES

    def prefix(self, output_directory: Path) -> tuple[str, ...]:
        """Make what goes before a command's argv; `output_directory` exists and is absolute."""
        output = str(output_directory / _PERF_FILE)
        return (*self.addresses, self.executable, "stat", "-e", "instructions:u", "-x", ",", "-o", output, "--")

    def read(self, output_directory: Path) -> int:
        """Instructions of the client and all its children; raises `MachineError` when the counter was shared."""
        count = parse_perf(read_output(output_directory / _PERF_FILE, of="perf"))
        if isinstance(count, Unavailable):
            raise MachineError("perf could not count instructions", count.reason, count.fix)
        return count


def instruction_counter() -> ValgrindCounter | PerfCounter | Unavailable:
    """Find out how instructions can be counted here: perf where the processor counts, else valgrind."""
    addresses = fixed_addresses()
    warnings = (str(addresses),) if isinstance(addresses, Unavailable) else ()
    fixed = () if isinstance(addresses, Unavailable) else addresses
    perf = _perf(fixed, warnings)
    if isinstance(perf, PerfCounter):
        return perf
    valgrind = _valgrind(fixed, warnings)
    if isinstance(valgrind, ValgrindCounter):
        return valgrind
    return Unavailable(
        reason=f"instructions cannot be counted here: {perf.reason}; {valgrind.reason}",
        fix=valgrind.fix,
    )


def parse_perf(text: str) -> int | Unavailable:
    """Read the output of `perf stat -e instructions:u -x ,`: the sum, as processors with two kinds of cores have two.

    A count that is not supported, or 0, is absent, as virtual machines often have it. One that had to share its counter
    was estimated from a part of the time.
    """
    total = 0
    refusals = []
    for line in text.splitlines():
        fields = line.split(",")
        if len(fields) < _PERF_FIELDS_MIN or "instructions" not in fields[2]:
            continue
        if not fields[0].isdigit():
            refusals.append(fields[0].strip("<>"))
            continue
        if int(fields[0]) and float(fields[4] or _WHOLE_PERCENT) < _WHOLE_PERCENT:
            return Unavailable(
                reason=f"the counter was shared: it ran {fields[4]} % of the time", fix="stop other profilers"
            )
        total += int(fields[0])
    if total:
        return total
    return Unavailable(reason=f"the processor's counter of instructions is {refusals[0] if refusals else '0'}")


def _perf(addresses: tuple[str, ...], warnings: tuple[str, ...]) -> PerfCounter | Unavailable:
    perf = shutil.which("perf")
    if perf is None:
        return Unavailable(reason="perf is not installed")
    counter = PerfCounter(executable=perf, addresses=addresses, warnings=warnings)
    reason = _reason_against(counter)
    return Unavailable(reason=reason) if reason else counter


def _valgrind(addresses: tuple[str, ...], warnings: tuple[str, ...]) -> ValgrindCounter | Unavailable:
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return Unavailable(reason="valgrind is not installed", fix=_VALGRIND_FIX)
    counter = ValgrindCounter(executable=valgrind, addresses=addresses, warnings=warnings)
    reason = _reason_against(counter)
    return Unavailable(reason=reason) if reason else counter


def _reason_against(counter: ValgrindCounter | PerfCounter) -> str | None:
    """Have a loop of known length counted: what reads fewer instructions than it has at least does not count."""
    loop = ("/bin/sh", "-c", f"while [ $((turn += 1)) -le {_TURNS} ]; do :; done")
    with tempfile.TemporaryDirectory(prefix="s3bench-count-") as directory:
        complaint = try_out((*counter.prefix(Path(directory)), *loop))
        if complaint is not None:
            return f"{counter.name} does not work here ({complaint})"
        try:
            count = counter.read(Path(directory))
        except MachineError as error:
            return f"{counter.name} does not count here ({error.why or error.what})"
    return (
        f"{counter.name} saw {count} instructions of {_INSTRUCTIONS_MIN} and more"
        if count < _INSTRUCTIONS_MIN
        else None
    )


def parse_cachegrind(text: str) -> int:
    """Read one process's output: its instructions, without those of functions that draw randomness from timing.

    The format is in valgrind's manual, "Cachegrind file format": `fl=FILE` and `fn=FUNCTION` lines, each followed by
    `LINE COUNT` lines, and `summary:` at the end. A file without it was cut short: raises `MachineError`.
    """
    found = _SUMMARY.search(text)
    if found is None:
        raise MachineError("valgrind's output is cut short", "it has no summary", "make room on the disk")
    drawn = 0
    file = ""
    is_drawn = False
    for line in text.splitlines():
        if line.startswith("fl="):
            file = line
        elif line.startswith("fn="):
            is_drawn = "jitterentropy" in file or line.startswith("fn=jent_")
        elif is_drawn and line[:1].isdigit():
            drawn += int(line.split()[1])
    return int(found[1]) - drawn
