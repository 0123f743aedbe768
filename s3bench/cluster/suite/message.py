"""What a node tells of itself and of the units it did, and how it is written: MessagePack, as for load.

Owns the messages that are not `message`'s; their version is that module's.
"""

import msgspec


class FoundHere(msgspec.Struct, frozen=True, kw_only=True, tag="found"):
    """A client as it was found on a node for `spec`; `digest` is that of its program (`s3bench.clients.identity`)."""

    spec: str
    kind: str
    version: str
    label: str
    detail: str
    digest: str


class MissingHere(msgspec.Struct, frozen=True, kw_only=True, tag="missing"):
    """A client that is not to be had on a node, and why."""

    spec: str
    why: str


class ClientLookup(msgspec.Struct, frozen=True, kw_only=True):
    """The clients that a node was asked for."""

    clients: tuple[FoundHere | MissingHere, ...]


class UnitOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a unit's `s3bench run` ended: its document, empty without one, and the end of what it said."""

    exit_code: int
    document: bytes
    said: str


_LOOKS = msgspec.msgpack.Decoder(ClientLookup)
_OUTCOMES = msgspec.msgpack.Decoder(UnitOutcome)


def encode(message: ClientLookup | UnitOutcome) -> bytes:
    """Write a message."""
    return msgspec.msgpack.encode(message)


def decode_look(data: bytes) -> ClientLookup:
    """Read what a node found."""
    return _LOOKS.decode(data)


def decode_outcome(data: bytes) -> UnitOutcome:
    """Read how a unit ended."""
    return _OUTCOMES.decode(data)
