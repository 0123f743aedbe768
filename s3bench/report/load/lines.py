"""The lines that s3-benchmark prints, for scripts that read them.

One decimal, sizes in binary steps called K, M, G and T. The keys are not among the parameters, and credentials in the
URL are removed.
"""

from s3bench.report.load.cells import bytes_rate
from s3bench.report.terminal import printable
from s3bench.results.load import Load
from s3bench.results.redaction import redact

TITLE = "S3 benchmark program v2.0"
"""The first line, as that program's version 2.0 prints it."""

COMPLETED = "Benchmark completed."

_UNITS = ("B", "KB", "MB", "GB", "TB")
_STEP = 1024


def header_lines(*, url: str, bucket: str, duration_s: float, threads: int, loops: int, size: str) -> tuple[str, str]:
    """What is said before the first loop; `size` as the user wrote it."""
    (shown_url,) = redact((url,))
    parameters = {
        "url": shown_url,
        "bucket": bucket,
        "duration": f"{duration_s:g}",
        "threads": threads,
        "loops": loops,
        "size": size,
    }
    return TITLE, printable("Parameters: " + ", ".join(f"{name}={value}" for name, value in parameters.items()))


def loop_line(load: Load, *, loop: int, window_s: float) -> str:
    """The line after a phase that was measured for `window_s`; `loop` counts from 1.

    Unlike in s3-benchmark, only successful operations count.
    """
    kind = printable(load.kind.upper())
    if load.kind == "delete":
        return f"Loop {loop}: {kind} time {window_s:.1f} secs, {load.operations_rate:.1f} deletes/sec."
    return (
        f"Loop {loop}: {kind} time {window_s:.1f} secs, objects = {load.operations}, "
        f"speed = {speed_text(bytes_rate(load))}/sec, {load.operations_rate:.1f} operations/sec."
    )


def speed_text(bytes_per_s: float) -> str:
    """`17.8MB`: one decimal, left out where it is 0; binary steps, as Cloud Foundry's bytefmt writes them."""
    value, unit = float(int(bytes_per_s)), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{value:.1f}".removesuffix(".0") + _UNITS[unit]
