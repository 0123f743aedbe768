"""Exchanges with servers that behave well, badly and not at all: what each is counted as."""

import itertools
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from s3bench.load.engine.engine import WorkerEngine
from s3bench.load.operation import AttemptFailure, OperationKind
from s3bench.load.profile.profile import Arrivals, Manner, Rate
from s3bench.load.profile.sizes import fixed
from s3bench.s3.certificates import Certificates, write_certificates
from s3bench.s3.server.tls import server_context
from s3bench.system.poller import Poller
from s3bench.system.sockets import stream_socket
from tests.load.phases import LIMIT_S, Runner, Script, Scripted, answers, request_on, response


def reset(sock: socket.socket) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def chunked(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


@pytest.mark.parametrize("size_bytes", [0, 1, 1000, 70_000, 3_000_000])
def test_bodies_of_any_framing_are_read_whole(size_bytes: int) -> None:
    body = bytes(size_bytes)
    with Scripted(answers(response(body), chunked(body or b"1"), response(body))) as server:
        outcome = server.runner.run(server.runner.job(OperationKind.GET, operations=3))
        assert (outcome.operations(), server.accepted) == (3, 1)
        assert outcome.bytes_down() == 2 * size_bytes + (size_bytes or 1)


def test_a_body_until_the_end_of_the_connection_is_whole() -> None:
    def script(sock: socket.socket, number: int) -> None:
        request_on(sock)
        sock.sendall(b"HTTP/1.1 200 OK\r\n\r\nabc")
        sock.sendall(b"def")

    with Scripted(script) as server:
        outcome = server.runner.run(server.runner.job(OperationKind.GET, operations=2))
        assert (outcome.operations(), outcome.bytes_down(), outcome.losses) == (2, 12, {})


def test_an_answer_in_single_bytes_is_read_like_any_other() -> None:
    def script(sock: socket.socket, number: int) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            request_on(sock)
            for byte in b"HTTP/1.1 100 Continue\r\n\r\n" + response(b"abc"):
                sock.sendall(bytes((byte,)))

    with Scripted(script) as server:
        outcome = server.runner.run(server.runner.job(OperationKind.GET, operations=3))
        assert (outcome.operations(), outcome.bytes_down()) == (3, 9)


def test_large_bodies_are_sent_whole() -> None:
    seen = []

    def script(sock: socket.socket, number: int) -> None:
        while True:
            seen.append(request_on(sock).partition(b"\r\n\r\n")[2])
            sock.sendall(response())

    with Scripted(script) as server:
        runner = server.runner
        sizes = fixed(3_000_001)
        outcome = runner.run(runner.job(OperationKind.PUT, sizes=sizes, operations=2), first_number=0)
        assert outcome.operations() == 2
        contents = next(iter(runner._contents.values())).of(runner.job(OperationKind.PUT, sizes=sizes))[0]
        assert seen == [b"".join(contents.body(number).pieces) for number in range(2)]


def swallow(sock: socket.socket, number: int) -> None:
    request_on(sock)


def fault_of(
    script: Script, *, kind: OperationKind = OperationKind.GET, size_bytes: int = 1000, manner: Manner | None = None
) -> tuple[str, int]:
    with Scripted(script) as server:
        runner = server.runner
        outcome = runner.run(runner.job(kind, sizes=fixed(size_bytes), operations=1), manner=manner)
        assert outcome.operations() == 0
        ((label, loss),) = outcome.losses.items()
        assert (loss.count, loss.retried) == (1, 0)
        return label, loss.body_bytes


def test_a_body_cut_short_is_truncated() -> None:
    def script(sock: socket.socket, number: int) -> None:
        request_on(sock)
        sock.sendall(response(b"x" * 1000)[:-1])

    assert fault_of(script) == (AttemptFailure.TRUNCATED, 999)


def test_a_close_instead_of_an_answer_is_closed() -> None:
    assert fault_of(swallow) == (AttemptFailure.CLOSED, 0)


def test_a_reset_is_a_reset() -> None:
    def script(sock: socket.socket, number: int) -> None:
        request_on(sock)
        reset(sock)

    assert fault_of(script) == (AttemptFailure.RESET, 0)


def test_what_is_no_http_is_no_answer() -> None:
    def script(sock: socket.socket, number: int) -> None:
        request_on(sock)
        sock.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
        request_on(sock)

    assert fault_of(script) == (AttemptFailure.PROTOCOL, 0)


def test_silence_is_a_timeout() -> None:
    silent = threading.Event()

    def script(sock: socket.socket, number: int) -> None:
        request_on(sock)
        silent.wait(1)

    label, _ = fault_of(script, manner=Manner(verify=False, timeout_s=0.1))
    silent.set()
    assert label == AttemptFailure.TIMEOUT


def test_an_error_has_its_status_and_code() -> None:
    body = b"<Error><Code>SlowDown</Code></Error>"
    with Scripted(answers(response(body, "503 Slow Down"), response(b"ok"))) as server:
        outcome = server.runner.run(server.runner.job(OperationKind.GET, operations=3))
        assert outcome.operations() == 2
        assert [(loss.label, loss.count, loss.body_bytes) for loss in outcome.losses.values()] == [
            ("503 SlowDown", 1, len(body))
        ]
        assert outcome.bytes_down() == 4, "bytes of errors do not count"


def test_an_answer_before_the_whole_body_was_sent_is_heard() -> None:
    def script(sock: socket.socket, number: int) -> None:
        sock.recv(1000)
        sock.sendall(response(b"<Error><Code>EntityTooLarge</Code></Error>", "400 Bad Request", "Connection: close"))
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(65536):
            pass

    label, _ = fault_of(script, kind=OperationKind.PUT, size_bytes=4_000_000)
    assert label == "400 EntityTooLarge"


@pytest.mark.parametrize("end", [lambda _: None, reset])
def test_a_connection_that_ends_just_as_it_is_used_again_costs_nothing_but_is_counted(
    end: Callable[[socket.socket], None],
) -> None:
    """The server closes after each answer without a word, so that the next request meets the end."""
    turn = threading.Semaphore(0)

    def script(sock: socket.socket, number: int) -> None:
        request_on(sock)
        sock.sendall(response(b"abc"))
        request_on(sock)  # is never answered
        end(sock)
        turn.release()

    with Scripted(script) as server:
        outcome = server.runner.run(server.runner.job(OperationKind.GET, operations=3))
        assert outcome.operations() == 3
        assert outcome.failed == 0
        ((label, loss),) = outcome.losses.items()
        assert label in {AttemptFailure.CLOSED, AttemptFailure.RESET}
        assert (loss.count, loss.retried) == (2, 2)
        assert turn.acquire(timeout=LIMIT_S)


def test_a_first_request_that_meets_the_end_is_not_repeated() -> None:
    label, _ = fault_of(lambda *_: None)
    assert label in {AttemptFailure.CLOSED, AttemptFailure.RESET}
    with Scripted(lambda *_: None) as server:
        server.runner.run(server.runner.job(OperationKind.GET, operations=1))
        assert server.accepted == 1


def test_bodies_need_not_be_read() -> None:
    with Scripted(answers(response(bytes(3_000_000)))) as server:
        runner = server.runner
        outcome = runner.run(runner.job(OperationKind.GET, operations=2, reads_bodies=False))
        assert outcome.operations() == 2
        assert server.accepted == 2
        assert outcome.bytes_down() < 3_000_000


STRAY = b"bytes that belong to no answer"
HEAD_OF_1000 = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"

SURPLUS_CASES = pytest.mark.parametrize(
    ("kind", "answer"),
    [
        (OperationKind.GET, response(b"x" * 1000)),
        (OperationKind.GET, response(b"x" * 3_000_000)),
        (OperationKind.GET, chunked(b"x" * 1000)),
        (OperationKind.HEAD, HEAD_OF_1000),
        (OperationKind.PUT, response()),
        (OperationKind.DELETE, b"HTTP/1.1 204 No Content\r\n\r\n"),
    ],
    ids=["get", "large", "chunked", "head", "put", "delete"],
)


def misbehaving_once(first: Script, answer: bytes) -> Script:
    """Runs `first` on the first connection, and answers well on all others."""
    return lambda sock, number: (first if number == 0 else answers(answer))(sock, number)


@SURPLUS_CASES
def test_bytes_behind_an_answer_are_the_fault_of_its_request_alone(kind: OperationKind, answer: bytes) -> None:
    with Scripted(misbehaving_once(answers(answer + STRAY), answer)) as server:
        outcome = server.runner.run(server.runner.job(kind, operations=5, objects=5))
        assert server.accepted == 2
    assert (outcome.operations(), outcome.failed) == (4, 1)
    assert {label: (loss.count, loss.retried) for label, loss in outcome.losses.items()} == {
        AttemptFailure.SURPLUS: (1, 0)
    }


@SURPLUS_CASES
def test_an_answer_that_comes_twice_is_not_taken_for_the_next_one(kind: OperationKind, answer: bytes) -> None:
    def first(sock: socket.socket, number: int) -> None:
        request_on(sock)
        sock.sendall(answer[:-10])
        sock.sendall(answer[-10:] + response(b"x"))  # small enough for one segment
        request_on(sock)

    with Scripted(misbehaving_once(first, answer)) as server:
        outcome = server.runner.run(server.runner.job(kind, operations=3, objects=3))
        assert server.accepted == 2
    assert {label: loss.count for label, loss in outcome.losses.items()} == {AttemptFailure.SURPLUS: 1}


@SURPLUS_CASES
def test_bytes_that_come_later_on_an_idle_connection_are_the_fault_of_the_request_before(
    kind: OperationKind, answer: bytes
) -> None:
    def first(sock: socket.socket, number: int) -> None:
        request_on(sock)
        sock.sendall(answer)
        threading.Event().wait(0.02)  # the answer has been read by then
        sock.sendall(STRAY)
        request_on(sock)

    with Scripted(misbehaving_once(first, answer)) as server:
        rate = Rate(per_s=2, arrivals=Arrivals.CONSTANT)
        outcome = server.runner.run(server.runner.job(kind, operations=4, objects=4, rate=rate), duration_s=3)
        assert server.accepted == 2
    assert (outcome.operations(), outcome.failed) == (3, 1)
    assert {label: (loss.count, loss.retried) for label, loss in outcome.losses.items()} == {
        AttemptFailure.SURPLUS: (1, 0)
    }
    assert outcome.bytes_down() % 3 == 0, "the bytes of the failed operation do not count"
    assert outcome.law == pytest.approx(1, abs=0.05)


@SURPLUS_CASES
@pytest.mark.parametrize("wait_s", [0.0, 0.02])
def test_bytes_that_meet_the_next_request_do_not_fail_it(kind: OperationKind, answer: bytes, wait_s: float) -> None:
    """Its own answer follows them: so they belonged to the one before."""

    def first(sock: socket.socket, number: int) -> None:
        request_on(sock)
        sock.sendall(answer)
        request_on(sock)
        sock.sendall(STRAY[: len(STRAY) if wait_s else 9])
        threading.Event().wait(wait_s)
        sock.sendall(STRAY + answer)
        request_on(sock)

    with Scripted(misbehaving_once(first, answer)) as server:
        outcome = server.runner.run(server.runner.job(kind, operations=5, objects=5))
        assert server.accepted == 2
    assert (outcome.operations(), outcome.failed) == (4, 1)
    assert {label: (loss.count, loss.retried) for label, loss in outcome.losses.items()} == {
        AttemptFailure.SURPLUS: (1, 0)
    }
    assert outcome.law == pytest.approx(1, abs=0.05)


def uploading(sock: socket.socket, *, stray_after: int | None = None) -> None:
    """Answers the requests of uploads; some time after answer `stray_after` come bytes that belong to none."""
    for number in itertools.count():
        request = request_on(sock)
        sock.sendall(response(b"<UploadId>one</UploadId>" * (b"?uploads" in request), "200 OK", 'ETag: "1"'))
        if number == stray_after:
            threading.Event().wait(0.02)
            sock.sendall(STRAY)


def test_bytes_behind_the_end_of_an_upload_are_the_fault_of_the_whole_upload() -> None:
    with Scripted(lambda sock, number: uploading(sock, stray_after=None if number else 2)) as server:
        rate = Rate(per_s=2, arrivals=Arrivals.CONSTANT)
        job = server.runner.job(OperationKind.MULTIPART, sizes=fixed(2000), operations=3, rate=rate)
        outcome = server.runner.run(job, duration_s=3)
        assert server.accepted == 2
    for kind in (OperationKind.MULTIPART, OperationKind.MULTIPART_COMPLETE):
        streams = [stream for record in outcome.records for stream in record.streams if stream.kind is kind]
        losses = [(loss.label, loss.count) for stream in streams for loss in stream.losses]
        assert (sum(stream.operations for stream in streams), losses) == (2, [(AttemptFailure.SURPLUS, 1)])
    whole = [
        stream for record in outcome.records for stream in record.streams if stream.kind is OperationKind.MULTIPART
    ]
    assert sum(stream.bytes_up for stream in whole) == 2 * 2000
    assert sum(loss.body_bytes for stream in whole for loss in stream.losses) == 2000


def test_bytes_that_no_answer_follows_are_the_answer() -> None:
    """Nothing tells them from a wrong answer to the request that was on."""

    def first(sock: socket.socket, number: int) -> None:
        request_on(sock)
        sock.sendall(response(b"yes"))
        request_on(sock)
        sock.sendall(STRAY)

    with Scripted(misbehaving_once(first, response(b"yes"))) as server:
        outcome = server.runner.run(server.runner.job(OperationKind.GET, operations=3))
    assert (outcome.operations(), {label: loss.count for label, loss in outcome.losses.items()}) == (
        2,
        {AttemptFailure.PROTOCOL: 1},
    )


def test_bytes_behind_an_error_are_no_second_failure() -> None:
    def first(sock: socket.socket, number: int) -> None:
        request_on(sock)
        sock.sendall(response(b"yes"))
        request_on(sock)
        sock.sendall(response(b"no", "503 Slow Down"))
        request_on(sock)
        sock.sendall(STRAY + response(b"yes"))
        request_on(sock)

    with Scripted(misbehaving_once(first, response(b"yes"))) as server:
        outcome = server.runner.run(server.runner.job(OperationKind.GET, operations=4))
        assert server.accepted == 2
    assert (outcome.operations(), outcome.failed, outcome.losses["503"].count) == (3, 1, 1)


def test_a_wrong_body_ends_its_connection() -> None:
    """What follows on it may be the rest of that answer, or the answer to another request."""
    with Scripted(answers(response(b"wrong"))) as server:
        outcome = server.runner.run(
            server.runner.job(OperationKind.GET, operations=3), manner=Manner(timeout_s=LIMIT_S)
        )
        assert server.accepted == 3
    assert outcome.losses[AttemptFailure.CORRUPT].count == 3


def dripping(sock: socket.socket, number: int) -> None:
    request_on(sock)
    for byte in response(b"x" * 1000):
        sock.sendall(bytes((byte,)))
        threading.Event().wait(0.02)


def test_an_answer_that_drips_takes_too_long_as_a_whole() -> None:
    label, _ = fault_of(dripping, manner=Manner(verify=False, timeout_s=0.3))
    assert label == AttemptFailure.TIMEOUT


def test_what_still_drips_at_the_end_tells_its_age() -> None:
    with Scripted(dripping) as server:
        outcome = server.runner.run(
            server.runner.job(OperationKind.GET), duration_s=0.8, manner=Manner(verify=False, idle_timeout_s=0.3)
        )
    assert (outcome.operations(), outcome.losses, outcome.ended.unfinished) == (0, {}, 1)
    assert outcome.ended.oldest_attempt_ns == outcome.ended.oldest_ns
    assert 300_000_000 < outcome.ended.oldest_ns <= 800_000_000, "since it was sent, not since the last byte"


class WatchedEngine:
    """The poller of an engine, and its clock, which the test puts forward; both events tell what the poller found."""

    def __init__(self) -> None:
        self.is_idle, self.is_ready = threading.Event(), threading.Event()
        self._ahead_ns = 0
        self._poller: Poller

    def watch(self, engine: WorkerEngine) -> None:
        self._poller, engine.loop.poller = engine.loop.poller, self
        self.register, self.modify, self.close = self._poller.register, self._poller.modify, self._poller.close
        engine.loop.clock = lambda: time.monotonic_ns() + self._ahead_ns

    def poll(self, timeout_s: float, events_max: int, /) -> list[tuple[int, int]]:
        ready = self._poller.poll(0, events_max)
        if not ready:
            self.is_idle.set()
            ready = self._poller.poll(timeout_s, events_max)
        if ready:
            self.is_ready.set()
        return ready

    def pause(self, seconds: float) -> None:
        """Wait until nothing is ready, and let so much time pass."""
        self.is_idle.clear()
        assert self.is_idle.wait(LIMIT_S)
        self.is_ready.clear()
        self._ahead_ns += round(seconds * 1e9)


def test_a_large_body_that_comes_slowly_after_a_fast_beginning_comes_whole() -> None:
    """The kernel is asked to wake us for half a megabyte, which must not keep the last bytes from us."""
    body = bytes(1_000_000)
    engine = WatchedEngine()

    def script(sock: socket.socket, number: int) -> None:
        while True:
            request_on(sock)
            whole = response(body)
            sock.sendall(whole[:-70_000])
            engine.pause(0.6)
            sock.sendall(whole[-70_000:-35_000])
            assert engine.is_ready.wait(LIMIT_S), "it was not woken before all had come"
            sock.sendall(whole[-35_000:])

    with Scripted(script) as server:
        runner = server.runner
        outcome = runner.run(
            runner.job(OperationKind.GET, operations=2),
            manner=Manner(verify=False, timeout_s=3),
            during=engine.watch,
        )
        assert (outcome.operations(), outcome.losses, outcome.bytes_down()) == (2, {}, 2 * len(body))


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return write_certificates(tmp_path_factory.mktemp("certificates"))


def over_tls(script: Script, certificate: Path) -> Script:
    """What `script` does, inside TLS; whatever ends it, the connection ends without a goodbye."""

    def wrapped(sock: socket.socket, number: int) -> None:
        with server_context(certificate).wrap_socket(sock, server_side=True) as secure:
            script(secure, number)

    return wrapped


def trusting(runner: Runner, certificates: Certificates) -> Runner:
    runner.target = msgspec.structs.replace(runner.target, tls=True, ca_bundle=str(certificates.ca_bundle))
    return runner


class CountingPoller:
    """Counts how often an engine waits."""

    def __init__(self) -> None:
        self.polls = 0

    def watch(self, engine: WorkerEngine) -> None:
        self._poller, engine.loop.poller = engine.loop.poller, self
        self.register, self.modify, self.close = self._poller.register, self._poller.modify, self._poller.close

    def poll(self, timeout_s: float, events_max: int, /) -> list[tuple[int, int]]:
        self.polls += 1
        return self._poller.poll(timeout_s, events_max)


@pytest.mark.parametrize("framed", [response, chunked])
def test_large_bodies_over_tls_come_whole_in_fewer_turns_than_records(
    certificates: Certificates, framed: Callable[[bytes], bytes]
) -> None:
    body = bytes(8_000_000)
    poller = CountingPoller()
    with Scripted(over_tls(answers(framed(body)), certificates.server)) as server:
        runner = trusting(server.runner, certificates)
        outcome = runner.run(runner.job(OperationKind.GET, operations=2), during=poller.watch)
    assert (outcome.operations(), outcome.losses, outcome.bytes_down()) == (2, {}, 2 * len(body))
    assert poller.polls < 2 * len(body) / 16_384 / 2


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_what_follows_a_chunk_is_not_waited_for_as_if_it_were_as_long_as_a_piece(
    certificates: Certificates, tls: bool
) -> None:
    asked_s: list[float] = []
    whole = chunked(bytes(300_000))

    def script(sock: socket.socket, number: int) -> None:
        for _ in range(5):
            request_on(sock)
            asked_s.append(time.monotonic())
            for piece in (whole[:280_000], whole[280_000:-7], whole[-7:]):
                sock.sendall(piece)
                time.sleep(0.02)  # for most of them to be read

    with Scripted(over_tls(script, certificates.server) if tls else script) as server:
        runner = trusting(server.runner, certificates) if tls else server.runner
        outcome = runner.run(runner.job(OperationKind.GET, operations=5))
    assert (outcome.operations(), outcome.bytes_down()) == (5, 1_500_000)
    assert asked_s[-1] - asked_s[0] < 4 * 0.5, "as long as four waits for the sweep that finds slow connections"


def test_a_large_body_over_tls_that_is_cut_short_is_truncated(certificates: Certificates) -> None:
    def script(sock: socket.socket, number: int) -> None:
        request_on(sock)
        sock.sendall(response(bytes(3_000_000))[:-1])

    with Scripted(over_tls(script, certificates.server)) as server:
        runner = trusting(server.runner, certificates)
        outcome = runner.run(runner.job(OperationKind.GET, operations=1))
        ((label, loss),) = outcome.losses.items()
        assert (label, loss.body_bytes) == (AttemptFailure.TRUNCATED, 2_999_999)
        assert outcome.bytes_down() == 0


def test_a_large_body_over_tls_of_wrong_bytes_is_corrupt(certificates: Certificates) -> None:
    with Scripted(over_tls(answers(response(bytes(3_000_000))), certificates.server)) as server:
        runner = trusting(server.runner, certificates)
        outcome = runner.run(
            runner.job(OperationKind.GET, sizes=fixed(3_000_000), operations=1), manner=Manner(timeout_s=LIMIT_S)
        )
        assert [(label, loss.count) for label, loss in outcome.losses.items()] == [(AttemptFailure.CORRUPT, 1)]


def test_a_small_body_that_was_sent_in_vain_is_counted_without_its_head() -> None:
    assert fault_of(swallow, kind=OperationKind.PUT, size_bytes=1000) == (AttemptFailure.CLOSED, 1000)


@pytest.mark.parametrize("buffer_bytes", [20_480, 32_768])
def test_a_request_that_fills_the_send_buffer_over_tls_is_sent_whole(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch, buffer_bytes: int
) -> None:
    seen: list[int] = []

    def small_socket(family: int) -> socket.socket:
        sock = stream_socket(family)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer_bytes)
        return sock

    def script(sock: socket.socket, number: int) -> None:
        while True:
            time.sleep(0.01)  # the buffer is full by then
            seen.append(len(request_on(sock).partition(b"\r\n\r\n")[2]))
            sock.sendall(response())

    monkeypatch.setattr("s3bench.load.engine.connection.stream_socket", small_socket)
    with Scripted(over_tls(script, certificates.server)) as server:
        runner = trusting(server.runner, certificates)
        outcome = runner.run(runner.job(OperationKind.PUT, sizes=fixed(65_536), operations=5))
    assert (outcome.operations(), outcome.losses, seen) == (5, {}, [65_536] * 5)


def test_an_upload_over_tls_that_makes_progress_is_not_idle(certificates: Certificates) -> None:
    size_bytes = 32 * 1024**2

    def script(sock: socket.socket, number: int) -> None:
        left = size_bytes
        while left > 0:
            piece = sock.recv(65536)
            if not piece:
                return
            left -= len(piece)
            if left > size_bytes // 2:
                time.sleep(0.002)  # slow enough for half of it to take several times the limit
        sock.sendall(response())

    with Scripted(over_tls(script, certificates.server)) as server:
        runner = trusting(server.runner, certificates)
        outcome = runner.run(
            runner.job(OperationKind.PUT, sizes=fixed(size_bytes), operations=1),
            manner=Manner(verify=False, idle_timeout_s=0.4),
        )
    assert (outcome.operations(), outcome.losses) == (1, {})


def test_a_success_that_comes_before_the_body_was_sent_is_none() -> None:
    def script(sock: socket.socket, number: int) -> None:
        sock.recv(1000)
        sock.sendall(response())
        time.sleep(0.1)  # the socket is full by then, and not all is sent

    label, body_bytes = fault_of(script, kind=OperationKind.PUT, size_bytes=32 * 1024**2)
    assert label == AttemptFailure.EARLY
    assert 0 < body_bytes < 32 * 1024**2


def test_a_body_that_comes_steadily_is_not_idle_however_short_the_limit() -> None:
    body = bytes(1_500_000)

    def script(sock: socket.socket, number: int) -> None:
        request_on(sock)
        whole = response(body)
        sock.sendall(whole[:200_000])
        for at in range(200_000, len(whole), 10_000):
            time.sleep(0.02)  # a piece that is waited for takes three times the limit
            sock.sendall(whole[at : at + 10_000])

    with Scripted(script) as server:
        outcome = server.runner.run(
            server.runner.job(OperationKind.GET, operations=1), manner=Manner(verify=False, idle_timeout_s=0.6)
        )
    assert (outcome.operations(), outcome.losses) == (1, {})
