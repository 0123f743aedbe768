"""HTTP/1.1 messages as bytes: request heads parsed, response heads rendered, strictly by RFC 9110 and RFC 9112.

Owns what one message head means: its fields, how its body is framed, whether the connection goes on. Pure: bytes in,
values out. Bodies belong to `framing`, sockets to `connection`.
"""

import re
import time
from collections.abc import Iterable
from http import HTTPStatus
from urllib.parse import unquote_to_bytes

import msgspec

HEAD_BYTES_MAX = 64 * 1024
"""Longest request head taken. S3 itself stops at 8 KiB of headers; the reserve is for proxies and long session tokens.
A client that is refused by S3 but not here therefore shows no error in a benchmark."""

LENGTH_MAX = 2**63 - 1
"""Largest body length believed (RFC 9112 6.3 asks to guard against overflow); S3's largest object is far below."""

HEAD_END = b"\r\n\r\n"

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110 5.6.2
_LENGTH_DIGITS_MAX = 19
_METHODS = frozenset({"GET", "PUT", "POST", "HEAD", "DELETE"})
_NAMES_MAX = 1024
_names: dict[str, str] = {}  # field names seen and found valid, to their lower-case form; bounded by _NAMES_MAX

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class BadRequest(Exception):
    """The request breaks HTTP or S3's framing; the client gets `status` and an S3 error document with `code`."""

    def __init__(self, why: str, *, status: int = 400, code: str = "InvalidRequest") -> None:
        super().__init__(why)
        self.why = why
        self.status = status
        self.code = code


class RequestHead(msgspec.Struct, frozen=True, gc=False):
    """One request without its body.

    `path` is percent-decoded, `query` raw and without the question mark. `fields` has lower-case names; a repeated
    field is joined with commas (RFC 9110 5.3). `length` is the declared Content-Length (0 when none), `chunked` whether
    the body is framed by Transfer-Encoding instead. `closing` means no further request follows on the connection.
    """

    method: str
    path: str
    query: str
    fields: dict[str, str]
    length: int
    chunked: bool
    closing: bool

    @property
    def has_body(self) -> bool:
        """Whether body bytes follow the head on the wire."""
        return self.chunked or self.length > 0

    @property
    def target(self) -> str:
        """The path with its query, as people write it."""
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def expects_continue(self) -> bool:
        """Whether the client waits for `100 Continue` before it sends the body (RFC 9110 10.1.1)."""
        return self.fields.get("expect", "").lower() == "100-continue"


def parse_head(raw: bytes) -> RequestHead:
    """Parse the request head in `raw`, which ends before the empty line; raises `BadRequest`."""
    text = raw.decode("latin-1")
    lines = text.split("\r\n")
    line_ends = len(lines) - 1
    # RFC 9112 2.2: a bare CR is invalid; a bare LF could be read as a line end by others, so it is refused as well.
    if text.count("\n") != line_ends or text.count("\r") != line_ends or "\0" in text:
        raise BadRequest("the request head holds a bare CR, LF or NUL")
    try:
        method, target, version = lines[0].split(" ")
    except ValueError:
        raise BadRequest(f"not an HTTP request line: {lines[0][:80]!r}") from None
    if method not in _METHODS and _TOKEN.fullmatch(method) is None:
        raise BadRequest(f"not an HTTP method: {method[:80]!r}")
    closing = version != "HTTP/1.1"
    if closing and version != "HTTP/1.0":
        raise _bad_version(version)
    fields = _parse_fields(lines)
    length, chunked = 0, False
    if "transfer-encoding" in fields or "content-length" in fields:
        length, chunked = _body_framing(fields, closing=closing)
    if "connection" in fields and "close" in fields["connection"].lower():
        closing = True
    if "host" not in fields and version != "HTTP/1.0":
        raise BadRequest("the Host header is missing (RFC 9112 3.2)")
    path, query = target, ""
    if "?" in target:
        path, _, query = target.partition("?")
    if path[:1] != "/" or "%" in path or not path.isascii():
        path = _decode_path(path)
    return RequestHead(method, path, query, fields, length, chunked, closing)


def _parse_fields(lines: list[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        key = _names.get(name) or _field_name(name)
        if not colon:
            raise BadRequest(f"a header line without a colon: {line[:80]!r}")
        value = value.strip(" \t")
        if key in fields:
            if key == "host":
                raise BadRequest("the Host header is repeated (RFC 9112 3.2)")
            value = f"{fields[key]}, {value}"
        fields[key] = value
    return fields


def _field_name(name: str) -> str:
    """`name` in lower case, remembered; spaces before the colon and folded lines fail here (RFC 9112 5.1, 5.2)."""
    if _TOKEN.fullmatch(name) is None:
        raise BadRequest(f"not a header name: {name[:80]!r}")
    lower = name.lower()
    if len(_names) < _NAMES_MAX:
        _names[name] = lower
    return lower


def _body_framing(fields: dict[str, str], *, closing: bool) -> tuple[int, bool]:
    """Content-Length and whether the body is chunked, by RFC 9112 6.1 to 6.3; both at once are refused."""
    coding = fields.get("transfer-encoding")
    length = fields.get("content-length")
    if coding is None:
        assert length is not None
        return _parse_length(length), False
    if length is not None:
        raise BadRequest("Transfer-Encoding and Content-Length contradict each other (RFC 9112 6.3)")
    if closing:
        raise BadRequest("Transfer-Encoding in an HTTP/1.0 request (RFC 9112 6.1)")
    if coding.lower() != "chunked":
        raise BadRequest(f"transfer coding {coding[:80]!r} is not supported", status=501, code="NotImplemented")
    return 0, True


def _parse_length(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text.lstrip("0")) > _LENGTH_DIGITS_MAX:
        raise BadRequest(f"Content-Length is no number of bytes: {text[:80]!r}")
    length = int(text)
    if length > LENGTH_MAX:
        raise BadRequest(f"Content-Length is beyond 2**63 - 1: {text}")
    return length


def _bad_version(version: str) -> BadRequest:
    if version.startswith("HTTP/"):
        return BadRequest(f"{version[:20]!r} is not HTTP/1.1", status=505, code="HttpVersionNotSupported")
    return BadRequest(f"not an HTTP version: {version[:20]!r}")


def _decode_path(path: str) -> str:
    """Undo percent-encoding; bytes that are no UTF-8 become replacement characters."""
    if path[:1] != "/":
        path = _path_of_other_form(path)
    return unquote_to_bytes(path.encode("latin-1")).decode("utf-8", "replace")


def _path_of_other_form(target: str) -> str:
    """Take the path out of a target in absolute form (`http://host/path`, RFC 9112 3.2.2), or take `*`."""
    scheme, separator, rest = target.partition("://")
    if separator and scheme.lower() in {"http", "https"}:
        _, slash, path = rest.partition("/")
        return slash + path or "/"
    if target == "*":
        return target
    raise BadRequest(f"not a request target: {target[:80]!r}")


def render_head(status: int, headers: Iterable[tuple[str, str]]) -> bytes:
    """Status line and header lines, each ended, without the empty line that ends a head.

    Raises `ValueError` for a name or value that would break out of its line.
    """
    try:
        reason = HTTPStatus(status).phrase
    except ValueError:
        reason = "Stubbed"
    lines = [f"HTTP/1.1 {status} {reason}\r\n"]
    for name, value in headers:
        if _TOKEN.fullmatch(name) is None or any(character in value for character in "\r\n\0"):
            raise ValueError(f"header {name!r} cannot be sent with the value {value!r}")
        lines.append(f"{name}: {value}\r\n")
    return "".join(lines).encode()


def render_date(now_s: float) -> str:
    """`now_s` (seconds since 1970) as an HTTP date (RFC 9110 5.6.7), whatever the locale."""
    at = time.gmtime(now_s)
    return (
        f"{_DAYS[at.tm_wday]}, {at.tm_mday:02} {_MONTHS[at.tm_mon - 1]} {at.tm_year:04} "
        f"{at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02} GMT"
    )
