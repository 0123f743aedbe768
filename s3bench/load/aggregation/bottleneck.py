"""Rules for the bottleneck of a phase: the load generator itself, its connections, the network, or the server.

A rule names one only if the evidence leaves nothing else; otherwise it stays open. The generator is checked first: if
it was busy, nothing is known about anything behind it.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

BUSY_SHARE = 0.9
"""A worker that uses this share of a core is the bottleneck."""

IDLE_SHARE = 0.05
"""A worker that waits for less of the time than this is the bottleneck, whatever its CPU time: others took the core."""

STARVED_SHARE = 0.5
"""A worker that is ready to run and has no core for this share of the time is limited by other programs."""

HELD_UP_SHARE = 0.1
"""This share is enough for a worker that is on a core or ready to run nearly all the time."""

CEILING_SHARE = 0.8
"""From this share of what the machine reaches against a null server, the generator is the bottleneck."""

LINK_SHARE = 0.9
"""From this share of a link's speed, the network is the bottleneck. More than 94 % cannot be payload: 1,448 of 1,538
bytes on Ethernet (IEEE 802.3, RFC 7323)."""

REACHED_SHARE = 0.95
"""A planned rate counts as reached from here on, or within three standard deviations of a Poisson process."""

WINDOW_S_MIN = 0.5
"""In a shorter window, start and end of the load generator weigh too much."""

_ALL_BUSY = 0.95
_LITTLE_CPU = 0.7
_AT_FLOOR = 1.25
_ABOVE_FLOOR = 2.0


class PhaseLimit(StrEnum):
    """The bottleneck of a phase; `NONE` if nothing points to one."""

    CLIENT = "client"
    OTHER_PROGRAMS = "other programs"
    CONNECTIONS = "connections"
    NETWORK = "network"
    SERVER = "server"
    NONE = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Yardsticks:
    """Limits known from outside the phase; `None` if unknown.

    `ceiling`: operations a second of this machine against a server that does nothing. `latency_floor_s`: the median
    latency of the same operations with one request in flight. `link_bytes_per_s`: the speed of the network interface in
    one direction, infinite on loopback.
    """

    ceiling: float | None = None
    latency_floor_s: float | None = None
    link_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """Evidence of a phase for its bottleneck.

    `cpu_share` and `wait_share` are those of the busiest worker, of a core and of the time. `run_delay_share` is the
    share of the time in which a worker was ready to run and had no core, of the worker with the largest; `None` if
    the kernel does not report it. `ended_per_s` counts successful and failed operations; `bytes_per_s` are those of the
    busier direction. At most `threads` are in flight, `in_flight` were on average, and `waiting_max` planned operations
    found no free virtual user, all within `window_s`.
    """

    window_s: float
    cpu_share: float
    wait_share: float
    ended_per_s: float
    bytes_per_s: float
    threads: int
    in_flight: float
    waiting_max: int = 0
    rate_planned: float | None = None
    latency_p50_s: float | None = None
    run_delay_share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The bottleneck and a warning about the figures, which is empty without one."""

    limit: PhaseLimit = PhaseLimit.NONE
    warning: str = ""


def find(signs: Signs, known: Yardsticks) -> Finding:
    """Find the bottleneck of a phase; a phase that was too short has none."""
    if signs.window_s < WINDOW_S_MIN:
        return Finding(warning=_behind(signs))
    if _is_starved(signs):
        return Finding(limit=PhaseLimit.OTHER_PROGRAMS, warning=_starved_warning(signs))
    warning = client_warning(signs, known)
    if warning:
        return Finding(limit=PhaseLimit.CLIENT, warning=warning)
    if known.link_bytes_per_s is not None and signs.bytes_per_s >= LINK_SHARE * known.link_bytes_per_s:
        return Finding(limit=PhaseLimit.NETWORK)
    if signs.in_flight < _ALL_BUSY * signs.threads:
        return Finding(warning=_behind(signs))
    return Finding(limit=_behind_the_client(signs, known), warning=_behind(signs))


def is_reached(ended_per_s: float, planned_per_s: float, window_s: float) -> bool:
    """Whether as many operations ended in a window as were planned, within chance.

    A Poisson process of n expected arrivals has a standard deviation of the square root of n.
    """
    planned = planned_per_s * window_s
    return ended_per_s * window_s >= min(REACHED_SHARE * planned, planned - 3 * math.sqrt(planned))


def _is_starved(signs: Signs) -> bool:
    """Whether other programs had the core while a worker was ready to run."""
    delay_share = signs.run_delay_share
    if delay_share is None or signs.cpu_share >= BUSY_SHARE:
        return False
    is_ready_always = signs.cpu_share + delay_share >= BUSY_SHARE
    return delay_share >= STARVED_SHARE or (is_ready_always and delay_share >= HELD_UP_SHARE)


def _starved_warning(signs: Signs) -> str:
    return (
        f"the load generator was ready to run and waited for a core for {signs.run_delay_share:.0%} of the time: other "
        "programs on this machine had it, so these figures do not show the server's limit; stop other programs, use "
        "fewer --workers than cores, and run the server on another machine"
    )


def client_warning(signs: Signs, known: Yardsticks) -> str:
    """Describe why the load generator was the bottleneck; empty if it was not."""
    cure = "these figures show its own limit; add --workers"
    if signs.cpu_share >= BUSY_SHARE:
        return f"the load generator was busy for {signs.cpu_share:.0%} of the time: {cure}"
    if signs.wait_share < IDLE_SHARE:
        return f"the load generator waited for only {signs.wait_share:.0%} of the time: {cure}, or free the machine"
    if known.ceiling is not None and signs.ended_per_s >= CEILING_SHARE * known.ceiling:
        return (
            f"{signs.ended_per_s:,.0f} operations a second are near the {known.ceiling:,.0f} that this machine reaches "
            f"against a server that does nothing: {cure}"
        )
    return ""


def _behind_the_client(signs: Signs, known: Yardsticks) -> PhaseLimit:
    """All virtual users wait for responses: compare their latency with that of a single request.

    Near it, throughput is virtual users over latency, and more of them would add throughput. Far above it something
    queues: the server, if the link has room and the client is far from busy.
    """
    if known.latency_floor_s is None or signs.latency_p50_s is None:
        return PhaseLimit.NONE
    if signs.latency_p50_s <= _AT_FLOOR * known.latency_floor_s:
        return PhaseLimit.CONNECTIONS
    is_queueing = signs.latency_p50_s >= _ABOVE_FLOOR * known.latency_floor_s
    if is_queueing and known.link_bytes_per_s is not None and signs.cpu_share < _LITTLE_CPU:
        return PhaseLimit.SERVER
    return PhaseLimit.NONE


def _behind(signs: Signs) -> str:
    if signs.rate_planned is None or is_reached(signs.ended_per_s, signs.rate_planned, signs.window_s):
        return ""
    cure = "; add --threads to see whether the server could do more" if signs.waiting_max else ""
    return f"{signs.rate_planned:,.0f} operations a second were planned and {signs.ended_per_s:,.0f} ended{cure}"
