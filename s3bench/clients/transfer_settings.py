"""Parses the config's block `s3` for clients other than aws-cli, and the values of blocks of their own.

The `s3` settings have the meaning of https://docs.aws.amazon.com/cli/latest/topic/s3-config.html. Pure.
"""

import re

from s3bench.errors import BadInput

_SIZES = frozenset({"multipart_threshold", "multipart_chunksize", "io_chunksize"})
_RATES = frozenset({"max_bandwidth", "target_bandwidth"})
_COUNTS = frozenset({"max_concurrent_requests"})
_SIZE = re.compile(r"(\d+)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_RATE = re.compile(r"(\d+)\s*([KMGT]?)(?:(B|b)/s)?")
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def transfer_settings(block: dict[str, str]) -> dict[str, int | str]:
    """Parse the `s3` settings that transfers know: sizes in bytes, rates in bytes per second, counts.

    As in aws-cli, a `KB` is 1,024 bytes. Raises `BadInput` for values that aws-cli would reject.
    """
    settings: dict[str, int | str] = {}
    for key, text in block.items():
        if key in _SIZES:
            settings[key] = size_of(key, text)
        elif key in _COUNTS:
            settings[key] = count_of(key, text)
        elif key in _RATES:
            settings[key] = _rate(key, text)
        elif key == "addressing_style":
            settings[key] = text
    return settings


def size_of(key: str, text: str) -> int:
    """The bytes of a setting such as `8MB`. Raises `BadInput`."""
    found = _SIZE.fullmatch(text)
    if found is None or int(found[1]) == 0:
        raise BadInput(f"config: `{key} = {text}` cannot be read", fix="write bytes, or a size such as 8MB")
    return int(found[1]) << (10 * _POWERS[found[2].upper()])


def count_of(key: str, text: str) -> int:
    """The number of a setting such as `20`. Raises `BadInput`."""
    if not (text.isascii() and text.isdigit() and int(text)):
        raise BadInput(f"config: `{key} = {text}` cannot be read", fix="write a number above 0")
    return int(text)


def _rate(key: str, text: str) -> int:
    found = _RATE.fullmatch(text)
    if found is None or int(found[1]) == 0:
        raise BadInput(f"config: `{key} = {text}` cannot be read", fix="write a rate such as 100MB/s or 800Mb/s")
    value = int(found[1]) << (10 * _POWERS[found[2]])
    return value // 8 if found[3] == "b" else value
