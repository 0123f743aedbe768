"""What holds where nobody says otherwise, the same in profile files and on the command line.

Owns the figures and where they come from. The demonstration and the s3-benchmark tools' way have their own.
"""

from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import Share
from s3bench.load.profile.sizes import Sizes, parse_sizes

MIX = (
    Share(kind=OperationKind.GET, weight=45.0),
    Share(kind=OperationKind.HEAD, weight=30.0),
    Share(kind=OperationKind.PUT, weight=15.0),
    Share(kind=OperationKind.DELETE, weight=10.0),
)
"""The mix of `warp mixed` (https://github.com/minio/warp), which users of load tools know."""

SIZES: Sizes = parse_sizes("1MiB")
"""The s3-benchmark tools' size: large enough that bytes matter, small enough that the first byte does."""

THREADS = 16
DURATION_S = 60.0
"""The s3-benchmark tools' 60 s."""

PART_BYTES = 8 * 1024**2
"""The part size of the AWS CLI (https://docs.aws.amazon.com/cli/latest/topic/s3-config.html)."""

MAX_ERROR_RATE = 0.001
