"""What the driver and the process of its engine say to each other, over the framing of `s3bench.s3.frames`.

Owns the messages, in MessagePack. One question at a time, one answer each.
"""

import socket
from typing import Any

import msgspec

from s3bench.s3.control import Refused
from s3bench.s3.frames import read_frame, write_frame


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


class EngineChannel:
    """One end of a socket pair. Raises `ChannelClosed` when the other side is gone, or mute for too long."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def send(self, message: Ask | Answer, *, limit_s: float) -> None:
        """Send one message within `limit_s`."""
        write_frame(self._sock, msgspec.msgpack.encode(message), limit_s=limit_s)

    def receive_question(self, *, limit_s: float) -> Ask:
        """Wait for the next question, at the engine."""
        return _QUESTIONS.decode(read_frame(self._sock, limit_s=limit_s))

    def receive_answer(self, *, limit_s: float) -> Answer:
        """Wait for the next answer, at the driver."""
        return _ANSWERS.decode(read_frame(self._sock, limit_s=limit_s))
