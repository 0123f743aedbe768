"""Parses request heads and renders response heads of HTTP/1.1, strictly by RFC 9110 and RFC 9112. Pure."""

import re
import time
from collections.abc import Iterable
from http import HTTPStatus
from urllib.parse import unquote_to_bytes

import msgspec

from s3bench.s3.protocol.decimals import parse_decimal

HEAD_BYTES_MAX = 64 * 1024
"""Longest request head taken. S3 itself stops at 8 KiB of headers; the reserve is for proxies and long session tokens.
A client that is rejected by S3 but not here therefore shows no error in a benchmark."""

LENGTH_MAX = 2**63 - 1
"""Largest body length believed (RFC 9112 6.3 asks to guard against overflow); S3's largest object is far below."""

SUCCESSES = range(200, 300)
"""The status codes that say that a request succeeded (RFC 9110 15.3)."""

HEAD_END = b"\r\n\r\n"

_METHOD_BYTES_MAX = 80  # checked of a method that has only begun
_TLS_HANDSHAKE = b"\x16"  # first byte of the record that begins a TLS connection (RFC 8446 5.1)

_BARE_LINE_END = "the request head holds a bare CR, LF or NUL"

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110 5.6.2
_AUTHORITY = re.compile(r"[^/?#@]+(?=[/?]|$)")  # RFC 9110 4.2: without user information
_BLANKS = " \t"  # RFC 9110 5.6.3
_FRAMING = frozenset({"transfer-encoding", "connection"})  # Content-Length is usual
_NAMES_MAX = 1024

USUAL_METHODS = {name: name for name in ("GET", "PUT", "POST", "HEAD", "DELETE")}
"""The methods of S3; the log keeps one string for all GETs."""

known_names: dict[str, str] = {}
"""Valid field names seen so far, each with its lower-case form; at most `_NAMES_MAX`, never removed."""

_sendable: set[str] = set()  # field names sent and found valid; bounded likewise
_REASONS = {status.value: status.phrase for status in HTTPStatus}

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
    `garbled` means the path was not UTF-8 and has replacement characters.
    """

    method: str
    path: str
    query: str
    fields: dict[str, str]
    length: int
    chunked: bool
    closing: bool
    garbled: bool = False

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
    """Parse the request head in `raw`, which ends before the empty line; raises `BadRequest`.

    Written for speed: the server runs it for every request that `server.fast_path` does not parse.
    """
    lines = raw.decode("latin-1").split("\r\n")
    rest = "".join(lines)
    # RFC 9112 2.2: a bare CR is invalid; a bare LF could be read as a line end by others, so it is refused as well.
    if "\n" in rest or "\r" in rest or "\0" in rest:
        raise BadRequest(_BARE_LINE_END)
    first = lines.pop(0)
    try:
        method, path, version = first.split(" ")
        form = path[0]
    except (ValueError, IndexError):
        raise _bad_request_line(first) from None
    if form != "/" and path != "*":
        return _parse_absolute_form(method, path, version, lines)
    query, garbled = "", False
    if "?" in path:
        path, _, query = path.partition("?")
    if "%" in path or not path.isascii():
        path, garbled = _decode_path(path)
    fields: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        key = (colon and known_names.get(name)) or _field_name(name, line)
        fields[key] = value.strip(_BLANKS) if key not in fields else _joined(key, fields[key], value)
    usual = USUAL_METHODS.get(method)
    if usual is not None and not garbled and version == "HTTP/1.1" and "host" in fields and _FRAMING.isdisjoint(fields):
        length = fields.get("content-length")
        length_bytes = 0 if length is None else _parse_length(length)
        return RequestHead(usual, path, query, fields, length_bytes, False, False)  # noqa: FBT003 (keywords cost time)
    return _with_framing(method, path, query, version, fields, garbled=garbled)


def check_beginning(data: bytes) -> None:
    """Raise `BadRequest` if no request head can begin with `data`, so that other protocols do not wait for its end."""
    if data.startswith(_TLS_HANDSHAKE):
        raise BadRequest("the client speaks TLS, the server plain HTTP; use http:// in its URL, or start with --tls")
    first, line_end, _ = data.partition(b"\r\n")
    if _TOKEN.fullmatch(data[:_METHOD_BYTES_MAX].partition(b" ")[0].decode("latin-1")) is None:
        raise _bad_request_line(first.decode("latin-1"))
    if data.count(b"\n") > data.count(b"\r\n"):
        raise BadRequest(_BARE_LINE_END)
    if line_end:
        parse_head(first + b"\r\nHost: h")  # Host may be among the lines that are still to come


def _parse_absolute_form(method: str, target: str, version: str, lines: list[str]) -> RequestHead:
    """Parse a head whose target is a URL, `http://host/path`; its authority replaces Host (RFC 9112 3.2.2)."""
    scheme, separator, rest = target.partition("://")
    authority = _AUTHORITY.match(rest)
    if not separator or scheme.lower() not in {"http", "https"} or authority is None:
        raise BadRequest(f"not a request target: {target[:80]!r}")
    path = rest[authority.end() :].removeprefix("/")
    head = parse_head("\r\n".join((f"{method} /{path} {version}", *lines)).encode("latin-1"))
    return msgspec.structs.replace(head, fields=head.fields | {"host": authority[0]})


def _bad_request_line(line: str) -> BadRequest:
    return BadRequest(f"not an HTTP request line: {line[:80]!r}")


def _with_framing(
    method: str, path: str, query: str, version: str, fields: dict[str, str], *, garbled: bool
) -> RequestHead:
    """Finish a head that says something of the connection, has a body of unknown length, or is unusual."""
    if _TOKEN.fullmatch(method) is None:
        raise BadRequest(f"not an HTTP method: {method[:80]!r}")
    old = version == "HTTP/1.0"
    if version != "HTTP/1.1" and not old:
        raise _bad_version(version)
    if old:
        fields.pop("expect", None)  # RFC 9110 10.1.1: HTTP/1.0 has no 100 Continue
    elif "host" not in fields:
        raise BadRequest("the Host header is missing (RFC 9112 3.2)")
    length, chunked = _body_framing(fields, old=old)
    closing = old or "close" in fields.get("connection", "").lower()
    return RequestHead(method, path, query, fields, length, chunked, closing, garbled)


def _field_name(name: str, line: str) -> str:
    """Check `name`, make it lower-case, and remember it; spaces before the colon and folded lines fail here."""
    if _TOKEN.fullmatch(name) is None or ":" not in line:  # RFC 9112 5.1, 5.2
        raise BadRequest(f"not a header line: {line[:80]!r}")
    lower = name.lower()
    if len(known_names) < _NAMES_MAX:
        known_names.setdefault(name, lower)  # another thread may have been faster
    return lower


def _joined(key: str, earlier: str, value: str) -> str:
    if key == "host":
        raise BadRequest("the Host header is repeated (RFC 9112 3.2)")
    return f"{earlier},{value.strip(_BLANKS)}"


def _body_framing(fields: dict[str, str], *, old: bool) -> tuple[int, bool]:
    """Content-Length and whether the body is chunked, by RFC 9112 6.1 to 6.3; both at once are refused."""
    coding = fields.get("transfer-encoding")
    length = fields.get("content-length")
    if coding is None:
        return (0 if length is None else _parse_length(length)), False
    if length is not None:
        raise BadRequest("Transfer-Encoding and Content-Length contradict each other (RFC 9112 6.3)")
    if old:
        raise BadRequest("Transfer-Encoding in an HTTP/1.0 request (RFC 9112 6.1)")
    if coding.lower() != "chunked":
        raise BadRequest(f"transfer coding {coding[:80]!r} is not supported", status=501, code="NotImplemented")
    return 0, True


def _parse_length(text: str) -> int:
    length = parse_decimal(text)
    if length is None:
        raise BadRequest(f"Content-Length is not a number of bytes: {text[:80]!r}")
    if length > LENGTH_MAX:
        raise BadRequest(f"Content-Length is beyond 2**63 - 1: {text[:80]}")
    return length


def _bad_version(version: str) -> BadRequest:
    if version.startswith("HTTP/"):
        return BadRequest(f"{version[:20]!r} is not HTTP/1.1", status=505, code="HttpVersionNotSupported")
    return BadRequest(f"not an HTTP version: {version[:20]!r}")


def query_pairs(query: str, *, errors: str = "strict") -> list[tuple[str, str]]:
    """Give the names and values in a raw query, in order; a plus sign stands for a space, as in forms.

    Their bytes are UTF-8, percent-encoded or not. Raises `UnicodeDecodeError` where they are not, unless `errors`
    (see `bytes.decode`) says otherwise.
    """
    pairs = []
    for piece in query.encode("latin-1").replace(b"+", b" ").split(b"&"):
        if piece:
            name, _, value = piece.partition(b"=")
            pairs.append((unquote_to_bytes(name).decode(errors=errors), unquote_to_bytes(value).decode(errors=errors)))
    return pairs


def _decode_path(path: str) -> tuple[str, bool]:
    """Undo percent-encoding; bytes that are no UTF-8 become replacement characters, and whether there are any."""
    raw = unquote_to_bytes(path.encode("latin-1"))
    decoded = raw.decode("utf-8", "replace")
    return decoded, "\ufffd" in decoded and decoded.encode() != raw


def render_head(status: int, headers: Iterable[tuple[str, str]]) -> bytes:
    """Status line and header lines, each ended, without the empty line that ends a head.

    Values are ISO 8859-1, as `parse_head` reads them, so that what came in goes out unchanged.
    Raises `ValueError` for a name or value that would break out of its line.
    """
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Stubbed')}\r\n"]
    for name, value in headers:
        if name not in _sendable and not _may_send(name):
            raise ValueError(f"header {name!r} cannot be sent: that is no name of a header")
        lines.append(f"{name}: {value}\r\n")
    head = "".join(lines)
    if head.count("\r") != len(lines) or head.count("\n") != len(lines) or "\0" in head:
        raise ValueError(f"headers cannot be sent that break out of their lines: {head!r}")
    return head.encode("latin-1")


def _may_send(name: str) -> bool:
    """Whether `name` is a field name; remembered where it is."""
    if _TOKEN.fullmatch(name) is None:
        return False
    if len(_sendable) < _NAMES_MAX:
        _sendable.add(name)
    return True


def render_date(now_s: float) -> str:
    """`now_s` (seconds since 1970) as an HTTP date (RFC 9110 5.6.7), whatever the locale."""
    at = time.gmtime(now_s)
    return (
        f"{_DAYS[at.tm_wday]}, {at.tm_mday:02} {_MONTHS[at.tm_mon - 1]} {at.tm_year:04} "
        f"{at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02} GMT"
    )
