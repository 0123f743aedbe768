"""The Classic transfer engine, s3transfer, which aws-cli and boto3 share: its parameters and its requests at once.

Source: the S3 configuration of the AWS CLI (https://docs.aws.amazon.com/cli/latest/topic/s3-config.html), boto3's
`TransferConfig`. Pure.
"""

from collections.abc import Iterator

from s3bench.clients.tuning.client_tuning import Habits, Values
from s3bench.clients.tuning.parameter import (
    GIB,
    KIB,
    MIB,
    PUT_BYTES_MAX,
    Parameter,
    ParameterQuantity,
    ParameterRole,
    concurrency_choices,
    part_choices,
    requests_max,
)
from s3bench.clients.tuning.workload import Workload

CHUNK_BYTES = 8 * MIB
_REQUESTS = 10
_IO_CHUNKS = (64 * KIB, 256 * KIB, 1 * MIB, 4 * MIB)
_THRESHOLDS = tuple(size * MIB for size in (8, 32, 128, 512, 2048))


def classic_parameters(workload: Workload) -> Iterator[Parameter]:
    """The parameters that `TransferConfig` has too."""
    yield Parameter(
        name="max_concurrent_requests",
        role=ParameterRole.CONCURRENCY,
        quantity=ParameterQuantity.COUNT,
        default=_REQUESTS,
        choices=concurrency_choices(requests_max(workload), _REQUESTS),
    )
    yield Parameter(
        name="multipart_chunksize",
        role=ParameterRole.PART,
        quantity=ParameterQuantity.SIZE,
        default=CHUNK_BYTES,
        choices=chunk_choices(workload, CHUNK_BYTES),
    )
    yield Parameter(
        name="multipart_threshold",
        role=ParameterRole.THRESHOLD,
        quantity=ParameterQuantity.SIZE,
        default=CHUNK_BYTES,
        choices=threshold_choices(workload, CHUNK_BYTES),
        is_main=False,
    )
    if not workload.is_upload:
        yield Parameter(
            name="io_chunksize",
            role=ParameterRole.INSIDE,
            quantity=ParameterQuantity.SIZE,
            default=256 * KIB,
            choices=_IO_CHUNKS,
            is_main=False,
        )


def chunk_choices(workload: Workload, default: int | None) -> tuple[int, ...]:
    """Sizes of parts for files that are large enough to be split at all."""
    if workload.size_bytes > CHUNK_BYTES:
        return part_choices(workload, default)
    return (default,) if default else ()


def threshold_choices(workload: Workload, default: int | None) -> tuple[int, ...]:
    """The default, and one above the file's size, which makes a single request of it where S3 allows that."""
    if workload.size_bytes <= CHUNK_BYTES or workload.size_bytes > PUT_BYTES_MAX:
        return (default,) if default else ()
    above = next((size for size in _THRESHOLDS if size > workload.size_bytes), 8 * GIB)
    return tuple(sorted({above} | ({default} if default else set())))


def classic_requests_at_once(values: Values, workload: Workload, parts: int, _habits: Habits) -> int:
    """As many as `max_concurrent_requests` says, of all that there are."""
    return max(1, min(values.get("max_concurrent_requests") or _REQUESTS, parts * workload.files))
