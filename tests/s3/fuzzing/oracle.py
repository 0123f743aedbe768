"""What a server owes a stream of bytes, by RFC 9110 and RFC 9112 alone; written without the server's own parsers.

The rules, for the requests in a stream, in order:

1. A complete request (its head has ended, its framing is valid, its body is all there) gets exactly one final answer.
2. A request whose head or framing is malformed gets one answer of 400 or more with `Connection: close`. Nothing after
   it is answered: where the next request begins is anybody's guess, and guessing is how requests are smuggled.
3. A request that is not complete when the client ends its half of the connection gets no answer, or one as in 2.
4. `Connection: close` stands in an answer where the client asked for it (also by HTTP/1.0), or where its status is 400
   or more. Nothing follows it, and the server ends the connection.
5. No final status is 500, 502, 503 or 504, and every answer is well-formed (see `answers`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

HEAD_BYTES_MAX = 64 * 1024
LINE_BYTES_MAX = 8 * 1024
TRAILER_BYTES_MAX = 16 * 1024
LENGTH_MAX = 2**63 - 1

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_REQUEST_LINE = re.compile(rb"(%b) ([^ \r\n\0]+) HTTP/1\.([01])" % _TOKEN)
_FIELD = re.compile(rb"(%b):[ \t]*([^\r\n\0]*?)[ \t]*" % _TOKEN)
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\n]*)?")


class Shape(Enum):
    """How much of a request is there."""

    COMPLETE = "complete"
    MALFORMED = "malformed"
    UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owed:
    """One request in a stream. `asks_to_close` and `may_continue` are what its head asks for."""

    shape: Shape
    to_head: bool = False
    asks_to_close: bool = False
    may_continue: bool = False


def owed_for(stream: bytes) -> list[Owed]:
    """Take `stream` apart into requests; the last one is the first after which no other can be told."""
    return list(_requests(stream))


def _requests(stream: bytes) -> Iterator[Owed]:
    rest = stream.lstrip(b"\r\n")
    while rest:
        end = rest.find(b"\r\n\r\n")
        to_head = rest.startswith(b"HEAD ")
        if end > HEAD_BYTES_MAX or (end < 0 and len(rest) > HEAD_BYTES_MAX):
            yield Owed(shape=Shape.MALFORMED, to_head=to_head)
            return
        if end < 0:
            yield Owed(shape=Shape.UNFINISHED, to_head=to_head)
            return
        head = _parse_head(rest[:end])
        if head is None:
            yield Owed(shape=Shape.MALFORMED, to_head=to_head)
            return
        old, fields = head
        body_bytes = _body_length(fields, rest[end + 4 :], old=old)
        shape = body_bytes if isinstance(body_bytes, Shape) else Shape.COMPLETE
        owed = Owed(
            shape=shape,
            to_head=to_head,
            asks_to_close=old or any(b"close" in value.lower() for value in fields.get(b"connection", [])),
            may_continue=fields.get(b"expect", [b""])[-1].lower() == b"100-continue",
        )
        yield owed
        if isinstance(body_bytes, Shape) or owed.asks_to_close:
            return
        rest = rest[end + 4 + body_bytes :].lstrip(b"\r\n")


def _parse_head(head: bytes) -> tuple[bool, dict[bytes, list[bytes]]] | None:
    """Give whether it is HTTP/1.0, and the fields; `None` where it is malformed."""
    first, *lines = head.split(b"\r\n")
    line = _REQUEST_LINE.fullmatch(first)
    fields: dict[bytes, list[bytes]] = {}
    for text in lines:
        field = _FIELD.fullmatch(text)
        if field is None:
            return None
        fields.setdefault(field[1].lower(), []).append(field[2])
    if line is None:
        return None
    old = line[3] == b"0"
    hosts = len(fields.get(b"host", []))
    return None if hosts > 1 or (not hosts and not old) else (old, fields)


def _body_length(fields: dict[bytes, list[bytes]], rest: bytes, *, old: bool) -> int | Shape:
    """Give how many bytes of `rest` are the body, framing included."""
    codings, lengths = fields.get(b"transfer-encoding", []), fields.get(b"content-length", [])
    if codings:
        if old or lengths or [coding.lower() for coding in codings] != [b"chunked"]:
            return Shape.MALFORMED
        return _chunked_length(rest)
    if not lengths:
        return 0
    if len(lengths) > 1 or re.fullmatch(rb"[0-9]+", lengths[0]) is None:
        return Shape.MALFORMED
    digits = lengths[0].lstrip(b"0") or b"0"
    if len(digits) > len(str(LENGTH_MAX)) or int(digits) > LENGTH_MAX:
        return Shape.MALFORMED
    return int(digits) if int(digits) <= len(rest) else Shape.UNFINISHED


def _chunked_length(rest: bytes) -> int | Shape:
    at = 0
    while True:
        size, at = _chunk_size(rest, at)
        if isinstance(size, Shape):
            return size
        if not size:
            return _trailer_end(rest, at)
        if len(rest) < at + size + 2:
            # The end of a chunk may be wrong already.
            return Shape.UNFINISHED if b"\r\n".startswith(rest[at + size : at + size + 2]) else Shape.MALFORMED
        if rest[at + size : at + size + 2] != b"\r\n":
            return Shape.MALFORMED
        at += size + 2


def _chunk_size(rest: bytes, at: int) -> tuple[int | Shape, int]:
    end = rest.find(b"\n", at)
    line = rest[at:] if end < 0 else rest[at : end + 1]
    if len(line) > LINE_BYTES_MAX or (line and not re.match(rb"[0-9A-Fa-f]", line)):
        return Shape.MALFORMED, at
    if end < 0:
        return Shape.UNFINISHED, at
    match = _CHUNK.fullmatch(line[:-2]) if line.endswith(b"\r\n") else None
    if match is None or int(match[1], 16) > LENGTH_MAX:
        return Shape.MALFORMED, at
    return int(match[1], 16), end + 1


def _trailer_end(rest: bytes, at: int) -> int | Shape:
    total = 0
    while True:
        end = rest.find(b"\r\n", at)
        line = rest[at:] if end < 0 else rest[at:end]
        total += len(line)
        if len(line) + 2 > LINE_BYTES_MAX or total > TRAILER_BYTES_MAX:
            return Shape.MALFORMED
        if end < 0:
            return Shape.UNFINISHED
        if not line:
            return end + 2
        if _FIELD.fullmatch(line) is None:
            return Shape.MALFORMED
        at = end + 2
