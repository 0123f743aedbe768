"""The settings that each client knows: their names, real defaults, limits, and the values worth trying.

Owns the table. Sources: the S3 configuration of the AWS CLI
(https://docs.aws.amazon.com/cli/latest/topic/s3-config.html), boto3's `TransferConfig`, s5cmd's `--help`, and S3's
limits (https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html). Pure.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from s3bench.spec.definition import CRT_KINDS, ClientKind
from s3bench.tune.workload import Action, Workload

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30

PART_BYTES_MIN = 5 * MIB
"""S3's smallest part of a multipart upload but the last."""
PART_BYTES_MAX = 5 * GIB
PARTS_MAX = 10_000
PUT_BYTES_MAX = 5 * GIB
"""The largest object that one PutObject takes."""


class ParameterQuantity(StrEnum):
    """What a knob's value counts: bytes, bytes per second, or things."""

    SIZE = "size"
    RATE = "rate"
    COUNT = "count"


QUANTITIES = {
    "max_concurrent_requests": ParameterQuantity.COUNT,
    "multipart_chunksize": ParameterQuantity.SIZE,
    "multipart_threshold": ParameterQuantity.SIZE,
    "io_chunksize": ParameterQuantity.SIZE,
    "max_queue_size": ParameterQuantity.COUNT,
    "target_bandwidth": ParameterQuantity.RATE,
    "numworkers": ParameterQuantity.COUNT,
    "concurrency": ParameterQuantity.COUNT,
    "part_size": ParameterQuantity.SIZE,
}
"""Every knob, by the name its client gives it (s5cmd's `--part-size` with an underscore)."""

CONCURRENCY = frozenset({"max_concurrent_requests", "concurrency", "numworkers"})
PART = frozenset({"multipart_chunksize", "part_size"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One knob of one client for one workload.

    `default` is the client's own value, `None` where it chooses by itself. `choices` are the values to try in rising
    order, the default among them (`None` first). A knob that is not `main` is tried only around settings that are good
    already. A `doubtful` one has no effect in some versions: the wire has to show one before it is tried further.
    """

    name: str
    default: int | None
    choices: tuple[int | None, ...]
    is_main: bool = True
    is_doubtful: bool = False

    @property
    def quantity(self) -> ParameterQuantity:
        """What its values count."""
        return QUANTITIES[self.name]


_CONCURRENCIES = (2, 5, 10, 20, 40, 80, 160)
_PARTS = tuple(size * MIB for size in (5, 8, 16, 32, 64, 128, 256, 512))
_IO_CHUNKS = (64 * KIB, 256 * KIB, 1 * MIB, 4 * MIB)
_QUEUES = (100, 1000, 10_000)
_THRESHOLDS = tuple(size * MIB for size in (8, 32, 128, 512, 2048))
_BANDWIDTHS = tuple(gigabits * 10**9 // 8 for gigabits in (1, 5, 10, 25, 100))
_WORKERS = (8, 32, 64, 128, 256, 512)
_DEFAULT_CHUNK = 8 * MIB
_S5CMD_PART = 50 * MIB
_S5CMD_CONCURRENCY = 5
_S5CMD_WORKERS = 256
_ANYTHING = Workload(action=Action.DOWNLOAD, size_bytes=GIB, files=1000)
"""A workload to which every knob matters: a download, since uploads lack `io_chunksize`."""


def knobs_of(kind: ClientKind, workload: Workload) -> tuple[Parameter, ...]:
    """The knobs that can make a difference to `workload` on `kind`, main ones first.

    What the workload leaves without meaning is left out: parts of a file below the threshold, workers for one file,
    values beyond S3's limits, more requests at once than there are parts.
    """
    found = tuple(knob for knob in _knobs(kind, workload) if len(knob.choices) > 1)
    return tuple(sorted(found, key=lambda knob: not knob.is_main))


def defaults_of(kind: ClientKind) -> dict[str, int | None]:
    """Every knob of a client with its default, `None` where the client chooses by itself."""
    return {knob.name: knob.default for knob in knobs_of(kind, _ANYTHING)}


def _knobs(kind: ClientKind, workload: Workload) -> Iterator[Parameter]:
    if kind is ClientKind.S5CMD:
        yield from _s5cmd_knobs(workload)
    elif kind in CRT_KINDS:
        yield from _crt_knobs(kind, workload)
    else:
        yield from _classic_knobs(kind, workload)


def _classic_knobs(kind: ClientKind, workload: Workload) -> Iterator[Parameter]:
    yield Parameter(name="max_concurrent_requests", default=10, choices=_concurrencies(workload, default=10))
    yield Parameter(name="multipart_chunksize", default=_DEFAULT_CHUNK, choices=_chunks(workload, _DEFAULT_CHUNK))
    yield Parameter(
        name="multipart_threshold",
        default=_DEFAULT_CHUNK,
        choices=_thresholds(workload, _DEFAULT_CHUNK),
        is_main=False,
    )
    if not workload.is_upload:
        yield Parameter(name="io_chunksize", default=256 * KIB, choices=_IO_CHUNKS, is_main=False)
    if kind in {ClientKind.CLI, ClientKind.CLI_CLASSIC} and _requests_max(workload) > _QUEUES[0]:
        yield Parameter(name="max_queue_size", default=1000, choices=_QUEUES, is_main=False)


def _crt_knobs(kind: ClientKind, workload: Workload) -> Iterator[Parameter]:
    yield Parameter(name="target_bandwidth", default=None, choices=(None, *_BANDWIDTHS))
    yield Parameter(name="multipart_chunksize", default=None, choices=(None, *_chunks(workload, None)))
    yield Parameter(
        name="max_concurrent_requests",
        default=None,
        choices=(None, *_concurrencies(workload, default=None)),
        is_doubtful=kind is not ClientKind.CRT_PYTHON,
    )
    yield Parameter(
        name="multipart_threshold", default=None, choices=(None, *_thresholds(workload, None)), is_main=False
    )


def _s5cmd_knobs(workload: Workload) -> Iterator[Parameter]:
    if workload.files > 1:
        choices = {value for value in _WORKERS if value < 2 * workload.files} | {_S5CMD_WORKERS}
        yield Parameter(name="numworkers", default=_S5CMD_WORKERS, choices=tuple(sorted(choices)))
    if workload.size_bytes > PART_BYTES_MIN:
        choices = {value for value in _CONCURRENCIES if value < 2 * _parts(workload, PART_BYTES_MIN)}
        yield Parameter(
            name="concurrency",
            default=_S5CMD_CONCURRENCY,
            choices=tuple(sorted(choices | {_S5CMD_CONCURRENCY})),
        )
        parts = {size for size in _PARTS if _is_part(workload, size)} | {_S5CMD_PART}
        yield Parameter(name="part_size", default=_S5CMD_PART, choices=tuple(sorted(parts)))


def _concurrencies(workload: Workload, *, default: int | None) -> tuple[int, ...]:
    """Numbers of requests at once, up to the first that is more than there are requests."""
    most = _requests_max(workload)
    kept = {value for value in _CONCURRENCIES if value < 2 * most}
    return tuple(sorted(kept | ({default} if default else set())))


def _chunks(workload: Workload, default: int | None) -> tuple[int, ...]:
    kept = {size for size in _PARTS if _is_part(workload, size)} if workload.size_bytes > _DEFAULT_CHUNK else set()
    return tuple(sorted(kept | ({default} if default else set())))


def _thresholds(workload: Workload, default: int | None) -> tuple[int, ...]:
    """The default, and one above the file's size, which makes a single request of it where S3 allows that."""
    if workload.size_bytes <= _DEFAULT_CHUNK or workload.size_bytes > PUT_BYTES_MAX:
        return (default,) if default else ()
    above = next((size for size in _THRESHOLDS if size > workload.size_bytes), 8 * GIB)
    return tuple(sorted({above} | ({default} if default else set())))


def _is_part(workload: Workload, size_bytes: int) -> bool:
    """Whether parts of `size_bytes` make sense: more than one, and no more than S3 takes."""
    return size_bytes < workload.size_bytes and _parts(workload, size_bytes) <= PARTS_MAX


def _parts(workload: Workload, size_bytes: int) -> int:
    return max(1, -(-workload.size_bytes // size_bytes))


def _requests_max(workload: Workload) -> int:
    """The most requests with object data that one run can make."""
    return workload.files * _parts(workload, PART_BYTES_MIN)
