"""What the server and whoever answers its requests say to each other.

Owns the `Handler` protocol: the server reads requests and writes replies, a handler decides. The stub's script is one
handler; an object store with a network model fits behind the same door, its delays as `Reply.delay_s`.
"""

from typing import Protocol

import msgspec

from s3bench.s3.http import RequestHead


class Sink(Protocol):
    """Where the payload of one request body goes."""

    def update(self, piece: memoryview, /) -> None:
        """Take the next payload bytes; the memory is reused after the call."""


class Body(msgspec.Struct, frozen=True):
    """One request body that was read to its end.

    `payload_bytes` counts what was left once framing was taken off, `wire_bytes` what crossed the socket. `sink` is the
    one that `Handler.begin` gave.
    """

    payload_bytes: int
    wire_bytes: int
    trailers: dict[str, str]
    sink: Sink | None


NO_BODY = Body(0, 0, {}, None)


class Segment(msgspec.Struct, frozen=True, gc=False):
    """The half-open range `[start, end)` of an open file; `file` is its name in the workspace."""

    descriptor: int
    start: int
    end: int
    file: str


class Reply(msgspec.Struct, frozen=True):
    """One response, ready to be sent.

    `head` is complete, with the empty line. The body is `body`, or `segment` when that is given. The first byte leaves
    `delay_s` after the request was read. `checksums` and `error` go into the wire log as they are.
    """

    status: int
    head: bytes
    body: bytes = b""
    segment: Segment | None = None
    delay_s: float = 0.0
    checksums: dict[str, bool] | None = None
    error: str = ""


class Handler(Protocol):
    """Decides about requests; called by the server's loop, so it must not block."""

    def begin(self, head: RequestHead) -> Sink | None:
        """Where the body that follows `head` goes; `None` lets the server discard it, in the kernel where it can."""

    def finish(self, head: RequestHead, body: Body, date_line: bytes) -> Reply:
        """The reply to a request whose body has ended; `date_line` is the rendered Date header line."""
