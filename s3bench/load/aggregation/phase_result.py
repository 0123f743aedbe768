"""The result of a phase: its figures and warnings, computed from all sums of the phase.

`measurements` puts them into a results document.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, field

import msgspec

from s3bench.load.aggregation.bottleneck import Finding, Signs, Yardsticks, find
from s3bench.load.aggregation.littles_law import Flow, contradiction
from s3bench.load.aggregation.nodes import START_SKEW_S_MAX, NodeResult, node_name, stragglers, thread_shares
from s3bench.load.aggregation.outage import Outage, outages
from s3bench.load.aggregation.second import ALL, NS, ClosedSecond, is_operation, seconds
from s3bench.load.aggregation.total import Total, latency_of
from s3bench.load.aggregation.window import Totals, Window, declared, operations_of
from s3bench.load.engine.message import PhaseEnded
from s3bench.load.operation import AttemptFailure, OperationKind
from s3bench.load.profile.profile import Job, Phase, Rate
from s3bench.results.load import Load


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseResult:
    """The figures of a phase.

    `whole` is for all operations, `parts` for each kind of each job if there are several, `nodes` for each node if
    there are several. `window_s` is the length of the measured window and `cpu_s` the workers' CPU time within it.
    `losses` describe what is missing from the figures; a `contradiction` describes why they cannot be right, or why
    there are none, and is empty if they can be.
    """

    whole: Load
    parts: tuple[Load, ...]
    window_s: float
    cpu_s: float
    warnings: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    contradiction: str = ""
    nodes: tuple[NodeResult, ...] = ()


@dataclass(slots=True)
class PhaseSums:
    """The sums of a phase so far: those over its `window`, its closed `seconds`, and how each worker ended.

    `lost` describes what is missing of each node that was lost.
    """

    phase: Phase
    window: Window
    seconds: list[ClosedSecond] = field(default_factory=list)
    ended_workers: dict[int, PhaseEnded] = field(default_factory=dict)
    lost: dict[int, str] = field(default_factory=dict)

    @property
    def ended(self) -> tuple[PhaseEnded, ...]:
        """How the workers ended, by worker."""
        return tuple(self.ended_workers[worker] for worker in sorted(self.ended_workers))

    def result(self, known: Yardsticks) -> PhaseResult:
        """Compute the figures and compare them with `known` limits."""
        window_s = self.window.length_s
        totals = self.window.joined()
        whole = operations_of(totals)
        flow = self._flow(whole)
        signs = self._signs(whole, flow)
        one = next(iter(totals)) if len(totals) == 1 else None
        finding = find(signs, known)
        stretches = outages(self.seconds, _usual_s(totals))
        without_service_s = self._within(stretches)
        figures = self._load(whole, signs, kind=one[1] if one else ALL, job=self.phase.jobs[0].name if one else "")
        return PhaseResult(
            whole=self._with_phase(figures, flow, finding, known, stretches, without_service_s),
            parts=() if one else tuple(self._part(*key, totals[key], signs) for key in self._keys(totals)),
            window_s=window_s,
            cpu_s=sum(worker.cpu_ns for worker in self.window.workers.values()) / NS,
            warnings=tuple(filter(None, (finding.warning, *self._warnings(whole, without_service_s)))),
            losses=tuple(self.lost.values()),
            nodes=tuple(self._node(node, figures) for node in self._nodes),
            contradiction=contradiction(flow) if window_s > 0 else self._nothing_measured,
        )

    @property
    def _nothing_measured(self) -> str:
        """Describe why there is no measured window."""
        before = "the first whole second after its warm-up" if self.window.first_second else "its first record"
        return f"nothing was measured: the phase ended before {before}"

    def _flow(self, whole: Total) -> Flow:
        """What was in flight; everything in flight on a worker that did not report its end may be lost."""
        silent = sum(self.window.workers[worker].in_flight_max for worker in self._silent)
        return Flow(
            window_s=self.window.length_s,
            integral_s=self.window.in_flight_ns / NS,
            time_s=whole.time_ns / NS,
            at_start=self.window.at_start,
            longest_s=whole.longest_ns / NS,
            open_s=sum(each.open_ns for each in self.ended) / NS + silent * self.window.length_s,
        )

    @property
    def _waiting(self) -> int:
        """Planned operations that had not begun at the end."""
        return sum(each.waiting for each in self.ended)

    def _left(self) -> tuple[int, int]:
        """Operations in flight at the end, and those of them that succeeded afterwards."""
        return sum(each.unfinished for each in self.ended), sum(each.late for each in self.ended)

    def _signs(self, whole: Total, flow: Flow) -> Signs:
        measured = [worker for worker in self.window.workers.values() if worker.length_ns]
        window_s = self.window.length_s or math.inf
        return Signs(
            cpu_share=max((worker.cpu_ns / worker.length_ns for worker in measured), default=0.0),
            wait_share=min((worker.wait_ns / worker.length_ns for worker in measured), default=1.0),
            ended_per_s=whole.ended / window_s,
            bytes_per_s=max(whole.bytes_up, whole.bytes_down) / window_s,
            threads=sum(job.threads for job in self.phase.jobs),
            in_flight=flow.in_flight,
            waiting_max=self.window.waiting_max,
            rate_planned=self._rate_planned,
            latency_p50_s=seconds(whole.service.percentile_ns(50)),
            window_s=self.window.length_s,
            run_delay_share=self._run_delay_share(self.window.workers.keys()),
        )

    def _run_delay_share(self, workers: Collection[int]) -> float | None:
        """The largest share of the phase in which one of `workers` was ready to run and had no core."""
        shares = [
            each.run_delay_ns / each.elapsed_ns
            for each in self.ended
            if each.worker in workers and each.run_delay_ns is not None and each.elapsed_ns
        ]
        return max(shares, default=None)

    @property
    def _cores_awake(self) -> bool | None:
        """Whether the cores of all workers were kept out of idle states; `None` in closed loop."""
        known = [each.cores_awake for each in self.ended if each.cores_awake is not None]
        return all(known) if known else None

    def _load(self, total: Total, signs: Signs, *, kind: str, job: str) -> Load:
        """The figures of a total alone."""
        window_s = self.window.length_s or math.inf
        return Load(
            kind=kind,
            job=job,
            operations=total.operations,
            attempts=total.attempts,
            failed=total.failed,
            retried=total.retried,
            repeated=total.repeated,
            error_rate=total.error_rate,
            operations_rate=total.operations / window_s,
            bytes_up=total.bytes_up,
            bytes_down=total.bytes_down,
            latency=latency_of(total.service),
            first_byte=latency_of(total.first_byte),
            response=latency_of(total.response) if total.has_responses else None,
            in_flight=None,
            in_flight_by_littles_law=total.time_ns / NS / window_s,
            client_cpu_share=signs.cpu_share,
            client_run_delay_share=signs.run_delay_share,
            cores_awake=self._cores_awake,
            failures=total.failures,
            bins=total.service.bins(),
            first_byte_bins=total.first_byte.bins(),
            response_bins=total.response_bins,
        )

    def _part(self, job: int, kind: OperationKind, total: Total, signs: Signs) -> Load:
        whole = self.phase.jobs[job]
        share = sum(each.weight for each in whole.mix if each.kind is kind) / sum(each.weight for each in whole.mix)
        return msgspec.structs.replace(
            self._load(total, signs, kind=kind, job=_job_name(self.phase, job, kind)),
            rate_planned=self._mean_rate(whole, whole.rate) * share if whole.rate and share else None,
        )

    def _mean_rate(self, job: Job, rate: Rate) -> float:
        """The mean of the planned rate of a job in the measured window; none is planned beyond its `operations`."""
        since_s, ramp_s = float(self.window.first_second), self.phase.ramp_s
        until_s = since_s + self.window.length_s
        if job.operations is None or until_s == since_s:
            return rate.mean_per_s(since_s, until_s, ramp_s=ramp_s)
        before, until = (
            min(job.operations, at_s * rate.mean_per_s(0.0, at_s, ramp_s=ramp_s)) for at_s in (since_s, until_s)
        )
        return (until - before) / self.window.length_s

    @property
    def _rate_planned(self) -> float | None:
        """The planned rate of all jobs together; `None` if one is a closed loop."""
        rates = [self._mean_rate(job, job.rate) for job in self.phase.jobs if job.rate]
        return sum(rates) if rates and len(rates) == len(self.phase.jobs) else None

    def _within(self, stretches: tuple[Outage, ...]) -> float:
        """The seconds of these outages that are in the measured window."""
        since_s = float(self.window.first_second)
        return sum(each.length_s(since_s=since_s, until_s=since_s + self.window.length_s) for each in stretches)

    def _with_phase(
        self,
        load: Load,
        flow: Flow,
        finding: Finding,
        known: Yardsticks,
        stretches: tuple[Outage, ...],
        without_service_s: float,
    ) -> Load:
        """Add the figures that are known for all kinds together only."""
        unfinished, late = self._left()
        marked = tuple(
            msgspec.structs.replace(
                each.figures,
                stalled=each.is_whole and any(stretch.covers(each.figures.second) for stretch in stretches),
            )
            for each in self.seconds
        )
        return msgspec.structs.replace(
            load,
            rate_planned=self._rate_planned,
            in_flight=flow.in_flight,
            pausing=self.window.paused_ns / NS / (self.window.length_s or math.inf),
            waiting_max=self.window.waiting_max,
            without_service=without_service_s,
            unfinished=unfinished + self._waiting,
            oldest=max((each.oldest_ns for each in self.ended), default=0) / NS,
            oldest_attempt=max((each.oldest_attempt_ns for each in self.ended), default=0) / NS,
            late=late,
            connects=self.window.connects,
            ceiling=known.ceiling,
            bottleneck=finding.limit.value,
            stalls=tuple(each.second for each in marked if each.stalled),
            seconds=marked,
        )

    def _keys(self, totals: Totals) -> list[tuple[int, OperationKind]]:
        """The kinds of all jobs in the order of the profile, then the requests that uploads consist of."""
        usual = declared(self.phase)
        parts = totals.keys() - set(usual)
        return [*usual, *sorted(parts, key=lambda key: (key[0], list(OperationKind).index(key[1])))]

    def _warnings(self, whole: Total, without_service_s: float) -> tuple[str, ...]:
        lost = {worker for node in self.lost for worker in self.window.workers_of(node)}
        silent = self._silent - lost
        warnings = []
        if without_service_s:
            warnings.append(
                f"no operation succeeded for {without_service_s:.1f} s of {self.window.length_s:.1f} s, although "
                "operations were wanted"
            )
        if expired := whole.losses.get(AttemptFailure.NO_THREAD):
            warnings.append(
                f"{expired.count:,} planned operations found no free thread within the time limit and count as failed, "
                "although no request was sent: add --threads"
            )
        if session_errors := [each.session_error for each in self.ended if each.session_error]:
            warnings.append(
                "a session with the directory bucket could not be renewed, and requests fail once it has expired: "
                + session_errors[0]
            )
        if unreached := self._unreached:
            warnings.append(
                f"no connection was made to {', '.join(unreached)}: these figures are those of the other addresses"
            )
        if silent:
            warnings.append(
                f"{len(silent)} of {len(self.window.workers)} workers did not report their end: "
                "their operations are missing"
            )
        if self._waiting:
            in_flight, _ = self._left()
            warnings.append(
                f"{self._waiting:,} planned operations had not started at the end, and {in_flight:,} were in flight; "
                "response times include neither"
            )
        counts = enumerate(self.window.node_operations())
        shares = thread_shares(self.phase, workers=len(self.window.workers), nodes=self.window.nodes)
        slow = stragglers({node: count for node, count in counts if node not in self.lost}, shares)
        if slow:
            names = ", ".join(node_name(node) for node in sorted(slow))
            warnings.append(f"far below the median of the {self.window.nodes} nodes: {names}")
        begun_s = sorted(each.begun_ns / NS for each in self.ended)
        if self._nodes and begun_s and begun_s[-1] - begun_s[0] > START_SKEW_S_MAX:
            warnings.append(
                f"the nodes did not start together: the last worker started {begun_s[-1] - begun_s[0]:.2f} s late"
            )
        return tuple(warnings)

    @property
    def _unreached(self) -> tuple[str, ...]:
        """The addresses that no worker could connect to, if there are others."""
        reached = {address for each in self.ended for address in each.reached}
        unreached = {address for each in self.ended for address in each.unreached}
        return tuple(sorted(unreached - reached)) if reached else ()

    @property
    def _nodes(self) -> range:
        """The nodes with figures of their own: none if there is only one."""
        return range(self.window.nodes if self.window.nodes > 1 else 0)

    @property
    def _silent(self) -> set[int]:
        """The workers that did not report their end."""
        return self.window.workers.keys() - self.ended_workers.keys()

    def _node(self, node: int, whole: Load) -> NodeResult:
        """The figures of one node, all kinds together."""
        workers = [self.window.workers[worker] for worker in self.window.workers_of(node)]
        signs = Signs(
            cpu_share=max((each.cpu_ns / each.length_ns for each in workers if each.length_ns), default=0.0),
            wait_share=1.0,
            window_s=self.window.length_s,
            ended_per_s=0.0,
            bytes_per_s=0.0,
            threads=0,
            in_flight=0.0,
            run_delay_share=self._run_delay_share(self.window.workers_of(node)),
        )
        load = self._load(operations_of(self.window.by_node[node]), signs, kind=whole.kind, job=whole.job)
        return NodeResult(node=node, load=load, cpu_s=sum(each.cpu_ns for each in workers) / NS)


def _usual_s(totals: Totals) -> float:
    """The usual time of a request: the 90th percentile, or the median or maximum of a few; 0 without any."""
    requests = Total.joined(total for (_, kind), total in totals.items() if kind is not OperationKind.MULTIPART).service
    usual_ns = requests.percentile_ns(90) or requests.percentile_ns(50) or requests.max_ns
    return usual_ns / NS if requests.count else 0.0


def _job_name(phase: Phase, job: int, kind: OperationKind) -> str:
    """The job's name, with its number if another job of that name does the same; empty for a single unnamed job."""
    name = phase.jobs[job].name
    if len(phase.jobs) == 1:
        return name
    whole = kind if is_operation(kind) else OperationKind.MULTIPART
    rivals = [each for each in phase.jobs if each.name == name and whole in each.kinds]
    return name if name and len(rivals) == 1 else f"{name or 'job'} {job + 1}"
