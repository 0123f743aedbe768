"""Parses the values of a load run, in options and in profile files: durations, sizes, operation mixes, key choices."""

from typing import TypeVar

from s3bench.load.operation import MIXABLE, OperationKind
from s3bench.load.profile.profile import KeyDistribution, Share
from s3bench.spec.reader import nearest, one_of
from s3bench.units import BadQuantity, parse_bytes, parse_number, parse_rate, parse_seconds

T = TypeVar("T")

PART_BYTES_MIN = 5 * 1024**2
PUT_BYTES_MAX = 5 * 1024**3
"""Limits of one request: the smallest part (but for the last one), and the largest part or object
(https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html)."""

_DAY_S = 86_400.0


def parse_duration(text: str) -> float:
    """Parse a duration of at most a day."""
    return _within_a_day(text, parse_seconds(text))


def parse_time_limit(text: str) -> float:
    """Parse a duration above zero and of at most a day."""
    return _within_a_day(text, parse_seconds(text, above_zero=True))


def _within_a_day(text: str, seconds: float) -> float:
    if seconds > _DAY_S:
        raise BadQuantity.of(text, "longer than a day", "write 24h or less")
    return seconds


def parse_rate_or_zero(text: str) -> float:
    """Parse events per second: 0, or as `parse_rate` does."""
    return 0.0 if text.strip() in {"0", "0.0"} else parse_rate(text)


def parse_factor(text: str) -> float:
    """Parse by what factor data shrinks: 1 to 1,000."""
    number = parse_number(text)
    if not 1 <= number <= 1000:  # noqa: PLR2004 (deflate's own limit is 1,032)
        raise BadQuantity.of(text, "not from 1 to 1000", "write how many times smaller the data becomes")
    return number


def parse_exponent(text: str) -> float:
    """Parse the exponent of a Zipf distribution: above 0, to 10."""
    number = parse_number(text)
    if not 0 < number <= 10:  # noqa: PLR2004 (beyond it one object takes all)
        raise BadQuantity.of(text, "not above 0 and at most 10", "write an exponent like 1.1")
    return number


def parse_byte_count(text: str) -> int:
    """Parse a size of at least one byte."""
    return parse_bytes(text, above_zero=True)


def parse_part_size(text: str) -> int:
    """Parse the size of a part: 5 MiB to 5 GiB."""
    size_bytes = parse_bytes(text)
    if not PART_BYTES_MIN <= size_bytes <= PUT_BYTES_MAX:
        raise BadQuantity.of(text, "and S3 takes parts of 5 MiB to 5 GiB", "write a size like 8MiB")
    return size_bytes


def parse_mix(text: str) -> tuple[Share, ...]:
    """Parse `get=70,put=30`: each operation once, in the order written; one without a weight has the weight 1."""
    shares: dict[OperationKind, Share] = {}
    for item in text.split(","):
        name, equals, weight = (part.strip() for part in item.partition("="))
        kind = parse_kind(name)
        if kind in shares:
            raise BadQuantity.of(text, f"in which {kind} is named twice", "give each operation one weight")
        number = parse_number(weight) if equals else 1.0
        if not number:
            raise BadQuantity.of(text, f"in which {kind} has no weight", "write a weight above 0, or take it out")
        shares[kind] = Share(kind=kind, weight=number)
    return tuple(shares.values())


def parse_kind(text: str) -> OperationKind:
    """Parse the name of an operation that a mix can have."""
    right = [str(kind) for kind in MIXABLE]
    if text in right:
        return OperationKind(text)
    near = nearest(text, right)
    fix = f"did you mean `{near}`?" if near else f"write {one_of(right)}"
    raise BadQuantity.of(text, "which is not an operation", fix)


def parse_key_distribution(text: str) -> tuple[KeyDistribution, float]:
    """Parse `uniform`, `sequential`, `zipf` or `zipf:1.2`: the choice, and the exponent (1 unless given)."""
    name, colon, exponent = text.partition(":")
    right = [str(choice) for choice in KeyDistribution]
    if name not in right or (colon and name != KeyDistribution.ZIPF):
        raise BadQuantity.of(text, "which is not a key distribution", "write uniform, sequential, zipf or zipf:1.2")
    return KeyDistribution(name), parse_exponent(exponent) if colon else 1.0
