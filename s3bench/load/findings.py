"""What a phase showed: tallies of all workers come in, figures for the live view and the results document go out.

Owns the account of a phase and the figures that follow from it. One second over all workers is `moment`'s, sums of
one kind are `total`'s, their way into a results document `outcome`'s. Pure: it is told everything.

The measured window goes from the first whole second after the warm-up to the end of the last tally, whose length is
its true one. What ended in it counts, and nothing else.
"""

import math
from collections import Counter, deque
from dataclasses import dataclass

import msgspec

from s3bench.load.bottleneck import Finding, Signs, Yardsticks, find
from s3bench.load.littles_law import Flow, contradiction
from s3bench.load.message import Ended, Lost
from s3bench.load.moment import ALL, NS, Kept, Moment, is_operation, seconds
from s3bench.load.nodes import NodeFindings, NodeStanding, Pace, node_name, stragglers
from s3bench.load.operation import Kind
from s3bench.load.profile import Job, Phase
from s3bench.load.progress import Progress
from s3bench.load.stability import is_settled
from s3bench.load.standing import HISTORY_S, Standing
from s3bench.load.tally import Tally
from s3bench.load.total import Total, latency_of
from s3bench.results.load import Load, Second


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The figures of a phase.

    `whole` is all that was done, `parts` each kind of each job where there are several, `nodes` what each node did
    where there are several. `window_s` is the length of the measured window and `cpu_s` the workers' CPU time within
    it. `warnings` are doubts; `losses` say what the figures are without; a `refusal` says why they must not be
    believed, empty where they may.
    """

    whole: Load
    parts: tuple[Load, ...]
    window_s: float
    cpu_s: float
    warnings: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    refusal: str = ""
    nodes: tuple[NodeFindings, ...] = ()


@dataclass(slots=True, kw_only=True)
class _Worker:
    """One worker's sums over the measured window."""

    length_ns: int = 0
    cpu_ns: int = 0
    wait_ns: int = 0
    in_flight_max: int = 0  # of its last tally


@dataclass(slots=True)
class _Window:
    """Sums over the measured window that belong to no kind."""

    end_ns: int = 0
    in_flight_ns: int = 0
    bytes_up: int = 0
    bytes_down: int = 0
    connects: int = 0
    waiting_max: int = 0
    at_start: int = 0


_Totals = dict[tuple[int, Kind], Total]


class Account:
    """What is known of a phase on `workers` workers so far, which are on `nodes` machines in turn.

    Its memory grows by the seconds, not by the operations.
    """

    def __init__(self, phase: Phase, *, workers: int, nodes: int = 1) -> None:
        self._phase = phase
        self._warmup_seconds = math.ceil(phase.warmup_s)
        self._workers = {worker: _Worker() for worker in range(workers)}
        self._progress = Progress(workers)
        self._ended: dict[int, Ended] = {}
        self._lost: dict[int, str] = {}
        self._open: dict[int, Moment] = {}
        self._kept: list[Kept] = []
        self._last = Moment(second=-1)
        self._history: deque[tuple[int, int]] = deque(maxlen=HISTORY_S)
        self._declared_kinds = {kind for job in phase.jobs for kind in job.kinds}
        self._rows: list[tuple[str, Second]] = []
        self._operations = 0
        self._failures: Counter[str] = Counter()
        self._window = _Window()
        self._totals: tuple[_Totals, ...] = tuple({key: Total() for key in _declared(phase)} for _ in range(nodes))
        self._pace = Pace(nodes=nodes)

    def add(self, tally: Tally) -> bool:
        """Add a second of one worker. Tells whether a second is complete by that, over all workers."""
        worker = self._workers[tally.worker]
        node = tally.worker % len(self._totals)
        self._progress.told(tally.worker, tally.second)
        worker.in_flight_max = tally.in_flight_max
        self._open.setdefault(tally.second, Moment(second=tally.second)).add(tally, node)
        for stream in tally.streams:
            if is_operation(stream.kind):
                self._operations += stream.operations
                self._failures.update({loss.label: loss.count - loss.retried for loss in stream.losses})
        if tally.second >= self._warmup_seconds:
            self._measure(tally, worker, self._totals[node])
        return self._close(self._complete())

    def end(self, ended: Ended) -> None:
        """Take note that a worker is through, after its last tally."""
        self._ended[ended.worker] = ended
        self._progress.left(ended.worker)
        self._close(self._complete())

    def lose(self, lost: Lost) -> None:
        """Take note that a node is gone: what it told stays, and nothing more is expected of it."""
        left = [worker for worker in self._workers_of(lost.node) if worker not in self._ended]
        since = min((self._progress.next_of(worker) for worker in left), default=0)
        self._lost[lost.node] = (
            f"{node_name(lost.node)} was lost: {lost.why}; from second {since} on the figures are without it"
        )
        for worker in left:
            self._progress.left(worker)
        self._close(self._complete())

    @property
    def losses(self) -> tuple[str, ...]:
        """What was lost in the middle, in words."""
        return tuple(self._lost.values())

    @property
    def ended(self) -> tuple[Ended, ...]:
        """What the workers said at their ends, by worker."""
        return tuple(self._ended[worker] for worker in sorted(self._ended))

    @property
    def failures(self) -> dict[str, int]:
        """Operations that did not end well after all attempts, by what happened, warm-up included."""
        return {label: count for label, count in self._failures.most_common() if count}

    @property
    def is_settled(self) -> bool:
        """Whether the phase may end because its throughput has settled."""
        return self._phase.stable and is_settled(self._throughputs())

    def standing(self) -> Standing:
        """How the phase stands after the last second that all workers have told of."""
        last = self._last
        totals = [job.operations for job in self._phase.jobs if job.operations is not None]
        is_bytes = any(size for size, _ in self._history)
        return Standing(
            phase=self._phase.name,
            second=last.second + 1,
            duration_s=self._phase.duration_s,
            operations=self._operations,
            operations_total=sum(totals) if len(totals) == len(self._phase.jobs) else None,
            kinds=last.standings(),
            failures=tuple(sorted(last.failures.items())),
            in_flight=last.in_flight,
            waiting=last.waiting,
            client_cpu_share=last.cpu_share,
            history=tuple(float(size if is_bytes else operations) for size, operations in self._history),
            history_is_bytes=is_bytes,
            is_warmup=last.second < self._warmup_seconds,
            nodes=self._node_standings(),
        )

    def take_rows(self) -> tuple[tuple[str, Second], ...]:
        """The seconds that were completed since this was last asked, of all kinds together and of each."""
        rows, self._rows = tuple(self._rows), []
        return rows

    def measure(self, known: Yardsticks = Yardsticks()) -> Findings:  # noqa: B008 (frozen)
        """The figures of all that came in."""
        self._close(max(self._open, default=-1) + 1)
        window_s = self._window_s
        totals = self._joined()
        whole = _operations_of(totals)
        flow = self._flow(whole)
        signs = self._signs(whole, flow)
        one = next(iter(totals)) if len(totals) == 1 else None
        finding = find(signs, known)
        figures = self._load(whole, signs, kind=one[1] if one else ALL, job=self._phase.jobs[0].name if one else "")
        return Findings(
            whole=self._with_phase(figures, flow, finding, known),
            parts=() if one else tuple(self._part(*key, totals[key], signs) for key in self._keys(totals)),
            window_s=window_s,
            cpu_s=sum(worker.cpu_ns for worker in self._workers.values()) / NS,
            warnings=tuple(filter(None, (finding.warning, *self._doubts()))),
            losses=self.losses,
            nodes=tuple(self._node(node, figures) for node in self._nodes),
            refusal=contradiction(flow) if window_s > 0 else "nothing was measured: the phase ended in its warm-up",
        )

    def _measure(self, tally: Tally, worker: _Worker, totals: _Totals) -> None:
        worker.length_ns += tally.length_ns
        worker.cpu_ns += tally.cpu_ns
        worker.wait_ns += tally.wait_ns
        window = self._window
        window.end_ns = max(window.end_ns, tally.second * NS + tally.length_ns)
        window.in_flight_ns += tally.in_flight_ns
        window.connects += tally.connects
        if tally.second == self._warmup_seconds and self._warmup_seconds:
            window.at_start += tally.in_flight_max
        for stream in tally.streams:
            totals.setdefault((stream.job, stream.kind), Total()).add(stream)

    def _complete(self) -> int:
        """The first second that some worker has not told of yet."""
        complete = self._progress.complete()
        return max(self._open, default=-1) + 1 if complete is None else complete

    def _close(self, until: int) -> bool:
        """Keep what stays of all seconds before `until`."""
        complete = sorted(second for second in self._open if second < until)
        for second in complete:
            moment = self._open.pop(second)
            kept = moment.kept()
            self._kept.append(kept)
            if second >= self._warmup_seconds:
                self._window.waiting_max = max(self._window.waiting_max, moment.waiting)
            self._rows += moment.rows(self._declared_kinds)
            self._last = moment
            self._pace.add([moment.by_node[node][0] for node in range(len(self._totals))])
            if kept.is_whole:
                self._history.append((moment.bytes, moment.operations))
        return bool(complete)

    def _throughputs(self) -> list[float]:
        measured = [each for each in self._kept if each.is_whole and each.figures.second >= self._warmup_seconds]
        has_bytes = any(each.figures.bytes for each in measured)
        return [float(each.figures.bytes if has_bytes else each.figures.operations) for each in measured]

    @property
    def _window_s(self) -> float:
        return max(0, self._window.end_ns - self._warmup_seconds * NS) / NS

    def _flow(self, whole: Total) -> Flow:
        """What was in flight; of a worker that did not say how it ended, all that it had may be lost."""
        silent = sum(each.in_flight_max for worker, each in self._workers.items() if worker not in self._ended)
        return Flow(
            window_s=self._window_s,
            integral_s=self._window.in_flight_ns / NS,
            time_s=whole.time_ns / NS,
            at_start=self._window.at_start,
            longest_s=whole.longest_ns / NS,
            open_s=sum(each.open_ns for each in self.ended) / NS + silent * self._window_s,
        )

    @property
    def _waiting(self) -> int:
        """Planned operations that nobody had begun at the end."""
        return sum(each.waiting for each in self.ended)

    def _left(self) -> tuple[int, int]:
        """Operations in flight at the end, and those of them that ended well afterwards."""
        return sum(each.unfinished for each in self.ended), sum(each.late for each in self.ended)

    def _signs(self, whole: Total, flow: Flow) -> Signs:
        measured = [worker for worker in self._workers.values() if worker.length_ns]
        window_s = self._window_s or math.inf
        return Signs(
            cpu_share=max((worker.cpu_ns / worker.length_ns for worker in measured), default=0.0),
            wait_share=min((worker.wait_ns / worker.length_ns for worker in measured), default=1.0),
            ended_per_s=whole.ended / window_s,
            bytes_per_s=max(whole.bytes_up, whole.bytes_down) / window_s,
            threads=sum(job.threads for job in self._phase.jobs),
            in_flight=flow.in_flight,
            waiting_max=self._window.waiting_max,
            rate_planned=_rate_planned(self._phase.jobs),
            latency_p50_s=seconds(whole.service.percentile_ns(50)),
            window_s=self._window_s,
        )

    def _load(self, total: Total, signs: Signs, *, kind: str, job: str) -> Load:
        """What a total says by itself."""
        window_s = self._window_s or math.inf
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
            failures=total.failures,
            bins=total.service.bins(),
            first_byte_bins=total.first_byte.bins(),
            response_bins=total.response_bins,
        )

    def _part(self, job: int, kind: Kind, total: Total, signs: Signs) -> Load:
        whole = self._phase.jobs[job]
        share = sum(each.weight for each in whole.mix if each.kind is kind) / sum(each.weight for each in whole.mix)
        return msgspec.structs.replace(
            self._load(total, signs, kind=kind, job=_job_name(self._phase, job, kind)),
            rate_planned=whole.rate.per_s * share if whole.rate and share else None,
        )

    def _with_phase(self, load: Load, flow: Flow, finding: Finding, known: Yardsticks) -> Load:
        """Add what is known of all kinds together only."""
        unfinished, late = self._left()
        marked = self._seconds(load.latency.mean if load.latency.p50 is None else load.latency.p50)
        return msgspec.structs.replace(
            load,
            rate_planned=_rate_planned(self._phase.jobs),
            in_flight=flow.in_flight,
            waiting_max=self._window.waiting_max,
            unfinished=unfinished + self._waiting,
            late=late,
            connects=self._window.connects,
            ceiling=known.ceiling,
            bottleneck=finding.limit.value,
            stalls=tuple(each.second for each in marked if each.stalled),
            seconds=marked,
        )

    def _seconds(self, usual_s: float | None) -> tuple[Second, ...]:
        return tuple(msgspec.structs.replace(each.figures, stalled=each.is_stalled(usual_s)) for each in self._kept)

    def _keys(self, totals: _Totals) -> list[tuple[int, Kind]]:
        """The kinds of all jobs in the order of the profile, then the requests that uploads consist of."""
        declared = _declared(self._phase)
        parts = totals.keys() - set(declared)
        return [*declared, *sorted(parts, key=lambda key: (key[0], list(Kind).index(key[1])))]

    def _doubts(self) -> tuple[str, ...]:
        lost = {worker for node in self._lost for worker in self._workers_of(node)}
        silent = sorted(self._workers.keys() - self._ended.keys() - lost)
        doubts = []
        if silent:
            doubts.append(
                f"{len(silent)} of {len(self._workers)} workers did not come to their end: what they did is missing"
            )
        if self._waiting:
            doubts.append(
                f"{self._waiting:,} operations were planned and not begun at the end: no response time has them"
            )
        slow = stragglers({node: count for node, count in enumerate(self._node_operations()) if node not in self._lost})
        if slow:
            names = ", ".join(node_name(node) for node in sorted(slow))
            doubts.append(f"far below the median of the {len(self._totals)} nodes: {names}")
        return tuple(doubts)

    @property
    def _nodes(self) -> range:
        """The nodes that are told of one by one: none where there is only one."""
        return range(len(self._totals) if len(self._totals) > 1 else 0)

    def _workers_of(self, node: int) -> range:
        return range(node, len(self._workers), len(self._totals))

    def _joined(self) -> _Totals:
        """The totals of all nodes together."""
        if len(self._totals) == 1:
            return self._totals[0]
        keys = dict.fromkeys(key for totals in self._totals for key in totals)
        return {key: Total.joined(totals[key] for totals in self._totals if key in totals) for key in keys}

    def _node_operations(self) -> list[int]:
        return [
            sum(total.operations for (_, kind), total in totals.items() if is_operation(kind))
            for totals in self._totals
        ]

    def _node(self, node: int, whole: Load) -> NodeFindings:
        """What one node did, of all kinds together."""
        workers = [self._workers[worker] for worker in self._workers_of(node)]
        signs = Signs(
            cpu_share=max((each.cpu_ns / each.length_ns for each in workers if each.length_ns), default=0.0),
            wait_share=1.0,
            window_s=self._window_s,
            ended_per_s=0.0,
            bytes_per_s=0.0,
            threads=0,
            in_flight=0.0,
        )
        load = self._load(_operations_of(self._totals[node]), signs, kind=whole.kind, job=whole.job)
        return NodeFindings(node=node, load=load, cpu_s=sum(each.cpu_ns for each in workers) / NS)

    def _node_standings(self) -> tuple[NodeStanding, ...]:
        slow = self._pace.stragglers(frozenset(self._lost))
        length_s = self._last.length_s or 1.0
        return tuple(
            NodeStanding(
                node=node,
                rate=self._last.by_node[node][0] / length_s,
                bytes_rate=self._last.by_node[node][1] / length_s,
                is_straggler=node in slow,
                is_lost=node in self._lost,
            )
            for node in self._nodes
        )


def _operations_of(totals: _Totals) -> Total:
    """All whole operations together."""
    return Total.joined(total for (_, kind), total in totals.items() if is_operation(kind))


def _declared(phase: Phase) -> list[tuple[int, Kind]]:
    return [(index, kind) for index, job in enumerate(phase.jobs) for kind in dict.fromkeys(job.kinds)]


def _rate_planned(jobs: tuple[Job, ...]) -> float | None:
    """The rate of all jobs together; `None` as soon as one is a closed loop."""
    rates = [job.rate.per_s for job in jobs if job.rate]
    return sum(rates) if rates and len(rates) == len(jobs) else None


def _job_name(phase: Phase, job: int, kind: Kind) -> str:
    """The job's name, with its place where another one of that name does the same; empty of the only one without."""
    name = phase.jobs[job].name
    if len(phase.jobs) == 1:
        return name
    whole = kind if is_operation(kind) else Kind.MULTIPART
    rivals = [each for each in phase.jobs if each.name == name and whole in each.kinds]
    return name if name and len(rivals) == 1 else f"{name or 'job'} {job + 1}"
