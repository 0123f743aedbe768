"""Draws random numbers for each request from the seed and the request alone.

A request is identified by what it asks for, and among equal ones by how many came before; never by when it arrived.
However the threads of a client race, equal seeds therefore give the same draws.
"""

import hashlib
import math
from statistics import NormalDist
from typing import NamedTuple

from s3bench.s3.network.model import NetworkModel, quantile
from s3bench.s3.protocol.http import RequestHead

_NORMAL = NormalDist()
_P90 = _NORMAL.inv_cdf(0.9)
_UNIT = 2.0**-64

_COUNTED_MAX = 1_000_000
"""Distinct requests counted apart, about 0.1 KB each; beyond it new ones share this many counters, so that a repeated
request still gets another draw."""

_VOLATILE = ("x-amz-", "uploadid=")
"""Query parameters that differ from run to run: presigned URLs' dates and signatures, and upload ids."""


class RandomDraw(NamedTuple):
    """Three independent numbers from 0 (included) to 1 (not included)."""

    ttfb: float
    fault: float
    place: float


class RandomDraws:
    """Random numbers for the requests of one run."""

    __slots__ = ("_counts", "_key")

    def __init__(self, seed: int) -> None:
        self._key = seed.to_bytes(8, "big")
        self._counts: dict[int, int] = {}

    def draw(self, head: RequestHead) -> RandomDraw:
        """Give the next draw for requests like `head`."""
        query = head.query
        if query:
            query = "&".join(part for part in query.split("&") if not part.lower().startswith(_VOLATILE))
        text = f"{head.method}\n{head.path}\n{query}\n{head.fields.get('range', '')}".encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(text, digest_size=16, key=self._key).digest()
        counts = self._counts
        name = int.from_bytes(digest[:8], "big")
        if name not in counts and len(counts) >= _COUNTED_MAX:
            name %= _COUNTED_MAX
        count = counts[name] = counts.get(name, 0) + 1
        dealt = hashlib.blake2b(digest + count.to_bytes(8, "big"), digest_size=24, key=self._key).digest()
        return RandomDraw(*(int.from_bytes(dealt[at : at + 8], "big") * _UNIT for at in (0, 8, 16)))


def ttfb_s(model: NetworkModel, share: float) -> float:
    """Give the time to first byte below which `share` of the draws lie, in seconds."""
    if model.ttfb_samples_s:
        return quantile(model.ttfb_samples_s, share)
    if model.ttfb_p90_s <= model.ttfb_p50_s:
        return model.ttfb_p50_s
    deviations = _NORMAL.inv_cdf(min(max(share, 1e-12), 1 - 1e-12))
    return math.exp(math.log(model.ttfb_p50_s) + deviations / _P90 * math.log(model.ttfb_p90_s / model.ttfb_p50_s))
