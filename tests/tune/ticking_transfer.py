"""Transfers by a clock that ticks: what one client and one link would take, told as trials."""

from functools import cache

from s3bench.clients.tuning.parameter import MIB
from s3bench.clients.tuning.workload import Action, Workload
from s3bench.results.measurement import Measurement
from s3bench.s3.network.model import NetworkModel, parse_network
from s3bench.tune.setting import Setting
from s3bench.tune.study import Trial
from tests.tune.transfers import Run, trial

DOWN = Workload(action=Action.DOWNLOAD, size_bytes=256 * MIB)
LINK = parse_network("ttfb=40ms,bandwidth=20MB/s,nic=120MB/s")
FASTER = parse_network("ttfb=10ms,bandwidth=50MB/s,nic=300MB/s")
SETTINGS = tuple(
    Setting.of("boto3-classic", {"max_concurrent_requests": lanes, "multipart_chunksize": part * MIB})
    for lanes in (1, 2, 4, 10, 20)
    for part in (5, 8, 32)
)
START_UP_S = 0.5
SURPLUS_S = 0.005


@cache
def simulated_s(setting: Setting, workload: Workload, link: NetworkModel) -> float:
    """A transfer by a clock that ticks: each connection takes the next part, and all that receive share the NIC."""
    part = setting.get("multipart_chunksize") or 8 * MIB
    lanes = setting.get("max_concurrent_requests") or 10
    left = [min(part, workload.size_bytes - at) for at in range(0, workload.size_bytes, part)]
    latency_s = link.ttfb_p50_s + SURPLUS_S
    at_s, busy = latency_s, [[0.0, 0.0] for _ in range(lanes)]  # seconds until the first byte, bytes to come
    step_s = 0.004
    while left or any(size > 0 for _, size in busy):
        for lane in busy:
            if lane[1] <= 0 and left:
                lane[:] = [latency_s, float(left.pop(0))]
        receiving = [lane for lane in busy if lane[1] > 0 and lane[0] <= 0]
        rate = min(link.connection_bytes_per_s or 0, (link.nic_down_bytes_per_s or 0) / max(1, len(receiving)))
        for lane in receiving:
            lane[1] -= rate * step_s
        for lane in busy:
            lane[0] -= step_s
        at_s += step_s
    return START_UP_S + at_s


def simulated(setting: Setting, workload: Workload = DOWN, link: NetworkModel = LINK, *, slower: float = 1.0) -> Trial:
    total_s = simulated_s(setting, workload, link) * slower
    run = Run(
        values={},
        total_s=total_s,
        first_s=START_UP_S - 0.1,
        last_s=total_s - 0.1,
        user_s=START_UP_S,
        system_s=0.01,
        server_s=0.0,
        in_flight=setting.get("max_concurrent_requests") or 10,
        part_bytes=8 * MIB,
        kinds={"GET ranged": 32, "HEAD": 1},
    )
    return trial(setting, run, workload)


def measured(of: Trial) -> Measurement:
    assert of.measurement is not None
    return of.measurement
