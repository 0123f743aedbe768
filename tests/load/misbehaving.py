"""How a server misbehaves on order, and the ledger of what it really did: the truth that results are held against.

Owns the orders, the plans that give them out, and the ledger. Who carries them out is `faultyproxy`.
"""

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

NS = 1_000_000_000

_SETTLE_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a plan knows of a request; `number` counts those of a ledger with the same method, from 0."""

    number: int
    method: str
    path: str
    query: str

    @property
    def is_of_object(self) -> bool:
        """Whether it is about an object, and not a list or an upload."""
        return not self.query


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """Answer as the server behind does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """Answer with an error of S3's, `delay_s` after the request, without asking the server behind."""

    status: int = 503
    code: str = "SlowDown"
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """Answer right, but later."""

    delay_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Send the head and this share of the body, and end the connection, by a reset where `by_reset`."""

    share: float
    by_reset: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """Change one bit of the body, at this share of it."""

    share: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """Send the body of another object of the same size, with everything else as it would be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shorten:
    """Send this share of the body as if that were all: every length agrees."""

    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HangUp:
    """Answer right, and close the connection without having said so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignore:
    """Close the connection instead of an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Garble:
    """Send what is no HTTP, and close the connection."""


Order = Forward | Refuse | Delay | Cut | Flip | Swap | Shorten | HangUp | Ignore | Garble
Plan = Callable[[Request], Order]

RIGHT = (Forward, Delay, HangUp)
"""Orders after which the client has a right answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """No answer begins in the middle `length_s` of every `every_s`, counted from the first GET of an object."""

    every_s: float
    length_s: float

    def wait_ns(self, passed_ns: int) -> int:
        """How long an answer that is ready after `passed_ns` has to wait."""
        end_ns = round((self.every_s + self.length_s) / 2 * NS)
        phase_ns = passed_ns % round(self.every_s * NS)
        return end_ns - phase_ns if end_ns - round(self.length_s * NS) <= phase_ns < end_ns else 0


def honest(request: Request) -> Order:
    """The plan of a server that does not misbehave."""
    del request
    return Forward()


def sharing(orders: Iterable[tuple[float, Order]], *, method: str = "GET") -> Plan:
    """A plan that gives each order to its share of the requests of one method, spread evenly but not regularly.

    Multiples of the golden ratio, modulo 1, fill the unit interval evenly (Knuth, The Art of Computer Programming 3,
    6.4): of any n requests in a row each order's count is right to a few, and nothing depends on chance.
    """
    shares = tuple(orders)

    def plan(request: Request) -> Order:
        point = math.modf((request.number + 1) * (math.sqrt(5) - 1) / 2)[0]
        if request.method == method and request.is_of_object:
            for share, order in shares:
                point -= share
                if point < 0:
                    return order
        return Forward()

    return plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and what came of it; times are of the machine's monotonic clock.

    `status` is 0 where no answer was sent. `bytes_up` came with the request, `bytes_down` of the answer's body were
    sent. `was_sent` tells that the client took all that was to be sent.
    """

    connection: int
    request: Request
    order: Order
    arrived_ns: int
    answered_ns: int
    status: int
    bytes_up: int
    bytes_down: int
    was_sent: bool

    @property
    def was_right(self) -> bool:
        """Whether the client got what it asked for."""
        return self.was_sent and isinstance(self.order, RIGHT) and 200 <= self.status < 300


@dataclass(slots=True)
class Ledger:
    """All that happened since the proxy was told what to do; safe to be written by several threads.

    `connected_ns` is when the first connection was made and `read_ns` when the first GET of an object came; 0 before.
    """

    connected_ns: int = 0
    read_ns: int = 0
    exchanges: list[Exchange] = field(default_factory=list)
    connections: int = 0
    _begun: Counter[str] = field(default_factory=Counter)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def connect(self, now_ns: int) -> int:
        """Note a new connection; its number."""
        with self._changed:
            self.connected_ns = self.connected_ns or now_ns
            self.connections += 1
            return self.connections

    def begin(self, method: str, path: str, query: str, now_ns: int) -> Request:
        """Note that a request has come."""
        with self._changed:
            request = Request(number=self._begun[method], method=method, path=path, query=query)
            self._begun[method] += 1
            if method == "GET" and request.is_of_object:
                self.read_ns = self.read_ns or now_ns
        return request

    def end(self, exchange: Exchange) -> None:
        """Note what came of it."""
        with self._changed:
            self.exchanges.append(exchange)
            self._changed.notify_all()

    def of(self, method: str, *orders: type[Order]) -> tuple[Exchange, ...]:
        """The exchanges of one method about objects, all or those under one of `orders`, in the requests' order.

        What has come is waited for: a client may have its answer before that is noted.
        """
        with self._changed:
            is_settled = self._changed.wait_for(lambda: self._begun.total() == len(self.exchanges), _SETTLE_S)
        assert is_settled, "a request was never answered"
        wanted = [each for each in self.exchanges if each.request.method == method and each.request.is_of_object]
        wanted.sort(key=lambda each: each.request.number)
        return tuple(each for each in wanted if not orders or isinstance(each.order, orders))

    def right(self, method: str) -> tuple[Exchange, ...]:
        """The exchanges of one method that gave the client what it asked for."""
        return tuple(each for each in self.of(method) if each.was_right)

    def span_s(self, method: str) -> float:
        """From the first connection to the last answer to one method."""
        return (max(each.answered_ns for each in self.of(method)) - self.connected_ns) / NS
