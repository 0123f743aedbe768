"""Defaults of a load run, the same in profile files and on the command line."""

from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import Job, Share
from s3bench.load.profile.sizes import parse_sizes

DEFAULT_JOB = Job(
    mix=(
        Share(kind=OperationKind.GET, weight=45.0),
        Share(kind=OperationKind.HEAD, weight=30.0),
        Share(kind=OperationKind.PUT, weight=15.0),
        Share(kind=OperationKind.DELETE, weight=10.0),
    ),
    sizes=parse_sizes("1MiB"),
    threads=16,
)
"""The mix of `warp mixed` (https://github.com/minio/warp), which users of load tools know, and the size of the
s3-benchmark tools: large enough that bytes matter, small enough that the first byte does."""

DURATION_S = 60.0
"""The s3-benchmark tools' 60 s."""

REPLAY_THREADS = 256
"""The most operations of a replay in flight, unless --threads says so: enough that planned starts seldom wait."""
