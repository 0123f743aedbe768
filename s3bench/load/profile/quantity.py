"""Figures as people write them in a load profile or on the command line: `30s`, `8MiB`, `1K`, `500/s`, `0.1%`.

Owns their parsing, and the shape that lets a profile file have them as numbers or strings. The notation of sizes that
differ from object to object is `sizes`'.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from s3bench.errors import BadInput
from s3bench.load.operation import MIXABLE, OperationKind
from s3bench.load.profile.profile import KeyChoice, Share
from s3bench.load.profile.sizes import Sizes, parse_sizes
from s3bench.spec.reader import Complaint, Report, Steps, nearest, one_of, quoted
from s3bench.spec.shape import wrong_kind
from s3bench.units import parse_bytes

T = TypeVar("T")

PART_BYTES_MIN = 5 * 1024**2
PUT_BYTES_MAX = 5 * 1024**3
"""What one request may carry: a part at least (the last one excepted), a part or an object at most
(https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html)."""

_SECONDS = {"": 1.0, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DAY_S = 86_400.0
_FIGURE = re.compile(r"\s*((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?)\s*([A-Za-z%/]*)\s*", re.ASCII)
_SHORT_UNIT = re.compile(r"([0-9])\s*([KMGT])\s*\Z", re.ASCII | re.IGNORECASE)


class BadFigure(ValueError):
    """The text is no such figure; `complaint` says what is wrong with it, and what would be right."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(f"{what}; {fix}")
        self.complaint = Complaint(what, fix)


def parse_duration(text: str) -> float:
    """Parse `30s`, `5m`, `1.5h`, `250ms`, or a number of seconds, at most a day, into seconds."""
    number, unit = _split(text, fix := "write it like 30s, 5m or 1h; a bare number is seconds")
    if unit not in _SECONDS:
        raise BadFigure(f"is {quoted(text)}, which is no duration", fix)
    seconds = number * _SECONDS[unit]
    if seconds > _DAY_S:
        raise BadFigure(f"is {quoted(text)}, longer than a day", "write 24h or less")
    return seconds


def parse_time_limit(text: str) -> float:
    """Parse a duration above zero."""
    seconds = parse_duration(text)
    if not seconds:
        raise BadFigure(f"is {quoted(text)}, no time at all", "write a duration above 0, like 30s")
    return seconds


def parse_share(text: str) -> float:
    """Parse `0.1%` or `0.001` into a number from 0 to 1."""
    number, unit = _split(text, fix := "write a share from 0 to 1 like 0.001, or a percentage like 0.1%")
    share = number / 100 if unit == "%" else number
    if unit not in {"", "%"} or share > 1:
        raise BadFigure(f"is {quoted(text)}, which is no share", fix)
    return share


def parse_rate(text: str) -> float:
    """Parse `500` or `500/s` into operations per second, more than none."""
    number, unit = _split(text, fix := "write operations a second, above 0, like 500 or 500/s")
    if unit not in {"", "/s"} or not number:
        raise BadFigure(f"is {quoted(text)}, which is no rate", fix)
    return number


def parse_number(text: str) -> float:
    """Parse a number, 0 or more."""
    number, unit = _split(text, fix := "write a number like 1.5")
    if unit:
        raise BadFigure(f"is {quoted(text)}, which is no number", fix)
    return number


def parse_factor(text: str) -> float:
    """Parse by what factor data shrinks: 1 to 1,000."""
    number = parse_number(text)
    if not 1 <= number <= 1000:  # noqa: PLR2004 (deflate's own limit is 1,032)
        raise BadFigure(f"is {quoted(text)}, not from 1 to 1000", "write how many times smaller the data becomes")
    return number


def parse_exponent(text: str) -> float:
    """Parse the exponent of a Zipf distribution: above 0, to 10."""
    number = parse_number(text)
    if not 0 < number <= 10:  # noqa: PLR2004 (beyond it one object takes all)
        raise BadFigure(f"is {quoted(text)}, not above 0 and at most 10", "write an exponent like 1.1")
    return number


def parse_byte_count(text: str) -> int:
    """Parse `8MiB`, `1.5GB` or bytes, one at least; `K`, `M`, `G` and `T` alone are powers of 1,024.

    The short units are those of the s3-benchmark tools.
    """
    fix = "write bytes, or a number with a unit, such as 64KiB, 8MiB or 1M"
    try:
        size_bytes = parse_bytes(_SHORT_UNIT.sub(r"\1\2iB", text))
    except (ValueError, OverflowError) as error:
        raise BadFigure(f"is {quoted(text)}, which is no size", fix) from error
    if not size_bytes:
        raise BadFigure(f"is {quoted(text)}, less than a byte", fix)
    return size_bytes


def parse_part_size(text: str) -> int:
    """Parse the size of a part: 5 MiB to 5 GiB."""
    size_bytes = parse_byte_count(text)
    if not PART_BYTES_MIN <= size_bytes <= PUT_BYTES_MAX:
        raise BadFigure(f"is {quoted(text)}; S3's parts have 5 MiB to 5 GiB", "write a size like 8MiB")
    return size_bytes


def parse_object_sizes(text: str) -> Sizes:
    """Parse sizes of objects, which may differ (`s3bench.load.profile.sizes`)."""
    try:
        return parse_sizes(text)
    except BadInput as error:
        raise BadFigure(f"is {quoted(text)}: {error.why}", error.fix) from error


def render_size(size_bytes: int) -> str:
    """`size_bytes` exactly, in the largest binary unit that divides it: `1 KiB`, `1500 B`."""
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if size_bytes and size_bytes % 1024**power == 0:
            return f"{size_bytes // 1024**power} {unit}"
    return f"{size_bytes} B"


def parse_mix(text: str) -> tuple[Share, ...]:
    """Parse `get=70,put=30`: kinds of operations and their weights, each kind once, a weight of 1 where none is given.

    Kinds stand in the order in which they are written.
    """
    shares: dict[OperationKind, Share] = {}
    for item in text.split(","):
        name, equals, weight = (part.strip() for part in item.partition("="))
        kind = parse_kind(name)
        if kind in shares:
            raise BadFigure(f"is {quoted(text)}: {kind} stands in it twice", "give each operation one weight")
        number = parse_number(weight) if equals else 1.0
        if not number:
            raise BadFigure(f"is {quoted(text)}: {kind} has no weight", "write a weight above 0, or leave it out")
        shares[kind] = Share(kind=kind, weight=number)
    return tuple(shares.values())


def parse_kind(text: str) -> OperationKind:
    """Parse the name of an operation that a mix can have."""
    right = [str(kind) for kind in MIXABLE]
    if text in right:
        return OperationKind(text)
    near = nearest(text, right)
    fix = f"did you mean `{near}`?" if near else f"write {one_of(right)}"
    raise BadFigure(f"is {quoted(text)}, which is no operation", fix)


def parse_key_choice(text: str) -> tuple[KeyChoice, float]:
    """Parse `uniform`, `sequential`, `zipf` or `zipf:1.2`: the choice, and the exponent (1 unless given)."""
    name, colon, exponent = text.partition(":")
    right = [str(choice) for choice in KeyChoice]
    if name not in right or (colon and name != KeyChoice.ZIPF):
        raise BadFigure(f"is {quoted(text)}, no way to choose keys", "write uniform, sequential, zipf or zipf:1.2")
    return KeyChoice(name), parse_exponent(exponent) if colon else 1.0


def _split(text: str, fix: str) -> tuple[float, str]:
    match = _FIGURE.fullmatch(text)
    if match is None or not math.isfinite(float(match[1])):
        raise BadFigure(f"is {quoted(text)}, which cannot be read", fix)
    return float(match[1]), match[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileQuantity(Generic[T]):
    """A figure in a profile file: a number, or a string with a unit, that `parse` reads; `blank` for a wrong one."""

    parse: Callable[[str], T]
    noun: str
    example: str
    blank: T

    def read(self, value: Any, at: Steps, report: Report) -> T:
        """Return what the figure means, or the blank."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            report.add(at, wrong_kind(value, at, self.noun, f"write {self.noun}, e.g. {self.example}"))
            return self.blank
        try:
            return self.parse(str(value))
        except BadFigure as bad:
            report.add(at, bad.complaint)
            return self.blank

    def schema(self) -> dict[str, Any]:
        """A number or a string."""
        return {"type": ["number", "string"]}
