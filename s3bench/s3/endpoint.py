"""The stub as the rest of s3bench sees it: a URL, armed before an iteration and collected after it.

Owns the server's process and the talk with it. What the server does is `host`'s and `server`'s.
"""

import contextlib
import socket
import subprocess
import sys
from pathlib import Path
from typing import Self, TypeVar

import s3bench
from s3bench.errors import MachineError, S3BenchError
from s3bench.s3.certificates import write_certificates
from s3bench.s3.control import (
    Answer,
    Arm,
    Armed,
    Channel,
    ChannelClosed,
    Collect,
    Collected,
    Question,
    Ready,
    Refused,
    Scripted,
)
from s3bench.s3.wirelog import WireLog
from s3bench.spec.definition import Response

_START_S = 30.0
_ARM_S = 60.0
_COLLECT_S = 120.0
_STOP_S = 5.0
_STDERR_BYTES = 2000

_AnswerT = TypeVar("_AnswerT", Ready, Armed, Collected)

# Isolated mode hides the current directory, so a source tree that is not installed is added, last.
_START = "import sys, runpy; sys.path.append(sys.argv.pop(1)); runpy.run_module('s3bench.s3.host', run_name='__main__')"


class StubEndpoint:
    """A stub server in a process of its own, listening on loopback while the context lasts.

    `directory` is private to it: certificates and the server's stderr go there. The process ends with the context, and
    by itself when this process dies. With `tls`, `ca_bundle` is what clients must trust.
    """

    def __init__(self, *, tls: bool = False, directory: Path) -> None:
        self._tls = tls
        self._directory = directory
        self._stack = contextlib.ExitStack()
        self._channel: Channel | None = None
        self._process: subprocess.Popen[bytes] | None = None
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

    def arm(self, responses: tuple[Response, ...], *, workspace: Path, verify: bool) -> None:
        """Begin an iteration: answer with `responses`, file bodies read from `workspace`, and an empty wire log.

        `verify` holds every body against the checksums its request declares. Raises `S3BenchError` when a file body is
        missing, `MachineError` when the server is gone.
        """
        scripted = tuple(Scripted.of(response) for response in responses)
        self._ask(Arm(responses=scripted, workspace=str(workspace.absolute()), verify=verify), Armed, limit_s=_ARM_S)

    def collect(self) -> WireLog:
        """End the iteration: close what is open and give the wire log; until armed again nothing is answered."""
        return self._ask(Collect(), Collected, limit_s=_COLLECT_S).log

    def _start(self) -> None:
        arguments: list[str] = []
        if self._tls:
            certificates = write_certificates(self._directory)
            self.ca_bundle = certificates.ca_bundle
            arguments.append(str(certificates.server))
        ours, theirs = socket.socketpair()
        root = str(Path(s3bench.__file__).parent.parent)
        with theirs, self._stderr_path.open("wb") as stderr:
            command = [sys.executable, "-I", "-c", _START, root, str(theirs.fileno()), *arguments]
            self._stack.enter_context(ours)
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # Ctrl-C is the harness's: the log of what ran is still wanted then
            )
        self._stack.callback(self._stop, ours)
        self._channel = Channel(ours)
        ready = self._answer(Ready, limit_s=_START_S)
        self.pid = self._process.pid
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{ready.port}"

    def _stop(self, ours: socket.socket) -> None:
        """Close the channel, on which the server ends; kill it where it does not."""
        assert self._process is not None
        ours.close()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _ask(self, question: Question, expected: type[_AnswerT], *, limit_s: float) -> _AnswerT:
        assert self._channel is not None, "a StubEndpoint is used inside its `with`"
        try:
            self._channel.send(question, limit_s=limit_s)
        except ChannelClosed as closed:
            raise self._gone() from closed
        return self._answer(expected, limit_s=limit_s)

    def _answer(self, expected: type[_AnswerT], *, limit_s: float) -> _AnswerT:
        assert self._channel is not None
        try:
            answer: Answer = self._channel.receive_answer(limit_s=limit_s)
        except ChannelClosed as closed:
            raise self._gone() from closed
        if isinstance(answer, Refused):
            raise S3BenchError(answer.what, answer.why, answer.fix)
        assert isinstance(answer, expected)
        return answer

    def _gone(self) -> MachineError:
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        code = self._process.returncode
        said = self._stderr_path.read_bytes()[-_STDERR_BYTES:].decode("utf-8", "replace").strip()
        what = "the stub server does not answer" if code is None else f"the stub server ended with exit code {code}"
        return MachineError(
            what, said or "it wrote nothing to stderr", "run again; if it stays, report it with the above"
        )

    @property
    def _stderr_path(self) -> Path:
        return self._directory / "server-stderr.txt"
