"""The link that all connections of one server share: the NIC's rate each way, and the size of a quantum.

A quantum is the piece of a body that crosses the link at a time. The connection (`server.paced`) reserves a slot per
quantum and sends the quantum when its slot ends, so the last byte of a body leaves when the model says, whatever the
quantum.
"""

from s3bench.s3.network.model import NetworkModel
from s3bench.s3.network.pacer import Pacer

_QUANTUM_S = 0.002
"""The length of a slot while few connections send."""

_SLOTS_PER_S = 4000
"""Slots a second of all connections together: each costs a timer and a system call, about 30 us of one core. Slots of
many connections get longer instead of more."""

_QUANTUM_BYTES_MIN = 4 * 1024
_QUANTUM_BYTES_MAX = 256 * 1024


class LinkDirection:
    """One direction: the pacer that all connections share, and the rate that each connection has of its own."""

    __slots__ = ("active", "connection_bytes_per_s", "limited", "shared", "shared_bytes_per_s")

    def __init__(self, shared_bytes_per_s: float | None, connection_bytes_per_s: float | None) -> None:
        self.shared = Pacer(shared_bytes_per_s)
        self.shared_bytes_per_s = shared_bytes_per_s
        self.connection_bytes_per_s = connection_bytes_per_s
        self.limited = shared_bytes_per_s is not None or connection_bytes_per_s is not None
        self.active = 0  # connections that have a body in this direction

    def own_pacer(self) -> Pacer:
        """Make the pacer of one connection."""
        return Pacer(self.connection_bytes_per_s)

    def quantum_bytes(self) -> int:
        """How much a connection lets on to the link at a time, as busy as it is now."""
        active = self.active or 1
        rate = fair_share(active, self.connection_bytes_per_s, self.shared_bytes_per_s)
        size = rate * max(_QUANTUM_S, active / _SLOTS_PER_S)
        return int(min(max(size, _QUANTUM_BYTES_MIN), _QUANTUM_BYTES_MAX))


class Link:
    """Both directions of a network model."""

    __slots__ = ("down", "up")

    def __init__(self, model: NetworkModel) -> None:
        self.up = LinkDirection(model.nic_up_bytes_per_s, model.connection_bytes_per_s)
        self.down = LinkDirection(model.nic_down_bytes_per_s, model.connection_bytes_per_s)


def fair_share(active: int, connection_bytes_per_s: float | None, shared_bytes_per_s: float | None) -> float:
    """What each of `active` connections gets a second; infinite where nothing is limited."""
    own = float("inf") if connection_bytes_per_s is None else connection_bytes_per_s
    return own if shared_bytes_per_s is None else min(own, shared_bytes_per_s / active)
