"""What limited a phase: the load generator itself, its connections, the network, or the server.

Owns the rules, which claim something only where the evidence leaves nothing else; the rest is left open, and said in
words. The generator comes first: when it was busy, nothing is known of anything behind it.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

BUSY_SHARE = 0.9
"""A worker that has a core for so much of the time is the limit."""

IDLE_SHARE = 0.05
"""A worker that waits for less of the time than this is the limit, whatever its CPU time: others took the core."""

STARVED_SHARE = 0.5
"""A worker that is ready to run for so much of the time and has no core is limited by other programs."""

HELD_UP_SHARE = 0.1
"""Of a worker that is on a core or ready to run nearly all the time, this much without a core is enough for that."""

CEILING_SHARE = 0.8
"""So near to what this machine reaches against a server that does nothing, the rate is its own."""

LINK_SHARE = 0.9
"""Of a link's speed. More than 94 % cannot be payload: 1,448 of 1,538 bytes on Ethernet (IEEE 802.3, RFC 7323)."""

REACHED_SHARE = 0.95
"""A planned rate counts as reached from here on, or within three standard deviations of a Poisson process."""

WINDOW_S_MIN = 0.5
"""In less time the load generator's own beginning and end weigh too much."""

_ALL_BUSY = 0.95
_LITTLE_CPU = 0.7
_AT_FLOOR = 1.25
_ABOVE_FLOOR = 2.0


class PhaseLimit(StrEnum):
    """What a phase ran into; nothing where nothing points to one."""

    CLIENT = "client"
    OTHER_PROGRAMS = "other programs"
    CONNECTIONS = "connections"
    NETWORK = "network"
    SERVER = "server"
    NONE = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Yardsticks:
    """What is known from elsewhere; `None` where it is not.

    `ceiling`: operations a second of this machine against a server that does nothing. `latency_floor_s`: the median
    latency of the same operations with one request in flight. `link_bytes_per_s`: the speed of the network interface in
    one direction, infinite on loopback.
    """

    ceiling: float | None = None
    latency_floor_s: float | None = None
    link_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What a phase showed.

    `cpu_share` and `wait_share` are those of the busiest worker, of a core and of the time. `run_delay_share` is the
    share of the time in which a worker was ready to run and had no core, of the worker with the largest; `None` where
    the kernel does not tell. `ended_per_s` counts
    operations, however they ended; `bytes_per_s` are those of the busier direction. `threads` may be in flight at most,
    `in_flight` were on average, and `waiting_max` planned operations found no free one, all within `window_s`.
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
    """The limit, and what has to be said as a warning: doubt about the figures, empty without any."""

    limit: PhaseLimit = PhaseLimit.NONE
    warning: str = ""


def find(signs: Signs, known: Yardsticks) -> Finding:
    """Find what limited a phase; of one that was too short nothing is known."""
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
    """Whether as much ended in a window as was planned, as far as chance lets that be told.

    A Poisson process of n expected arrivals has a standard deviation of the square root of n.
    """
    planned = planned_per_s * window_s
    return ended_per_s * window_s >= min(REACHED_SHARE * planned, planned - 3 * math.sqrt(planned))


def _is_starved(signs: Signs) -> bool:
    """Whether other programs had the core while a worker wanted it, and not the worker itself."""
    delay_share = signs.run_delay_share
    if delay_share is None or signs.cpu_share >= BUSY_SHARE:
        return False
    is_ready_always = signs.cpu_share + delay_share >= BUSY_SHARE
    return delay_share >= STARVED_SHARE or (is_ready_always and delay_share >= HELD_UP_SHARE)


def _starved_warning(signs: Signs) -> str:
    return (
        f"the load generator was ready to run and waited for a core for {signs.run_delay_share:.0%} of the time: other "
        "programs on this machine had it, and these figures are not the server's; stop them, use fewer --workers than "
        "cores, and run the server on another machine"
    )


def client_warning(signs: Signs, known: Yardsticks) -> str:
    """Say why the figures are the load generator's own; empty where nothing speaks for it."""
    cure = "these figures are its own, add --workers"
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
    """Every thread waits for an answer. What for shows only beside the latency of a request that is alone.

    Near it, throughput is threads over latency, and more of them would add up. Far above it something queues, which is
    the server where the link is known to have room, and the client is far from busy.
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
