"""Renders the lines of the request log, as text or JSON, without secrets and terminal control characters."""

import re
from datetime import UTC, datetime
from enum import StrEnum
from urllib.parse import quote

import msgspec

from s3bench.results.document import render_time
from s3bench.results.redaction import REDACTED
from s3bench.s3.wirelog import WireRequest
from s3bench.units import render_bytes, render_seconds

_NAMES = (
    "Signature", "Credential", "Security-Token", "S3session-Token", "Server-Side-Encryption-Customer-Key",
    "Copy-Source-Server-Side-Encryption-Customer-Key",
)  # fmt: skip
"""What secrets are called in queries and in headers, behind `X-Amz-`."""

_NAMED = "|".join(f"X-Amz-{name}" for name in _NAMES).replace("-", "(?:-|%2[dD])")  # hyphens may be encoded
_COLON = r"['\"]?\s*:\s*['\"]?"
_SECRET = re.compile(
    # `Signature=` and the like stand in Authorization headers and in URLs of Signature Version 2.
    rf"((?:{_NAMED})(?:=|{_COLON})|(?:Signature|Credential|AWSAccessKeyId)=|authorization{_COLON}(?:[\w-]+ +)?)"
    r"[^&\s'\",\\]+",
    re.IGNORECASE,
)


class LogFormat(StrEnum):
    """The forms of the request log."""

    TEXT = "text"
    JSON = "json"
    NONE = "none"


class RequestLine(msgspec.Struct, frozen=True, kw_only=True, tag="request", tag_field="event"):
    """One request in the JSON log. `time` is the arrival of its first byte, in UTC; the others as in the wire log."""

    time: str
    method: str
    path: str
    query: str
    range: str
    status: int
    bytes_received: int
    bytes_sent: int
    duration_s: float
    first_byte_s: float
    connection: int
    attempt: int
    engine: str
    checksums: dict[str, bool]
    complete: bool
    error: str
    fault: str


def redact_target(text: str) -> str:
    """Remove signatures, credentials, session tokens and customers' keys from a text with URLs or headers."""
    return _SECRET.sub(rf"\g<1>{REDACTED}", text)


def text_line(request: WireRequest, *, epoch_ns: int) -> str:
    """`request` as text, in local time; `epoch_ns` is the time, since 1970, at which the monotonic clock was 0."""
    at = datetime.fromtimestamp((request.started_ns + epoch_ns) / 1e9).astimezone()
    path = redact_target(visible(request.path).replace(" ", "%20"))
    query = f"?{redact_target(visible(request.query))}" if request.query else ""
    asked = f" [{visible(request.byte_range)}]" if request.byte_range else ""
    trouble = ": ".join(filter(None, (request.fault and f"network model, {request.fault}", request.error)))
    error = f"  ! {visible(redact_target(trouble))}" if trouble else ""
    return (
        f"{at:%H:%M:%S}.{at.microsecond // 1000:03} {request.status or '---':<3} {request.method:<6} "
        f"in {render_bytes(request.body_bytes):<9} out {render_bytes(request.response_bytes):<9} "
        f"{render_seconds((request.ended_ns - request.started_ns) / 1e9):<8} {request.engine:<6} "
        f"{path}{query}{asked}{error}"
    )


def json_line(request: WireRequest, *, epoch_ns: int) -> str:
    """`request` as one JSON object."""
    line = RequestLine(
        time=render_time(datetime.fromtimestamp((request.started_ns + epoch_ns) / 1e9, UTC)),
        method=request.method,
        path=redact_target(request.path),
        query=redact_target(request.query),
        range=request.byte_range,
        status=request.status,
        bytes_received=request.body_bytes,
        bytes_sent=request.response_bytes,
        duration_s=(request.ended_ns - request.started_ns) / 1e9,
        first_byte_s=(request.response_started_ns - request.started_ns) / 1e9,
        connection=request.connection,
        attempt=request.attempt,
        engine=request.engine,
        checksums=request.checksums,
        complete=request.complete,
        error=redact_target(request.error),
        fault=request.fault,
    )
    return msgspec.json.encode(line).decode()


def remark_line(form: LogFormat, event: str, text: str) -> str:
    """A line that is not a request: a fault, a warning, an unused response."""
    redacted = redact_target(text)
    if form is LogFormat.JSON:
        return msgspec.json.encode({"event": event, "text": redacted}).decode()
    return f"s3bench: {event}: {visible(redacted)}"


def visible(text: str) -> str:
    """`text` with unprintable characters percent-encoded, so that it stays one line."""
    return text if text.isprintable() else "".join(one if one.isprintable() else quote(one) for one in text)
