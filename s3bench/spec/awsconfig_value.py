"""Parses the values of settings in an AWS config: sizes in bytes, rates in bytes per second, counts and words. Pure.

Accepts what aws-cli accepts (awscli/customizations/s3/transferconfig.py and utils.py, v2; botocore/config.py): numbers
as Python's `int` reads them, `KB` or `KiB` for 1,024 bytes in any case, rates in bytes (`B/s`) or bits (`b/s`). Numbers
above the largest signed one of 64 bits are rejected too: no client can count so far. So are words that botocore takes
for something else without an error: `yes` is false to it, and with an unknown `retry_mode` nothing is tried again
(botocore 1.44.5, utils.ensure_boolean and client.py).
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


def _any_case(key: str, text: str, words: Collection[str]) -> str:
    """`text` if it is one of `words`, in upper or lower case. Raises `BadInput`."""
    word_of(key, text.lower(), words)
    return text


def _whole_of(key: str, text: str, largest: int) -> int:
    """The number of a setting that may be 0, up to `largest`. Raises `BadInput`."""
    value = _whole(text)
    if value is None or not 0 <= value <= largest:
        raise _unreadable(key, text, f"it is not a whole number from 0 to {largest:,}", "write a number such as 10240")
    return value


_SWITCH = partial(_any_case, words=("true", "false"))
_CHECKSUMS = partial(_any_case, words=("when_supported", "when_required"))
_REGIONAL = partial(word_of, words=("legacy", "regional"))

S3_PARSERS: Mapping[str, Callable[[str, str], int | str]] = {
    **dict.fromkeys(("io_chunksize", "multipart_chunksize", "multipart_threshold"), size_of),
    **dict.fromkeys(("disk_throughput", "max_bandwidth", "target_bandwidth"), rate_of),
    **dict.fromkeys(("max_concurrent_requests", "max_queue_size"), count_of),
    **dict.fromkeys(
        (
            "direct_io",
            "disable_s3_express_session_auth",
            "payload_signing_enabled",
            "s3_disable_multiregion_access_points",
            "should_stream",
            "use_accelerate_endpoint",
            "use_arn_region",
            "use_dualstack_endpoint",
        ),
        _SWITCH,
    ),
    "addressing_style": partial(word_of, words=("auto", "path", "virtual")),
    "us_east_1_regional_endpoint": _REGIONAL,
}
"""Parses the value of a key of the block `s3`, given the key and the text; keys that are missing take any value."""

PROFILE_PARSERS: Mapping[str, Callable[[str, str], int | str]] = {
    **dict.fromkeys(
        (
            "disable_host_prefix_injection",
            "disable_request_compression",
            "parameter_validation",
            "s3_disable_express_session_auth",
            "s3_disable_multiregion_access_points",
            "s3_use_arn_region",
            "tcp_keepalive",
            "use_dualstack_endpoint",
            "use_fips_endpoint",
        ),
        _SWITCH,
    ),
    **dict.fromkeys(("request_checksum_calculation", "response_checksum_validation"), _CHECKSUMS),
    **dict.fromkeys(("s3_us_east_1_regional_endpoint", "sts_regional_endpoints"), _REGIONAL),
    "account_id_endpoint_mode": partial(_any_case, words=("preferred", "disabled", "required")),
    "cli_binary_format": partial(word_of, words=("base64", "raw-in-base64-out")),
    "cli_timestamp_format": partial(word_of, words=("iso8601", "none", "wire")),
    "defaults_mode": partial(_any_case, words=("auto", "cross-region", "in-region", "legacy", "mobile", "standard")),
    "max_attempts": count_of,
    "output": partial(word_of, words=("json", "off", "table", "text", "yaml", "yaml-stream")),
    "request_min_compression_size_bytes": partial(_whole_of, largest=10 << 20),
    "retry_mode": partial(word_of, words=("adaptive", "legacy", "standard")),
}
"""The same for keys of a profile."""


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
