#!/usr/bin/env python3
"""Whether `s3bench load` tells the truth about outages: what it reports beside the ledger of a server that fails.

    .venv/bin/python benchmarks/load_outage.py [--threads 16,64,256] [--only TEXT]

The server is a process of its own with plain sockets (asyncio). It answers GETs of 100 objects, fails as ordered, and
keeps the ledger: what it was asked, what it answered, and when it was down. `s3bench load` runs as a user runs it, for
ten seconds, constant arrivals at 300 operations a second in open loop. It takes about four minutes in all. Faults:

- refused: three seconds after the first request the listener and all connections are closed, for three seconds. In
  open loop the share of operations planned in that time must have failed, in both loops the time without service must
  be that time. In closed loop each thread must have lost that time, and half of what an answer takes: so long, on
  average, had what was in flight been so.
- retries: the same with `--retries 2`: an operation fails whose three attempts, at 0, 50 and 150 ms, were all refused.
- black hole: for three seconds requests are taken and never answered, with `--timeout 1s`. Every operation that got no
  answer must have failed; the operations that wait for a free thread are told by their own label. What waited less than
  the time limit and was answered after all is a success, so that this share depends on the threads.
- surplus: one answer of ten is followed by bytes that nobody asked for, in the same segment, or 1 ms later. One
  operation must have failed for each such answer, and no other one.
- dripping: one answer of twenty comes a byte at a time, for eight seconds, with `--timeout 2s`. Each must have failed,
  as far as two seconds were left for it.
- one drip: without `--timeout` the last answer begun comes a byte at a time until after the end. The age of the oldest
  unfinished attempt must be its age.

Exits 1 where a share is more than one percentage point off, or a time more than 0.5 s.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

BUCKET = "load"
OBJECTS = 100
SIZE_BYTES = 1000
RATE_PER_S = 300
DURATION_S = 10.0
DOWN_S, UP_S = 3.0, 6.0  # after the first request
CLOSED_RATE_PER_S = 500.0  # of a closed loop, by the delay of the answers
SURPLUS_EVERY, DRIP_EVERY = 10, 20
TIMEOUT_S = {"black hole": 1.0, "dripping": 2.0}
DRIP_RATE_PER_S = 100
DRIP_S = 0.25  # between two bytes
LAST_DRIP_S = 2.0
SHARE_OFF_MAX, TIME_OFF_S_MAX = 0.01, 0.5
_LIMIT_S = 60.0


class Mischief(StrEnum):
    """How the server fails."""

    REFUSE = "refused"
    IGNORE = "black hole"
    SURPLUS = "surplus"
    DRIP = "dripping"
    LAST_DRIP = "one drip"


@dataclass(slots=True)
class Ledger:
    """What the server did; times in seconds since the first GET of an object."""

    asked: int = 0
    answered: int = 0
    surplus: int = 0
    down: list[float] = field(default_factory=list)
    dripped: list[float] = field(default_factory=list)


def body_of(path: str) -> bytes:
    """The body of an object."""
    return (path.rpartition("/")[2].encode() * SIZE_BYTES)[:SIZE_BYTES]


class Server:
    """Answers, fails, and keeps the books. `delay_s` is how long each answer takes."""

    def __init__(self, mischief: Mischief, delay_s: float) -> None:
        self.mischief = mischief
        self.delay_s = delay_s
        self.ledger = Ledger()
        self.open: set[Peer] = set()
        self._loop = asyncio.get_running_loop()
        self._began_s: float | None = None
        self._listener: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def listen(self) -> None:
        """Begin to listen, on the same port as before."""
        make = self._loop.create_server(lambda: Peer(self), "127.0.0.1", self.port, backlog=1024)
        self._listener = await make
        self.port = self._listener.sockets[0].getsockname()[1]

    @property
    def now_s(self) -> float:
        """The time since the first GET."""
        return self._loop.time() - (self._began_s or self._loop.time())

    @property
    def is_down(self) -> bool:
        """Whether it is the time of the outage."""
        return DOWN_S <= self.now_s < UP_S

    def asked(self) -> None:
        """Note a GET of an object."""
        self.ledger.asked += 1
        if self._began_s is None:
            self._began_s = self._loop.time()
            if self.mischief is Mischief.REFUSE:
                self._loop.call_later(DOWN_S, self._close)
                self._loop.call_later(UP_S, self._reopen)

    def _close(self) -> None:
        assert self._listener is not None
        self._listener.close()
        for peer in list(self.open):
            peer.abort()
        self.ledger.down.append(self.now_s)

    def _reopen(self) -> None:
        task = self._loop.create_task(self.listen())
        self._tasks.add(task)
        task.add_done_callback(lambda _: self.ledger.down.append(self.now_s))


class Peer(asyncio.Protocol):
    """One connection."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._held = b""
        self._later = asyncio.get_running_loop().call_later

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.open.add(self)

    def connection_lost(self, _: Exception | None) -> None:
        """Forget the connection."""
        self._server.open.discard(self)

    def abort(self) -> None:
        """Close without another byte."""
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Do what is asked for."""
        self._held += data
        while (end := self._held.find(b"\r\n\r\n")) >= 0:
            head, self._held = self._held[:end], self._held[end + 4 :]
            method, target = head.split(b" ", 2)[:2]
            path = target.decode().partition("?")[0]
            if method == b"GET" and path.count("/") == 2:  # /bucket/key
                self._get(path)
            else:
                self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    def _get(self, path: str) -> None:
        server = self._server
        server.asked()
        ledger, mischief = server.ledger, server.mischief
        if mischief is Mischief.IGNORE and server.is_down:
            return
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % SIZE_BYTES + body_of(path)
        is_last = mischief is Mischief.LAST_DRIP and server.now_s >= LAST_DRIP_S and not ledger.dripped
        if is_last or (mischief is Mischief.DRIP and ledger.asked % DRIP_EVERY == 0):
            ledger.dripped.append(server.now_s)
            self._drip(answer)
        elif mischief is Mischief.SURPLUS and ledger.asked % SURPLUS_EVERY == 0:
            self._surplus(answer, at_once=ledger.surplus % 2 == 0)
        elif server.delay_s:
            self._later(server.delay_s, self._answer, answer)
        else:
            self._answer(answer)

    def _answer(self, answer: bytes) -> None:
        if not self._transport.is_closing():
            self._server.ledger.answered += 1
            self._transport.write(answer)

    def _surplus(self, answer: bytes, *, at_once: bool) -> None:
        self._server.ledger.surplus += 1
        stray = b"these bytes belong to no answer"
        if at_once:
            self._transport.write(answer + stray)
        else:
            self._transport.write(answer)
            self._later(0.001, self._transport.write, stray)

    def _drip(self, left: bytes) -> None:
        if left and not self._transport.is_closing():
            self._transport.write(left[:1])
            self._later(DRIP_S, self._drip, left[1:])


def serve(mischief: Mischief, delay_s: float, pipe: Connection) -> None:
    """Tell the port, serve until told to end, and tell the ledger. Runs in a process of its own."""

    async def run() -> None:
        server = Server(mischief, delay_s)
        await server.listen()
        pipe.send(server.port)
        await asyncio.get_running_loop().run_in_executor(None, pipe.recv)
        pipe.send(server.ledger)

    asyncio.run(run())


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of the table: two figures that should be the same, shares or seconds. `None`: the report has none."""

    fault: str
    loop: str
    threads: int
    figure: str
    reported: float | None
    truth: float

    @property
    def is_share(self) -> bool:
        """Whether the figures are shares and not seconds."""
        return self.figure == "error rate"

    @property
    def holds(self) -> bool:
        """Whether the report is near enough to the truth."""
        limit = SHARE_OFF_MAX if self.is_share else TIME_OFF_S_MAX
        return self.reported is not None and abs(self.reported - self.truth) <= limit

    def __str__(self) -> str:
        def text(value: float | None) -> str:
            return "-" if value is None else f"{value:.2%}" if self.is_share else f"{value:.2f} s"

        off = None if self.reported is None else self.reported - self.truth
        cells = f"{self.fault:<11} {self.loop:<6} {self.threads:>7}  {self.figure:<20} {text(self.reported):>9}"
        return f"{cells} {text(self.truth):>9} {text(off):>9}{'' if self.holds else '  MISSED'}"


Case = tuple[str, Callable[[int], list[Row]]]


def main() -> int:
    """Run all cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--threads", default="16,64,256")
    parser.add_argument("--only", default="", help="only faults whose names hold this")
    options = parser.parse_args()
    cases: tuple[Case, ...] = (
        ("refused", refused_open),
        ("refused closed", refused_closed),
        ("retries", retried),
        ("black hole", black_hole),
        ("surplus", surplus),
        ("dripping", dripping),
        ("one drip", one_drip),
    )
    heads = f"{'fault':<11} {'loop':<6} {'threads':>7}  {'figure':<20} {'s3bench':>9} {'ledger':>9} {'off by':>9}"
    print(heads, flush=True)
    missed = 0
    for name, case in cases:
        threads_of = (16,) if case in {dripping, one_drip} else map(int, options.threads.split(","))
        for threads in threads_of if options.only in name else ():
            for row in case(threads):
                missed += not row.holds
                print(row, flush=True)
    return 1 if missed else 0


def refused_open(threads: int) -> list[Row]:
    """Connections are refused while operations are planned."""
    load, ledger = measure(Mischief.REFUSE, threads, rate=RATE_PER_S)
    down_s = ledger.down[1] - ledger.down[0]
    row = _error_rate(load, "refused", "open", threads, down_s / DURATION_S)
    return [row, _without_service(load, "refused", "open", threads, down_s)]


def refused_closed(threads: int) -> list[Row]:
    """Connections are refused to threads that ask as fast as they are answered."""
    delay_s = threads / CLOSED_RATE_PER_S
    load, ledger = measure(Mischief.REFUSE, threads, delay_s=delay_s)
    down_s = ledger.down[1] - ledger.down[0]
    lost_s, truth = sum(failures["time_lost"] for failures in load["failures"]) / threads, down_s + delay_s / 2
    figure = "time lost a thread"
    lost = Row(fault="refused", loop="closed", threads=threads, figure=figure, reported=lost_s, truth=truth)
    return [_without_service(load, "refused", "closed", threads, down_s), lost]


def retried(threads: int) -> list[Row]:
    """Connections are refused, and operations are tried three times."""
    load, ledger = measure(Mischief.REFUSE, threads, "--retries", "2", rate=RATE_PER_S)
    down_s = ledger.down[1] - ledger.down[0]
    truth = (down_s - 0.15) / DURATION_S
    return [_error_rate(load, "retries", "open", threads, truth)]


def black_hole(threads: int) -> list[Row]:
    """Requests are taken and not answered."""
    load, ledger = measure(Mischief.IGNORE, threads, "--timeout", "1s", rate=RATE_PER_S)
    row = _error_rate(load, "black hole", "open", threads, 1 - ledger.answered / (RATE_PER_S * DURATION_S))
    return [row, _without_service(load, "black hole", "open", threads, UP_S - DOWN_S)]


def surplus(threads: int) -> list[Row]:
    """Some answers are followed by bytes that belong to none."""
    load, ledger = measure(Mischief.SURPLUS, threads, rate=RATE_PER_S)
    row = _error_rate(load, "surplus", "open", threads, ledger.surplus / (RATE_PER_S * DURATION_S))
    closed, books = measure(Mischief.SURPLUS, threads, delay_s=threads / CLOSED_RATE_PER_S)
    done = closed["operations"] + closed["failed"]
    return [row, _error_rate(closed, "surplus", "closed", threads, books.surplus / done)]


def dripping(threads: int) -> list[Row]:
    """Some answers come a byte at a time."""
    limit_s = TIMEOUT_S["dripping"]
    load, ledger = measure(Mischief.DRIP, threads, "--timeout", f"{limit_s:g}s", rate=DRIP_RATE_PER_S)
    due = sum(at_s + limit_s < DURATION_S for at_s in ledger.dripped)
    ended = DRIP_RATE_PER_S * DURATION_S - (len(ledger.dripped) - due)
    return [_error_rate(load, "dripping", "open", threads, due / ended)]


def one_drip(threads: int) -> list[Row]:
    """One answer comes a byte at a time until after the end."""
    load, ledger = measure(Mischief.LAST_DRIP, threads, rate=DRIP_RATE_PER_S)
    reported, truth = load.get("oldest_attempt"), DURATION_S - ledger.dripped[0]
    figure = "age of the oldest"
    return [Row(fault="one drip", loop="open", threads=threads, figure=figure, reported=reported, truth=truth)]


def _error_rate(load: dict[str, Any], fault: str, loop: str, threads: int, truth: float) -> Row:
    reported = load["error_rate"]
    return Row(fault=fault, loop=loop, threads=threads, figure="error rate", reported=reported, truth=truth)


def _without_service(load: dict[str, Any], fault: str, loop: str, threads: int, truth: float) -> Row:
    reported = load.get("without_service")
    return Row(fault=fault, loop=loop, threads=threads, figure="time without service", reported=reported, truth=truth)


def measure(
    mischief: Mischief, threads: int, *more: str, rate: int | None = None, delay_s: float = 0.0
) -> tuple[dict[str, Any], Ledger]:
    """Run `s3bench load` against a server that fails; gives the load of its results document, and the ledger."""
    pipe, other = multiprocessing.Pipe()
    process = multiprocessing.Process(target=serve, args=(mischief, delay_s, other), daemon=True)
    process.start()
    with tempfile.TemporaryDirectory(prefix="s3bench-outage-") as name:
        directory = Path(name)
        keys, results = directory / "keys", directory / "results.json"
        names = [f"{number:08d}" for number in range(OBJECTS)]
        keys.write_text("".join(f"{name}\t{SIZE_BYTES}\t{zlib.crc32(body_of(name)):08x}\n" for name in names))
        planned = ("--rate", str(rate), "--arrivals", "constant") if rate else ()
        command = (
            str(Path(sys.executable).with_name("s3bench")), "load", "--endpoint-url", f"http://127.0.0.1:{pipe.recv()}",
            "--bucket", BUCKET, "--operation", "get", "--key-file", str(keys), "--threads", str(threads),
            "--workers", "1", "--duration", f"{DURATION_S:g}s", "--quiet", "--output", str(results), *planned, *more,
        )  # fmt: skip
        keyed = os.environ | {"AWS_ACCESS_KEY_ID": "benchmark", "AWS_SECRET_ACCESS_KEY": "benchmark"}
        finished = subprocess.run(command, env=keyed, capture_output=True, timeout=_LIMIT_S, check=False)
        pipe.send("end")
        ledger = pipe.recv()
        process.join(_LIMIT_S)
        if not results.exists():
            raise SystemExit(f"exit code {finished.returncode}: {finished.stderr.decode(errors='replace')}")
        document = json.loads(results.read_bytes())
        return document["results"][0]["measurements"][0]["load"], ledger


if __name__ == "__main__":
    sys.exit(main())
