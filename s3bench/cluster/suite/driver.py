"""The driver's side of a suite: hands units to nodes, hears how they end, and sees to it that all stop.

Owns the talk, and the rules by which a node takes part no more: it is gone, it is silent for too long, or s3bench
itself failed there, which it would with every other unit too. For one thread.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from s3bench.cluster.node_group import NodeGone, NodeGroup
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
"""How often nodes are asked; so long a node may stand idle between two units."""

SILENCE_S = LEASE_S + 5.0
"""A node that does not answer for so long is lost; its own lease has ended its unit by then."""

_ANSWER_S = 0.2
_STOP_POLL_S = 0.05
_STOP_S = END_S + 5.0
_PREPARE_S = 120.0
_BEGIN_S = LEASE_S / 2  # who waits longer for one node loses the others
_CLOSE_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What every node is told: the `arguments` of s3bench but for the chunk's number, and the `files` that they name.

    `keys` are variables for the environment of s3bench alone; they are shown and kept nowhere.
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
    """A unit has ended on a node, with a document of what it measured; `failure` says why that is not all."""

    node: int
    unit: SuiteUnit
    document: Document | None
    failure: Failure | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRemoved:
    """A node takes part no more; the unit that it had is lost with it, if it had one."""

    node: int
    unit: SuiteUnit | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Abandoned:
    """Nobody is left to do a unit."""

    unit: SuiteUnit


Event = UnitBegun | UnitEnded | NodeRemoved | Abandoned


class SuiteDriver:
    """Lets `nodes` of a fleet do `task`.

    `pause` waits up to so many seconds, less when it is time to stop, and says whether it is.
    """

    def __init__(
        self,
        fleet: NodeGroup,
        nodes: Sequence[int],
        task: Task,
        *,
        pause: Callable[[float], bool],
        now_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._fleet = fleet
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
        """Whether it was time to stop."""
        return self._stop_at_s is not None

    @property
    def lost(self) -> Mapping[int, str]:
        """The nodes that take part no more, and why."""
        return self._lost

    def perform(self, units: Iterable[SuiteUnit]) -> Iterator[Event]:
        """Let each node take the next unit when it is free, until all are done or it is time to stop."""
        board = WorkQueue(units, self._nodes)
        prepared = self._fleet.ask("prepare", dict.fromkeys(self._nodes, (self._task.files,)), limit_s=_PREPARE_S)
        yield from self._without(board, self._nodes, prepared, limit_s=_PREPARE_S)
        self._wait(board, 0.0)
        while not board.is_over:
            yield from self._deal(board)
            self._wait(board, POLL_S)
            yield from self._hear(board)
        for unit in board.clear():
            yield Abandoned(unit=unit)

    def _deal(self, board: WorkQueue) -> Iterator[Event]:
        dealt = dict(board.deal())
        told = {node: (unit.chunk, self._task.of(unit), dict(self._task.keys)) for node, unit in dealt.items()}
        answers = self._fleet.ask("begin", told, limit_s=_BEGIN_S)
        for node, unit in dealt.items():
            self._heard_s[node] = self._now_s()
            yield UnitBegun(node=node, unit=unit)
        yield from self._without(board, tuple(dealt), answers, limit_s=_BEGIN_S)

    def _wait(self, board: WorkQueue, limit_s: float) -> None:
        """Wait a while; when it is time to stop, say so to all that do something, until they have stopped."""
        if self._stop_at_s is not None:
            self._sleep(_STOP_POLL_S)
        elif self._pause(limit_s):
            self._stop_at_s = self._now_s() + _STOP_S
            board.clear()
        if self._stop_at_s is not None:
            self._fleet.ask("stop", dict.fromkeys(board.doing, ()), limit_s=_ANSWER_S)

    def _hear(self, board: WorkQueue) -> Iterator[Event]:
        """Ask those that do something; what they answer."""
        asked = {node: (unit.chunk,) for node, unit in board.doing.items()}
        answers = self._fleet.ask("outcome", asked, limit_s=_ANSWER_S)
        now_s = self._now_s()
        for node in asked:
            if node in answers:
                self._heard_s[node] = now_s
            answer = answers.get(node)
            if isinstance(answer, NodeGone):
                yield self._removed(board, node, answer.why)
            elif answer is not None:
                yield from self._ended(board, node, decode_outcome(answer))
            elif now_s - self._heard_s[node] > SILENCE_S:
                yield self._removed(board, node, f"it did not answer for {SILENCE_S:g} s")
            elif self._stop_at_s is not None and now_s > self._stop_at_s:
                yield self._removed(board, node, f"it did not stop within {_STOP_S:g} s")

    def _ended(self, board: WorkQueue, node: int, outcome: UnitOutcome) -> Iterator[Event]:
        document, failure = read_outcome(outcome, node=node)
        yield UnitEnded(node=node, unit=board.finish(node), document=document, failure=failure)
        if failure is not None and outcome.exit_code != ExitCode.INTERRUPTED and not self.is_stopped:
            yield self._removed(board, node, failure.what)

    def _without(
        self, board: WorkQueue, nodes: Iterable[int], answers: Mapping[int, object], *, limit_s: float
    ) -> Iterator[Event]:
        """Go on without those of `nodes` that did not take an order."""
        for node in nodes:
            answer = answers.get(node) if node in answers else NodeGone(f"it did not answer for {limit_s:g} s")
            if isinstance(answer, NodeGone):
                yield self._removed(board, node, answer.why)

    def _removed(self, board: WorkQueue, node: int, why: str) -> NodeRemoved:
        self._lost[node] = why
        return NodeRemoved(node=node, unit=board.remove(node), why=why)


@contextmanager
def closing(fleet: NodeGroup) -> Iterator[None]:
    """Let all nodes end what they do, and remove what they have, at the end of the context."""
    try:
        yield
    finally:
        fleet.ask("close", dict.fromkeys(range(fleet.nodes), ()), limit_s=_CLOSE_S)


def read_outcome(outcome: UnitOutcome, *, node: int) -> tuple[Document | None, Failure | None]:
    """The document of a unit, where there is a whole one, and why it is not one of a run that came to its end."""
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
    return document, Failure(iteration=0, what=what, why=why)
