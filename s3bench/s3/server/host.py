"""The server's process: runs the loop, does what the harness asks, and ends when the harness does.

Between two iterations it arms a stub or an emulator, lets the loop settle before the log is taken, and collects
garbage. Started by `endpoint.ServerProcess` with the address to listen on and, for TLS, a certificate.
"""

import contextlib
import errno
import functools
import gc
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from s3bench.errors import BadInput, MachineError, S3BenchError
from s3bench.s3.control import (
    Answer,
    Arm,
    Armed,
    Collect,
    Collected,
    Counters,
    Drain,
    Drained,
    Emulate,
    Question,
    RemoteError,
    ServerReady,
    server_channel,
)
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.files.file_cache import FileCache
from s3bench.s3.network.link import Link
from s3bench.s3.protocol.checksums import load_algorithms
from s3bench.s3.protocol.exchange import Handler
from s3bench.s3.server.connection import ServerConnection
from s3bench.s3.server.server import CONNECTIONS_MAX, Server, connections_of
from s3bench.s3.stub.script import Script
from s3bench.s3.wirelog import WireLog
from s3bench.system.channel import Channel, ChannelClosed
from s3bench.system.child import take_control
from s3bench.system.descriptors import raise_descriptor_limit

if TYPE_CHECKING:
    import ssl

    from s3bench.s3.emulator.addressing import Scheme
    from s3bench.s3.emulator.handler import Emulator
    from s3bench.s3.emulator.loading import Loaded

_BACKLOG = 4096
_TURN_S = 1.0
_TALK_S = 60.0
_SETTLE_TURNS_MAX = 200
_TROUBLES = {
    errno.EADDRINUSE: ("another program listens there", "choose another --port, or leave it out for a free one"),
    errno.EADDRNOTAVAIL: (
        "it is not an address of this machine",
        "leave --host out for 127.0.0.1, or use an address of this machine",
    ),
    errno.EACCES: ("only root may listen on ports below 1024", "choose a higher --port, or leave it out"),
}
_NOTHING_ARMED = Script((), files=FileCache(Path(os.devnull)), verify=False)


class Listen(msgspec.Struct, frozen=True, kw_only=True):
    """The process's command line, as JSON: where to listen, and the PEM file for TLS."""

    host: str
    port: int
    certificate: str | None


class Host:
    """Answers the questions that come over `channel`, and runs the server meanwhile; clients reach it by `scheme`."""

    def __init__(self, server: Server, channel: Channel[Answer, Question], scheme: "Scheme") -> None:
        self._server = server
        self._channel = channel
        self._scheme = scheme
        self._script = _NOTHING_ARMED
        self._emulator: Emulator | None = None
        self._loaded: dict[Path, Loaded] = {}
        self._loaded_by: EmulatorSettings | None = None
        self._cpu_s = 0.0
        self._parent = os.getppid()
        self._ended = False
        server.watch(channel.fileno(), self)

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
            question = self._channel.receive(limit_s=_TALK_S)
            try:
                answer = self._answer(question)
            except S3BenchError as error:
                answer = RemoteError.of(error)
            self._channel.send(answer, limit_s=_TALK_S)
        except ChannelClosed:
            self._ended = True

    def on_sweep(self, now_ns: int) -> None:
        """End with the parent: a control channel that a fork keeps open must not keep an orphan alive."""
        del now_ns
        self._ended = self._ended or os.getppid() != self._parent

    def fail(self, why: str) -> None:
        """End over a question that cannot be answered: the harness sees the channel close and reads why."""
        sys.stderr.write(f"{why}\n")
        self._ended = True

    def _answer(self, question: Question) -> Answer:
        match question:
            case Arm():
                return self._arm(question)
            case Emulate():
                return self._emulate(question)
            case Drain():
                return self._drain(question)
            case Collect():
                return Collected(log=self._collect())

    def _arm(self, question: Arm) -> Armed:
        responses = tuple(scripted.response() for scripted in question.responses)
        script = Script(responses, files=FileCache(Path(question.workspace)), verify=question.verify)
        if question.verify:
            load_algorithms()
        self._loaded = {}
        self._begin(script, script=script)
        return Armed()

    def _emulate(self, question: Emulate) -> Armed:
        self._begin(_NOTHING_ARMED)  # the last emulator's memory is free before the next one takes its own
        handler, emulator, link = _emulation()(question, self._kept(question), self._scheme)
        self._loaded = emulator.loaded
        load_algorithms()
        self._begin(handler, emulator=emulator, link=link)
        return Armed(warnings=emulator.warnings)

    def _kept(self, question: Emulate) -> "dict[Path, Loaded]":
        """Of the files in memory those that `question` asks for again; the others' memory is free at once."""
        settings = msgspec.structs.replace(question.settings, buckets=())
        loaded = self._loaded if settings == self._loaded_by else {}
        self._loaded, self._loaded_by = {}, settings
        files = {Path(item.file) for item in question.objects}
        return {file: loaded[file] for file in files & loaded.keys()}

    def _begin(
        self,
        handler: Handler,
        *,
        script: Script = _NOTHING_ARMED,
        emulator: "Emulator | None" = None,
        link: Link | None = None,
    ) -> None:
        self._script = script
        self._emulator = emulator
        self._server.start_recording(handler, link=link)
        if handler is not _NOTHING_ARMED:  # clients that come before there is something to reply with wait
            self._server.accept_connections()
        self._cpu_s = time.process_time()

    def _drain(self, question: Drain) -> Drained:
        recorder = self._server.loop.recorder
        requests = recorder.drain(question.requests_max)
        if not recorder.pending:
            gc.collect(1)  # what the records and their makers left since the last time; stored objects are not visited
        return Drained(
            requests=requests,
            pending=recorder.pending,
            faults=recorder.drain_faults(),
            failures=recorder.drain_failures(),
            warnings=() if self._emulator is None else self._emulator.drain_warnings(),
            counters=self._counters(),
        )

    def _counters(self) -> Counters:
        loop = self._server.loop
        totals = loop.recorder.totals()
        emulator = self._emulator
        return Counters(
            requests=totals.requests,
            bytes_received=totals.bytes_received,
            bytes_sent=totals.bytes_sent,
            connections=loop.recorder.connections,
            connections_open=sum(isinstance(owner, ServerConnection) for owner in loop.watched.values()),
            in_flight=loop.busy,
            server_cpu_s=time.process_time() - self._cpu_s,
            objects=0 if emulator is None else emulator.objects,
            held_bytes=0 if emulator is None else emulator.held_bytes,
        )

    def _collect(self) -> WireLog:
        """Read what the sockets still hold, which belongs to the iteration; then close everything."""
        for _ in range(_SETTLE_TURNS_MAX):
            if not self._server.turn(0):
                break
        self._server.close_connections("the iteration ended")
        cpu_s = time.process_time() - self._cpu_s
        script = self._script
        log = self._server.loop.recorder.log(
            leftover=script.leftover(),
            server_cpu_s=cpu_s,
            verified=script.verifies or self._emulator is not None,
            digests=script.digests(),
        )
        self._begin(_NOTHING_ARMED)
        gc.collect()
        return log


@functools.cache
def _emulation() -> "Callable[[Emulate, dict[Path, Loaded], Scheme], tuple[Handler, Emulator, Link | None]]":
    """`make_emulator`, imported at the first use: it would add much to the start of a stub's server."""
    from s3bench.s3.server.emulation import make_emulator  # noqa: PLC0415 (only emulators need it)

    gc.freeze()  # collections between iterations shall not look at these modules either
    return make_emulator


def main(listen: Listen) -> None:
    """Serve until the other end of the channel closes."""
    connections_max = connections_of(raise_descriptor_limit(CONNECTIONS_MAX))
    with contextlib.ExitStack() as stack:
        control = stack.enter_context(take_control())
        channel = server_channel(control)
        try:
            context = None if listen.certificate is None else _tls_context(listen.certificate)
            listener = stack.enter_context(_listener(listen))
        except S3BenchError as error:
            channel.send(RemoteError.of(error), limit_s=_TALK_S)
            return
        server = stack.enter_context(
            Server(listener, _NOTHING_ARMED, connections_max=connections_max, context=context, accept_at_once=False)
        )
        host = Host(server, channel, "http" if context is None else "https")
        channel.send(ServerReady(port=listener.getsockname()[1]), limit_s=_TALK_S)
        host.serve()


def _listener(listen: Listen) -> socket.socket:
    """Bind and listen. Raises `BadInput` when the address is not ours to use."""
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    try:
        return socket.create_server((listen.host, listen.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        reason, fix = _TROUBLES.get(
            error.errno or 0, (os.strerror(error.errno or 0), "choose another --host or --port")
        )
        raise BadInput(f"cannot listen on {listen.host} port {listen.port}", reason, fix) from error


def _tls_context(certificate: str) -> "ssl.SSLContext":
    from s3bench.s3.server.tls import server_context  # noqa: PLC0415 (plain servers start without it)

    try:
        return server_context(Path(certificate))
    except OSError as error:  # ssl.SSLError is one
        raise MachineError(
            "the certificate for TLS cannot be used", f"{certificate}: {error.strerror or error}", "run it again"
        ) from error


if __name__ == "__main__":
    main(msgspec.json.decode(sys.argv[1], type=Listen))
