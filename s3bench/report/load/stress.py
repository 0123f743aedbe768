"""The lines that s4 prints: its configuration, the operations queued and done in every second, and the totals.

Sizes have at least two digits, in binary units. Times are those of the machine's clock, as the caller reads it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from s3bench.report.terminal import printable

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_STEP = 1024
_TENTHS_BELOW = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class StressJob:
    """One job of a configuration, `recordsize` as it is written there."""

    name: str
    recordsize: str
    threadcount: int
    iterations: int

    def __str__(self) -> str:
        return f"{{{self.name} {self.recordsize} {self.threadcount} {self.iterations}}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StressProgress:
    """The operations that are planned, and those that were done so far."""

    reads_planned: int
    writes_planned: int
    reads: int = 0
    writes: int = 0


def config_lines(
    *,
    endpoint: str,
    tls_no_verify: bool,
    bucket: str,
    read_range_max: int,
    read_sparse: bool,
    write: Sequence[StressJob],
    read: Sequence[StressJob],
) -> tuple[str, str, str]:
    """What is said before the start: the configuration in one line, as Go prints a struct, and an empty line."""
    jobs = (f"[{' '.join(map(str, each))}]" for each in (write, read))
    flags = (_flag(is_set=tls_no_verify), bucket, str(read_range_max), _flag(is_set=read_sparse))
    return "--- config:", printable(f"{{{' '.join((endpoint, *flags, *jobs))}}}"), ""


def second_line(at: datetime, before: StressProgress, *, reads: int, writes: int, bytes_rate: float) -> str:
    """What is said after a second in which so much was done; `before` is how it stood when the second began."""
    to_read = max(before.reads_planned - before.reads, 0)
    to_write = max(before.writes_planned - before.writes, 0)
    return (
        f"{_time(at)} queued/read: {to_read}/{reads:4d}, queued/write: {to_write:6d}/{writes:4d}, "
        f"byte/s: {size_text(bytes_rate):>4}"
    )


def total_lines(at: datetime, *, operations: int, size_bytes: int, elapsed_s: float) -> tuple[str, str]:
    """What is said at the end. Rates are over `elapsed_s` as it is; s4's README shows one over whole seconds."""
    operations_rate = operations / elapsed_s if elapsed_s else 0.0
    bytes_rate = size_bytes / elapsed_s if elapsed_s else 0.0
    rates = f"operations per second: {int(operations_rate)}, bytes per second: {size_text(bytes_rate)}"
    return f"{_time(at)} Elapsed time in seconds: {elapsed_s:.6f}", f"{_time(at)} Total OPS: {operations}, {rates}"


def size_text(size_bytes: float) -> str:
    """`657 MiB`, `1.0 GiB`, `0 B`: a decimal only below ten, as go-humanize writes sizes."""
    value, unit = float(int(size_bytes)), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    value = round(value, 1)
    return f"{value:.{1 if unit and value < _TENTHS_BELOW else 0}f} {_UNITS[unit]}"


def _flag(*, is_set: bool) -> str:
    return "true" if is_set else "false"


def _time(at: datetime) -> str:
    return f"{at:%Y/%m/%d %H:%M:%S}"
