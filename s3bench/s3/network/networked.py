"""Imposes a network model on a handler: delays, rate limits and fault injection.

A prefix with too many requests rejects them, some others fail by chance, and the rest reach the handler, whose reply is
delayed, and cut or stalled by chance. A request that is rejected or fails by chance never reaches the handler: it
changes nothing.
"""

import time
from collections.abc import Callable

import msgspec

from s3bench.s3.network.limits import RateLimits
from s3bench.s3.network.link import Link
from s3bench.s3.network.model import NetworkModel
from s3bench.s3.network.random_draws import RandomDraws, ttfb_s
from s3bench.s3.protocol.exchange import Break, Handler, Reply, RequestBody, Sink
from s3bench.s3.protocol.http import RequestHead
from s3bench.s3.protocol.s3_error import error_reply
from s3bench.s3.wirelog import InjectedFault


def _path_style(host: str) -> str:
    """Give the bucket that the Host header names, where every request names it in its path."""
    del host
    return ""


class Networked:
    """The `Handler` that puts `model` between clients and `inner`; for one iteration, since it counts requests.

    A server that is given it puts its connections on `link`. `bucket_of` gives the bucket that a Host header names,
    empty for path-style requests.
    """

    __slots__ = ("_bucket_of", "_clock", "_draws", "_inner", "_limits", "_model", "link")

    def __init__(
        self,
        inner: Handler,
        model: NetworkModel,
        *,
        bucket_of: Callable[[str], str] = _path_style,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.link = Link(model)
        self._inner = inner
        self._model = model
        self._draws = RandomDraws(model.seed)
        self._limits = RateLimits(reads_per_s=model.reads_per_s, writes_per_s=model.writes_per_s)
        self._bucket_of = bucket_of
        self._clock = clock

    def begin(self, head: RequestHead) -> Sink | None:
        """Where the body of `head` goes: where the handler wants it, whatever befalls the request afterwards."""
        return self._inner.begin(head)

    def finish(self, head: RequestHead, body: RequestBody, date_line: bytes) -> Reply:
        """Make the reply to a whole request, or let it fail."""
        model = self._model
        asked = self._in_path_style(head)
        draw = self._draws.draw(asked)
        delay_s = ttfb_s(model, draw.ttfb)
        if not self._limits.admits(asked, self._clock()):
            reply = _failure(head, 503, "SlowDown", "Please reduce your request rate.", date_line)
            return reply.over_network(delay_s=delay_s, fault=InjectedFault.SLOW_DOWN)
        chance = draw.fault - model.error_rate
        if chance < 0:
            message = "We encountered an internal error. Please try again."
            reply = _failure(head, 500, "InternalError", message, date_line)
            return reply.over_network(delay_s=delay_s, fault=InjectedFault.ERROR)
        reply = self._inner.finish(head, body, date_line)
        fault, stall_s = InjectedFault.NONE, 0.0
        if chance < model.reset_rate:
            fault = InjectedFault.RESET
        elif chance < model.reset_rate + model.stall_rate:
            fault, stall_s = InjectedFault.STALL, model.stall_s
        if not fault:
            return reply.over_network(delay_s=delay_s)
        # Somewhere in the body, or in the head of a reply that has none.
        first = reply.head_bytes if reply.size_bytes > reply.head_bytes else 1
        after_bytes = first + int(draw.place * (reply.size_bytes - first))
        return reply.over_network(delay_s=delay_s, fault=fault, broken=Break(after_bytes, stall_s))

    def _in_path_style(self, head: RequestHead) -> RequestHead:
        """Give `head` with its bucket in the path, for what identifies a request by its bucket and key."""
        bucket = self._bucket_of(head.fields.get("host", ""))
        return msgspec.structs.replace(head, path=f"/{bucket}{head.path}") if bucket else head


def _failure(head: RequestHead, status: int, code: str, message: str, date_line: bytes) -> Reply:
    return error_reply(head, status=status, code=code, message=message, date_line=date_line)
