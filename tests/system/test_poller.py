import os
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from s3bench.system.event_loop import EventLoop, Timed, Watched
from s3bench.system.poller import READABLE, WRITABLE, Poller, PollPoller, open_poller, wait_precisely

Opener = Callable[[dict[int, object]], Poller]


def poll_poller(watched: dict[int, object]) -> Poller:
    return PollPoller(watched.keys())


def best_poller(watched: dict[int, object]) -> Poller:
    return open_poller(watched.keys())


@pytest.fixture(params=[best_poller, poll_poller])
def watched_by(request: pytest.FixtureRequest) -> Iterator[tuple[dict[int, object], Poller]]:
    watched: dict[int, object] = {}
    poller = request.param(watched)
    yield watched, poller
    poller.close()


def test_descriptors_are_reported_with_what_they_are_ready_for(
    watched_by: tuple[dict[int, object], Poller],
) -> None:
    watched, poller = watched_by
    ours, theirs = socket.socketpair()
    with ours, theirs:
        watched[ours.fileno()] = ours
        poller.register(ours.fileno(), READABLE)
        assert poller.poll(0.0, 8) == []
        poller.modify(ours.fileno(), READABLE | WRITABLE)
        assert poller.poll(1.0, 8) == [(ours.fileno(), WRITABLE)]
        theirs.send(b"x")
        assert poller.poll(1.0, 8) == [(ours.fileno(), READABLE | WRITABLE)]
        before_s = time.monotonic()
        wait_precisely(poller, 60.0)
        assert time.monotonic() - before_s < 30.0


def test_a_descriptor_that_was_closed_and_given_anew_is_not_reported(
    watched_by: tuple[dict[int, object], Poller],
) -> None:
    watched, poller = watched_by
    ours, theirs = socket.socketpair()
    with theirs:
        descriptor = ours.fileno()
        watched[descriptor] = ours
        poller.register(descriptor, READABLE | WRITABLE)
        assert len(poller.poll(0.0, 8)) == 1
        del watched[descriptor]
        ours.close()
        other = os.open(os.devnull, os.O_RDWR)
        assert other == descriptor
        assert poller.poll(0.0, 8) == []
        os.close(other)


def test_where_many_are_ready_each_has_its_turn(watched_by: tuple[dict[int, object], Poller]) -> None:
    watched, poller = watched_by
    pairs = [socket.socketpair() for _ in range(5)]
    for ours, _ in pairs:
        watched[ours.fileno()] = ours
        poller.register(ours.fileno(), WRITABLE)
    seen = [descriptor for _ in range(5) for descriptor, _ in poller.poll(0.0, 2)]
    assert len(seen) == 10
    assert set(seen) == {ours.fileno() for ours, _ in pairs}
    for ours, theirs in pairs:
        ours.close()
        theirs.close()


class Timer:
    def on_time(self, ticket: int) -> None:
        raise AssertionError(ticket)


def test_timers_are_due_in_the_order_of_their_times_and_then_of_their_making() -> None:
    loop: EventLoop[Watched, Timed] = EventLoop()
    timer = Timer()
    for due_ns, ticket in ((30, 1), (10, 2), (20, 3), (10, 4)):
        loop.call_at(due_ns, timer, ticket)
    loop.now_ns = 20
    assert [ticket for _, ticket in loop.due()] == [2, 4, 3]
    assert list(loop.due()) == []
    loop.now_ns = 30
    assert [ticket for _, ticket in loop.due()] == [1]
    loop.poller.close()
