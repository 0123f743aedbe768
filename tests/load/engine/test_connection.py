"""When a connection is made, used again, and closed: to servers that are there, that close, and that are not."""

import socket

from s3bench.load.engine.message import RequestTarget
from s3bench.load.operation import AttemptFailure, OperationKind
from s3bench.load.profile.profile import Arrivals, Manner, Rate
from tests.load.phases import BUCKET, Scripted, answers, request_on, response


def test_one_connection_carries_many_requests() -> None:
    with Scripted(answers(response(b"x" * 10))) as server:
        outcome = server.runner.run(server.runner.job(OperationKind.GET, operations=50))
        assert (outcome.operations(), outcome.bytes_down(), server.accepted) == (50, 500, 1)
        assert sum(record.connects for record in outcome.records) == 1


def test_without_keep_alive_each_request_has_its_connection() -> None:
    seen = []

    def script(sock: socket.socket, number: int) -> None:
        seen.append(request_on(sock))
        sock.sendall(response(b"abc"))
        request_on(sock)

    with Scripted(script) as server:
        outcome = server.runner.run(
            server.runner.job(OperationKind.GET, operations=5), manner=Manner(verify=False, keep_alive=False)
        )
        assert (outcome.operations(), server.accepted) == (5, 5)
        assert all(b"Connection: close\r\n" in request for request in seen)


def test_a_server_that_wants_to_close_is_obeyed() -> None:
    with Scripted(answers(response(b"abc", "200 OK", "Connection: close"))) as server:
        outcome = server.runner.run(server.runner.job(OperationKind.GET, operations=3))
        assert (outcome.operations(), server.accepted, outcome.losses) == (3, 3, {})


def test_addresses_are_taken_in_turn() -> None:
    with Scripted(answers(response())) as one, Scripted(answers(response())) as other:
        target = RequestTarget(
            addresses=(("127.0.0.1", one.port), ("127.0.0.1", other.port)),
            hosts=(f"127.0.0.1:{one.port}", f"127.0.0.1:{other.port}"),
            bucket=BUCKET,
        )
        runner = one.runner
        runner.target = target
        runner.run(runner.job(OperationKind.GET, threads=6, operations=60))
        assert (one.accepted, other.accepted) == (3, 3)


def test_nobody_listening_is_refused() -> None:
    with Scripted(lambda *_: None) as server:
        runner = server.runner
    outcome = runner.run(runner.job(OperationKind.GET, operations=2))
    assert {label: loss.count for label, loss in outcome.losses.items()} == {AttemptFailure.REFUSED: 2}


def test_tls_with_a_stranger_fails() -> None:
    with Scripted(answers(response())) as server:
        runner = server.runner
        runner.target = RequestTarget(
            addresses=runner.target.addresses, hosts=runner.target.hosts, bucket=BUCKET, tls=True
        )

        outcome = runner.run(runner.job(OperationKind.GET, operations=1), manner=Manner(connect_timeout_s=0.2))
        assert set(outcome.losses) <= {AttemptFailure.TLS, AttemptFailure.TIMEOUT}
        assert outcome.failed == 1


def test_an_idle_connection_that_was_closed_is_replaced_without_a_loss() -> None:
    """In open loop, with time between requests, the end of a connection is heard before it is used again."""

    def script(sock: socket.socket, number: int) -> None:
        request_on(sock)
        sock.sendall(response(b"abc"))

    with Scripted(script) as server:
        job = server.runner.job(
            OperationKind.GET, operations=4, rate=Rate(per_s=4, arrivals=Arrivals.CONSTANT), threads=1
        )
        outcome = server.runner.run(job, duration_s=5)
        assert (outcome.operations(), outcome.losses) == (4, {})
        assert sum(record.cut for record in outcome.records) >= 3
