"""The server's process: drives the loop, obeys the harness, and ends when the harness does.

Owns the life of an iteration inside the process: arming a script, letting the loop
settle before the log is taken, and the garbage collector. Started by `endpoint.StubEndpoint` with the number of its
control descriptor and, for TLS, a certificate.
"""

import contextlib
import gc
import os
import socket
import sys
import time
from pathlib import Path

from s3bench.errors import S3BenchError
from s3bench.s3.checksums import load_algorithms
from s3bench.s3.control import Arm, Armed, Channel, ChannelClosed, Collected, Ready, Refused
from s3bench.s3.server import Server, raise_descriptor_limit
from s3bench.s3.shelf import Shelf
from s3bench.s3.stub import Script
from s3bench.s3.wirelog import WireLog

_BACKLOG = 4096
_TURN_S = 1.0
_TALK_S = 60.0
_SETTLE_TURNS_MAX = 200
_NOTHING_ARMED = Script((), files=Shelf(Path(os.devnull)), verify=False)


class Host:
    """Obeys the questions that come over `channel`, and turns the server meanwhile."""

    def __init__(self, server: Server, control: socket.socket) -> None:
        self._server = server
        self._channel = Channel(control)
        self._script = _NOTHING_ARMED
        self._cpu_s = 0.0
        self._parent = os.getppid()
        self._ended = False
        server.watch(control.fileno(), self)

    def serve(self) -> None:
        """Turn the loop until the harness is gone."""
        # Exchanges make no reference cycles, so the collector would only stop the loop to find nothing: it stays off
        # while requests are served and runs once between iterations. Frozen, the modules are not even looked at then.
        gc.disable()
        gc.freeze()
        server = self._server
        while not self._ended:
            server.turn(_TURN_S)

    def on_event(self, events: int) -> None:
        """Answer the harness, or end when it is gone."""
        del events
        try:
            question = self._channel.receive_question(limit_s=_TALK_S)
            answer = self._arm(question) if isinstance(question, Arm) else Collected(log=self._collect())
            self._channel.send(answer, limit_s=_TALK_S)
        except ChannelClosed:
            self._ended = True

    def on_sweep(self, now_ns: int) -> None:
        """End with the parent: a control channel kept open by somebody's fork must not keep an orphan alive."""
        del now_ns
        self._ended = self._ended or os.getppid() != self._parent

    def abort(self, why: str) -> None:
        """End over a question that cannot be answered: the harness sees the channel close and reads why."""
        sys.stderr.write(f"{why}\n")
        self._ended = True

    def _arm(self, question: Arm) -> Armed | Refused:
        responses = tuple(scripted.response() for scripted in question.responses)
        try:
            script = Script(responses, files=Shelf(Path(question.workspace)), verify=question.verify)
        except S3BenchError as error:
            return Refused(what=error.what, why=error.why, fix=error.fix)
        if question.verify:
            load_algorithms()
        self._script = script
        self._server.start_recording(script)
        self._cpu_s = time.process_time()
        return Armed()

    def _collect(self) -> WireLog:
        """Read what the sockets still hold, which belongs to the iteration; then close everything."""
        for _ in range(_SETTLE_TURNS_MAX):
            if not self._server.turn(0):
                break
        self._server.close_connections("the iteration ended")
        cpu_s = time.process_time() - self._cpu_s
        log = self._server.loop.recorder.log(leftover=self._script.leftover(), server_cpu_s=cpu_s)
        self._script = _NOTHING_ARMED
        self._server.start_recording(_NOTHING_ARMED)
        gc.collect()
        return log


def main(control_descriptor: int, certificate: Path | None) -> None:
    """Serve until the channel behind `control_descriptor` closes."""
    context = None
    if certificate is not None:
        from s3bench.s3.tls import server_context  # noqa: PLC0415 (plain servers start without it)

        context = server_context(certificate)
    connections_max = raise_descriptor_limit()
    with contextlib.ExitStack() as stack:
        control = stack.enter_context(socket.socket(fileno=control_descriptor))
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG))
        server = stack.enter_context(Server(listener, _NOTHING_ARMED, connections_max=connections_max, context=context))
        host = Host(server, control)
        Channel(control).send(Ready(port=listener.getsockname()[1]), limit_s=_TALK_S)
        host.serve()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)  # noqa: PLR2004 (a second argument)
