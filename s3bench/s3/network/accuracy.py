"""Compares what a network model achieved with what was asked, from the wire log. Pure.

Bandwidth is asked by fluid arithmetic: at every moment each transfer that is on gets the connection's rate or an equal
share of the NIC's, whichever is less; what that sums up to while a transfer lasted is what it was asked to carry.
Short transfers are not judged. They take from the NIC what they carried, up to an equal share.

A client that reads or writes more slowly than the link, or a machine that is too busy, shows as less than asked;
nothing here distinguishes the two.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from s3bench.s3.network.link import fair_share
from s3bench.s3.network.model import NetworkModel, quantile
from s3bench.s3.wirelog import InjectedFault, WireLog, WireRequest

MEDIAN_OFF_MAX = 0.03
TAIL_OFF_MAX = 0.10
"""How far off a median (and a total), and a 90th percentile, may be without a warning; shares of what was asked."""

BULK_S = 0.005
"""Transfers that last shorter than this, or were to, say more about timers than about bandwidth: not judged."""

_P90_COUNT_MIN = 10


class AccuracyFigure(msgspec.Struct, frozen=True, kw_only=True):
    """One property of the link, asked and achieved over `count` requests, in seconds or bytes a second (`unit`)."""

    name: str
    unit: str
    asked: float
    achieved: float
    count: int
    off_max: float

    @property
    def off(self) -> float:
        """How far the achieved is from the asked, as a share of it: 0.01 is one per cent more."""
        return self.achieved / self.asked - 1

    @property
    def met(self) -> bool:
        """Whether it is near enough."""
        return abs(self.off) <= self.off_max


class Accuracy(msgspec.Struct, frozen=True, kw_only=True):
    """What can be said of one wire log; figures that too few requests speak of are missing."""

    figures: tuple[AccuracyFigure, ...]
    warnings: tuple[str, ...]


class TransferSpan(NamedTuple):
    """One transfer: when it was on, and what it carried."""

    begun_ns: int
    ended_ns: int
    size_bytes: int

    @property
    def length_s(self) -> float:
        """How long it was on."""
        return (self.ended_ns - self.begun_ns) / 1e9


def accuracy(log: WireLog, model: NetworkModel) -> Accuracy:
    """Hold the transfers of `log` against `model`."""
    figures = [*_first_bytes(log.requests)]
    ways = (
        ("down", model.nic_down_bytes_per_s, [span for request in log.requests for span in _down(request)]),
        ("up", model.nic_up_bytes_per_s, [span for request in log.requests for span in _up(request)]),
    )
    for name, shared, spans in ways:
        if shared is not None or model.connection_bytes_per_s is not None:
            figures += _bandwidths(name, spans, model.connection_bytes_per_s, shared)
    return Accuracy(figures=tuple(figures), warnings=tuple(_warning(figure) for figure in figures if not figure.met))


def _first_bytes(requests: Sequence[WireRequest]) -> list[AccuracyFigure]:
    answered = [request for request in requests if request.status and request.asked_ttfb_s]
    asked = tuple(sorted(request.asked_ttfb_s for request in answered))
    achieved = tuple(sorted((request.response_started_ns - request.body_ended_ns) / 1e9 for request in answered))
    shares = [("p50", 0.5, MEDIAN_OFF_MAX)] if answered else []
    if len(answered) >= _P90_COUNT_MIN:
        shares.append(("p90", 0.9, TAIL_OFF_MAX))
    return [
        AccuracyFigure(
            name=f"time to first byte, {name}",
            unit="s",
            asked=quantile(asked, share),
            achieved=quantile(achieved, share),
            count=len(answered),
            off_max=off_max,
        )
        for name, share, off_max in shares
    ]


def _down(request: WireRequest) -> list[TransferSpan]:
    if request.fault in {InjectedFault.STALL, InjectedFault.RESET} or not request.response_bytes:
        return []
    return [TransferSpan(request.response_started_ns, request.ended_ns, request.response_bytes)]


def _up(request: WireRequest) -> list[TransferSpan]:
    return [TransferSpan(request.started_ns, request.body_ended_ns, request.wire_bytes)] if request.wire_bytes else []


def _bandwidths(
    name: str, spans: list[TransferSpan], connection: float | None, shared: float | None
) -> list[AccuracyFigure]:
    judged = _judged(spans, connection, shared)
    if not judged:
        return []
    busy_s = _busy_s([span for span, _ in judged])
    asked = tuple(sorted(asked_bytes / span.length_s for span, asked_bytes in judged))
    achieved = tuple(sorted(span.size_bytes / span.length_s for span, _ in judged))
    return [
        AccuracyFigure(
            name=f"bandwidth {name} of a connection, {label}",
            unit="B/s",
            asked=quantile(asked, share),
            achieved=quantile(achieved, share),
            count=len(judged),
            off_max=off_max,
        )
        for label, share, off_max in (("p50", 0.5, MEDIAN_OFF_MAX), ("p90", 0.9, TAIL_OFF_MAX))
        if label == "p50" or len(judged) >= _P90_COUNT_MIN
    ] + [
        AccuracyFigure(
            name=f"bandwidth {name} in all, while busy",
            unit="B/s",
            asked=sum(asked_bytes for _, asked_bytes in judged) / busy_s,
            achieved=sum(span.size_bytes for span, _ in judged) / busy_s,
            count=len(judged),
            off_max=MEDIAN_OFF_MAX,
        )
    ]


def _judged(
    spans: list[TransferSpan], connection: float | None, shared: float | None
) -> list[tuple[TransferSpan, float]]:
    """Give the transfers that are not short, each with the bytes that it was asked to carry.

    One that would have been short, had it not been late, is short as well: of small transfers only late ones last.
    """
    long = [span for span in spans if span.length_s >= BULK_S]
    short = [span for span in spans if span.length_s < BULK_S]
    asked = list(zip(long, _asked(long, short, connection, shared), strict=True))
    judged = [span for span, asked_bytes in asked if span.size_bytes * span.length_s >= BULK_S * asked_bytes]
    short += [span for span, asked_bytes in asked if span.size_bytes * span.length_s < BULK_S * asked_bytes]
    return list(zip(judged, _asked(judged, short, connection, shared), strict=True))


class _Change(NamedTuple):
    """What changes when a transfer begins or ends: how many are on, how many short ones, and what these carry."""

    at_ns: int
    active: int
    short_active: int
    short_bytes_per_s: float


def _changes(spans: list[TransferSpan], short: list[TransferSpan]) -> list[_Change]:
    changes = [_Change(at_ns, step, 0, 0.0) for begun, ended, _ in spans for at_ns, step in ((begun, 1), (ended, -1))]
    for span in short:
        if span.length_s:
            bytes_per_s = span.size_bytes / span.length_s
            changes += [_Change(span.begun_ns, 0, 1, bytes_per_s), _Change(span.ended_ns, 0, -1, -bytes_per_s)]
    return sorted(changes)


def _asked(
    spans: list[TransferSpan], short: list[TransferSpan], connection: float | None, shared: float | None
) -> list[float]:
    """How many bytes each of `spans` was to carry while it lasted, by the integral of its share over time.

    Of the NIC they share what `short` ones, which were on meanwhile, left of it.
    """
    changes = _changes(spans, short)
    carried, carried_bytes = [0.0], 0.0
    active, short_active, short_bytes_per_s = 0, 0, 0.0
    for change, following in pairwise(changes):
        active += change.active
        short_active += change.short_active
        short_bytes_per_s += change.short_bytes_per_s
        if active:
            left = None
            if shared is not None:
                left = shared - min(short_bytes_per_s, short_active * shared / (active + short_active))
            carried_bytes += (following.at_ns - change.at_ns) * 1e-9 * fair_share(active, connection, left)
        carried.append(carried_bytes)
    times = [change.at_ns for change in changes]
    return [carried[bisect_right(times, end) - 1] - carried[bisect_right(times, begin) - 1] for begin, end, _ in spans]


def _busy_s(spans: list[TransferSpan]) -> float:
    """How long at least one transfer was on."""
    busy_ns, until_ns = 0, 0
    for begun_ns, ended_ns, _ in sorted(spans):
        busy_ns += max(0, ended_ns - max(begun_ns, until_ns))
        until_ns = max(until_ns, ended_ns)
    return busy_ns / 1e9


def _warning(figure: AccuracyFigure) -> str:
    scale, unit = (1e3, "ms") if figure.unit == "s" else (1e-6, "MB/s")
    return (
        f"network model: {figure.name}: {figure.achieved * scale:.4g} {unit} achieved, {figure.asked * scale:.4g} "
        f"{unit} asked ({figure.off:+.1%}, over {figure.count} requests); the client or this machine was not up to it"
    )
