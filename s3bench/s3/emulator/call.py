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

    def reply_not_modified(self, headers: Headers) -> Reply:
        """Reply 304, without a Content-Length: it would be that of the object (RFC 9110 8.6)."""
        return Reply(304, self._head(304, headers))

    def _head(self, status: int, headers: Headers) -> bytes:
        return (
            render_head(status, (("x-amz-request-id", REQUEST_ID), *headers, *self.cross_origin))
            + self.date_line
            + b"\r\n"
        )

    def integer(self, name: str, default: int) -> int:
        """Give the integer of 32 bits that the query has under `name`. Raises `S3Error` where it is none."""
        text = self.query.get(name, "")
        if not text:
            return default
        magnitude = parse_decimal(text.removeprefix("-"))
        number = -magnitude if magnitude is not None and text.startswith("-") else magnitude
        if number is None or not -(2**31) <= number < 2**31:
            raise _invalid_argument(f"Provided {name} not an integer or within integer range", name, text)
        return number

    def number(
        self, name: str, default: int, *, least: int = 0, most: int = 2**31 - 1, argument: str | None = None
    ) -> int:
        """Give the number from `least` to `most` that the query has under `name`. Raises `S3Error` where it is none.

        `argument` is what S3 calls it where it is beyond these limits. The messages are S3's, as others report them:
        https://github.com/floci-io/floci/pull/3510, and test_multipart_list_parts_invalid_argument of moto.
        """
        number = self.integer(name, default)
        if not least <= number <= most:
            argument = argument or name
            message = f"Argument {argument} must be an integer between {least} and {most}"
            raise _invalid_argument(message, argument, str(number))
        return number


def _invalid_argument(message: str, name: str, value: str) -> S3Error:
    details = (("ArgumentName", name), ("ArgumentValue", value))
    return S3Error(status=400, code="InvalidArgument", message=message, details=details)


def http_time(at_s: float) -> str:
    """`at_s` as an HTTP date."""
    return render_date(at_s)
