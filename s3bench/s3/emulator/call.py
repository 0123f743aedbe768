"""One request as the operations see it, and the replies to it.

Adds what is common to all replies: request id, date, content type and length.
"""

from collections.abc import Iterable, Mapping

import msgspec

from s3bench.s3.emulator.content import Sendable
from s3bench.s3.emulator.receiving import Receiver, XmlDocument
from s3bench.s3.protocol.decimals import parse_decimal
from s3bench.s3.protocol.exchange import Reply
from s3bench.s3.protocol.http import RequestHead, render_date, render_head
from s3bench.s3.protocol.s3_error import REQUEST_ID, S3Error

Headers = Iterable[tuple[str, str]]


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A request whose body has been read and verified; `sink` has it.

    `bucket` and `key` are empty where it names none. `now_s` is in seconds since 1970, `date_line` the rendered Date
    header. `checksums` are the declared checksums, and whether each was right. `cross_origin` are headers of the reply
    for browsers.
    """

    head: RequestHead
    bucket: str
    key: str
    query: Mapping[str, str]
    now_s: float
    date_line: bytes
    sink: Receiver | XmlDocument | None = None
    checksums: Mapping[str, bool] | None = None
    cross_origin: Headers = ()

    @property
    def fields(self) -> Mapping[str, str]:
        """The request's header fields, names in lower case."""
        return self.head.fields

    @property
    def body(self) -> bytes:
        """The request's document, empty where none came."""
        return self.sink.data if isinstance(self.sink, XmlDocument) else b""

    @property
    def received(self) -> Receiver:
        """The object data that came."""
        assert isinstance(self.sink, Receiver)
        return self.sink

    def reply(self, status: int, headers: Headers = (), document: bytes = b"") -> Reply:
        """Reply with an XML document, or without a body."""
        length = () if status == 204 else (("Content-Length", str(len(document))),)  # noqa: PLR2004 (RFC 9110 8.6)
        kind = (("Content-Type", "application/xml"),) if document else ()
        rendered = self._head(status, (*headers, *kind, *length))
        body = b"" if self.head.method == "HEAD" else document
        return Reply(status, rendered, body, checksums=dict(self.checksums or {}))

    def reply_with_bytes(self, status: int, headers: Headers, length: int, body: Sendable) -> Reply:
        """Reply with `length` bytes of an object, or with their headers alone to a HEAD."""
        rendered = self._head(status, (*headers, ("Content-Length", str(length))))
        data, segments = (b"", ()) if self.head.method == "HEAD" else body
        return Reply(status, rendered, data, segments=segments)

    def _head(self, status: int, headers: Headers) -> bytes:
        return (
            render_head(status, (("x-amz-request-id", REQUEST_ID), *headers, *self.cross_origin))
            + self.date_line
            + b"\r\n"
        )

    def number(self, name: str, default: int, *, least: int = 0, most: int = 2**31 - 1) -> int:
        """Give the number that the query has under `name`, at most `most`. Raises `S3Error` where it is none."""
        text = self.query.get(name, "")
        if not text:
            return default
        number = parse_decimal(text)
        if number is None or not least <= number < 2**31:
            message = f"Argument {name} must be an integer between {least} and {most}"
            details = (("ArgumentName", name), ("ArgumentValue", text))
            raise S3Error(status=400, code="InvalidArgument", message=message, details=details)
        return min(number, most)


def http_time(at_s: float) -> str:
    """`at_s` as an HTTP date."""
    return render_date(at_s)
