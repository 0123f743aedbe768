"""The CRT transfer engine, aws-c-s3, which aws-cli, boto3 and awscrt share: its parameters and its connections.

Sources: the S3 configuration of the AWS CLI (https://docs.aws.amazon.com/cli/latest/topic/s3-config.html), and
`s_get_ideal_connection_number_from_throughput` in aws-c-s3 (https://github.com/awslabs/aws-c-s3). Pure.
"""

import math
from collections.abc import Iterator

from s3bench.clients.tuning.classic import chunk_choices, threshold_choices
from s3bench.clients.tuning.client_tuning import Habits, Values
from s3bench.clients.tuning.parameter import (
    Parameter,
    ParameterQuantity,
    ParameterRole,
    concurrency_choices,
    requests_max,
)
from s3bench.clients.tuning.workload import Workload

_BANDWIDTHS = tuple(gigabits * 10**9 // 8 for gigabits in (1, 5, 10, 25, 100))
_TARGET_GBPS = 10.0
_LANES_PER_GBPS = 2.5
_LANES_MIN = 10


def crt_parameters(workload: Workload, *, is_concurrency_doubtful: bool) -> Iterator[Parameter]:
    """The parameters of a client that leaves transfers to the CRT, which chooses each of them where it is unset."""
    yield Parameter(
        name="target_bandwidth",
        role=ParameterRole.THROUGHPUT,
        quantity=ParameterQuantity.RATE,
        default=None,
        choices=(None, *_BANDWIDTHS),
    )
    yield Parameter(
        name="multipart_chunksize",
        role=ParameterRole.PART,
        quantity=ParameterQuantity.SIZE,
        default=None,
        choices=(None, *chunk_choices(workload, None)),
    )
    yield Parameter(
        name="max_concurrent_requests",
        role=ParameterRole.CONCURRENCY,
        quantity=ParameterQuantity.COUNT,
        default=None,
        choices=(None, *concurrency_choices(requests_max(workload), None)),
        is_doubtful=is_concurrency_doubtful,
    )
    yield Parameter(
        name="multipart_threshold",
        role=ParameterRole.THRESHOLD,
        quantity=ParameterQuantity.SIZE,
        default=None,
        choices=(None, *threshold_choices(workload, None)),
        is_main=False,
    )


def crt_requests_at_once(values: Values, workload: Workload, parts: int, habits: Habits) -> int:
    """The connections that the CRT opens for its target throughput, or fewer where fewer requests are asked for."""
    own = _connections(values.get("target_bandwidth"), habits)
    asked = values.get("max_concurrent_requests")
    return max(1, min(own, asked or own, parts * workload.files))


def _connections(target_bytes_per_s: int | None, habits: Habits) -> int:
    """How many connections the CRT opens for a throughput: 2.5 for each Gb/s, 10 at least, 10 Gb/s unless told."""
    if target_bytes_per_s is None and habits.lanes is not None:
        return habits.lanes
    gbps = _TARGET_GBPS if target_bytes_per_s is None else target_bytes_per_s * 8 / 1e9
    return max(_LANES_MIN, math.ceil(gbps * _LANES_PER_GBPS))
