"""One parameter of a client for a workload: its default, and the values worth trying.

Sources of the limits: https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html. Pure.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum, auto

from s3bench.clients.tuning.workload import Workload

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30

PART_BYTES_MIN = 5 * MIB
"""S3's smallest part of a multipart upload but the last."""
PART_BYTES_MAX = 5 * GIB
PARTS_MAX = 10_000
PUT_BYTES_MAX = 5 * GIB
"""The largest object that one PutObject takes."""

_PREFIXES = ("", "K", "M", "G")
_BITS = 8


class ParameterQuantity(StrEnum):
    """What a parameter's value counts: bytes, bytes per second, or things."""

    SIZE = "size"
    RATE = "rate"
    COUNT = "count"

    def render(self, value: int) -> str:
        """`value` for people: `16MB` (powers of 1,024, as in aws-cli), `5Gb/s` (10^9 bits), `20`."""
        if self is ParameterQuantity.COUNT:
            return str(value)
        if self is ParameterQuantity.RATE:
            return f"{_scaled(value * _BITS, 1000)}b/s"
        return f"{_scaled(value, 1024)}B"

    def config_value(self, value: int) -> str:
        """`value` as the AWS config takes it: bytes without `B`, rates in bytes, since its `Gb` is 2^30 bits."""
        if self is ParameterQuantity.SIZE and value % KIB:
            return str(value)
        return f"{value}B/s" if self is ParameterQuantity.RATE else self.render(value)


def _scaled(value: int, step: int) -> str:
    power = 0
    while power < len(_PREFIXES) - 1 and value and value % step == 0:
        value, power = value // step, power + 1
    return f"{value}{_PREFIXES[power]}"


class ParameterRole(StrEnum):
    """What a parameter does to the requests: their size, how many at once, or from which size files are in parts.

    `THROUGHPUT` is a target from which the client chooses its connections; `INSIDE` does not show in the requests.
    """

    PART = auto()
    CONCURRENCY = auto()
    THRESHOLD = auto()
    THROUGHPUT = auto()
    INSIDE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of one client for one workload, by the name that its client gives it.

    `default` is the client's own value, `None` where it chooses by itself. `choices` are the values to try in rising
    order, the default among them (`None` first). A parameter that is not `main` is tried only around settings that are
    good already. A `doubtful` one has no effect in some versions: the wire has to show one before it is tried further.
    """

    name: str
    role: ParameterRole
    quantity: ParameterQuantity
    default: int | None
    choices: tuple[int | None, ...]
    is_main: bool = True
    is_doubtful: bool = False


CONCURRENCIES = (2, 5, 10, 20, 40, 80, 160)
PART_SIZES = tuple(size * MIB for size in (5, 8, 16, 32, 64, 128, 256, 512))


def concurrency_choices(
    requests_max: int, default: int | None, *, of: Iterable[int] = CONCURRENCIES
) -> tuple[int, ...]:
    """Numbers of requests at once, up to the first that is more than there are requests; and the default."""
    return _with_default({value for value in of if value < 2 * requests_max}, default)


def part_choices(workload: Workload, default: int | None) -> tuple[int, ...]:
    """Sizes of parts that make sense: more than one part, and no more than S3 takes; and the default."""
    sizes = {size for size in PART_SIZES if size < workload.size_bytes and parts_of(workload, size) <= PARTS_MAX}
    return _with_default(sizes, default)


def _with_default(values: set[int], default: int | None) -> tuple[int, ...]:
    return tuple(sorted(values | ({default} if default else set())))


def parts_of(workload: Workload, size_bytes: int) -> int:
    """How many parts of `size_bytes` a file has."""
    return max(1, -(-workload.size_bytes // size_bytes))


def requests_max(workload: Workload) -> int:
    """The most requests with object data that one run can make."""
    return sum(each.files * parts_of(each, PART_BYTES_MIN) for each in workload.of_each_size())
