"""Finds the bottleneck of a transfer (NIC, connections, latency, CPU, disk or start-up) and suggests remedies."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

import msgspec

from s3bench.clients.tuning.parameter import PART_BYTES_MIN, ParameterRole
from s3bench.clients.tuning.workload import Workload
from s3bench.results.measurement import Measurement
from s3bench.s3.network.model import NetworkModel
from s3bench.tune.effective_settings import DATA_REQUESTS
from s3bench.tune.objective import transfer_s
from s3bench.tune.setting import Setting
from s3bench.tune.study import DiskSpeed
from s3bench.tune.transfer_time import mean_ttfb_s
from s3bench.units import render_bytes

NIC_SHARE = 0.75
"""Share of the bandwidth of all connections, from the first request to the last response. Less than 1, since little is
on the wire during the first and the last requests."""

CONNECTION_SHARE = 0.7
"""Share of what the connections in flight can carry. The rest is idle time between two requests of a connection."""

LATENCY_SHARE = 0.3
"""Share of the transfer for which a connection waits for first bytes: what `CONNECTION_SHARE` leaves."""

CORE_SHARE = 0.85
"""Share of one core. Python releases its lock for every read and write, so a fully used core is rare."""

CPU_SHARE = 0.85
"""Share of all cores, above which threads wait for each other."""

DISK_SHARE = 0.8
"""Share of the transfer that the disk alone needs for the bytes. The disk was measured without other load."""

START_UP_SHARE = 0.5
"""Share of the whole run before the first request and after the last response: more than the transfer itself."""

STUB_SHARE = 0.5
"""Share of the transfer for which the server was busy: the same that makes a measurement stub-bound."""


class TransferLimit(StrEnum):
    """What limits a transfer."""

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
    """The limit of a transfer, the figures that show it, and remedies.

    If no limit was reached, the evidence begins with the nearest one, and `remedies` apply to that one.
    """

    limit: TransferLimit
    evidence: tuple[str, ...]
    remedies: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _LimitUse:
    """How near the run came to one limit: it used the `share`, and from `threshold` the limit counts as reached."""

    limit: TransferLimit
    share: float
    threshold: float
    text: str
    remedies: tuple[str, ...]

    @property
    def nearness(self) -> float:
        return self.share / self.threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """Medians over the runs; `None` for what was not measured."""

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
        """The number of cores that the transfer used, assuming that the start-up fully used one."""
        return None if self.cpu_s is None else max(0.0, self.cpu_s - self.start_up_s) / self.transfer_s


def find_bottleneck(
    measurements: Sequence[Measurement],
    setting: Setting,
    workload: Workload,
    network: NetworkModel | None,
    disk: DiskSpeed | None,
    cores: int,
) -> Bottleneck:
    """The limit that the runs of one setting came nearest to; `TransferLimit.NONE` if they reached none.

    `network` is the imposed network model, `disk` the speed of the workspaces' file system, `cores` the number of cores
    available to the client. The evidence has the figures of all limits, the nearest first.
    """
    if not measurements:
        return Bottleneck(limit=TransferLimit.UNKNOWN, evidence=("there was no complete run",), remedies=())
    run = _medians(measurements, setting, workload)
    uses = sorted(_limit_uses(run, network, disk, cores), key=lambda use: -use.nearness)
    evidence = (*(use.text for use in uses), *_warnings(run, cores))
    if not uses:
        return Bottleneck(limit=TransferLimit.UNKNOWN, evidence=evidence, remedies=())
    nearest = uses[0]
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


def _limit_uses(run: _Run, network: NetworkModel | None, disk: DiskSpeed | None, cores: int) -> Iterator[_LimitUse]:
    if run.is_transfer_known:
        yield _start_up(run)
    if network is not None:
        yield from _network_uses(run, network)
    if run.client_cores is not None:
        yield from _cpu_uses(run, run.client_cores, cores)
    disk_bytes_per_s = None if disk is None else disk.read if run.workload.is_upload else disk.write
    if disk_bytes_per_s is not None:
        yield _disk(run, disk_bytes_per_s)


def _start_up(run: _Run) -> _LimitUse:
    share = run.start_up_s / run.total_s
    is_aws_cli = run.setting.descriptor.runs_any_command
    other_clients = ("s5cmd, or boto3 in a running program: both avoid the start-up of aws-cli",) if is_aws_cli else ()
    return _LimitUse(
        limit=TransferLimit.START_UP,
        share=share,
        threshold=START_UP_SHARE,
        text=f"start-up and end of the client: {run.start_up_s:.2f} s of {run.total_s:.2f} s ({share:.0%})",
        remedies=("more bytes in one command: the start-up is paid once", *other_clients),
    )


def _network_uses(run: _Run, network: NetworkModel) -> Iterator[_LimitUse]:
    nic = network.nic_up_bytes_per_s if run.workload.is_upload else network.nic_down_bytes_per_s
    if nic is not None:
        share = run.bytes_per_s / nic
        yield _LimitUse(
            limit=TransferLimit.NIC,
            share=share,
            threshold=NIC_SHARE,
            text=f"network: {_rate(run.bytes_per_s)} of {_rate(nic)} in the transfer ({share:.0%})",
            remedies=("an instance with a faster NIC: the link is full, so no setting helps",),
        )
    if run.in_flight and network.connection_bytes_per_s is not None:
        yield _connections(run, run.in_flight, network.connection_bytes_per_s)
    if run.in_flight and (ttfb_s := mean_ttfb_s(network)) > 0:
        yield _latency(run, run.in_flight, ttfb_s)


def _connections(run: _Run, in_flight: float, connection_bytes_per_s: float) -> _LimitUse:
    allowed = in_flight * connection_bytes_per_s
    share = run.bytes_per_s / allowed
    each = f"{in_flight:.0f} in flight x {_rate(connection_bytes_per_s)}"
    return _LimitUse(
        limit=TransferLimit.CONNECTIONS,
        share=share,
        threshold=CONNECTION_SHARE,
        text=f"connections: {_rate(run.bytes_per_s)} of {_rate(allowed)}, {each} ({share:.0%})",
        remedies=(_more_in_flight(run, in_flight),),
    )


def _more_at_once(setting: Setting) -> str:
    return f"more requests at once: a higher {setting.descriptor.tuning.more_at_once}"


def _more_in_flight(run: _Run, in_flight: float) -> str:
    """More requests at once if there are more; a first part that is fetched alone does not count."""
    is_alone = run.setting.descriptor.tuning.is_first_part_alone and not run.workload.is_upload
    if run.requests - is_alone > in_flight or run.workload.files > 1:
        return _more_at_once(run.setting)
    if run.workload.is_upload and _part_bytes(run) <= PART_BYTES_MIN:
        least = render_bytes(PART_BYTES_MIN)
        return f"more files in one command: all parts are in flight, and S3 takes none below {least}"
    return "smaller parts: all parts are already in flight"


def _part_bytes(run: _Run) -> int:
    """The size of a part: as set, else the client's default, else what each request has of the bytes."""
    size_bytes, tuning = run.workload.size_bytes, run.setting.descriptor.tuning
    asked = run.setting.value_of(ParameterRole.PART) or tuning.default_of(ParameterRole.PART, run.workload)
    return min(asked or math.ceil(run.workload.total_bytes / max(run.requests, 1)), size_bytes)


def _latency(run: _Run, in_flight: float, ttfb_s: float) -> _LimitUse:
    each = run.requests / in_flight
    share = each * ttfb_s / run.transfer_s
    waited = f"{each:.1f} requests on each connection x {ttfb_s * 1e3:.0f} ms"
    is_split = run.requests > run.workload.files
    return _LimitUse(
        limit=TransferLimit.LATENCY,
        share=share,
        threshold=LATENCY_SHARE,
        text=f"latency: {waited} of {run.transfer_s:.2f} s ({share:.0%})",
        remedies=(
            *(("larger parts: fewer round trips",) if is_split else ()),
            _more_at_once(run.setting),
            "a machine nearer to the bucket",
        ),
    )


def _cpu_uses(run: _Run, client_cores: float, cores: int) -> Iterator[_LimitUse]:
    used = f"{client_cores:.2f} in the transfer, besides a start-up on one core ({run.cpu_s:.2f} s of CPU time in all)"
    if run.setting.descriptor.tuning.is_bound_to_one_core:
        yield _LimitUse(
            limit=TransferLimit.CORE,
            share=client_cores,
            threshold=CORE_SHARE,
            text=f"cores: {used}; Python code runs on one at a time",
            remedies=("cli-crt or s5cmd: they use more than one core", "a machine with faster cores"),
        )
    server_cores = (run.server_s or 0.0) / run.transfer_s
    share = (client_cores + server_cores) / cores
    server = f" and {server_cores:.2f} by the server, which also runs on this machine" if run.server_s else ""
    own = ("measure against S3 itself: here the server takes a part of this machine",) if run.server_s else ()
    yield _LimitUse(
        limit=TransferLimit.CPU,
        share=share,
        threshold=CPU_SHARE,
        text=f"CPU: {client_cores:.2f} cores by the client{server}, of {cores} ({share:.0%})",
        remedies=("a machine with more cores", *own),
    )


def _disk(run: _Run, disk_bytes_per_s: float) -> _LimitUse:
    """A transfer that is faster than the disk was not limited by it."""
    share = run.bytes_per_s / disk_bytes_per_s
    is_outrun = share > 1
    does = "read" if run.workload.is_upload else "write"
    return _LimitUse(
        limit=TransferLimit.DISK,
        share=0.0 if is_outrun else share,
        threshold=DISK_SHARE,
        text=f"disk: {_rate(run.bytes_per_s)} in the transfer, of the {_rate(disk_bytes_per_s)} that it can {does} "
        f"({share:.0%}){': more than the disk delivers, so the page cache helped' if is_outrun else ''}",
        remedies=() if is_outrun else ("a faster disk, or a file system in memory",),
    )


def _warnings(run: _Run, cores: int) -> Iterator[str]:
    """A warning if the server, which shares the machine, may be the limit."""
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
