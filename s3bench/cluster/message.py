"""Messages between driver and nodes, encoded as MessagePack, and the version of the protocol.

`s3bench.load.engine.message` has those that workers of one machine use too.
"""

import msgspec

from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.message import BeginPhase, PhaseEnded, PhasePrepared, PhaseReady, PreparePhase, WorkerFailed
from s3bench.load.session.capacity import Capacity

PROTOCOL = 5
"""Incremented with every change of the messages and of the calls."""

NodeReport = PhasePrepared | PhaseReady | IntervalRecord | PhaseEnded | WorkerFailed
"""A report of a node: that it is prepared or ready, or what one of its workers did."""


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about a node: its versions, usable `cores`, its machine as stored in results, its `capacity`.

    `niceness` is that of its processes: 0 if s3bench may reset that of Ray's workers. `warnings` are those about the
    machine before anything runs.
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
    """The new reports of a node; `dropped` is the number of interval records lost so far for lack of room."""

    reports: tuple[NodeReport, ...]
    dropped: int = 0


_PREPARES = msgspec.msgpack.Decoder(tuple[PreparePhase, ...])
_BEGINS = msgspec.msgpack.Decoder(tuple[BeginPhase, ...])
_REPORTS = msgspec.msgpack.Decoder(Reports)


def encode(message: tuple[PreparePhase, ...] | tuple[BeginPhase, ...] | Reports) -> bytes:
    """Encode a message."""
    return msgspec.msgpack.encode(message)


def decode_prepares(data: bytes) -> tuple[PreparePhase, ...]:
    """Decode the orders to prepare a node's workers."""
    return _PREPARES.decode(data)


def decode_begins(data: bytes) -> tuple[BeginPhase, ...]:
    """Decode the orders to begin a phase."""
    return _BEGINS.decode(data)


def decode_reports(data: bytes) -> Reports:
    """Decode the reports of a node."""
    return _REPORTS.decode(data)
