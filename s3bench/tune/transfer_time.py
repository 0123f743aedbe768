"""Computes the time that planned requests take behind a link.

The formula extends the arithmetic of docs/network.md ("A transfer on paper") by the costs of the client: CPU time per
byte and per request, a limit of cores, and a surplus on each request.

    time = start-up + overhead + C x T + first + fill + (lanes^p + nic^p + cpu^p)^(1/p)

    lanes = rounds x T + bytes of the busiest connection x (1/bandwidth + serial)
    nic   = T + bytes / nic                                shared by all connections
    cpu   = (a x bytes + b x requests) / cores             computed by the client

T is the time to first byte plus the surplus. C is the number of requests that wait for each other (look-up, create,
complete, listing). `first` is the first part if a client fetches it alone to learn the size. `fill` applies to uploads:
the first parts are read and hashed by all cores before a byte is on the wire. Limits that are reached at the same time
add up partly, hence the p-norm rather than the largest of the three.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from s3bench.clients.tuning.workload import Workload
from s3bench.s3.network.model import NetworkModel
from s3bench.tune.request_plan import RequestPlan

Array = NDArray[np.float64]

_NORM = 3.0
"""How much limits that are reached at the same time add up: 1 is one after the other, infinity not at all.

Of 2, 3, 4 and 8 it has the least median error for the runs of tests/tune/data, between 64 and 256 MiB and two links.
"""

_Z90 = 1.2815515655446004  # standard normal quantile of 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkModel:
    """The link of a network model in the direction of the data.

    Rates are those of one connection and of all together, infinite if the model has no limit; `None`, and fitted, if no
    model was imposed. The latency is then part of the surplus.
    """

    ttfb_s: float
    rates: tuple[float | None, float | None]


def link_of(network: NetworkModel | None, workload: Workload) -> LinkModel:
    """The link of `network` for a workload; without a model the rates have to be fitted."""
    if network is None:
        return LinkModel(ttfb_s=0.0, rates=(None, None))
    nic = network.nic_up_bytes_per_s if workload.is_upload else network.nic_down_bytes_per_s
    rates = (network.connection_bytes_per_s or math.inf, nic or math.inf)
    return LinkModel(ttfb_s=mean_ttfb_s(network), rates=rates)


def mean_ttfb_s(network: NetworkModel) -> float:
    """The mean time to first byte: of the samples, or of the lognormal distribution, median x e^(sigma^2 / 2)."""
    if network.ttfb_samples_s:
        return sum(network.ttfb_samples_s) / len(network.ttfb_samples_s)
    if network.ttfb_p90_s <= network.ttfb_p50_s:
        return network.ttfb_p50_s
    sigma = math.log(network.ttfb_p90_s / network.ttfb_p50_s) / _Z90
    return network.ttfb_p50_s * math.exp(sigma * sigma / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    """CPU seconds that a client needs for each byte and each request."""

    s_per_byte: float
    s_per_request: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans:
    """Plans as columns."""

    total_bytes: Array
    requests: Array
    rounds: Array
    lane_bytes: Array
    in_turn: Array
    first_bytes: Array
    fill_bytes: Array
    filling: Array

    @classmethod
    def of(cls, plans: Sequence[RequestPlan]) -> "Plans":
        """The columns of `plans`, one row per plan."""

        def column(values: Iterable[float]) -> Array:
            return np.array(tuple(values), dtype=np.float64)

        return cls(
            total_bytes=column(item.total_bytes for item in plans),
            requests=column(item.requests for item in plans),
            rounds=column(item.rounds for item in plans),
            lane_bytes=column(item.lane_bytes for item in plans),
            in_turn=column(item.in_turn for item in plans),
            first_bytes=column(item.first_bytes for item in plans),
            fill_bytes=column(item.fill_bytes for item in plans),
            filling=column(min(item.lanes, item.requests) for item in plans),
        )

    def and_also(self, others: "Plans") -> "Plans":
        """These, then `others`."""
        columns = ((name, (getattr(self, name), getattr(others, name))) for name in self.__slots__)
        return Plans(**{name: np.concatenate(both) for name, both in columns})

    def without(self, number: int) -> "Plans":
        """All but one of them."""
        return Plans(**{name: np.delete(getattr(self, name), number) for name in self.__slots__})


def plan_s(logarithms: Array, plans: Plans, link: LinkModel, cpu: Cpu) -> Array:
    """The formula of the module without the start-up, in seconds for each of `plans`.

    `logarithms` are of the parameters in the order of `transfer_fit.PARAMETERS`; for several rows of them the result
    has as many rows.
    """
    overhead_s, surplus_s, serial, cores, connection, nic = np.exp(logarithms.T)[..., np.newaxis]
    own = connection if link.rates[0] is None else link.rates[0]
    shared = nic if link.rates[1] is None else link.rates[1]
    latency_s = link.ttfb_s + surplus_s
    is_first = plans.first_bytes > 0
    first_s = is_first * (latency_s + plans.first_bytes * (1 / np.minimum(own, shared) + serial))
    lane_s = plans.rounds * latency_s + plans.lane_bytes * (1 / own + serial)
    fill_s = serial * plans.fill_bytes * np.maximum(1.0, plans.filling / cores)
    lane_s = lane_s - serial * plans.fill_bytes
    nic_s = latency_s + (plans.total_bytes - plans.first_bytes) / shared
    cpu_s = (cpu.s_per_byte * plans.total_bytes + cpu.s_per_request * plans.requests) / cores
    limits_s = (lane_s**_NORM + nic_s**_NORM + cpu_s**_NORM) ** (1 / _NORM)
    return np.asarray(overhead_s + plans.in_turn * latency_s + first_s + fill_s + limits_s)
