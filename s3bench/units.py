"""Units: parses the quantities that people write, and scales figures for printing.

Inside s3bench there are only seconds, bytes, shares from 0 to 1 and rates per second.
"""

import json
import math
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import TypeVar

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
_DECIMAL = ("B", "KB", "MB", "GB", "TB")
_BYTES = {
    name.lower(): float(step**power)
    for names, step in ((_BINARY, 1024), (_DECIMAL, 1000))
    for power, name in enumerate(names)
}
_SIZES = _BYTES | {"": 1.0, "k": 1024.0, "m": 1024.0**2, "g": 1024.0**3, "t": 1024.0**4}
_BANDWIDTHS = {f"{name}{per}": scale for name, scale in _BYTES.items() for per in ("", "/s")} | {
    f"{name}{per}": scale for name, scale in (("kbit", 125.0), ("mbit", 125e3), ("gbit", 125e6)) for per in ("", "/s")
}
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_QUANTITY = re.compile(r"\s*((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?)\s*([A-Za-z%/]*)\s*", re.ASCII)
_PART = re.compile(r"([0-9]+)(h|ms|m|s|us)", re.ASCII | re.IGNORECASE)
_SHOWN_CHARACTERS = 60
_MINUTES_FROM_S = 100

Number = TypeVar("Number", int, float)


class BadQuantity(ValueError):
    """Text that is not the quantity asked for: `what` is wrong, beginning with "is", and the `fix`."""

    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(f"{what}; {fix}" if fix else what)
        self.what = what
        self.fix = fix

    @classmethod
    def of(cls, text: str, what: str, fix: str = "") -> "BadQuantity":
        """`is "TEXT", WHAT`."""
        shown = text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 3]}..."
        return cls(f"is {json.dumps(shown, ensure_ascii=not shown.isprintable())}, {what}", fix)


def parse_bytes(text: str, *, above_zero: bool = False) -> int:
    """Parse a size: `4096`, `512MiB` and `2G` (binary), `1.5GB` (decimal)."""
    fix = "write bytes, or a number with a unit, such as 512MiB, 2GiB or 1.5GB"
    size_bytes = round(_parse(text, _SIZES, "a size", fix))
    return _above_zero(text, size_bytes, fix) if above_zero else size_bytes


def parse_seconds(text: str, *, above_zero: bool = False, needs_unit: bool = False) -> float:
    """Parse a duration: `250us`, `20ms`, `30s`, `1.5h`, `1m30s`; a bare number is seconds, unless it `needs_unit`.

    Of several units each stands once, the largest first, with a whole number.
    """
    units, fix = _SECONDS, "write it like 20ms, 90s, 30m, 2h or 1m30s"
    if not needs_unit:
        units, fix = _SECONDS | {"": 1.0}, f"{fix}; a bare number is seconds"
    several = _several_units(text)
    seconds = _parse(text, units, "a duration", fix) if several is None else several
    return _above_zero(text, seconds, fix) if above_zero else seconds


def _several_units(text: str) -> float | None:
    """The seconds of a duration in several units, `None` for any other text: also for units out of order."""
    parts = _PART.findall(text)
    scales = [_SECONDS[unit.lower()] for _, unit in parts]
    seconds = sum(float(number) * scale for (number, _), scale in zip(parts, scales, strict=True))
    is_whole_text = "".join(map("".join, parts)) == text.strip()
    is_descending = all(larger > smaller for larger, smaller in pairwise(scales))
    is_duration = len(parts) > 1 and is_whole_text and is_descending and math.isfinite(seconds)
    return seconds if is_duration else None


def parse_share(text: str) -> float:
    """Parse a share of a whole: `0.001` or `0.1%`."""
    fix = "write a share from 0 to 1 like 0.001, or a percentage like 0.1%"
    number = _parse(text, {"": 1.0, "%": 1.0}, "a share", fix)
    share = number / 100 if "%" in text else number
    if share > 1:
        raise BadQuantity.of(text, "which is more than the whole", fix)
    return share


def parse_rate(text: str) -> float:
    """Parse events per second, above 0: `500` or `500/s`."""
    fix = "write a number per second, above 0, like 500 or 500/s"
    return _above_zero(text, _parse(text, {"": 1.0, "/s": 1.0}, "a rate", fix), fix)


def parse_bandwidth(text: str) -> float:
    """Parse bytes per second: `93MB/s`, `90MiB/s`, `1Gbit/s`; a bare number is refused, since bits and bytes differ."""
    fix = "write it like 93MB/s (units: B, KB, MB, GB, TB, KiB, MiB, GiB, TiB, kbit, Mbit, Gbit, each /s)"
    return _above_zero(text, _parse(text, _BANDWIDTHS, "a bandwidth", fix), fix)


def parse_number(text: str) -> float:
    """Parse a number, 0 or more."""
    return _parse(text, {"": 1.0}, "a number", "write a number like 1.5")


def _parse(text: str, units: Mapping[str, float], noun: str, fix: str) -> float:
    """Parse a number and one of `units`, in upper or lower case, and scale it."""
    value = _scaled(text, units)
    if not math.isfinite(value):
        is_below_zero = text.strip().startswith("-") and _scaled(text.strip()[1:], units) > 0
        raise BadQuantity.of(text, "which is below 0" if is_below_zero else f"which is not {noun}", fix)
    return value


def _scaled(text: str, units: Mapping[str, float]) -> float:
    match = _QUANTITY.fullmatch(text)
    return float(match[1]) * units.get(match[2].lower(), math.nan) if match else math.nan


def _above_zero(text: str, value: Number, fix: str) -> Number:
    if not value:
        raise BadQuantity.of(text, "which is not above 0", fix)
    return value


def render_bytes(size_bytes: float) -> str:
    """`size_bytes` with a binary unit and three significant digits, e.g. `32.0 MiB`."""
    value = float(size_bytes)
    for unit in _BINARY:
        if abs(value) < 1024 or unit == _BINARY[-1]:  # noqa: PLR2004 (the step between binary units)
            break
        value /= 1024
    return f"{value:.0f} B" if unit == "B" else f"{_three_digits(value)} {unit}"


def exact_bytes(size_bytes: int, *, separator: str = "") -> str:
    """`size_bytes` without rounding, in the largest binary unit of which it is a whole number: `256KiB`, `1500B`."""
    for power in range(len(_BINARY) - 1, 0, -1):
        if size_bytes and size_bytes % 1024**power == 0:
            return f"{size_bytes // 1024**power}{separator}{_BINARY[power]}"
    return f"{size_bytes}{separator}B"


def render_seconds(seconds: float) -> str:
    """`seconds` scaled to s, ms or us with three significant digits, e.g. `253 ms`."""
    for scale, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if abs(seconds) * scale >= 1 or unit == "us":
            break
    return f"{_three_digits(seconds * scale)} {unit}"


def render_duration(seconds: float) -> str:
    """How long something takes: seconds, or minutes from a hundred seconds, e.g. `12.5 min`."""
    return render_seconds(seconds) if seconds < _MINUTES_FROM_S else f"{seconds / _SECONDS['m']:.1f} min"


def _three_digits(value: float) -> str:
    magnitude = abs(value)
    return f"{value:.2f}" if magnitude < 10 else f"{value:.1f}" if magnitude < 100 else f"{value:.0f}"  # noqa: PLR2004


def counted(number: int, noun: str) -> str:
    """A number with its noun: `1 chart`, `1,200 charts`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"
