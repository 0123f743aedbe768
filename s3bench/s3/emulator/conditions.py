"""Evaluates conditional requests (RFC 9110 13): whether a read or write may go on, by ETags and dates.

In the order of RFC 9110 13.2.2, for reads, for the source of a copy and for writes
(https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-requests.html). What no page decides follows recorded
responses of S3 (docs/s3-behaviour.md). Pure.
"""

from collections.abc import Mapping
from enum import Enum

import msgspec

from s3bench.s3.emulator.operation import not_implemented
from s3bench.s3.protocol.dates import parse_date
from s3bench.s3.protocol.s3_error import S3Error


class Condition(Enum):
    """What the conditions of a read come to."""

    GO_ON = "go on"
    NOT_MODIFIED = "not modified"


class ObjectState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What conditions are compared with: an ETag without quotes, and when the object was last modified."""

    etag: str
    modified_s: float


def check_read(fields: Mapping[str, str], state: ObjectState, now_s: float, *, prefix: str = "") -> Condition:
    """Evaluate the conditions of a read; `prefix` is before their names in a copy. Raises `S3Error` (412).

    If-Modified-Since is ignored where its date is in the future (RFC 7232 3.3, which S3 follows).
    """
    if_match = fields.get(f"{prefix}if-match")
    since = _date(fields.get(f"{prefix}if-unmodified-since"))
    if if_match is not None:
        if not _matches(if_match, state.etag):
            raise _failed("If-Match", prefix)
    elif since is not None and int(state.modified_s) > since:
        raise _failed("If-Unmodified-Since", prefix)
    if_none_match = fields.get(f"{prefix}if-none-match")
    since = _date(fields.get(f"{prefix}if-modified-since"))
    if if_none_match is not None:
        if not _matches(if_none_match, state.etag):
            return Condition.GO_ON
    elif since is None or since > now_s or int(state.modified_s) > since:
        return Condition.GO_ON
    if prefix:  # a copy has no 304
        raise _failed("If-None-Match" if if_none_match is not None else "If-Modified-Since", prefix)
    return Condition.NOT_MODIFIED


def check_taken(fields: Mapping[str, str]) -> None:
    """Reject conditions that S3 does not take in a write, whatever is stored. Raises `S3Error` (501)."""
    if_none_match, if_match = fields.get("if-none-match"), fields.get("if-match")
    if if_none_match is not None and if_match is not None:
        raise _not_taken("If-Match,If-None-Match", "Multiple conditional request headers present in the request")
    if if_none_match is not None and if_none_match.strip() != "*":
        raise _not_taken("If-None-Match", "We don't accept the provided value of If-None-Match header for this API")
    if if_match is not None and if_match.strip() == "*":
        raise _not_taken("If-Match", "We don't accept the provided value of If-Match header for this API")


def check_write(fields: Mapping[str, str], key: str, state: ObjectState | None, *, overtaken: bool = False) -> None:
    """Evaluate the conditions of a write to `key`, whose current object is `state` (`None` without one).

    `overtaken` says that the key was written since this write began. Raises `S3Error`: 412 where a condition fails,
    404 where If-Match meets no object, 409 where it holds but the write was overtaken, 501 for values that S3 rejects.
    """
    check_taken(fields)
    if_none_match, if_match = fields.get("if-none-match"), fields.get("if-match")
    if if_none_match is not None and state is not None:
        raise _failed("If-None-Match")
    if if_match is not None:
        check_delete(if_match, key, state)
    if overtaken and not (if_match is None and if_none_match is None):
        message = "The conditional request cannot succeed due to a conflicting operation against this resource."
        details = (("Condition", "If-None-Match" if if_match is None else "If-Match"), ("Key", key))
        raise S3Error(status=409, code="ConditionalRequestConflict", message=message, details=details)


def check_delete(if_match: str, key: str, state: ObjectState | None) -> None:
    """Evaluate If-Match of a delete, where `*` is any object, or of a write. Raises `S3Error` (412, 404)."""
    if state is None:
        message = "The specified key does not exist."
        raise S3Error(status=404, code="NoSuchKey", message=message, details=(("Key", key),))
    if not _matches(if_match, state.etag):
        raise _failed("If-Match")


def _matches(header: str, etag: str) -> bool:
    """Whether one of the tags in `header` is `etag`; S3's clients send them with quotes and without."""
    return any(tag.strip().removeprefix("W/").strip('"') in {"*", etag} for tag in header.split(","))


def _date(header: str | None) -> float | None:
    """Parse an HTTP date; one that is no date is as if it were not there (RFC 9110 13.1.3)."""
    if header is None:
        return None
    try:
        return parse_date(header).timestamp()
    except (ValueError, OverflowError):
        return None


def _failed(condition: str, prefix: str = "") -> S3Error:
    return S3Error(
        status=412,
        code="PreconditionFailed",
        message="At least one of the pre-conditions you specified did not hold",
        details=(("Condition", f"{prefix}{condition}"),),
    )


def _not_taken(header: str, why: str) -> S3Error:
    return not_implemented(why, header=header, more=why)
