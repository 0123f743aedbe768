"""Starts the server in a process of its own, arms it as stub or emulator, and collects its wire log."""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self, TypeVar

import msgspec

from s3bench.errors import BadInput, MachineError
from s3bench.s3.certificates import write_certificates
from s3bench.s3.control import (
    Answer,
    Arm,
    Armed,
    Collect,
    Collected,
    Drain,
    Drained,
    Emulate,
    Question,
    RemoteError,
    Scripted,
    ServerReady,
    StoredFile,
    harness_channel,
)
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.network.model import NetworkModel
from s3bench.s3.wirelog import WireLog
from s3bench.spec.definition import Response
from s3bench.system.channel import Channel, ChannelClosed
from s3bench.system.child import ChildProcess, module_command

LOOPBACK = "127.0.0.1"

_START_S = 30.0
_ARM_S = 60.0
_LOAD_S = 600.0
_COLLECT_S = 120.0
_STOP_S = 5.0

_AnswerT = TypeVar("_AnswerT", ServerReady, Armed, Collected, Drained)


class ServerProcess:
    """A server in a process of its own, listening while the context lasts; nothing is armed at first.

    It listens on the address `host` (an IPv4 or IPv6 address, loopback unless asked otherwise) and `port` (0: a free
    one). `directory` is private to it: certificates and the server's stderr go there. The process ends with the
    context, and by itself when this process dies. With `tls`, `ca_bundle` is what clients must trust; the certificate
    is good for loopback, `host` and `names`. Entering raises `BadInput` when the address cannot be listened on, or when
    no certificate can hold a name.
    """

    def __init__(
        self,
        *,
        tls: bool = False,
        directory: Path,
        host: str = LOOPBACK,
        port: int = 0,
        names: Sequence[str] = (),
    ) -> None:
        self._tls = tls
        self._directory = directory
        self._names = names
        self._stack = contextlib.ExitStack()
        self._channel: Channel[Question, Answer] | None = None
        self._process: ChildProcess | None = None
        self.host = host
        self.port = port
        self.url = ""
        self.pid = 0
        self.ca_bundle: Path | None = None

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def collect(self, meanwhile: Callable[[], object] = lambda: None) -> WireLog:
        """End the iteration: close what is open and give the wire log; until armed again nothing is answered.

        `meanwhile` is called while the server, on another core, writes its log.
        """
        self._tell(Collect(), limit_s=_COLLECT_S)
        meanwhile()
        return self._answer(Collected, limit_s=_COLLECT_S).log

    def drain(self, *, requests_max: int) -> Drained:
        """Take the oldest requests out of the wire log, and the counters, while the iteration goes on.

        With `requests_max` 0 all requests are forgotten once they are counted. Raises `MachineError` when the server is
        gone.
        """
        return self._ask(Drain(requests_max=requests_max), Drained, limit_s=_COLLECT_S)

    def _start(self) -> None:
        certificate = None
        if self._tls:
            try:
                certificates = write_certificates(self._directory, names=(self.host, *self._names))
            except ValueError as error:
                raise BadInput(
                    "no certificate for TLS can hold this host name or domain",
                    str(error),
                    "leave TLS out, or choose another name",
                ) from error
            except OSError as error:
                raise MachineError("the certificate for TLS cannot be made", str(error), "leave TLS out") from error
            self.ca_bundle = certificates.ca_bundle
            certificate = str(certificates.server)
        stderr = self._stack.enter_context((self._directory / "server-stderr.txt").open("w+b"))
        arguments = {"host": self.host, "port": self.port, "certificate": certificate}
        command = module_command("s3bench.s3.server.host", msgspec.json.encode(arguments).decode())
        self._process = ChildProcess(command, stderr=stderr)
        self._stack.callback(self._process.end, _STOP_S)
        self._channel = harness_channel(self._process.control)
        self.port = self._answer(ServerReady, limit_s=_START_S).port
        self.pid = self._process.pid
        self.url = f"{'https' if self._tls else 'http'}://{reachable(self.host)}:{self.port}"

    def _ask(self, question: Question, expected: type[_AnswerT], *, limit_s: float) -> _AnswerT:
        self._tell(question, limit_s=limit_s)
        return self._answer(expected, limit_s=limit_s)

    def _tell(self, question: Question, *, limit_s: float) -> None:
        assert self._channel is not None, "a server is used inside its `with`"
        try:
            self._channel.send(question, limit_s=limit_s)
        except ChannelClosed as closed:
            raise self._gone() from closed

    def _answer(self, expected: type[_AnswerT], *, limit_s: float) -> _AnswerT:
        assert self._channel is not None
        try:
            answer: Answer = self._channel.receive(limit_s=limit_s)
        except ChannelClosed as closed:
            raise self._gone() from closed
        if isinstance(answer, RemoteError):
            raise answer.error()
        assert isinstance(answer, expected)
        return answer

    def _gone(self) -> MachineError:
        assert self._process is not None
        code, last_words = self._process.how_it_ended()
        what = "the server does not answer" if code is None else f"the server ended with exit code {code}"
        return MachineError(
            what, last_words or "it wrote nothing to stderr", "run again; if it happens again, report it with the above"
        )


class StubEndpoint(ServerProcess):
    """A server that answers as scripted."""

    def arm(self, responses: tuple[Response, ...], *, workspace: Path, verify: bool) -> None:
        """Begin an iteration: answer with `responses`, file bodies read from `workspace`, and an empty wire log.

        `verify` checks every body against the checksums that its request declares. Raises `S3BenchError` when a file
        body is missing, `MachineError` when the server is gone.
        """
        scripted = tuple(Scripted.of(response) for response in responses)
        self._ask(Arm(responses=scripted, workspace=str(workspace.absolute()), verify=verify), Armed, limit_s=_ARM_S)


class EmulatorEndpoint(ServerProcess):
    """A server that is an S3 in memory."""

    def arm(
        self, settings: EmulatorSettings, *, network: NetworkModel | None = None, objects: Sequence[StoredFile] = ()
    ) -> tuple[str, ...]:
        """Begin an iteration: a new emulator behind `network`, with `objects` and nothing else, an empty wire log.

        Gives warnings about what of the data directory is not served.
        Raises `S3BenchError` when an object does not fit or cannot be read, `MachineError` when the server is gone.
        """
        question = Emulate(settings=settings, network=network, objects=tuple(objects))
        return self._ask(question, Armed, limit_s=_LOAD_S).warnings


def reachable(host: str) -> str:
    """`host` as a client on this machine writes it in a URL: a wildcard address is reached by loopback."""
    address = {"0.0.0.0": LOOPBACK, "::": "::1"}.get(host, host)  # noqa: S104 (compared with, not bound to)
    return f"[{address}]" if ":" in address else address
