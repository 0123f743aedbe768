"""What a transfer waited for: the NIC, its connections, latency, CPU, memory or disk; and what would move it.

Owns the reading of a run's figures against the limits it had. Pure.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

import msgspec

from s3bench.results.measurement import Measurement
from s3bench.s3.network.model import NetworkModel
from s3bench.spec.definition import CRT_KINDS, ClientKind
from s3bench.tune.effective_settings import DATA_REQUESTS
from s3bench.tune.objective import transfer_s
from s3bench.tune.request_plan import FIRST_ALONE_KINDS
from s3bench.tune.setting import Setting
from s3bench.tune.study import DiskSpeed
from s3bench.tune.transfer_time import mean_ttfb_s
from s3bench.tune.workload import Workload

NIC_SHARE = 0.75
"""Of the bandwidth of all connections, from the first request to the last response: the rest goes to the first and the
last requests, while little or nothing is on the wire."""

CONNECTION_SHARE = 0.7
"""Of what the connections in flight can carry. What is missing passes between two requests of each."""

LATENCY_SHARE = 0.3
"""Of the transfer, for which a connection waits for first bytes: what `CONNECTION_SHARE` leaves."""

CORE_SHARE = 0.85
"""Of one core. Python gives its lock away for every read and write, so a full core is hardly ever seen."""

CPU_SHARE = 0.85
"""Of all cores: beyond it threads wait for each other."""

DISK_SHARE = 0.8
"""Of the transfer, that the disk alone needs for the bytes. It was measured with nothing else to do."""

START_UP_SHARE = 0.5
"""Of the whole run, that passes before the first request and after the last response: more than all the transfer."""

STUB_SHARE = 0.5
"""Of the transfer, for which the server was busy: the same share at which a measurement is called stub-bound."""

_PYTHON_KINDS = frozenset({ClientKind.CLI, ClientKind.CLI_CLASSIC, ClientKind.BOTO3_CLASSIC})
"""Clients whose transfer is Python code, which the interpreter lock keeps on one core but for hashing and sockets."""


class TransferLimit(StrEnum):
    """What bounds a transfer."""

    NIC = "network bandwidth"
    CONNECTIONS = "bandwidth of its connections"
    LATENCY = "latency"
    CPU = "CPU"
    CORE = "one core (Python's interpreter lock)"
    DISK = "disk"
    START_UP = "start-up of the client"
    NONE = "no single limit"
    UNKNOWN = "unknown"


class Bottleneck(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`limit` bounds the transfer; `evidence` tells by which figures, `remedies` what would move it, in words.

    Where no limit was reached, the evidence begins with the nearest one, and `remedies` are for that.
    """

    limit: TransferLimit
    evidence: tuple[str, ...]
    remedies: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sign:
    """How near the run came to one limit: `share` of it, of which `threshold` counts as reached."""

    limit: TransferLimit
    share: float
    threshold: float
    said: str
    remedies: tuple[str, ...]

    @property
    def nearness(self) -> float:
        return self.share / self.threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """Medians over the runs; `None` is what was not measured."""

    setting: Setting
    workload: Workload
    total_s: float
    transfer_s: float
    cpu_s: float | None
    server_s: float | None
    in_flight: float | None
    requests: float
    is_transfer_known: bool

    @property
    def bytes_per_s(self) -> float:
        return self.workload.total_bytes / self.transfer_s

    @property
    def start_up_s(self) -> float:
        return self.total_s - self.transfer_s

    @property
    def client_cores(self) -> float | None:
        """Cores that the transfer used: the start-up is taken to have used one all the time."""
        return None if self.cpu_s is None else max(0.0, self.cpu_s - self.start_up_s) / self.transfer_s


def find_bottleneck(
    measurements: Sequence[Measurement],
    setting: Setting,
    workload: Workload,
    network: NetworkModel | None,
    disk: DiskSpeed | None,
    cores: int,
) -> Bottleneck:
    """The limit that the runs of one setting came nearest to; `TransferLimit.NONE` where they reached no known one.

    `network` is the model that was imposed, `disk` the speed of the workspaces' file system, `cores` how many the
    client might use. All figures are told, the nearest limit first.
    """
    if not measurements:
        return Bottleneck(limit=TransferLimit.UNKNOWN, evidence=("no run to read it from",), remedies=())
    run = _medians(measurements, setting, workload)
    signs = sorted(_signs(run, network, disk, cores), key=lambda sign: -sign.nearness)
    evidence = (*(sign.said for sign in signs), *_warnings(run, cores))
    if not signs:
        return Bottleneck(limit=TransferLimit.UNKNOWN, evidence=evidence, remedies=())
    nearest = signs[0]
    limit = nearest.limit if nearest.nearness >= 1 else TransferLimit.NONE
    return Bottleneck(limit=limit, evidence=evidence, remedies=tuple(dict.fromkeys(nearest.remedies)))


def _medians(measurements: Sequence[Measurement], setting: Setting, workload: Workload) -> _Run:
    return _Run(
        setting=setting,
        workload=workload,
        total_s=median(run.total_time for run in measurements),
        transfer_s=median(transfer_s(run) for run in measurements),
        cpu_s=_median(measurements, lambda run: run.cpu_time),
        server_s=_median(measurements, lambda run: run.harness.server_cpu_time),
        in_flight=_median(measurements, lambda run: run.wire.requests_in_flight_max if run.wire else None),
        requests=median(sum(run.requests_by_kind.get(kind, 0) for kind in DATA_REQUESTS) for run in measurements),
        is_transfer_known=all(run.milestones.last_response is not None for run in measurements),
    )


def _median(measurements: Sequence[Measurement], figure: Callable[[Measurement], float | None]) -> float | None:
    known = [value for run in measurements if (value := figure(run)) is not None]
    return median(known) if known else None


def _signs(run: _Run, network: NetworkModel | None, disk: DiskSpeed | None, cores: int) -> Iterator[_Sign]:
    if run.is_transfer_known:
        yield _start_up(run)
    if network is not None:
        yield from _network_signs(run, network)
    if run.client_cores is not None:
        yield from _cpu_signs(run, run.client_cores, cores)
    disk_bytes_per_s = None if disk is None else disk.read if run.workload.is_upload else disk.write
    if disk_bytes_per_s is not None:
        yield _disk(run, disk_bytes_per_s)


def _start_up(run: _Run) -> _Sign:
    share = run.start_up_s / run.total_s
    return _Sign(
        limit=TransferLimit.START_UP,
        share=share,
        threshold=START_UP_SHARE,
        said=f"start-up and end of the client: {run.start_up_s:.2f} s of {run.total_s:.2f} s ({share:.0%})",
        remedies=(
            "more bytes in one command: the start-up is paid once",
            "s5cmd, or boto3 in a program that runs already: neither starts aws-cli anew",
        ),
    )


def _network_signs(run: _Run, network: NetworkModel) -> Iterator[_Sign]:
    nic = network.nic_up_bytes_per_s if run.workload.is_upload else network.nic_down_bytes_per_s
    if nic is not None:
        share = run.bytes_per_s / nic
        yield _Sign(
            limit=TransferLimit.NIC,
            share=share,
            threshold=NIC_SHARE,
            said=f"network: {_rate(run.bytes_per_s)} of {_rate(nic)} in the transfer ({share:.0%})",
            remedies=("an instance with a larger NIC: the link is full, no setting makes it faster",),
        )
    if run.in_flight and network.connection_bytes_per_s is not None:
        yield _connections(run, run.in_flight, network.connection_bytes_per_s)
    if run.in_flight and (ttfb_s := mean_ttfb_s(network)) > 0:
        yield _latency(run, run.in_flight, ttfb_s)


def _connections(run: _Run, in_flight: float, connection_bytes_per_s: float) -> _Sign:
    allowed = in_flight * connection_bytes_per_s
    share = run.bytes_per_s / allowed
    each = f"{in_flight:.0f} in flight x {_rate(connection_bytes_per_s)}"
    return _Sign(
        limit=TransferLimit.CONNECTIONS,
        share=share,
        threshold=CONNECTION_SHARE,
        said=f"connections: {_rate(run.bytes_per_s)} of {_rate(allowed)}, {each} ({share:.0%})",
        remedies=(_more_in_flight(run, in_flight),),
    )


def _more_at_once(setting: Setting) -> str:
    if setting.kind is ClientKind.S5CMD:
        return "more requests at once: a higher --concurrency, for many files --numworkers"
    knob = "target_bandwidth" if setting.kind in CRT_KINDS else "max_concurrent_requests"
    return f"more requests at once: a higher {knob}"


def _more_in_flight(run: _Run, in_flight: float) -> str:
    """More at once where there are more to make; a part that is fetched before all others is none of them."""
    is_alone = run.setting.kind in FIRST_ALONE_KINDS and not run.workload.is_upload
    if run.requests - is_alone <= in_flight and run.workload.files == 1:
        return "smaller parts: there are no more of them to be in flight"
    return _more_at_once(run.setting)


def _latency(run: _Run, in_flight: float, ttfb_s: float) -> _Sign:
    each = run.requests / in_flight
    share = each * ttfb_s / run.transfer_s
    waited = f"{each:.1f} requests on each connection x {ttfb_s * 1e3:.0f} ms"
    is_split = run.requests > run.workload.files
    return _Sign(
        limit=TransferLimit.LATENCY,
        share=share,
        threshold=LATENCY_SHARE,
        said=f"latency: {waited} of {run.transfer_s:.2f} s ({share:.0%})",
        remedies=(
            *(("larger parts: fewer round trips",) if is_split else ()),
            _more_at_once(run.setting),
            "a machine nearer to the bucket",
        ),
    )


def _cpu_signs(run: _Run, client_cores: float, cores: int) -> Iterator[_Sign]:
    used = f"{client_cores:.2f} in the transfer, beside a start-up on one core ({run.cpu_s:.2f} s of CPU time in all)"
    if run.setting.kind in _PYTHON_KINDS:
        yield _Sign(
            limit=TransferLimit.CORE,
            share=client_cores,
            threshold=CORE_SHARE,
            said=f"cores: {used}; Python code runs on one at a time",
            remedies=("cli-crt or s5cmd: they use more than one core", "a machine with faster cores"),
        )
    server_cores = (run.server_s or 0.0) / run.transfer_s
    share = (client_cores + server_cores) / cores
    server = f" and {server_cores:.2f} by the server, which runs on this machine too" if run.server_s else ""
    own = ("the same against S3 itself: here the server takes a part of this machine",) if run.server_s else ()
    yield _Sign(
        limit=TransferLimit.CPU,
        share=share,
        threshold=CPU_SHARE,
        said=f"CPU: {client_cores:.2f} cores by the client{server}, of {cores} ({share:.0%})",
        remedies=("a machine with more cores", *own),
    )


def _disk(run: _Run, disk_bytes_per_s: float) -> _Sign:
    share = run.bytes_per_s / disk_bytes_per_s
    does = "read" if run.workload.is_upload else "write"
    return _Sign(
        limit=TransferLimit.DISK,
        share=share,
        threshold=DISK_SHARE,
        said=f"disk: {_rate(run.bytes_per_s)} in the transfer, of the {_rate(disk_bytes_per_s)} that it can {does} "
        f"({share:.0%}){': more than it gives, so the page cache had its part' if share > 1 else ''}",
        remedies=("a faster disk, or a file system in memory",),
    )


def _warnings(run: _Run, cores: int) -> Iterator[str]:
    """What the figures cannot tell since the server shares the machine."""
    if run.server_s is None or run.client_cores is None:
        return
    server_share = run.server_s / run.transfer_s
    all_share = (run.client_cores + server_share) / cores
    if server_share >= STUB_SHARE or all_share >= CPU_SHARE:
        yield (
            f"stub-bound: the server was busy for {server_share:.0%} of the transfer, on the machine of the client; "
            "the limit is this machine, S3 itself may be faster"
        )


def _rate(bytes_per_s: float) -> str:
    return f"{bytes_per_s / 1e6:,.0f} MB/s"
