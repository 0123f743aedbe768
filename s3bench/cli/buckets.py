"""Checks the names of buckets in options."""

from collections.abc import Iterable

from s3bench.errors import BadInput
from s3bench.s3.emulator.buckets import valid_name


def check_bucket_names(names: Iterable[str]) -> None:
    """Raise `BadInput` if a value of --bucket is not a name that S3 allows."""
    for name in names:
        if not valid_name(name):
            raise BadInput(
                f"--bucket {name}: not a valid bucket name",
                "bucket names have 3 to 63 lower-case letters, digits, dots and hyphens",
                "choose another name",
            )
