"""The driver of a suite on a cluster: assigns units to nodes, collects their outcomes, and stops all nodes.

A node is removed if it is gone, does not respond for too long, or if s3bench itself failed there, which it would do
with every other unit too. For one thread.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from s3bench.cluster.node_group import NodeGone, NodeGroup, StoppableNodeGroup
from s3bench.cluster.suite.child import END_S
from s3bench.cluster.suite.message import UnitOutcome, decode_outcome
from s3bench.cluster.suite.node import LEASE_S
from s3bench.cluster.suite.unit import SuiteUnit
from s3bench.cluster.suite.work_queue import WorkQueue
from s3bench.errors import BadInput, ExitCode
from s3bench.load.aggregation.nodes import node_name
from s3bench.results.document import Document, parse_document
from s3bench.results.measurement import Failure

POLL_S = 0.5
"""How often nodes are polled; a node may be idle for so long between two units."""

SILENCE_S = LEASE_S + 5.0
"""A node that does not respond for so long is lost; its own lease has ended its unit by then."""

# A busy node has to be able to send a whole document. Two calls in a row may wait this long for silent nodes; meanwhile
# the leases of the others run.
_ANSWER_S = LEASE_S / 3
_STOP_POLL_S = 0.05
_STOP_S = END_S + 5.0
_PREPARE_S = 120.0
_CLOSE_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The work of every node: the `arguments` of s3bench without the chunk's number, and the `files` they name.

    `keys` are credentials for the environment of s3bench; they are neither shown nor stored.
    """

    arguments: tuple[str, ...]
    files: Mapping[str, bytes]
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)

    def of(self, unit: SuiteUnit) -> tuple[str, ...]:
        """The arguments for one unit."""
        return (*self.arguments, "--chunk-id", str(unit.chunk))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitBegun:
    """A node has begun a unit."""

    node: int
    unit: SuiteUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitEnded:
    """A unit has ended on a node, with the document of what it measured; `failure` explains why that is incomplete."""

    node: int
    unit: SuiteUnit
    document: Document | None
    failure: Failure | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRemoved:
    """A node was removed; its current unit, if any, is lost."""

    node: int
    unit: SuiteUnit | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Abandoned:
    """No node is left to run a unit."""

    unit: SuiteUnit


Event = UnitBegun | UnitEnded | NodeRemoved | Abandoned


class SuiteDriver:
    """Runs `task` on `nodes` of a node group.

    `pause` waits up to the given seconds, less on a stop, and returns whether to stop.
    """

    def __init__(
        self,
        node_group: StoppableNodeGroup,
        nodes: Sequence[int],
        task: Task,
        *,
        pause: Callable[[float], bool],
        now_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._node_group = node_group
        self._nodes = nodes
        self._task = task
        self._pause = pause
        self._now_s = now_s
        self._sleep = sleep
        self._heard_s: dict[int, float] = {}
        self._stop_at_s: float | None = None
        self._lost: dict[int, str] = {}

    @property
    def is_stopped(self) -> bool:
        """Whether the run was stopped."""
        return self._stop_at_s is not None

    @property
    def lost(self) -> Mapping[int, str]:
        """The nodes that were removed, and why."""
        return self._lost

    def perform(self, units: Iterable[SuiteUnit]) -> Iterator[Event]:
        """Give each free node the next unit, until all are done or the run is stopped.

        Raises `KeyboardInterrupt` if it is stopped while nodes store their files.
        """
        queue = WorkQueue(units, self._nodes)
        prepared = self._node_group.call(
            "prepare",
            dict.fromkeys(self._nodes, (self._task.files,)),
            limit_s=_PREPARE_S,
            is_over=lambda: self._pause(0.0),
        )
        yield from self._without_silent(queue, self._nodes, prepared, limit_s=_PREPARE_S)
        self._wait(queue, 0.0)
        while not queue.is_over:
            yield from self._assign(queue)
            self._wait(queue, POLL_S)
            yield from self._collect(queue)
        for unit in queue.clear():
            yield Abandoned(unit=unit)

    def _assign(self, queue: WorkQueue) -> Iterator[Event]:
        assigned = dict(queue.assign())
        arguments = {node: (unit.chunk, self._task.of(unit), dict(self._task.keys)) for node, unit in assigned.items()}
        results = self._node_group.call("begin", arguments, limit_s=_ANSWER_S)
        for node, unit in assigned.items():
            self._heard_s[node] = self._now_s()
            yield UnitBegun(node=node, unit=unit)
        yield from self._without_silent(queue, tuple(assigned), results, limit_s=_ANSWER_S)

    def _wait(self, queue: WorkQueue, limit_s: float) -> None:
        """Wait; on a stop, tell all busy nodes to stop until they have."""
        if self._stop_at_s is not None:
            self._sleep(_STOP_POLL_S)
        elif self._pause(limit_s):
            self._stop_at_s = self._now_s() + _STOP_S
            queue.clear()
        if self._stop_at_s is not None:
            self._node_group.call("stop", dict.fromkeys(queue.doing, ()), limit_s=_ANSWER_S)

    def _collect(self, queue: WorkQueue) -> Iterator[Event]:
        """Poll the busy nodes for their outcomes."""
        arguments = {node: (unit.chunk,) for node, unit in queue.doing.items()}
        results = self._node_group.call("outcome", arguments, limit_s=_ANSWER_S)
        now_s = self._now_s()
        for node in arguments:
            if node in results:
                self._heard_s[node] = now_s
            result = results.get(node)
            if isinstance(result, NodeGone):
                yield self._removed(queue, node, result.why)
            elif result is not None:
                yield from self._ended(queue, node, decode_outcome(result))
            elif now_s - self._heard_s[node] > SILENCE_S:
                yield self._removed(queue, node, f"it did not respond for {SILENCE_S:g} s")
            elif self._stop_at_s is not None and now_s > self._stop_at_s:
                yield self._removed(queue, node, f"it did not stop within {_STOP_S:g} s")

    def _ended(self, queue: WorkQueue, node: int, outcome: UnitOutcome) -> Iterator[Event]:
        document, failure = read_outcome(outcome, node=node)
        yield UnitEnded(node=node, unit=queue.finish(node), document=document, failure=failure)
        if failure is not None and outcome.exit_code != ExitCode.INTERRUPTED and not self.is_stopped:
            yield self._removed(queue, node, failure.what)

    def _without_silent(
        self, queue: WorkQueue, nodes: Iterable[int], results: Mapping[int, object], *, limit_s: float
    ) -> Iterator[Event]:
        """Remove those of `nodes` that did not confirm an order."""
        for node in nodes:
            result = results.get(node) if node in results else NodeGone(f"it did not respond for {limit_s:g} s")
            if isinstance(result, NodeGone):
                yield self._removed(queue, node, result.why)

    def _removed(self, queue: WorkQueue, node: int, why: str) -> NodeRemoved:
        self._lost[node] = why
        return NodeRemoved(node=node, unit=queue.remove(node), why=why)


@contextmanager
def closing(node_group: NodeGroup) -> Iterator[None]:
    """Make all nodes end their units and remove their files at the end of the context."""
    try:
        yield
    finally:
        node_group.call("close", dict.fromkeys(range(node_group.nodes), ()), limit_s=_CLOSE_S)


def read_outcome(outcome: UnitOutcome, *, node: int) -> tuple[Document | None, Failure | None]:
    """The document of a unit, if it is complete, and the failure if its run did not end normally."""
    document, why = None, outcome.said
    if outcome.document:
        try:
            document = parse_document(outcome.document, source=f"what {node_name(node)} sent")
        except BadInput as error:
            why = str(error)
    is_done = outcome.exit_code in {ExitCode.DONE, ExitCode.CLIENT_FAILED}
    if is_done and document is not None and document.ended_at is not None:
        return document, None
    what = f"s3bench ended with exit code {outcome.exit_code} on {node_name(node)}"
    return document, Failure(iteration=None, what=what, why=why)
