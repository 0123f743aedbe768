"""The account of a phase: tallies of all workers come in, every second goes out, and at the end the figures.

Owns what is complete when, and the view of the last second. One second over all workers is `moment`'s, sums over the
measured window are `window`'s, figures `findings`'. Pure: it is told everything.
"""

from collections import Counter, deque

from s3bench.load.aggregation.bottleneck import Yardsticks
from s3bench.load.aggregation.live_status import HISTORY_S, LiveStatus
from s3bench.load.aggregation.nodes import NodeStatus, Pace, node_name
from s3bench.load.aggregation.phase_result import PhaseData, PhaseResult
from s3bench.load.aggregation.progress import PhaseProgress
from s3bench.load.aggregation.second import Kept, SecondStatistics, is_operation
from s3bench.load.aggregation.stability import is_settled
from s3bench.load.aggregation.window import Window
from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.message import PhaseEnded, WorkerLost
from s3bench.load.profile.profile import Phase
from s3bench.results.load import Second


class PhaseAggregation:
    """What is known of a phase on `workers` workers so far, which are on `nodes` machines in turn.

    Its memory grows by the seconds, not by the operations.
    """

    def __init__(self, phase: Phase, *, workers: int, nodes: int = 1) -> None:
        self._phase = phase
        self._window = Window(phase, workers=workers, nodes=nodes)
        self._progress = PhaseProgress(workers)
        self._ended: dict[int, PhaseEnded] = {}
        self._lost: dict[int, str] = {}
        self._open: dict[int, SecondStatistics] = {}
        self._kept: list[Kept] = []
        self._last = SecondStatistics(second=-1)
        self._history: deque[tuple[int, int]] = deque(maxlen=HISTORY_S)
        self._declared_kinds = {kind for job in phase.jobs for kind in job.kinds}
        self._rows: list[tuple[str, Second]] = []
        self._operations = 0
        self._failures: Counter[str] = Counter()
        self._pace = Pace(nodes=nodes)

    def add(self, tally: IntervalRecord) -> bool:
        """Add a second of one worker. Tells whether a second is complete by that, over all workers."""
        self._progress.told(tally.worker, tally.second)
        moment = self._open.setdefault(tally.second, SecondStatistics(second=tally.second))
        moment.add(tally, self._window.node_of(tally.worker))
        for stream in tally.streams:
            if is_operation(stream.kind):
                self._operations += stream.operations
                self._failures.update({loss.label: loss.count - loss.retried for loss in stream.losses})
        self._window.add(tally)
        return self._close(self._complete())

    def end(self, ended: PhaseEnded) -> None:
        """Take note that a worker is through, after its last tally."""
        self._ended[ended.worker] = ended
        self._progress.left(ended.worker)
        self._close(self._complete())

    def lose(self, lost: WorkerLost) -> None:
        """Take note that a node is gone: what it told stays, and nothing more is expected of it."""
        left = [worker for worker in self._window.workers_of(lost.node) if worker not in self._ended]
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
    def ended(self) -> tuple[PhaseEnded, ...]:
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

    def standing(self) -> LiveStatus:
        """How the phase stands after the last second that all workers have told of."""
        last = self._last
        totals = [job.operations for job in self._phase.jobs if job.operations is not None]
        is_bytes = any(size for size, _ in self._history)
        return LiveStatus(
            phase=self._phase.name,
            second=last.second + 1,
            duration_s=self._phase.duration_s,
            operations=self._operations,
            operations_total=sum(totals) if len(totals) == len(self._phase.jobs) else None,
            kinds=last.standings(),
            failures=tuple(sorted(last.failures.items())),
            in_flight=last.in_flight,
            pausing=last.pausing,
            waiting=last.waiting,
            client_cpu_share=last.cpu_share,
            history=tuple(float(size if is_bytes else operations) for size, operations in self._history),
            history_is_bytes=is_bytes,
            is_warmup=not self._window.has(last.second),
            nodes=self._node_standings(),
        )

    def take_rows(self) -> tuple[tuple[str, Second], ...]:
        """The seconds that were completed since this was last asked, of all kinds together and of each."""
        rows, self._rows = tuple(self._rows), []
        return rows

    def measure(self, known: Yardsticks = Yardsticks()) -> PhaseResult:  # noqa: B008 (frozen)
        """The figures of all that came in."""
        self._close(max(self._open, default=-1) + 1)
        evidence = PhaseData(
            phase=self._phase, window=self._window, kept=tuple(self._kept), ended=self.ended, lost=self._lost
        )
        return evidence.findings(known)

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
            if self._window.has(second):
                self._window.waiting_max = max(self._window.waiting_max, moment.waiting)
            self._rows += moment.rows(self._declared_kinds)
            self._last = moment
            self._pace.add([moment.by_node[node][0] for node in range(self._window.nodes)])
            if kept.is_whole:
                self._history.append((moment.bytes, moment.operations))
        return bool(complete)

    def _throughputs(self) -> list[float]:
        measured = [each for each in self._kept if each.is_whole and self._window.has(each.figures.second)]
        has_bytes = any(each.figures.bytes for each in measured)
        return [float(each.figures.bytes if has_bytes else each.figures.operations) for each in measured]

    def _node_standings(self) -> tuple[NodeStatus, ...]:
        if self._window.nodes == 1:
            return ()
        slow = self._pace.stragglers(frozenset(self._lost))
        length_s = self._last.length_s or 1.0
        return tuple(
            NodeStatus(
                node=node,
                rate=self._last.by_node[node][0] / length_s,
                bytes_rate=self._last.by_node[node][1] / length_s,
                is_straggler=node in slow,
                is_lost=node in self._lost,
            )
            for node in range(self._window.nodes)
        )
