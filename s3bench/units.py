"""Units at the door: inside s3bench there are only seconds, bytes and cores.

Parses sizes and durations that people write, and scales figures when they are printed.
"""

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")


def render_bytes(size_bytes: float) -> str:
    """`size_bytes` with a binary unit and three significant digits, e.g. `32.0 MiB`."""
    value = float(size_bytes)
    for unit in _BINARY:
        if abs(value) < 1024 or unit == _BINARY[-1]:  # noqa: PLR2004 (the step between binary units)
            break
        value /= 1024
    return f"{value:.0f} B" if unit == "B" else f"{_three_digits(value)} {unit}"


def render_seconds(seconds: float) -> str:
    """`seconds` scaled to s, ms or us with three significant digits, e.g. `253 ms`."""
    for scale, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if abs(seconds) * scale >= 1 or unit == "us":
            break
    return f"{_three_digits(seconds * scale)} {unit}"


def _three_digits(value: float) -> str:
    magnitude = abs(value)
    return f"{value:.2f}" if magnitude < 10 else f"{value:.1f}" if magnitude < 100 else f"{value:.0f}"  # noqa: PLR2004
