"""Messages between the harness and the server's process: one question at a time, one answer each."""

import socket

import msgspec

from s3bench.errors import BadInput, S3BenchError
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.network.model import NetworkModel
from s3bench.s3.wirelog import WireLog, WireRequest
from s3bench.spec.definition import FileBody, RequestMatch, Response
from s3bench.system.channel import Channel


class Scripted(msgspec.Struct, frozen=True, array_like=True):
    """A `Response` on its way: a union for msgspec may hold one dataclass, so the body is two fields."""

    status_code: int
    headers: tuple[tuple[str, str], ...]
    text: str
    file: str | None
    instances: int | None
    match: RequestMatch | None
    delay_s: float

    @classmethod
    def of(cls, response: Response) -> "Scripted":
        """Take `response` apart; its listings are expanded before (`s3bench.spec.listing`)."""
        body = response.body
        assert isinstance(body, str | FileBody)
        text, file = ("", body.file) if isinstance(body, FileBody) else (body, None)
        return cls(
            response.status_code, response.headers, text, file, response.instances, response.match, response.delay_s
        )

    def response(self) -> Response:
        """Put the `Response` together again."""
        return Response(
            status_code=self.status_code,
            headers=self.headers,
            body=self.text if self.file is None else FileBody(file=self.file),
            instances=self.instances,
            match=self.match,
            delay_s=self.delay_s,
        )


class Arm(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Begin an iteration of the stub: answer with `responses`, their files read from the directory `workspace`."""

    responses: tuple[Scripted, ...]
    workspace: str
    verify: bool


class StoredFile(msgspec.Struct, frozen=True, array_like=True):
    """An object that exists from the start: the content of `file`, stored as `key` in `bucket`."""

    bucket: str
    key: str
    file: str


class Emulate(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Begin an iteration of a new emulator that holds `objects`, behind `network` where that is given."""

    settings: EmulatorSettings
    network: NetworkModel | None
    objects: tuple[StoredFile, ...]


class Collect(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """End the iteration and give its wire log."""


class Drain(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Give the counters, and at most `requests_max` of the oldest requests that no drain has given yet.

    What is given is forgotten; 0 forgets everything that was only counted. Connections notice nothing.
    """

    requests_max: int


class ServerReady(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The server listens on `port`; sent once, unasked."""

    port: int


class Armed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The answer to `Arm` and `Emulate`; `warnings` name what of a data directory is not served."""

    warnings: tuple[str, ...] = ()


class Collected(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The answer to `Collect`."""

    log: WireLog


class Counters(msgspec.Struct, frozen=True, kw_only=True):
    """What the server did since it was armed, and what it holds now.

    `requests` have ended, `bytes_received` and `bytes_sent` are their bodies, framing taken off. `in_flight` requests
    and `connections_open` connections are on. `server_cpu_s` is the process's CPU time. An emulator holds `objects`,
    which take `held_bytes` of its memory limit.
    """

    requests: int = 0
    bytes_received: int = 0
    bytes_sent: int = 0
    connections: int = 0
    connections_open: int = 0
    in_flight: int = 0
    server_cpu_s: float = 0.0
    objects: int = 0
    held_bytes: int = 0


class Drained(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The answer to `Drain`: requests in the order in which they ended; `pending` more are there to be drained.

    `faults` and `failures` are those of the wire log, `warnings` those of the emulator.
    """

    requests: tuple[WireRequest, ...]
    pending: int
    faults: tuple[str, ...]
    failures: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    counters: Counters


class RemoteError(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The answer to a question that failed, with the parts of an `S3BenchError`.

    `bad_input`: what the user typed is to blame.
    """

    what: str
    why: str
    fix: str
    bad_input: bool

    @classmethod
    def of(cls, error: S3BenchError) -> "RemoteError":
        """Take `error` apart."""
        return cls(what=error.what, why=error.why, fix=error.fix, bad_input=isinstance(error, BadInput))

    def error(self) -> S3BenchError:
        """Put the error together again."""
        return (BadInput if self.bad_input else S3BenchError)(self.what, self.why, self.fix)


Question = Arm | Emulate | Collect | Drain
Answer = ServerReady | Armed | Collected | Drained | RemoteError

_QUESTIONS: msgspec.msgpack.Decoder[Question] = msgspec.msgpack.Decoder(Question)
_ANSWERS: msgspec.msgpack.Decoder[Answer] = msgspec.msgpack.Decoder(Answer)


def harness_channel(sock: socket.socket) -> Channel[Question, Answer]:
    """The harness's end of the socket pair."""
    return Channel(sock, _ANSWERS)


def server_channel(sock: socket.socket) -> Channel[Answer, Question]:
    """The server's end of the socket pair."""
    return Channel(sock, _QUESTIONS)
