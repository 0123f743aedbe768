"""Waits for many descriptors at once: epoll(7) on Linux, poll(2) elsewhere.

Both take the masks below. poll(2) is passed every descriptor at every call, so it gets slower with their number, and
it counts in milliseconds.
"""

import select
from collections.abc import Collection
from typing import Protocol

from s3bench.system.portable import IS_PORTABLE

READABLE = select.POLLIN
WRITABLE = select.POLLOUT
PEER_CLOSED = 0  # the other side has closed its sending half; only Linux reports it
if not IS_PORTABLE:
    PEER_CLOSED = select.POLLRDHUP


class Poller(Protocol):
    """A set of descriptors with the events that are waited for, as `select.epoll`."""

    def register(self, descriptor: int, events: int, /) -> None:
        """Wait for `events` of `descriptor` from now on."""

    def modify(self, descriptor: int, events: int, /) -> None:
        """Wait for other events of a descriptor that is registered."""

    def poll(self, timeout_s: float, events_max: int, /) -> list[tuple[int, int]]:
        """Wait up to `timeout_s`; descriptors with the events they are ready for, `events_max` at the most."""
        ...

    def close(self) -> None:
        """Give up the set."""


def open_poller(open_descriptors: Collection[int]) -> Poller:
    """The best poller of this system.

    Closing a descriptor takes it out of an epoll set, but not out of poll(2)'s list: what is no longer in
    `open_descriptors` is taken out before each wait.
    """
    if IS_PORTABLE:
        return PollPoller(open_descriptors)
    return select.epoll()


def wait_precisely(poller: Poller, wait_s: float) -> None:
    """Wait for the first event, up to `wait_s`, as precisely as this system can.

    epoll_wait(2) counts in milliseconds, and Python rounds up. An epoll set is itself a descriptor that becomes
    readable with its first event, and select(2) counts in microseconds. Its descriptors end at 1024, so the set has to
    be opened before many others. poll(2) has only milliseconds.
    """
    if IS_PORTABLE or not isinstance(poller, select.epoll):
        poller.poll(wait_s, 1)
    else:
        select.select((poller,), (), (), wait_s)


class PollPoller:
    """A poller that uses poll(2)."""

    def __init__(self, open_descriptors: Collection[int]) -> None:
        self._open = open_descriptors
        self._registered: set[int] = set()
        self._poll = select.poll()
        self._turn = 0

    def register(self, descriptor: int, events: int, /) -> None:
        """Wait for `events` of `descriptor` from now on."""
        self._registered.add(descriptor)
        self._poll.register(descriptor, events)

    def modify(self, descriptor: int, events: int, /) -> None:
        """Wait for other events of a descriptor that is registered."""
        self._poll.modify(descriptor, events)

    def poll(self, timeout_s: float, events_max: int, /) -> list[tuple[int, int]]:
        """Wait up to `timeout_s`; where more than `events_max` are ready, each has its turn."""
        for descriptor in self._registered.difference(self._open):
            self._registered.remove(descriptor)
            self._poll.unregister(descriptor)
        ready = self._poll.poll(timeout_s * 1e3)
        if len(ready) <= events_max:
            return ready
        first = self._turn % len(ready)
        self._turn += events_max
        return (ready[first:] + ready[:first])[:events_max]

    def close(self) -> None:
        """Do nothing: poll(2) keeps nothing open."""
