"""Whether nodes can share a suite: equal machines, and the same clients on each.

Owns the choice of the nodes and the refusals, all before anything runs. Versions of s3bench and Python are `muster`'s.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from s3bench.cluster.message import NodeFacts
from s3bench.cluster.node_group import NodeGone, NodeGroup
from s3bench.cluster.preflight import doubts, node_facts
from s3bench.cluster.suite.message import ClientLookup, FoundHere, MissingHere, decode_look
from s3bench.errors import BadInput
from s3bench.history.machine import Machine, machine_of
from s3bench.load.aggregation.nodes import node_name
from s3bench.spec.plan import ClientSpec

_LOOK_S = 300.0  # the programs of all clients are read whole, from cold disks
_MACHINE_FACTS = tuple(Machine.__struct_fields__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitePreflight:
    """`nodes` are those that take part. `facts` are of all nodes, `left_out` says of some why they do not.

    `clients` are those that were asked for, as they were found on each of `nodes`. `warnings` are doubts about these.
    """

    nodes: tuple[int, ...]
    facts: tuple[NodeFacts, ...]
    left_out: Mapping[int, str]
    clients: Mapping[ClientSpec, FoundHere]
    warnings: tuple[str, ...]


def muster_suite(fleet: NodeGroup, specs: Sequence[ClientSpec], *, nodes: int | None) -> SuitePreflight:
    """Look at all nodes, and choose `nodes` equal ones, without a number as many as there are.

    Raises `BadInput` for nodes with different programs, for too few that are equal, and for clients that are not the
    same on all of the chosen ones.
    """
    facts = node_facts(fleet)
    machines = tuple(machine_of(each.machine) for each in facts)
    group = largest_group(machines)
    left_out = {
        node: f"it is another machine than {node_name(group[0])}: {differences(machine, machines[group[0]])}"
        for node, machine in enumerate(machines)
        if node not in group
    }
    if nodes is not None and len(group) < nodes:
        raise BadInput(
            f"--nodes asks for {nodes} equal machines, and the cluster has {len(group)} at the most",
            "; ".join(f"{node_name(node)} is left out: {why}" for node, why in left_out.items()),
            "ask for fewer: figures of unequal machines are not comparable",
        )
    chosen = group[:nodes]
    looks = _looks(fleet, chosen, specs)
    return SuitePreflight(
        nodes=chosen,
        facts=facts,
        left_out=left_out,
        clients={spec: _same_client(str(spec), looks) for spec in specs},
        warnings=(
            *(f"{node_name(node)} is left out: {why}" for node, why in left_out.items()),
            *(warning for node in chosen for warning in doubts(node, facts[node])),
        ),
    )


def largest_group(machines: Sequence[Machine]) -> tuple[int, ...]:
    """The nodes of the fingerprint that most have; of several such groups that of the first node."""
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


def _looks(fleet: NodeGroup, nodes: Sequence[int], specs: Iterable[ClientSpec]) -> dict[int, ClientLookup]:
    words = tuple(map(str, specs))
    answers = fleet.ask("look", dict.fromkeys(nodes, (words,)), limit_s=_LOOK_S)
    return {node: _look(node, answers.get(node, NodeGone(f"it did not answer within {_LOOK_S:g} s"))) for node in nodes}


def _look(node: int, answer: bytes | NodeGone) -> ClientLookup:
    if isinstance(answer, NodeGone):
        raise BadInput(f"{node_name(node)} cannot tell which clients it has", answer.why)
    return decode_look(answer)


def _same_client(spec: str, looks: Mapping[int, ClientLookup]) -> FoundHere:
    """The client of all nodes for `spec`. Raises `BadInput` where it is missing or not the same."""
    here = {node: next(each for each in look.clients if each.spec == spec) for node, look in looks.items()}
    missing = {node: each for node, each in here.items() if isinstance(each, MissingHere)}
    if missing:
        node, client = next(iter(missing.items()))
        raise BadInput(
            f"`{spec}` is not on {', '.join(map(node_name, missing))}",
            f"{node_name(node)}: {client.why}",
            "install it on every node (`s3bench clients install`); a cluster's nodes fetch nothing by themselves",
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
            "install the same version everywhere",
        )
    return first
