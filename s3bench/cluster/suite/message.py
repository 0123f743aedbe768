"""Messages of a suite's nodes, encoded as MessagePack; `s3bench.cluster.message` has the protocol version."""

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
    """A client that a node does not have, and why."""

    spec: str
    why: str


class ClientLookup(msgspec.Struct, frozen=True, kw_only=True):
    """The result of looking up clients on a node."""

    clients: tuple[FoundHere | MissingHere, ...]


class UnitOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a unit's `s3bench run` ended: its document, empty if there is none, and the end of its stderr."""

    exit_code: int
    document: bytes
    said: str


_LOOKS = msgspec.msgpack.Decoder(ClientLookup)
_OUTCOMES = msgspec.msgpack.Decoder(UnitOutcome)


def encode(message: ClientLookup | UnitOutcome) -> bytes:
    """Encode a message."""
    return msgspec.msgpack.encode(message)


def decode_look(data: bytes) -> ClientLookup:
    """Decode the clients that a node found."""
    return _LOOKS.decode(data)


def decode_outcome(data: bytes) -> UnitOutcome:
    """Decode how a unit ended."""
    return _OUTCOMES.decode(data)
