"""RPC of the driver to all nodes: counts the reports received from each and decides which nodes are lost.

For one thread at a time.
"""

import time
from collections.abc import Callable, Collection, Mapping

from s3bench.cluster.message import NodeReport, decode_reports
from s3bench.cluster.node_group import NodeGone, NodeGroup
from s3bench.errors import MachineError
from s3bench.load.aggregation.nodes import node_name
from s3bench.load.engine.message import WorkerFailed

POLL_S = 0.3
"""How often nodes are polled: even when waiting for a silent node, the others are polled within their lease."""

ANSWER_S = 0.2
"""The time limit of a call; a late response is requested again."""

SILENCE_S = 3.0
"""A node that does not respond for so long is lost; its own lease has ended its load by then."""

_SEND_S = 30.0
_PAUSE_S = 0.02


class NodeRpc:
    """Calls all nodes of a group. `lost` has those that are gone, and why."""

    def __init__(
        self, node_group: NodeGroup, *, now_ns: Callable[[], int], sleep: Callable[[float], object] = time.sleep
    ) -> None:
        self._node_group = node_group
        self._sleep = sleep
        self._now_ns = now_ns
        self._received = [0] * node_group.nodes
        self._dropped = [0] * node_group.nodes
        self._heard_ns = [0] * node_group.nodes
        self.lost: dict[int, str] = {}

    def send(self, method: str, arguments: Mapping[int, tuple[object, ...]]) -> None:
        """Send an order to nodes before a phase; those that do not confirm it are lost."""
        confirmed = self.try_send(method, arguments, limit_s=_SEND_S)
        for node in arguments:
            if node not in confirmed:
                self.lost.setdefault(node, f"it did not respond for {_SEND_S:g} s")
            self._heard_ns[node] = self._now_ns()

    def try_send(
        self, method: str, arguments: Mapping[int, tuple[object, ...]], *, limit_s: float = ANSWER_S
    ) -> frozenset[int]:
        """Send an order to nodes, with a short limit so that the leases of the others are renewed; who confirmed it."""
        results = self._node_group.call(method, arguments, limit_s=limit_s)
        self.lost.update({node: result.why for node, result in results.items() if isinstance(result, NodeGone)})
        confirmed = frozenset(node for node, result in results.items() if not isinstance(result, NodeGone))
        for node in confirmed:
            self._heard_ns[node] = self._now_ns()
        return confirmed

    def poll(self, nodes: Collection[int], *, limit_s: float = ANSWER_S) -> list[tuple[int, NodeReport]]:
        """The new reports of nodes; nodes that are gone, have failed or are silent for too long become lost."""
        arguments = {node: (self._received[node],) for node in nodes if node not in self.lost}
        reports: list[tuple[int, NodeReport]] = []
        results = self._node_group.call("reports", arguments, limit_s=limit_s)
        now_ns = self._now_ns()
        for node in arguments:
            result = results.get(node)
            if isinstance(result, NodeGone):
                self.lost[node] = result.why
            elif result is not None:
                self._heard_ns[node] = now_ns
                reports += ((node, report) for report in self._new_reports(node, result))
            elif now_ns - self._heard_ns[node] > SILENCE_S * 1e9:
                self.lost[node] = f"it did not respond for {SILENCE_S:g} s"
        return reports

    def wait_for(self, kind: type[NodeReport], *, limit_s: float, is_over: Callable[[], bool]) -> bool:
        """Wait until every node has sent a report of a kind; return whether all have and none is lost.

        A node that has not sent it at the time limit is lost. Ends early if a node is lost or if `is_over`. All nodes
        are polled until the last one has sent it, so that the loss of any of them is noticed.
        """
        nodes = range(self._node_group.nodes)
        waiting = set(nodes)
        until_ns = self._now_ns() + round(limit_s * 1e9)
        while waiting and not self.lost and not is_over():
            for node, report in self.poll(nodes):
                assert isinstance(report, kind), report
                waiting.discard(node)
            if self._now_ns() > until_ns:
                for node in waiting:
                    self.lost.setdefault(node, f"it was not ready within {limit_s:g} s")
            if waiting:
                self._sleep(_PAUSE_S)
        return not waiting and not self.lost

    def raise_if_lost(self) -> None:
        """Raise `MachineError` if a node is lost."""
        for node, why in self.lost.items():
            raise MachineError(f"{node_name(node)} was lost", why, "repair that node, or use fewer --nodes")

    def _new_reports(self, node: int, result: bytes) -> list[NodeReport]:
        received = decode_reports(result)
        self._received[node] += len(received.reports)
        if received.dropped > self._dropped[node]:
            self._dropped[node] = received.dropped
            self.lost[node] = f"its buffer overflowed: {received.dropped:,} of its records were dropped"
        for report in received.reports:
            if isinstance(report, WorkerFailed):
                self.lost[node] = "; ".join(filter(None, (report.what, report.why)))
        return [report for report in received.reports if not isinstance(report, WorkerFailed)]
