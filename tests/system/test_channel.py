import socket
import threading
from collections.abc import Iterator

import msgspec
import pytest

from s3bench.system.channel import Channel, ChannelClosed

LIMIT_S = 60.0

Numbered = Channel[int, int]


@pytest.fixture
def ends() -> Iterator[tuple[Numbered, Numbered, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        decoder = msgspec.msgpack.Decoder(int)
        yield Channel(ours, decoder), Channel(theirs, decoder), theirs


def test_messages_arrive_in_order_and_are_posted_without_waiting(
    ends: tuple[Numbered, Numbered, socket.socket],
) -> None:
    ours, theirs, _ = ends
    for number in range(20_000):
        ours.post(number)  # far more than the socket takes
    assert [theirs.receive(limit_s=LIMIT_S) for _ in range(100)] == list(range(100))
    last = threading.Thread(target=ours.send, args=(-1,), kwargs={"limit_s": LIMIT_S})
    last.start()
    rest = [theirs.receive(limit_s=LIMIT_S) for _ in range(19_901)]
    last.join(LIMIT_S)
    assert rest == [*range(100, 20_000), -1]


def test_a_side_that_is_gone_closes_the_channel(ends: tuple[Numbered, Numbered, socket.socket]) -> None:
    ours, _, their_socket = ends
    their_socket.close()
    with pytest.raises(ChannelClosed):
        ours.receive(limit_s=LIMIT_S)
    with pytest.raises(ChannelClosed):
        ours.send(1, limit_s=LIMIT_S)
    with pytest.raises(ChannelClosed):
        ours.post(1)


def test_every_wait_is_bounded_by_the_limit_of_the_whole_message() -> None:
    our_socket, their_socket = socket.socketpair()
    with our_socket, their_socket:
        ours: Numbered = Channel(our_socket, msgspec.msgpack.Decoder(int))
        with pytest.raises(ChannelClosed):
            ours.receive(limit_s=0.01)
        their_socket.send(b"\0" * 7)  # a length has eight
        with pytest.raises(ChannelClosed):
            ours.receive(limit_s=0.01)
        timeout_s = our_socket.gettimeout()
        assert timeout_s is not None
        assert timeout_s < 0.01


def test_several_threads_may_send(ends: tuple[Numbered, Numbered, socket.socket]) -> None:
    ours, theirs, _ = ends
    failures: list[BaseException] = []

    def send(first: int) -> None:
        try:
            for number in range(first, first + 5_000):
                ours.send(number, limit_s=LIMIT_S)
        except BaseException as error:  # noqa: BLE001 (shown by the test's own thread)
            failures.append(error)

    threads = [threading.Thread(target=send, args=(first,)) for first in (0, 5_000, 10_000)]
    for thread in threads:
        thread.start()
    received = []
    while len(received) < 15_000 and not failures:
        received.append(theirs.receive(limit_s=LIMIT_S))
    for thread in threads:
        thread.join(LIMIT_S)
    assert failures == []
    assert sorted(received) == list(range(15_000))
