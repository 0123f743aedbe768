"""Checks the names of buckets in options."""

from collections.abc import Iterable

from s3bench.errors import BadInput
from s3bench.s3.emulator.buckets import valid_name
from s3bench.s3.emulator.directory_bucket import is_directory_bucket, zone_of
from s3bench.s3.emulator.operation import DIRECTORY_BUCKET_SUFFIX


def check_bucket_names(names: Iterable[str]) -> None:
    """Raise `BadInput` if a value of --bucket is not a name that S3 allows."""
    for name in names:
        if is_directory_bucket(name) and zone_of(name) is None:
            raise BadInput(
                f"--bucket {name}: not a valid name of a directory bucket",
                f"directory buckets are named BASE--ZONE-ID{DIRECTORY_BUCKET_SUFFIX}",
                f"pass a name such as logs--use1-az4{DIRECTORY_BUCKET_SUFFIX}",
            )
        if not valid_name(name):
            raise BadInput(
                f"--bucket {name}: not a valid bucket name",
                "bucket names have 3 to 63 lower-case letters, digits, dots and hyphens; names that begin with sthree- "
                "or xn--, or end with -s3alias, --ol-s3, .mrap or --table-s3, are reserved by S3",
                "choose another name",
            )
