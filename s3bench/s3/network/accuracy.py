"""Compares what a network model achieved with what was asked, from the wire log. Pure.

Bandwidth is asked by fluid arithmetic: at every moment each transfer that is on gets the
connection's rate or an equal share of the NIC's, whichever is less; what that sums up to while a transfer lasted is
what it was asked to carry. A client that reads or writes more slowly than the link, or a machine that is too busy,
shows as less than asked; nothing here distinguishes the two.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import msgspec

from s3bench.s3.network.link import fair_share
from s3bench.s3.network.model import NetworkModel, quantile
from s3bench.s3.wirelog import InjectedFault, WireLog, WireRequest

MEDIAN_OFF_MAX = 0.03
TAIL_OFF_MAX = 0.10
"""How far off a median (and a total), and a 90th percentile, may be without a warning; shares of what was asked."""

BULK_S = 0.005
"""Transfers shorter than this say more about timers than about bandwidth, and are left out."""

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
    spans = [span for span in spans if span.ended_ns - span.begun_ns >= BULK_S * 1e9]
    if not spans:
        return []
    asked_bytes = _asked(spans, connection, shared)
    seconds = [(span.ended_ns - span.begun_ns) / 1e9 for span in spans]
    busy_s = _busy_s(spans)
    asked = tuple(sorted(size / length for size, length in zip(asked_bytes, seconds, strict=True)))
    achieved = tuple(sorted(span.size_bytes / length for span, length in zip(spans, seconds, strict=True)))
    return [
        AccuracyFigure(
            name=f"bandwidth {name} of a connection, {label}",
            unit="B/s",
            asked=quantile(asked, share),
            achieved=quantile(achieved, share),
            count=len(spans),
            off_max=off_max,
        )
        for label, share, off_max in (("p50", 0.5, MEDIAN_OFF_MAX), ("p90", 0.9, TAIL_OFF_MAX))
        if label == "p50" or len(spans) >= _P90_COUNT_MIN
    ] + [
        AccuracyFigure(
            name=f"bandwidth {name} in all, while busy",
            unit="B/s",
            asked=sum(asked_bytes) / busy_s,
            achieved=sum(span.size_bytes for span in spans) / busy_s,
            count=len(spans),
            off_max=MEDIAN_OFF_MAX,
        )
    ]


def _asked(spans: list[TransferSpan], connection: float | None, shared: float | None) -> list[float]:
    """How many bytes each transfer was to carry while it lasted, by the integral of its share over time."""
    changes = sorted([(span.begun_ns, 1) for span in spans] + [(span.ended_ns, -1) for span in spans])
    times = [at_ns for at_ns, _ in changes]
    active = list(accumulate(step for _, step in changes))
    gaps = (later - earlier for earlier, later in pairwise(times))
    pieces = (
        gap * 1e-9 * fair_share(count, connection, shared) if count else 0.0
        for gap, count in zip(gaps, active, strict=False)
    )
    carried = list(accumulate(pieces, initial=0.0))
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
