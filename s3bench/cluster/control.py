"""Messages between the driver and its engine process: one call at a time, with one response each."""

import socket
from typing import Any

import msgspec

from s3bench.s3.control import RemoteError
from s3bench.system.channel import Channel


class Connected(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A process runs on each of the `hosts`, the nodes' addresses in order; sent once, at the start.

    `facts` about the engine are stored in the results.
    """

    hosts: tuple[str, ...]
    facts: dict[str, Any]


class NodeCall(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Call a method on nodes, as `NodeGroup.call` does."""

    method: str
    arguments: dict[int, tuple[Any, ...]]
    limit_s: float


class NodeResults(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The response to `NodeCall`: the results of the nodes, and why others are gone."""

    results: dict[int, Any]
    gone: dict[int, str]


EngineMessage = Connected | NodeResults | RemoteError

_CALLS = msgspec.msgpack.Decoder(NodeCall)
_MESSAGES: msgspec.msgpack.Decoder[EngineMessage] = msgspec.msgpack.Decoder(EngineMessage)


def driver_channel(sock: socket.socket) -> Channel[NodeCall, EngineMessage]:
    """The driver's end of the socket pair."""
    return Channel(sock, _MESSAGES)


def engine_channel(sock: socket.socket) -> Channel[EngineMessage, NodeCall]:
    """The engine's end of the socket pair."""
    return Channel(sock, _CALLS)
