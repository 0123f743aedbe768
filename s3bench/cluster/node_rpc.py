"""The driver's side of the talk with all nodes: what each has told so far, and which of them are lost.

Owns the counting of reports, and the rule by which a node is lost. For one thread at a time.
"""

import time
from collections.abc import Callable, Collection, Mapping

from s3bench.cluster.message import NodeReport, decode_reports
from s3bench.cluster.node_group import NodeGone, NodeGroup
from s3bench.errors import MachineError
from s3bench.load.aggregation.nodes import node_name
from s3bench.load.engine.message import WorkerFailed

POLL_S = 0.3
"""How often nodes are asked: with a silent one among them, whose answer is waited for, still within their lease."""

ANSWER_S = 0.2
"""How long an answer is waited for; one that comes later is asked for again."""

SILENCE_S = 3.0
"""A node that does not answer for so long is lost; its own lease has ended its load by then."""

_TELL_S = 30.0
_PAUSE_S = 0.02


class NodeRpc:
    """With all nodes of `fleet`. `lost` has those that are gone, and why."""

    def __init__(
        self, fleet: NodeGroup, *, now_ns: Callable[[], int], sleep: Callable[[float], object] = time.sleep
    ) -> None:
        self._fleet = fleet
        self._sleep = sleep
        self._now_ns = now_ns
        self._told = [0] * fleet.nodes
        self._dropped = [0] * fleet.nodes
        self._heard_ns = [0] * fleet.nodes
        self.lost: dict[int, str] = {}

    def tell(self, order: str, told: Mapping[int, tuple[object, ...]]) -> None:
        """Give an order to nodes before a phase; those that do not take it are lost."""
        taken = self.try_to_tell(order, told, limit_s=_TELL_S)
        for node in told:
            if node not in taken:
                self.lost.setdefault(node, f"it did not answer for {_TELL_S:g} s")
            self._heard_ns[node] = self._now_ns()

    def try_to_tell(
        self, order: str, told: Mapping[int, tuple[object, ...]], *, limit_s: float = ANSWER_S
    ) -> frozenset[int]:
        """Give an order to nodes, not waiting long for a silent one, since the others must hear of us; who took it."""
        answers = self._fleet.ask(order, told, limit_s=limit_s)
        self.lost.update({node: answer.why for node, answer in answers.items() if isinstance(answer, NodeGone)})
        return frozenset(node for node, answer in answers.items() if not isinstance(answer, NodeGone))

    def poll(self, nodes: Collection[int], *, limit_s: float = ANSWER_S) -> list[tuple[int, NodeReport]]:
        """What nodes have told since; those that are gone, failed or have been silent for too long are lost by it."""
        asked = {node: (self._told[node],) for node in nodes if node not in self.lost}
        reports: list[tuple[int, NodeReport]] = []
        answers = self._fleet.ask("reports", asked, limit_s=limit_s)
        now_ns = self._now_ns()
        for node in asked:
            answer = answers.get(node)
            if isinstance(answer, NodeGone):
                self.lost[node] = answer.why
            elif answer is not None:
                self._heard_ns[node] = now_ns
                reports += ((node, report) for report in self._take(node, answer))
            elif now_ns - self._heard_ns[node] > SILENCE_S * 1e9:
                self.lost[node] = f"it did not answer for {SILENCE_S:g} s"
        return reports

    def wait_for(self, kind: type[NodeReport], *, limit_s: float) -> None:
        """Wait until every node has told a report of a kind, and nothing else. Raises `MachineError` without."""
        waiting = set(range(self._fleet.nodes))
        until_ns = self._now_ns() + round(limit_s * 1e9)
        while waiting:
            for node, report in self.poll(waiting):
                assert isinstance(report, kind), report
                waiting.discard(node)
            self.refuse_losses()
            if waiting and self._now_ns() > until_ns:
                raise MachineError(f"{node_name(min(waiting))} was not ready within {limit_s:g} s")
            self._sleep(_PAUSE_S)

    def refuse_losses(self) -> None:
        """Raises `MachineError` when a node is lost: there is nothing to begin with the others alone."""
        for node, why in self.lost.items():
            raise MachineError(f"{node_name(node)} was lost", why, "see to it, or run with fewer nodes (--nodes)")

    def _take(self, node: int, answer: bytes) -> list[NodeReport]:
        said = decode_reports(answer)
        self._told[node] += len(said.reports)
        if said.dropped > self._dropped[node]:
            self._dropped[node] = said.dropped
            self.lost[node] = f"{said.dropped:,} of its tallies found no room before they were fetched"
        for report in said.reports:
            if isinstance(report, WorkerFailed):
                self.lost[node] = "; ".join(filter(None, (report.what, report.why)))
        return [report for report in said.reports if not isinstance(report, WorkerFailed)]
