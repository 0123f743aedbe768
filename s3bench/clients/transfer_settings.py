"""Parses the config's block `s3` for clients other than aws-cli.

The settings have the meaning of https://docs.aws.amazon.com/cli/latest/topic/s3-config.html. Pure.
"""

from s3bench.spec.awsconfig_value import S3_PARSERS

_KEYS = frozenset({
    "addressing_style",
    "io_chunksize",
    "max_bandwidth",
    "max_concurrent_requests",
    "multipart_chunksize",
    "multipart_threshold",
    "target_bandwidth",
})  # fmt: skip


def transfer_settings(block: dict[str, str]) -> dict[str, int | str]:
    """Parse the `s3` settings that transfers know: sizes in bytes, rates in bytes per second, counts.

    Raises `BadInput` for values that aws-cli would reject.
    """
    return {key: S3_PARSERS[key](key, text) for key, text in block.items() if key in _KEYS}
