"""The times of logs, as seconds since the epoch. Lines of one second follow each other, so seconds are cached."""

import calendar
import functools
import math
from collections.abc import Iterable
from datetime import UTC, datetime

from s3bench.errors import BadInput
from s3bench.load.access_log.broken_line import BrokenLine
from s3bench.units import BadQuantity

_SECONDS = 4096  # more than lines out of order are apart
_MONTHS = {
    name: number
    for number, name in enumerate("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)  # noqa: SIM905 (short)
}
_BROKEN = "a time that cannot be read"
_DATES_S = 1e8  # March 1973: later times are dates, and no trace that counts from its start is as long
_TO_SECOND = 19  # characters of 2019-02-06T00:00:38
_DIGITS_MAX = 9  # nanoseconds


def check_times(given_s: Iterable[float | None], first_s: float) -> None:
    """Refuse times that the log cannot have: dates if it counts seconds from its start, seconds if it has dates.

    `first_s` is a time of the log. Raises `BadInput`.
    """
    for each_s in given_s:
        if each_s is None or (each_s < _DATES_S) is (first_s < _DATES_S):
            continue
        if first_s < _DATES_S:
            raise BadInput(
                "--from and --to have dates, and the times of the log have none",
                f"it counts seconds; its first line is at {first_s:.3f}",
                "pass seconds, such as --from 60",
            )
        first = datetime.fromtimestamp(first_s, UTC).isoformat(timespec="seconds")
        raise BadInput(
            "--from and --to are seconds, and the times of the log are dates",
            f"its first line is at {first}",
            f"pass dates, such as --from {first}",
        )


def parse_log_time(text: str) -> float:
    """A time that a user writes: ISO 8601, in UTC without an offset, or seconds. Raises `BadQuantity`."""
    try:
        return float(text) if text.strip().replace(".", "", 1).isdecimal() else _iso_s(text)
    except ValueError:
        fix = "write it like 2026-11-25T10:00:00Z, or seconds in a log without dates"
        raise BadQuantity.of(text, "which is not a time", fix) from None


def _iso_s(text: str) -> float:
    at = datetime.fromisoformat(text.strip())
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def started_s(ended: str, ended_s: float, elapsed_s: float | None) -> float:
    """When a request began that the log dates at its end: `ended` as the log has it, `ended_s` as seconds.

    A time without a fraction is exact to a second, so whole seconds are subtracted from it. Then the clock of the log
    still shows whole seconds, and of two requests that did not overlap the first is not dated after the second.
    """
    if elapsed_s is None:
        return ended_s
    return ended_s - (elapsed_s if "." in ended else math.floor(elapsed_s))


@functools.lru_cache(maxsize=_SECONDS)
def common_log_s(text: str) -> float:
    """A time as in `06/Feb/2019:00:00:38 +0000`, the format of the common log and of S3's. Raises `BrokenLine`."""
    try:
        seconds = _seconds(text[7:11], _MONTHS[text[3:6]], text[:2], text[12:20], text[2] + text[6] + text[11] == "//:")
        return float(seconds - _offset_s(text[21:]))
    except (KeyError, ValueError, IndexError) as error:
        raise BrokenLine(_BROKEN) from error


def rfc3339_s(text: str) -> float:
    """A time as in `2019-02-06T00:00:38.123456789Z` (RFC 3339), to the nanosecond. Raises `BrokenLine`."""
    try:
        seconds = _to_second_s(text[:_TO_SECOND])
        rest = text[_TO_SECOND:]
        if rest == "Z":
            return float(seconds)
        fraction_s = 0.0
        if rest[0] == ".":
            digits = rest[1:].rstrip("Zz") if rest[-1] in "Zz" else rest[1:-6]
            if not (digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS_MAX):
                raise BrokenLine(_BROKEN)
            fraction_s = int(digits) / 10 ** len(digits)
        return seconds - (0 if rest[-1] in "Zz" else _offset_s(rest[-6:])) + fraction_s
    except (ValueError, IndexError) as error:
        raise BrokenLine(_BROKEN) from error


@functools.lru_cache(maxsize=_SECONDS)
def _to_second_s(text: str) -> int:
    well_formed = text[4] + text[7] == "--" and text[10] in "Tt "
    return _seconds(text[:4], int(text[5:7]), text[8:10], text[11:], well_formed)


def _seconds(year: str, month: int, day: str, time: str, well_formed: bool) -> int:  # noqa: FBT001 (of the caller)
    hour, minute, second = time.split(":")
    numbers = int(hour), int(minute), int(second)
    last = calendar.monthrange(int(year), month)[1]
    in_range = 0 < int(day) <= last and numbers[0] < 24 and numbers[1] < 60 and numbers[2] <= 60  # noqa: PLR2004 (clock)
    if not (well_formed and in_range and min(numbers) >= 0):
        raise ValueError(time)
    return calendar.timegm((int(year), month, int(day), *numbers))


@functools.lru_cache(maxsize=64)
def _offset_s(text: str) -> int:
    """The seconds of `+0130` or `+01:30` east of Greenwich."""
    digits = text[1:].replace(":", "")
    if text[:1] not in {"+", "-"} or len(digits) != 4 or not (digits.isascii() and digits.isdecimal()):  # noqa: PLR2004
        raise ValueError(text)
    offset_s = 3600 * int(digits[:2]) + 60 * int(digits[2:])
    return -offset_s if text[0] == "-" else offset_s
