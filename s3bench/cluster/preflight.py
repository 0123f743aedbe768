"""Preflight of a load run: checks that all nodes have the same versions and known clocks, and plans the workers."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec

import s3bench
from s3bench.cluster.clock import ClockError, ClockOffset, measure_clocks
from s3bench.cluster.message import PROTOCOL, NodeFacts
from s3bench.cluster.node_group import NodeGone, NodeGroup
from s3bench.errors import BadInput
from s3bench.load.aggregation.nodes import node_name

START_S = 120.0
"""How long the process of a node may take to start: Ray imports, and s3bench with them, from a cold disk."""

_START_TURN_S = 1.0  # so soon a stop takes effect
_FACTS_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """The facts and the clocks of all nodes, and the number of workers on each."""

    nodes: tuple[NodeFacts, ...]
    clocks: tuple[ClockOffset, ...]
    workers_per_node: int

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings about all nodes."""
        return tuple(text for node, facts in enumerate(self.nodes) for text in node_warnings(node, facts))


def node_warnings(node: int, facts: NodeFacts) -> Iterator[str]:
    """The warnings about a node, prefixed with its name."""
    for warning in facts.warnings:
        yield f"{node_name(node)}: {warning}"
    if facts.niceness > 0:
        yield (
            f"{node_name(node)}: processes there run with niceness {facts.niceness}, like Ray's workers, and give way "
            "to all others; start Ray there with RAY_worker_niceness=0"
        )


def run_preflight(
    node_group: NodeGroup,
    *,
    workers_per_node: int | None,
    threads: int,
    is_over: Callable[[], bool] = lambda: False,
    now_ns: Callable[[], int] = time.monotonic_ns,
    wall_ns: Callable[[], int] = time.time_ns,
) -> Preflight:
    """Check all nodes. Without `workers_per_node` each gets one worker per core, but no more than there are threads.

    Raises `BadInput` for nodes that cannot work together, and `KeyboardInterrupt` within about a second of `is_over`.
    """
    nodes = node_facts(node_group, is_over=is_over)
    cores = min(each.cores for each in nodes)
    try:
        clocks = measure_clocks(node_group, now_ns=now_ns, wall_ns=wall_ns)
    except ClockError as error:
        raise BadInput(error.what, error.why, error.fix) from error
    return Preflight(
        nodes=nodes,
        clocks=clocks,
        workers_per_node=workers_per_node or min(cores, -(-threads // node_group.nodes)),
    )


def node_facts(node_group: NodeGroup, *, is_over: Callable[[], bool]) -> tuple[NodeFacts, ...]:
    """The facts of each node, once its process has started.

    Raises `BadInput` unless all have the same versions, and `KeyboardInterrupt` if it `is_over` while they start.
    """
    _await_start(node_group, is_over)
    results = node_group.call("facts", dict.fromkeys(range(node_group.nodes), ()), limit_s=_FACTS_S)
    nodes = tuple(
        _facts(node, results.get(node, NodeGone(f"it did not respond within {_FACTS_S:g} s")))
        for node in range(node_group.nodes)
    )
    _check_python(nodes)
    return nodes


def _await_start(node_group: NodeGroup, is_over: Callable[[], bool]) -> None:
    """Wait until the process of each node answers or has failed.

    Short calls are repeated, since one long call could not be stopped.
    """
    starting = set(range(node_group.nodes))
    for _ in range(round(START_S / _START_TURN_S)):
        starting -= node_group.call("ping", dict.fromkeys(starting, ()), limit_s=_START_TURN_S).keys()
        if is_over():
            raise KeyboardInterrupt
        if not starting:
            return
    raise BadInput(
        f"{', '.join(map(node_name, sorted(starting)))} did not start within {START_S:g} s",
        "Ray started no process for s3bench there, or the process hangs",
        "look for the reason in Ray's logs on that machine (/tmp/ray/session_latest/logs), or use fewer --nodes",
    )


def _facts(node: int, result: object) -> NodeFacts:
    name = node_name(node)
    if isinstance(result, NodeGone):
        raise BadInput(f"{name} could not start", result.why, "install s3bench[cluster] in this version on every node")
    facts = result if isinstance(result, dict) else {}
    version = facts.get("s3bench")
    if version != s3bench.__version__ or facts.get("protocol") != PROTOCOL:
        raise BadInput(
            f"{name} has s3bench {version}, but this machine has {s3bench.__version__}",
            "different versions would not do the same work",
            "install the same version of s3bench on all machines",
        )
    return msgspec.convert(facts, NodeFacts)


def _check_python(nodes: tuple[NodeFacts, ...]) -> None:
    """Reject interpreters of different minor versions, which differ in speed."""
    versions = {facts.python.rpartition(".")[0] for facts in nodes}
    if len(versions) > 1:
        raise BadInput(
            f"the nodes have different versions of Python: {', '.join(sorted(versions))}",
            "different versions of Python differ in speed",
            "install the same version of Python on all nodes",
        )
