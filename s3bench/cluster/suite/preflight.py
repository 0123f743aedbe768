"""Preflight of a suite: chooses equal machines among the nodes, and checks that all have the same clients."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from s3bench.clients.client import ClientSpec
from s3bench.cluster.message import NodeFacts
from s3bench.cluster.node_group import NodeGone, StoppableNodeGroup
from s3bench.cluster.preflight import node_facts, node_warnings
from s3bench.cluster.suite.message import ClientLookup, FoundHere, MissingHere, decode_look
from s3bench.errors import BadInput
from s3bench.history.machine import Machine, machine_of
from s3bench.load.aggregation.nodes import node_name

_LOOK_S = 300.0  # the program files of all clients are read completely, from cold disks
_MACHINE_FACTS = tuple(Machine.__struct_fields__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitePreflight:
    """The chosen `nodes`, the `facts` of all nodes, and why others are `left_out`.

    `clients` are the requested ones as found on each of `nodes`. `warnings` are those about the nodes.
    """

    nodes: tuple[int, ...]
    facts: tuple[NodeFacts, ...]
    left_out: Mapping[int, str]
    clients: Mapping[ClientSpec, FoundHere]
    warnings: tuple[str, ...]


def run_suite_preflight(
    node_group: StoppableNodeGroup,
    specs: Sequence[ClientSpec],
    *,
    nodes: int | None,
    is_over: Callable[[], bool] = lambda: False,
) -> SuitePreflight:
    """Check all nodes and choose `nodes` equal ones, or as many as there are if `nodes` is `None`.

    Raises `BadInput` for different versions of s3bench or Python, for too few equal machines, and for clients that are
    not the same on all chosen ones. Raises `KeyboardInterrupt` if `is_over` while the nodes' processes start or look up
    the clients.
    """
    facts = node_facts(node_group, is_over=is_over)
    machines = tuple(machine_of(each.machine) for each in facts)
    group = largest_group(machines)
    left_out = {
        node: f"its machine differs from {node_name(group[0])}: {differences(machine, machines[group[0]])}"
        for node, machine in enumerate(machines)
        if node not in group
    }
    if nodes is not None and len(group) < nodes:
        raise BadInput(
            f"--nodes {nodes} is too many: the cluster has at most {len(group)} equal machines",
            "; ".join(f"{node_name(node)} is left out: {why}" for node, why in left_out.items()),
            "use fewer --nodes, since figures of unequal machines are not comparable",
        )
    chosen = group[:nodes]
    looks = _looks(node_group, chosen, specs, is_over=is_over)
    return SuitePreflight(
        nodes=chosen,
        facts=facts,
        left_out=left_out,
        clients={spec: _same_client(str(spec), looks) for spec in specs},
        warnings=(
            *(f"{node_name(node)} is left out: {why}" for node, why in left_out.items()),
            *(warning for node in chosen for warning in node_warnings(node, facts[node])),
        ),
    )


def largest_group(machines: Sequence[Machine]) -> tuple[int, ...]:
    """The nodes with the most frequent machine fingerprint; among equally large groups the one of the first node."""
    groups: dict[str, list[int]] = {}
    for node, machine in enumerate(machines):
        groups.setdefault(machine.fingerprint, []).append(node)
    largest = max(groups.values(), key=len)
    return tuple(largest)


def differences(machine: Machine, usual: Machine) -> str:
    """The facts in which two machines differ."""
    pairs = ((name, getattr(machine, name), getattr(usual, name)) for name in _MACHINE_FACTS)
    return ", ".join(f"{name} {_text(mine)}, not {_text(theirs)}" for name, mine, theirs in pairs if mine != theirs)


def _text(fact: object) -> str:
    return "unknown" if fact is None else f"{fact:g}" if isinstance(fact, float) else str(fact)


def _looks(
    node_group: StoppableNodeGroup, nodes: Sequence[int], specs: Iterable[ClientSpec], *, is_over: Callable[[], bool]
) -> dict[int, ClientLookup]:
    words = tuple(map(str, specs))
    results = node_group.call("look", dict.fromkeys(nodes, (words,)), limit_s=_LOOK_S, is_over=is_over)
    return {
        node: _look(node, results.get(node, NodeGone(f"it did not respond within {_LOOK_S:g} s"))) for node in nodes
    }


def _look(node: int, result: bytes | NodeGone) -> ClientLookup:
    if isinstance(result, NodeGone):
        raise BadInput(f"{node_name(node)} did not report its clients", result.why)
    return decode_look(result)


def _same_client(spec: str, looks: Mapping[int, ClientLookup]) -> FoundHere:
    """The client of all nodes for `spec`. Raises `BadInput` if it is missing or differs between nodes."""
    here = {node: next(each for each in look.clients if each.spec == spec) for node, look in looks.items()}
    missing = {node: each for node, each in here.items() if isinstance(each, MissingHere)}
    if missing:
        node, client = next(iter(missing.items()))
        raise BadInput(
            f"`{spec}` is not on {', '.join(map(node_name, missing))}",
            f"{node_name(node)}: {client.why}",
            "install it on every node with `s3bench clients install`; nodes do not install clients by themselves",
        )
    found = {node: each for node, each in here.items() if isinstance(each, FoundHere)}
    first = next(iter(found.values()))
    if any(each != first for each in found.values()):
        raise BadInput(
            f"`{spec}` is not the same on all nodes",
            "; ".join(
                f"{node_name(node)} has {each.label} ({', '.join(filter(None, (each.detail, each.digest)))})"
                for node, each in found.items()
            ),
            "install the same version on all nodes",
        )
    return first
