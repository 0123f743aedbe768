"""One direction of a link as a schedule: when the bytes that are let on to it have crossed it.

Owns the arithmetic of rates, nothing else: no clock, no timer, no socket. Times are nanoseconds of whatever clock the
caller goes by. A lane never forgets a byte (debt) and never pays for time in which nobody sent (credit): what is
reserved ends one slot after the later of the lane's last slot and the moment from which the sender was ready. Being
called late therefore costs nothing, as long as the caller says from when it was ready rather than when it woke up.
"""


class Lane:
    """A lane of `bytes_per_s`, or without limit."""

    __slots__ = ("free_ns", "ns_per_byte")

    def __init__(self, bytes_per_s: float | None) -> None:
        self.ns_per_byte = 0.0 if bytes_per_s is None else 1e9 / bytes_per_s
        self.free_ns = 0.0  # when all that was reserved has crossed


def reserve(own: Lane, shared: Lane, size_bytes: int, ready_ns: float) -> float:
    """Reserve `size_bytes` of a connection's own lane and the shared one behind it; when the last of them has crossed.

    The connection was ready to send from `ready_ns` on. While it waits for others on the shared lane its own one stands
    still, so that it does not hurry afterwards beyond its rate.
    """
    ready_ns = max(ready_ns, own.free_ns)
    begun_ns = max(shared.free_ns, ready_ns)
    shared.free_ns = begun_ns + size_bytes * shared.ns_per_byte
    own.free_ns = max(ready_ns + size_bytes * own.ns_per_byte, shared.free_ns)
    return own.free_ns
