"""What driver and nodes say to each other, and how it is written: MessagePack, so that no type has to be the same.

Owns the messages that are not `s3bench.load.engine.message`'s, and the version of them all.
"""

import msgspec

from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.message import (
    BeginPhase,
    PhaseEnded,
    PhasePrepared,
    PhaseReady,
    PreparePhase,
    WorkerFailed,
)
from s3bench.load.session.capacity import Capacity

PROTOCOL = 4
"""Counted up with every change of what nodes are told or tell."""

NodeReport = PhasePrepared | PhaseReady | IntervalRecord | PhaseEnded | WorkerFailed
"""What a node tells: of itself that it is prepared or ready, of each of its workers what that did."""


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a node is: the versions on it, `cores` that it may use, its machine as the results keep it, its `capacity`.

    `niceness` is what its processes run at: 0, where s3bench may give up that of Ray's workers. `warnings` are doubts
    about the machine before anything runs.
    """

    protocol: int
    s3bench: str
    python: str
    cores: int
    machine: dict[str, object]
    capacity: Capacity
    niceness: int
    warnings: tuple[str, ...]


class Reports(msgspec.Struct, frozen=True, kw_only=True):
    """What a node told since it was last asked; `dropped` are the tallies for which it had no room so far."""

    reports: tuple[NodeReport, ...]
    dropped: int = 0


_PREPARES = msgspec.msgpack.Decoder(tuple[PreparePhase, ...])
_BEGINS = msgspec.msgpack.Decoder(tuple[BeginPhase, ...])
_REPORTS = msgspec.msgpack.Decoder(Reports)


def encode(message: tuple[PreparePhase, ...] | tuple[BeginPhase, ...] | Reports) -> bytes:
    """Write a message."""
    return msgspec.msgpack.encode(message)


def decode_prepares(data: bytes) -> tuple[PreparePhase, ...]:
    """Read the orders of a node's workers to get ready."""
    return _PREPARES.decode(data)


def decode_begins(data: bytes) -> tuple[BeginPhase, ...]:
    """Read the orders of a node's workers for a phase."""
    return _BEGINS.decode(data)


def decode_reports(data: bytes) -> Reports:
    """Read what a node told."""
    return _REPORTS.decode(data)
