"""Messages between the driver and the process of its engine: one question at a time, one answer each."""

import socket
from typing import Any

import msgspec

from s3bench.s3.control import Refused
from s3bench.system.channel import Channel


class Connected(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A process runs on each of the `hosts`, the nodes' addresses in their order; said once, unasked.

    `facts` are what the results keep of the engine.
    """

    hosts: tuple[str, ...]
    facts: dict[str, Any]


class Ask(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Ask nodes something, as `fleet.Fleet.ask` does."""

    question: str
    told: dict[int, tuple[Any, ...]]
    limit_s: float


class Answers(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The answer to `Ask`: what nodes answered, and why others never will."""

    answers: dict[int, Any]
    gone: dict[int, str]


Answer = Connected | Answers | Refused

_QUESTIONS = msgspec.msgpack.Decoder(Ask)
_ANSWERS: msgspec.msgpack.Decoder[Answer] = msgspec.msgpack.Decoder(Answer)


def driver_channel(sock: socket.socket) -> Channel[Ask, Answer]:
    """The driver's end of the socket pair."""
    return Channel(sock, _ANSWERS)


def engine_channel(sock: socket.socket) -> Channel[Answer, Ask]:
    """The engine's end of the socket pair."""
    return Channel(sock, _QUESTIONS)
