"""The objective of a tuning: the time of the whole command, the time of its transfer, or the cost of a run."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from s3bench.clients.tuning.workload import Workload
from s3bench.errors import BadInput
from s3bench.results.measurement import Measurement

_HOUR_S = 3600.0
_WRITES = ("PUT", "POST", "GET list-type")  # a LIST costs what a PUT does
_FREE = ("DELETE",)


class Aim(StrEnum):
    """What a tuning minimises.

    `time`: from the command's start to its end. `throughput`: from its first request to its last response.
    `cost-weighted`: the cost of one run, machine time and requests together.
    """

    TIME = "time"
    THROUGHPUT = "throughput"
    COST = "cost-weighted"


class Objective(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to minimise. Prices are US dollars: for a machine's hour, and for 1,000 requests.

    The defaults are S3 Standard in us-east-1, uploads and parts at 0.005 and GETs at 0.0004 a thousand
    (https://aws.amazon.com/s3/pricing/), and a c5.large on demand (https://aws.amazon.com/ec2/pricing/on-demand/),
    as of 2024; both change, so both are options.
    """

    aim: Aim = Aim.TIME
    machine_per_hour: float = 0.085
    writes_per_1000: float = 0.005
    reads_per_1000: float = 0.0004

    @property
    def unit(self) -> str:
        """The unit of `value`: `s` or `$`."""
        return "$" if self.aim is Aim.COST else "s"

    def value(self, measurement: Measurement) -> float:
        """The value of one run: seconds, or dollars. Without a wire log `throughput` uses the whole time."""
        match self.aim:
            case Aim.THROUGHPUT:
                return transfer_s(measurement)
            case Aim.COST:
                return measurement.total_time / _HOUR_S * self.machine_per_hour + self._requests(
                    measurement.requests_by_kind
                )
        return measurement.total_time

    def check(self, workload: Workload, *, has_requests: bool) -> None:
        """Refuse prices at which a run of `workload` may cost nothing: costs are compared by ratios. Raises `BadInput`.

        A run surely has the requests with object data, if requests are known at all: `has_requests`.
        """
        if self.aim is not Aim.COST or self.machine_per_hour:
            return
        kind, price = ("writes", self.writes_per_1000) if workload.is_upload else ("reads", self.reads_per_1000)
        what = "at these prices a run could cost nothing"
        if not has_requests:
            why = "the time of the machine is free, and requests to a live endpoint are not counted"
            raise BadInput(what, why, "pass a --machine-price above 0")
        if not price:
            why = f"the time of the machine is free, and so are {kind}"
            raise BadInput(what, why, f"pass a --machine-price above 0, or a price for {kind}")

    def _requests(self, kinds: Mapping[str, int]) -> float:
        writes = sum(count for kind, count in kinds.items() if kind.startswith(_WRITES))
        free = sum(count for kind, count in kinds.items() if kind.startswith(_FREE))
        reads = sum(kinds.values()) - writes - free
        return (writes * self.writes_per_1000 + reads * self.reads_per_1000) / 1000


def transfer_s(measurement: Measurement) -> float:
    """Seconds from the first request to the last response; the whole run if there is no wire log."""
    first, last = measurement.milestones.first_request, measurement.milestones.last_response
    return measurement.total_time if first is None or last is None else last - first
