"""Node groups without an engine: nodes in this process, real ones (`LocalNodeGroup`) or simulated ones.

Both keep the promises of `s3bench.cluster.node_group.NodeGroup`; the same is asked of Ray's in `test_ray`.
"""

import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import s3bench
from s3bench.cluster.message import PROTOCOL, NodeReport, Reports, decode_begins, decode_prepares, encode
from s3bench.cluster.node import WorkerNode
from s3bench.cluster.node_group import NodeGone
from s3bench.cluster.suite.node import SuiteNode
from s3bench.load.aggregation.phase_aggregation import PhaseAggregation
from s3bench.load.engine.message import PhasePrepared, PhaseReady, PreparePhase


class LocalNodeGroup:
    """Real nodes, asked one after the other. Those in `silent` do not hear, those in `gone` are not there."""

    hosts = ("127.0.0.1",)

    def __init__(self, nodes: Sequence[WorkerNode] | Sequence[SuiteNode]) -> None:
        self._nodes = nodes
        self.nodes = len(nodes)
        self.facts: Mapping[str, object] = {"engine": "none"}
        self.silent: set[int] = set()
        self.gone: set[int] = set()

    def call(
        self,
        method: str,
        arguments: Mapping[int, tuple[object, ...]],
        *,
        limit_s: float,
        is_over: Callable[[], bool] = lambda: False,
    ) -> dict[int, Any]:
        del limit_s, is_over
        answers: dict[int, Any] = {}
        for node, words in arguments.items():
            if node in self.gone:
                answers[node] = NodeGone("it was ended")
            elif node not in self.silent:
                answers[node] = getattr(self._nodes[node], method)(*words)
        return answers


class Clock:
    """A clock that is read, and moves on by a microsecond with that; or by hand."""

    def __init__(self) -> None:
        self.now_ns = 1_000_000_000

    def __call__(self) -> int:
        self.now_ns += 1000
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)


@dataclass(kw_only=True)
class SimulatedNode:
    """Tells `reports` once it is started: the next `a_turn` of them each time that it is asked, and then ends as told.

    Its clock is `offset_ns` ahead, its time of day `wall_offset_ns`; a question takes `there_ns` and its answer
    `back_ns`. It is gone after `gone_after` reports. The last `held` of them come when it is stopped. `was_read` is set
    once it has told all. After its order it is ready when it is asked for reports the `ready_at`th time, each of which
    takes `poll_ns`. It is gone for good once `is_gone`, which it becomes when it is ready if it `dies_ready`.
    """

    reports: Sequence[NodeReport] = ()
    offset_ns: int = 0
    wall_offset_ns: int = 0
    there_ns: int = 100_000
    back_ns: int = 100_000
    a_turn: int = 1000
    gone_after: int | None = None
    held: int = 0
    is_silent: bool = False
    is_gone: bool = False
    dies_ready: bool = False
    ready_at: int = 1
    poll_ns: int = 0
    dropped: int = 0
    facts: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    prepared: tuple[PreparePhase, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    start_ns: int | None = None
    stopped: bool = False
    was_read: threading.Event = field(default_factory=threading.Event)
    _told: list[NodeReport] = field(default_factory=list)
    _reported: int = 0
    _until_ready: int = 0

    def answer(self, method: str, words: Sequence[Any], clock: Clock) -> Any:
        self.asked.append(method)
        if self.is_gone:
            return NodeGone("its process died")
        match method:
            case "facts":
                usual = {"protocol": PROTOCOL, "s3bench": s3bench.__version__, "python": "3.11.7", "cores": 4}
                capacity = {"descriptors": 20_000, "ports": None, "memory_bytes": None}
                return {**usual, "machine": {}, "capacity": capacity, "niceness": 0, "warnings": (), **self.facts}
            case "clock":
                clock.now_ns += self.there_ns
                arguments = clock.now_ns + self.offset_ns, clock.now_ns + self.wall_offset_ns
                clock.now_ns += self.back_ns
                return arguments
            case "prepare":
                self.prepared, self.files = decode_prepares(words[0]), words[1]
                self._told.append(PhasePrepared(pid=1))
            case "begin":
                assert len(decode_begins(words[0])) == len(self.prepared)
                self.start_ns, self._until_ready = None, self.ready_at
            case "start":
                [_, self.start_ns] = words
            case "stop":
                self.stopped = True
            case "reports":
                clock.now_ns += self.poll_ns
                self._get_ready()
                return self._since(words[0])
            case "memory":
                return 1000
        return None

    def _get_ready(self) -> None:
        self._until_ready -= 1
        if self._until_ready == 0:
            self._told.append(PhaseReady(worker=0))
            self.is_gone = self.dies_ready

    def _since(self, number: int) -> Any:
        if self.start_ns is not None:
            if self.gone_after is not None and self._reported >= self.gone_after:
                return NodeGone("its process died")
            most = len(self.reports) if self.gone_after is None else self.gone_after
            until = min(self._reported + self.a_turn, most - (0 if self.stopped else self.held))
            self._told += self.reports[self._reported : until]
            self._reported = max(self._reported, until)
            if self._reported == len(self.reports):
                self.was_read.set()
        return encode(Reports(reports=tuple(self._told[number:]), dropped=self.dropped if self.start_ns else 0))


class SimulatedNodeGroup:
    """Simulated nodes, by one clock."""

    def __init__(self, nodes: Sequence[SimulatedNode], clock: Clock) -> None:
        self.each = nodes
        self.nodes = len(nodes)
        self.facts: Mapping[str, object] = {"engine": "simulated"}
        self._clock = clock

    def call(self, method: str, arguments: Mapping[int, tuple[object, ...]], *, limit_s: float) -> dict[int, Any]:
        there = {node: words for node, words in arguments.items() if not self.each[node].is_silent}
        answers = {node: self.each[node].answer(method, words, self._clock) for node, words in there.items()}
        if len(there) < len(arguments):
            self._clock.sleep(limit_s)
        return answers


def shared_out(reports: Iterable[Any], *, nodes: int) -> list[list[Any]]:
    """What each node tells of the workers that are on it, in the order given."""
    parts: list[list[Any]] = [[] for _ in range(nodes)]
    for report in reports:
        parts[report.worker % nodes].append(report)
    return parts


def finished(aggregations: Generator[PhaseAggregation, None, PhaseAggregation]) -> PhaseAggregation:
    """The aggregation of a phase at its end."""
    while True:
        try:
            next(aggregations)
        except StopIteration as end:
            aggregation: PhaseAggregation = end.value
            return aggregation
