"""Units at the door: inside s3bench there are only seconds, bytes and cores.

Parses sizes and durations that people write, and scales figures when they are printed.
"""

import re

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
_DECIMAL = ("B", "KB", "MB", "GB", "TB")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]*)", re.ASCII)


def parse_bytes(text: str) -> int:
    """Return the bytes that `text` means: `4096`, `512MiB`, `2GiB` (binary units), `1.5GB` (decimal ones).

    Raises `ValueError` for anything else.
    """
    found = _SIZE.fullmatch(text.strip())
    unit = (found[2] or "B").lower() if found else ""
    for names, step in ((_BINARY, 1024), (_DECIMAL, 1000)):
        for power, name in enumerate(names):
            if found and unit == name.lower():
                return round(float(found[1]) * float(step) ** power)
    raise ValueError(f"{text!r} is no size: write bytes, or a number with a unit, such as 512MiB, 2GiB, 1.5GB")


def render_bytes(size_bytes: float) -> str:
    """`size_bytes` with a binary unit and three significant digits, e.g. `32.0 MiB`."""
    value = float(size_bytes)
    for unit in _BINARY:
        if abs(value) < 1024 or unit == _BINARY[-1]:  # noqa: PLR2004 (the step between binary units)
            break
        value /= 1024
    return f"{value:.0f} B" if unit == "B" else f"{_three_digits(value)} {unit}"


def exact_bytes(size_bytes: int) -> str:
    """`size_bytes` without rounding, in the largest binary unit of which it is a whole number: `256KiB`, `1500B`."""
    for power in range(len(_BINARY) - 1, 0, -1):
        if size_bytes and size_bytes % 1024**power == 0:
            return f"{size_bytes // 1024**power}{_BINARY[power]}"
    return f"{size_bytes}B"


def render_seconds(seconds: float) -> str:
    """`seconds` scaled to s, ms or us with three significant digits, e.g. `253 ms`."""
    for scale, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if abs(seconds) * scale >= 1 or unit == "us":
            break
    return f"{_three_digits(seconds * scale)} {unit}"


def _three_digits(value: float) -> str:
    magnitude = abs(value)
    return f"{value:.2f}" if magnitude < 10 else f"{value:.1f}" if magnitude < 100 else f"{value:.0f}"  # noqa: PLR2004
