"""Clients that need no processes: the time of a transfer by simple physics, with noise, told as trials.

They stand behind the interface of a study: a tuner plans, trials come back. What real clients do is in tests/e2e and
`benchmarks/tune_regret.py`.
"""

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from s3bench.clients.registry import known_clients
from s3bench.clients.tuning.workload import Action, Workload
from s3bench.results.measurement import Failure, UsageFacts, Wire, WireFacts, measure
from s3bench.tune.objective import Objective
from s3bench.tune.run_block import PlannedRun
from s3bench.tune.setting import Setting
from s3bench.tune.space import Space
from s3bench.tune.study import Header, Search, Stage, Study, Trial
from s3bench.tune.tuner import Tuner

MIB = 1 << 20
OVERHEAD_S = 0.05


@dataclass(frozen=True, kw_only=True)
class Link:
    """Seconds of latency of each request, and bytes per second of a connection and of all together."""

    latency_s: float = 0.02
    connection: float = 93e6
    nic: float = 349e6


@dataclass(frozen=True, kw_only=True)
class Physics:
    """What a client costs: seconds to start, CPU seconds for each byte and request, cores that it can use.

    It `heeds` these knobs, and ignores the others.
    """

    start_s: float
    per_byte_s: float
    per_request_s: float
    cores: float
    concurrency: int
    part: int
    heeds: tuple[str, ...] = tuple(name for client in known_clients().values() for name in client.tuning.all_parameters)

    def shape(self, setting: Setting, workload: Workload) -> tuple[int, int, int]:
        """Requests with object data, how many of them at once, and the bytes of each."""
        reported = {name: value for name, value in setting.values if name in self.heeds}
        concurrency = reported.get("max_concurrent_requests") or reported.get("concurrency") or self.concurrency
        part = reported.get("multipart_chunksize") or reported.get("part_size") or self.part
        if reported.get("multipart_threshold", 0) > workload.size_bytes:
            part = workload.size_bytes
        part = min(part, workload.size_bytes)
        requests = sum(count * max(1, math.ceil(size / part)) for size, count in workload.file_sizes.counts)
        return requests, min(concurrency, requests), part

    def _waiting_s(self, setting: Setting, workload: Workload, link: Link) -> float:
        """The time of the connections' requests, of which each size has its share."""
        requests, at_once, part = self.shape(setting, workload)
        if not workload.sizes:
            return math.ceil(requests / at_once) * (link.latency_s + part / link.connection)
        return (
            max(requests * link.latency_s + workload.total_bytes / link.connection, at_once * part / link.connection)
            / at_once
        )

    def cpu_s(self, setting: Setting, workload: Workload) -> float:
        """CPU seconds of the transfer."""
        requests, at_once, _ = self.shape(setting, workload)
        busy_s = workload.total_bytes * self.per_byte_s + requests * self.per_request_s
        return busy_s * (1 + 0.002 * at_once)

    def time_s(self, setting: Setting, workload: Workload, link: Link) -> float:
        """The time of one run without noise."""
        waiting_s = self._waiting_s(setting, workload, link)
        cpu_s = self.cpu_s(setting, workload) / self.cores
        return self.start_s + max(waiting_s, workload.total_bytes / link.nic, cpu_s) + 2 * link.latency_s

    def memory_bytes(self, setting: Setting, workload: Workload) -> int:
        """What a run needs: the parts in flight."""
        _, at_once, part = self.shape(setting, workload)
        return 60 * MIB + at_once * part // 4

    def wire(self, setting: Setting, workload: Workload, *, last_s: float) -> WireFacts:
        """What a server would have seen."""
        requests, at_once, part = self.shape(setting, workload)
        kinds = {"PUT partNumber": requests, "POST uploads": 1, "POST uploadId": 1} if requests > 1 else {"PUT": 1}
        return WireFacts(
            counts=Wire(
                requests=sum(kinds.values()),
                retries=0,
                connections=at_once,
                requests_in_flight_max=at_once,
                bytes_received=workload.total_bytes,
                bytes_sent=0,
                part_size_max=part,
                checksums_verified=requests,
            ),
            first_request_s=self.start_s * 0.9,
            last_response_s=last_s - self.start_s * 0.1,
            requests_by_kind=kinds,
            engine="python",
            server_cpu_s=0.0,
        )


PHYSICS = {
    "cli-classic": Physics(start_s=0.6, per_byte_s=5e-9, per_request_s=3e-3, cores=1, concurrency=10, part=8 * MIB),
    "s5cmd": Physics(start_s=0.05, per_byte_s=3.7e-9, per_request_s=5e-4, cores=2, concurrency=5, part=50 * MIB),
}


@dataclass(kw_only=True)
class Simulation:
    """A machine on which studies run: `noise` is the deviation of log times, `drift` what a block adds to all.

    `memory_noise` is the deviation of log peaks; settings in `swollen` need so much more memory, as a factor, and those
    in `slowed` so much more time.
    """

    link: Link
    workload: Workload
    clients: tuple[str, ...] = ("cli-classic@2.38.5",)
    noise: float = 0.03
    drift: float = 0.0
    memory_noise: float = 0.01
    swollen: dict[Setting, float] = field(default_factory=dict)
    slowed: dict[Setting, float] = field(default_factory=dict)
    seed: int = 0
    crashing: frozenset[str] = frozenset()
    physics: Mapping[str, Physics] = field(default_factory=lambda: PHYSICS)

    def __post_init__(self) -> None:
        self.randomness = random.Random(self.seed)
        self.space = Space.of(self.clients, self.workload)

    def true_s(self, setting: Setting) -> float:
        """The time of a setting without noise."""
        physics = self.physics[setting.client.partition("@")[0]]
        return self.slowed.get(setting, 1.0) * physics.time_s(setting, self.workload, self.link)

    def header(self, **changes: object) -> Header:
        """The header of a study here."""
        header = Header(
            s3bench="test",
            started_at="",
            command_line=(),
            machine={"cores_logical": 2},
            workload=self.workload,
            clients=self.clients,
            network=f"ttfb={self.link.latency_s}s,bandwidth={self.link.connection:.0f}B/s,nic={self.link.nic:.0f}B/s",
            endpoint="simulated",
            objective=Objective(),
            search=Search.RACE,
            budget_s=1e9,
            seed=self.seed,
        )
        return replace(header, **changes)

    def run(self, tuner: Tuner, trials: tuple[Trial, ...] = ()) -> Iterator[Trial]:
        """Run a study to its end."""
        known = list(trials)
        while (block := tuner.next_block(known)) is not None:
            drift = math.exp(self.drift * math.sin(len(known)))
            for run in block.runs:
                if known and tuner.left_s(known) <= 0:
                    return
                outcome = self._outcome(run, drift)
                trial = replace(outcome, number=len(known), stage=block.stage, block=block.number, setting=run.setting)
                known.append(trial)
                yield trial

    def study(self, **changes: object) -> Study:
        """A whole study."""
        header = self.header(**changes)
        return Study(header=header, trials=tuple(self.run(Tuner(header=header, space=self.space))))

    def _outcome(self, run: PlannedRun, drift: float) -> Trial:
        blank = Trial(number=0, stage=Stage.SEARCH, block=0, setting=run.setting, took_s=OVERHEAD_S, cap_s=run.cap_s)
        if run.setting.client in self.crashing:
            return replace(blank, failure=Failure(iteration=0, what="exited 1", exit_code=1, why="no such thing"))
        time_s = self.true_s(run.setting) * drift * math.exp(self.randomness.gauss(0, self.noise))
        if run.cap_s is not None and time_s > run.cap_s:
            return replace(blank, took_s=run.cap_s + OVERHEAD_S, was_capped=True)
        physics = self.physics[run.setting.client.partition("@")[0]]
        varied = self.swollen.get(run.setting, 1.0) * math.exp(self.randomness.gauss(0, self.memory_noise))
        memory = round(physics.memory_bytes(run.setting, self.workload) * varied)
        measurement = measure(
            iteration=0,
            total_s=time_s,
            usage=UsageFacts(
                peak_memory_bytes=memory,
                user_cpu_s=physics.cpu_s(run.setting, self.workload) + physics.start_s,
                system_cpu_s=0.0,
            ),
            wire=physics.wire(run.setting, self.workload, last_s=time_s),
        )
        return replace(blank, took_s=time_s + OVERHEAD_S, measurement=measurement)


def upload(size_mib: int, files: int = 1) -> Workload:
    """An upload."""
    return Workload(action=Action.UPLOAD, size_bytes=size_mib * MIB, files=files)
