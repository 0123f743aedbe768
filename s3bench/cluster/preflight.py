"""Whether nodes can make one load together: the same program on each, clocks that are known, workers for all.

Owns these checks, which come before anything is started on a node.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec

import s3bench
from s3bench.cluster.clock import ClockOffset, measure_clocks
from s3bench.cluster.message import PROTOCOL, NodeFacts
from s3bench.cluster.node_group import NodeGone, NodeGroup
from s3bench.errors import BadInput
from s3bench.load.aggregation.nodes import node_name

_FACTS_S = 120.0  # the first question, which waits for the node's process to start


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """The nodes as they are: what each is, its clock, and how many workers it gets."""

    nodes: tuple[NodeFacts, ...]
    clocks: tuple[ClockOffset, ...]
    workers_per_node: int

    @property
    def warnings(self) -> tuple[str, ...]:
        """Doubts about the nodes."""
        return tuple(doubt for node, facts in enumerate(self.nodes) for doubt in doubts(node, facts))


def doubts(node: int, facts: NodeFacts) -> Iterator[str]:
    """What about a node makes figures doubtful, with its name, and what to do about it."""
    for warning in facts.warnings:
        yield f"{node_name(node)}: {warning}"
    if facts.niceness > 0:
        yield (
            f"{node_name(node)}: what runs there has niceness {facts.niceness}, as Ray's workers do, and waits for "
            "everything else; start Ray there with RAY_worker_niceness=0"
        )


def muster(
    fleet: NodeGroup,
    *,
    workers_per_node: int | None,
    threads: int,
    now_ns: Callable[[], int] = time.monotonic_ns,
    wall_ns: Callable[[], int] = time.time_ns,
) -> Preflight:
    """Look at all nodes. Without `workers_per_node` each gets one for each core, and none that would have no thread.

    Raises `BadInput` for nodes that cannot work together.
    """
    nodes = node_facts(fleet)
    cores = min(each.cores for each in nodes)
    return Preflight(
        nodes=nodes,
        clocks=measure_clocks(fleet, now_ns=now_ns, wall_ns=wall_ns),
        workers_per_node=workers_per_node or min(cores, -(-threads // fleet.nodes)),
    )


def node_facts(fleet: NodeGroup) -> tuple[NodeFacts, ...]:
    """What each node is. Raises `BadInput` unless all have the same program."""
    answers = fleet.ask("facts", dict.fromkeys(range(fleet.nodes), ()), limit_s=_FACTS_S)
    nodes = tuple(
        _facts(node, answers.get(node, NodeGone(f"it did not answer within {_FACTS_S:g} s")))
        for node in range(fleet.nodes)
    )
    _check_python(nodes)
    return nodes


def _facts(node: int, answer: object) -> NodeFacts:
    name = node_name(node)
    if isinstance(answer, NodeGone):
        raise BadInput(
            f"{name} could not start", answer.why, "install this s3bench with its extra `cluster` on every node"
        )
    told = answer if isinstance(answer, dict) else {}
    version = told.get("s3bench")
    if version != s3bench.__version__ or told.get("protocol") != PROTOCOL:
        raise BadInput(
            f"{name} has s3bench {version}, and this machine {s3bench.__version__}",
            "nodes of different versions would not do the same",
            "install the same version everywhere",
        )
    return msgspec.convert(told, NodeFacts)


def _check_python(nodes: tuple[NodeFacts, ...]) -> None:
    """Refuse interpreters of different minor versions, which differ in speed."""
    versions = {facts.python.rpartition(".")[0] for facts in nodes}
    if len(versions) > 1:
        raise BadInput(
            f"the nodes have different versions of Python: {', '.join(sorted(versions))}",
            "they would not do the same",
            "install the same version everywhere",
        )
