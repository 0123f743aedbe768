"""What the server and whoever answers its requests say to each other.

Owns the `Handler` protocol: the server reads requests and writes replies, a handler decides. The stub's script is one
handler; an object store with a network model fits behind the same door, its delays as `Reply.delay_s`.
"""

import copy
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


ReplyFacts = tuple[int, dict[str, bool], str, str, int, int]
NO_FACTS: ReplyFacts = (0, {}, "", "", 0, 0)


class Source(Protocol):
    """Something with a descriptor that bytes can be sent from; a reply keeps it alive until it is sent."""

    @property
    def descriptor(self) -> int:
        """What sendfile(2) reads from."""
        ...

    @property
    def name(self) -> str:
        """What an error calls it."""
        ...


class Segment(msgspec.Struct, frozen=True):
    """The half-open range `[start, end)` of what `source` holds."""

    source: Source
    start: int
    end: int


class Reply:
    """One response, ready to be sent; shared by every request that gets the same, so nothing changes it.

    `data` is the head, complete with its empty line (`head_bytes`), and what of the body is in memory; `segments` are
    the rest of the body, one after another. The first byte leaves `delay_s` after the request was read. A `plain` reply
    has neither segments nor delay. `facts` is what the wire log keeps: status, checksums, error, and name, start and
    end of the workspace file's bytes that were `served`; a tuple of its own, since a log of whole replies would hold
    files open and bodies in memory.
    """

    __slots__ = ("data", "delay_s", "facts", "head_bytes", "plain", "segments")

    def __init__(
        self,
        status: int,
        head: bytes,
        body: bytes = b"",
        *,
        segments: tuple[Segment, ...] = (),
        delay_s: float = 0.0,
        checksums: dict[str, bool] | None = None,
        error: str = "",
        served: tuple[str, int, int] = ("", 0, 0),
    ) -> None:
        self.facts: ReplyFacts = (status, checksums or {}, error, *served)
        self.data = head + body
        self.head_bytes = len(head)
        self.segments = segments
        self.delay_s = delay_s
        self.plain = not segments and not delay_s

    def with_checksums(self, checksums: dict[str, bool]) -> "Reply":
        """Give the same reply to a request whose checksums were verified."""
        reply = copy.copy(self)
        status, _, error, file, start, end = self.facts
        reply.facts = (status, checksums, error, file, start, end)
        return reply


class Handler(Protocol):
    """Decides about requests; called by the server's loop, so it must not block."""

    def begin(self, head: RequestHead) -> Sink | None:
        """Where the body that follows `head` goes; `None` lets the server discard it, in the kernel where it can.

        Asked only where a body follows.
        """

    def finish(self, head: RequestHead, body: Body, date_line: bytes) -> Reply:
        """Give the reply to a request whose body has ended; `date_line` is the rendered Date header line."""
