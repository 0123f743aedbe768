"""The interface between the server, which reads requests and writes replies, and a handler, which makes the replies.

The stub's script is a handler, the emulator another, and a network model wraps either.
"""

import copy
from typing import Protocol

import msgspec

from s3bench.s3.protocol.framing import ChunkCheck
from s3bench.s3.protocol.http import RequestHead


class Sink(Protocol):
    """Where the payload of one request body goes."""

    @property
    def chunk_check(self) -> ChunkCheck | None:
        """What the chunks of an aws-chunked body are shown to, where their signatures are verified."""
        ...

    def update(self, piece: memoryview, /) -> None:
        """Take the next payload bytes; the memory is reused after the call."""


class Unwanted:
    """A `Sink` for the body of a request that is rejected already, with `error`: its bytes are dropped."""

    __slots__ = ("error",)

    chunk_check = None

    def __init__(self, error: Exception) -> None:
        self.error = error

    def update(self, piece: memoryview, /) -> None:
        """Drop the bytes."""


class RequestBody(msgspec.Struct, frozen=True):
    """One request body that was read to its end.

    `payload_bytes` counts what was left once framing was taken off, `wire_bytes` what crossed the socket. `sink` is the
    one that `Handler.begin` gave.
    """

    payload_bytes: int
    wire_bytes: int
    trailers: dict[str, str]
    sink: Sink | None


NO_BODY = RequestBody(0, 0, {}, None)


ReplyFacts = tuple[int, dict[str, bool], str, str, int, int, float, str]
NO_FACTS: ReplyFacts = (0, {}, "", "", 0, 0, 0.0, "")


class BodySource(Protocol):
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

    source: BodySource
    start: int
    end: int


class Break(msgspec.Struct, frozen=True):
    """Where in the bytes of a reply, its head included, it pauses for `stall_s`, or is cut by a reset where that is 0.

    `after_bytes` is less than the reply has.
    """

    after_bytes: int
    stall_s: float


class Reply:
    """One response, ready to be sent; shared by every request that gets the same, so nothing changes it.

    `data` is the head, complete with its empty line (`head_bytes`), and what of the body is in memory; `segments` are
    the rest of the body, one after another. The first byte leaves `delay_s` after the request was read. `at_once` is
    data, `head_bytes` and facts of a reply that one send may complete (no segments, no delay, no network model), else
    `None`: a tuple, so that C reads one attribute. `facts` is what the wire log keeps: status, checksums, error, name,
    start and end of the workspace file's bytes that were `served`, the delay and what the network model did
    (`wirelog.Fault`); a tuple of its own, since a log of whole replies would hold files open and bodies in memory.
    """

    __slots__ = ("at_once", "broken", "data", "delay_s", "facts", "head_bytes", "segments")

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
        self.facts: ReplyFacts = (status, checksums or {}, error, *served, delay_s, "")
        self.data = head + body
        self.head_bytes = len(head)
        self.segments = segments
        self.delay_s = delay_s
        self.at_once = None if segments or delay_s else (self.data, self.head_bytes, self.facts)
        self.broken: Break | None = None

    def with_checksums(self, checksums: dict[str, bool]) -> "Reply":
        """Give the same reply to a request whose checksums were verified."""
        reply = copy.copy(self)
        status, _, error, file, start, end, delay_s, fault = self.facts
        reply.facts = (status, checksums, error, file, start, end, delay_s, fault)
        if reply.at_once is not None:
            reply.at_once = (reply.data, reply.head_bytes, reply.facts)
        return reply

    @property
    def size_bytes(self) -> int:
        """All of its bytes, the head included."""
        return len(self.data) + sum(segment.end - segment.start for segment in self.segments)

    def over_network(self, *, delay_s: float, fault: str = "", broken: Break | None = None) -> "Reply":
        """Give the same reply as a network model lets it through: `delay_s` later, and with a `fault` where it has one.

        Its bytes cross a link, so it is not sent at once.
        """
        reply = copy.copy(self)
        reply.delay_s += delay_s
        reply.facts = (*self.facts[:-2], reply.delay_s, fault)
        reply.broken = broken
        reply.at_once = None
        return reply


class Handler(Protocol):
    """Decides about requests; called by the server's loop, so it must not block."""

    def begin(self, head: RequestHead) -> Sink | None:
        """Where the body that follows `head` goes; `None` lets the server discard it, in the kernel where it can.

        `Unwanted` where the head alone is rejected. Asked where a body follows, or the client expects 100 Continue.
        """

    def finish(self, head: RequestHead, body: RequestBody, date_line: bytes) -> Reply:
        """Give the reply to a request whose body has ended; `date_line` is the rendered Date header line."""
