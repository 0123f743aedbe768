"""Aggregates the interval records of a phase: a live status after each second, and the result at the end.

A second is closed when all workers have reported it.
"""

from collections import Counter, deque
from dataclasses import replace

from s3bench.load.aggregation.bottleneck import Yardsticks
from s3bench.load.aggregation.live_status import HISTORY_S, LiveStatus
from s3bench.load.aggregation.nodes import NodeStatus, Pace, node_name, thread_shares
from s3bench.load.aggregation.phase_result import PhaseResult, PhaseSums
from s3bench.load.aggregation.progress import PhaseProgress
from s3bench.load.aggregation.second import SecondStatistics, is_operation
from s3bench.load.aggregation.stability import is_settled
from s3bench.load.aggregation.window import Window
from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.message import PhaseEnded, WorkerLost
from s3bench.load.profile.profile import Phase
from s3bench.results.load import Second


class PhaseAggregation:
    """The aggregation of a phase on `workers` workers, which are on `nodes` machines in turn.

    Its memory grows with the seconds, not with the operations. `keeps_rows` keeps each second until `take_rows`.
    """

    def __init__(self, phase: Phase, *, workers: int, nodes: int = 1, keeps_rows: bool = False) -> None:
        self._phase = phase
        self._window = Window(phase, workers=workers, nodes=nodes)
        self._sums = PhaseSums(phase, self._window)
        self._progress = PhaseProgress(workers)
        self._open: dict[int, SecondStatistics] = {}
        self._last = SecondStatistics(second=-1)
        self._history: deque[tuple[int, int]] = deque(maxlen=HISTORY_S)
        self._declared_kinds = {kind for job in phase.jobs for kind in job.kinds}
        self._keeps_rows = keeps_rows
        self._rows: list[tuple[str, Second]] = []
        self._operations = 0
        self._failures: Counter[str] = Counter()
        self._pace = Pace(shares=thread_shares(phase, workers=workers, nodes=nodes))

    def add(self, record: IntervalRecord) -> bool:
        """Add a second of one worker; returns whether that closed a second over all workers."""
        self._progress.reported(record.worker, record.second)
        statistics = self._open.setdefault(record.second, SecondStatistics(second=record.second))
        statistics.add(record, self._window.node_of(record.worker))
        for stream in record.streams:
            if is_operation(stream.kind):
                self._operations += stream.operations
                self._failures.update({loss.label: loss.count - loss.retried for loss in stream.losses})
        self._window.add(record)
        return self._close(self._complete())

    def end(self, ended: PhaseEnded) -> bool:
        """Note the end of a worker, after its last record; returns whether that closed a second over all workers."""
        self._sums.ended_workers[ended.worker] = ended
        self._progress.left(ended.worker)
        return self._close(self._complete())

    def lose(self, lost: WorkerLost) -> bool:
        """Note the loss of a node: what it reported stays, and nothing more is expected of it.

        Returns whether that closed a second over all workers.
        """
        left = [worker for worker in self._window.workers_of(lost.node) if worker not in self._sums.ended_workers]
        since = min((self._progress.next_of(worker) for worker in left), default=0)
        self._sums.lost[lost.node] = (
            f"{node_name(lost.node)} was lost: {lost.why}; from second {since} on the figures are without it"
        )
        for worker in left:
            self._progress.left(worker)
        return self._close(self._complete())

    @property
    def losses(self) -> tuple[str, ...]:
        """Descriptions of the nodes that were lost."""
        return tuple(self._sums.lost.values())

    @property
    def ended(self) -> tuple[PhaseEnded, ...]:
        """How the workers ended, by worker."""
        return self._sums.ended

    @property
    def threads(self) -> int:
        """The virtual users of all jobs."""
        return sum(job.threads for job in self._phase.jobs)

    @property
    def operations(self) -> int:
        """Operations that succeeded, warm-up included."""
        return self._operations

    @property
    def failures(self) -> dict[str, int]:
        """Operations that failed after all attempts, by label, warm-up included."""
        return {label: count for label, count in self._failures.most_common() if count}

    @property
    def is_settled(self) -> bool:
        """Whether the phase may end because its throughput has settled."""
        return self._phase.stable and is_settled(self._throughputs())

    def status(self) -> LiveStatus:
        """The live status after the last closed second."""
        last = self._last
        totals = [job.operations for job in self._phase.jobs if job.operations is not None]
        is_bytes = any(size for size, _ in self._history)
        return LiveStatus(
            phase=self._phase.name,
            second=last.second + 1,
            duration_s=self._phase.duration_s,
            operations=self._operations,
            operations_total=sum(totals) if len(totals) == len(self._phase.jobs) else None,
            kinds=last.kind_statuses(),
            failures=tuple(sorted(last.failures.items())),
            in_flight=last.in_flight,
            pausing=last.pausing,
            waiting=last.waiting,
            client_cpu_share=last.cpu_share,
            history=tuple(float(size if is_bytes else operations) for size, operations in self._history),
            history_is_bytes=is_bytes,
            is_warmup=not self._window.has(last.second),
            nodes=self._node_statuses(),
        )

    def take_rows(self) -> tuple[tuple[str, Second], ...]:
        """Take the seconds closed since the last call, for all kinds together and for each."""
        rows, self._rows = tuple(self._rows), []
        return rows

    def measure(self, known: Yardsticks = Yardsticks()) -> PhaseResult:  # noqa: B008 (frozen)
        """Compute the result from all records so far.

        If nothing was measured because nodes were lost, that takes the place of the figures.
        """
        self._close(max(self._open, default=-1) + 1)
        result = self._sums.result(known)
        if self.losses and not result.window_s:
            return replace(result, contradiction=f"nothing was measured: {'; '.join(self.losses)}")
        return result

    def _complete(self) -> int:
        """The first second that some worker has not reported yet."""
        complete = self._progress.complete()
        return max(self._open, default=-1) + 1 if complete is None else complete

    def _close(self, until: int) -> bool:
        """Close all seconds before `until`."""
        complete = sorted(second for second in self._open if second < until)
        for second in complete:
            statistics = self._open.pop(second)
            closed = statistics.closed()
            self._sums.seconds.append(closed)
            if self._window.has(second):
                self._window.waiting_max = max(self._window.waiting_max, statistics.waiting)
            if self._keeps_rows:
                self._rows += statistics.rows(closed.figures, self._declared_kinds)
            self._last = statistics
            self._pace.add([statistics.by_node[node][0] for node in range(self._window.nodes)])
            if closed.is_whole:
                self._history.append((statistics.bytes, statistics.operations))
        return bool(complete)

    def _throughputs(self) -> list[float]:
        measured = [each for each in self._sums.seconds if each.is_whole and self._window.has(each.figures.second)]
        has_bytes = any(each.figures.bytes for each in measured)
        return [float(each.figures.bytes if has_bytes else each.figures.operations) for each in measured]

    def _node_statuses(self) -> tuple[NodeStatus, ...]:
        if self._window.nodes == 1:
            return ()
        slow = self._pace.stragglers(frozenset(self._sums.lost))
        length_s = self._last.length_s or 1.0
        return tuple(
            NodeStatus(
                node=node,
                rate=self._last.by_node[node][0] / length_s,
                bytes_rate=self._last.by_node[node][1] / length_s,
                is_straggler=node in slow,
                is_lost=node in self._sums.lost,
            )
            for node in range(self._window.nodes)
        )
