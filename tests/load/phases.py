"""Phases run by an engine in the test's own process, and a server that does exactly what a test says."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from s3bench.load.engine.engine import WorkerEngine
from s3bench.load.engine.interval_record import IntervalRecord, Loss
from s3bench.load.engine.message import BeginPhase, Keys, PhaseEnded, PreparePhase, RequestTarget
from s3bench.load.engine.tls import client_context
from s3bench.load.engine.trace import Trace
from s3bench.load.engine.worker import Contents
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import DataSet, Job, Manner, Phase, Share
from s3bench.load.profile.sizes import Sizes, fixed
from s3bench.results.histogram import Histogram

BUCKET = "bucket"
DATA = DataSet(run="0123456789ab", root="s3bench/0123456789ab/")
SMALL = fixed(1000)
LIMIT_S = 60.0


@dataclass(kw_only=True)
class Outcome:
    """What a phase showed."""

    records: list[IntervalRecord]
    ended: PhaseEnded

    def operations(self, kind: OperationKind | None = None) -> int:
        return sum(s.operations for t in self.records for s in t.streams if kind in {None, s.kind})

    def bytes_up(self, kind: OperationKind) -> int:
        return sum(s.bytes_up for t in self.records for s in t.streams if s.kind is kind)

    def bytes_down(self) -> int:
        return sum(s.bytes_down for t in self.records for s in t.streams)

    @property
    def losses(self) -> dict[str, Loss]:
        found: dict[str, Loss] = {}
        for loss in (loss for t in self.records for s in t.streams for loss in s.losses):
            old = found.get(loss.label, Loss(loss.label))
            found[loss.label] = Loss(
                loss.label,
                old.count + loss.count,
                old.retried + loss.retried,
                old.lost_ns + loss.lost_ns,
                old.body_bytes + loss.body_bytes,
                old.paused_ns + loss.paused_ns,
            )
        return found

    @property
    def failed(self) -> int:
        return sum(loss.count - loss.retried for loss in self.losses.values())

    def service(self) -> Histogram:
        return Histogram.merged(s.service for t in self.records for s in t.streams)

    def response(self) -> Histogram:
        return Histogram.merged(s.response for t in self.records for s in t.streams)

    @property
    def law(self) -> float:
        """What is in flight by the latencies, of what is by the integral."""
        lost_ns = sum(loss.lost_ns for loss in self.losses.values())
        return (self.service().sum_ns + lost_ns) / sum(t.in_flight_ns for t in self.records)


@dataclass(kw_only=True)
class Runner:
    """Runs jobs against one target, in this process."""

    target: RequestTarget
    manner: Manner = field(default_factory=lambda: Manner(timeout_s=LIMIT_S))
    data: DataSet = DATA
    during: Callable[[WorkerEngine], None] = lambda _: None
    _contents: dict[Manner, Contents] = field(default_factory=dict)

    def job(self, *kinds: OperationKind, sizes: Sizes = SMALL, **more: Any) -> Job:
        return Job(**{"mix": tuple(Share(kind=kind) for kind in kinds), "sizes": sizes, "objects": 20, **more})

    def run(
        self, *jobs: Job, manner: Manner | None = None, worker: int = 0, workers: int = 1, trace: Trace | None = None,
        first_number: int = 1000, during: Callable[[WorkerEngine], None] = lambda _: None, **phase: Any,
    ) -> Outcome:  # fmt: skip
        manner = manner or self.manner
        prepare = PreparePhase(worker=worker, workers=workers, target=self.target, manner=manner, data=self.data)
        contents = self._contents.setdefault(manner, Contents(prepare))
        for job in jobs:
            contents.of(job)
        begin = BeginPhase(
            phase=Phase(**{"jobs": jobs, **phase}),
            first_numbers=tuple(first_number + index * 10**6 for index in range(len(jobs))),
        )
        records: list[IntervalRecord] = []
        engine = WorkerEngine(
            prepare,
            begin,
            start_ns=time.monotonic_ns() + 5_000_000,
            context=client_context(self.target),
            contents=contents.of,
            seen={index: contents.seen(job) for index, job in enumerate(jobs)},
            send_record=records.append,
            trace=trace,
        )
        during(engine)
        return Outcome(ended=engine.run(), records=records)

    def fill(self, sizes: Sizes = SMALL, objects: int = 20) -> None:
        """Write the data set."""
        outcome = self.run(self.job(OperationKind.PUT, sizes=sizes, threads=4, operations=objects), first_number=0)
        assert outcome.ended.written == (objects,)


Script = Callable[[socket.socket, int], None]
"""Serves one connection, whose number from 0 it is told."""


class Scripted:
    """A server that runs `script` on every connection it accepts, in a thread; ended with the context."""

    def __init__(self, script: Script, *, port: int = 0) -> None:
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", port), backlog=512)
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self.port: int = self._listener.getsockname()[1]
        self.accepted = 0

    def __enter__(self) -> Self:
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepting.join(LIMIT_S)
        with self._lock:
            for sock in self._open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(LIMIT_S)

    @property
    def runner(self) -> Runner:
        """What runs jobs against it, unsigned and unverified."""
        target = RequestTarget(
            addresses=(("127.0.0.1", self.port),), hosts=(f"127.0.0.1:{self.port}",), bucket=BUCKET, keys=Keys()
        )
        return Runner(target=target, manner=Manner(verify=False, timeout_s=LIMIT_S))

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            sock.settimeout(LIMIT_S)
            with self._lock:
                self._open.append(sock)
            thread = threading.Thread(target=self._serve, args=(sock, self.accepted), daemon=True)
            self.accepted += 1
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError, EOFError):
            self._script(sock, number)
        sock.close()


def answers(*replies: bytes) -> Script:
    """Serves one reply after the other on each connection, the last one for ever."""

    def script(sock: socket.socket, number: int) -> None:
        left = list(replies)
        while True:
            request_on(sock)
            sock.sendall(left.pop(0) if len(left) > 1 else left[0])

    return script


def request_on(sock: socket.socket) -> bytes:
    """Read one request with its body; raises `EOFError` at the end of the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = sock.recv(65536)
        if not piece:
            raise EOFError
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line[15:])
    while len(body) < length:
        piece = sock.recv(65536)
        if not piece:
            raise EOFError
        body += piece
    return head + b"\r\n\r\n" + body


def response(body: bytes = b"", status: str = "200 OK", *lines: str) -> bytes:
    head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *lines))
    return head.encode() + b"\r\n" + body
