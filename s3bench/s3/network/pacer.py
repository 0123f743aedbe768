"""Calculates when bytes have crossed a link of a given rate; pure, without clock, timer or socket.

Times are nanoseconds of the caller's clock. Every byte takes its time, and idle time earns no burst: what is reserved
ends one slot after the later of the last slot's end and the time from which the sender was ready. Being called late
costs nothing, as long as the caller passes the time from which it was ready, not the time at which it woke up.
"""


class Pacer:
    """A schedule of `bytes_per_s`, or without limit."""

    __slots__ = ("free_ns", "ns_per_byte")

    def __init__(self, bytes_per_s: float | None) -> None:
        self.ns_per_byte = 0.0 if bytes_per_s is None else 1e9 / bytes_per_s
        self.free_ns = 0.0  # when all that was reserved has crossed


def reserve(own: Pacer, shared: Pacer, size_bytes: int, ready_ns: float) -> float:
    """Reserve `size_bytes` at a connection's own rate and at the shared one; when the last of them has crossed.

    The connection was ready to send from `ready_ns` on. While it waits for others at the shared rate its own
    schedule stands still, so that it never exceeds its rate afterwards. The shared schedule has no use for time before
    a reservation, so connections reserve in the order in which they are ready.
    """
    ready_ns = max(ready_ns, own.free_ns)
    begun_ns = max(shared.free_ns, ready_ns)
    shared.free_ns = begun_ns + size_bytes * shared.ns_per_byte
    own.free_ns = max(ready_ns + size_bytes * own.ns_per_byte, shared.free_ns)
    return own.free_ns
