"""Parses the values of settings in an AWS config: sizes in bytes, rates in bytes per second, counts and words. Pure.

Accepts what aws-cli accepts (awscli/customizations/s3/transferconfig.py and utils.py, v2; botocore/config.py): numbers
as Python's `int` reads them, `KB` or `KiB` for 1,024 bytes in any case, rates in bytes (`B/s`) or bits (`b/s`). Numbers
above the largest signed one of 64 bits are rejected too: no client can count so far.
"""

import re
from collections.abc import Callable, Collection, Mapping
from functools import partial

from s3bench.errors import BadInput
from s3bench.spec.reader import one_of

_MAX = (1 << 63) - 1
_SIZE = re.compile(r"(.*?)(?:([kmgt])i?b)?", re.IGNORECASE | re.DOTALL)
_RATE_ENDS = ("B/s", "b/s")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def size_of(key: str, text: str) -> int:
    """The bytes of a setting such as `8MB`. Raises `BadInput`."""
    return _in_range(key, text, _bytes_of(text), "size from 1 to {:,} bytes", "write bytes, or a size such as 8MB")


def rate_of(key: str, text: str) -> int:
    """The bytes per second of a setting such as `50MB/s` or `800Mb/s`. Raises `BadInput`."""
    value = _whole(text)
    if text.endswith(_RATE_ENDS):
        value = _whole(text[: -len("B/s")])
        value = _bytes_of(text[: -len("/s")]) if value is None else value
        value = value // 8 if value is not None and text.endswith("b/s") else value
    of_what = "rate from 1 to {:,} bytes per second"
    return _in_range(key, text, value, of_what, "write a rate such as 100MB/s or 800Mb/s")


def count_of(key: str, text: str) -> int:
    """The number of a setting such as `20`. Raises `BadInput`."""
    return _in_range(key, text, _whole(text), "whole number from 1 to {:,}", "write a number above 0, such as 20")


def word_of(key: str, text: str, words: Collection[str]) -> str:
    """`text` if it is one of `words`. Raises `BadInput`."""
    if text not in words:
        raise _unreadable(key, text, "no client knows this word", f"write {one_of(words)}")
    return text


S3_PARSERS: Mapping[str, Callable[[str, str], int | str]] = {
    **dict.fromkeys(("io_chunksize", "multipart_chunksize", "multipart_threshold"), size_of),
    **dict.fromkeys(("disk_throughput", "max_bandwidth", "target_bandwidth"), rate_of),
    **dict.fromkeys(("max_concurrent_requests", "max_queue_size"), count_of),
    "addressing_style": partial(word_of, words=("auto", "path", "virtual")),
}
"""Parses the value of a key of the block `s3`, given the key and the text; keys that are missing take any value."""


def _bytes_of(text: str) -> int | None:
    found = _SIZE.fullmatch(text)
    assert found is not None
    number = _whole(found[1])
    return None if number is None else number << (10 * _POWERS[(found[2] or "").lower()])


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _in_range(key: str, text: str, value: int | None, of_what: str, fix: str) -> int:
    if value is None or not 0 < value <= _MAX:
        raise _unreadable(key, text, f"it is not a {of_what.format(_MAX)}", fix)
    return value


def _unreadable(key: str, text: str, why: str, fix: str) -> BadInput:
    return BadInput(f"config: `{key} = {text}` cannot be read", why, fix)
