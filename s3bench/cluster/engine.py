"""Runs nodes on the machines of a Ray cluster: connects, places one process on each machine, calls it, removes it.

The only module that imports Ray, and only on request. It runs in a process of its own (`s3bench.cluster.host`), since
calls of Ray can wait without a limit.
"""

import concurrent.futures
import contextlib
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from types import ModuleType
from typing import Any

from s3bench.cluster.node import WorkerNode
from s3bench.cluster.node_group import NodeGone
from s3bench.cluster.suite.node import SuiteNode
from s3bench.errors import BadInput
from s3bench.extras import needs_extra

_PLACE_S = 30.0
_REACH_S = 5.0
_WORDS_MAX = 600
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # no usage statistics are sent
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # avoids a warning
    "RAY_CLIENT_RECONNECT_GRACE_PERIOD": "0",  # the nodes of a lost client end their load before it could reconnect
}

CLIENT_SCHEME = "ray://"

IDLE_COST = (
    "Ray's own processes run on every node too; when idle they were measured to take 3.5 % of a core and "
    "0.5 GB of memory per node (Ray 2.60)"
)


class NodePurpose(StrEnum):
    """The purpose of the nodes: to make load together, or to share a suite."""

    LOAD = "load"
    SUITE = "suite"


_ACTORS: Mapping[NodePurpose, type] = {NodePurpose.LOAD: WorkerNode, NodePurpose.SUITE: SuiteNode}


class RayNodeGroup:
    """One actor on each node of a Ray cluster; implements `NodeGroup`.

    `actors` are handles in the nodes' order, `hosts` the nodes' addresses.
    """

    def __init__(self, ray: ModuleType, actors: Sequence[Any], *, address: str, hosts: tuple[str, ...]) -> None:
        self._actors = actors
        self.hosts = hosts
        self.nodes = len(actors)
        self.facts: Mapping[str, object] = {
            "engine": "ray",
            "version": ray.__version__,
            "address": "auto" if address == "auto" else CLIENT_SCHEME,
            "idle_cost": IDLE_COST,
        }

    def call(self, method: str, arguments: Mapping[int, tuple[object, ...]], *, limit_s: float) -> Mapping[int, Any]:
        """Call a method on several nodes at once; see `NodeGroup.call`."""
        if not arguments:
            return {}
        try:
            calls = [(getattr(self._actors[node], method).remote(*words), node) for node, words in arguments.items()]
            results = {result.future(): node for result, node in calls}
            done, _ = concurrent.futures.wait(results, timeout=limit_s)
            return {results[each]: _result_of(each) for each in done}
        except Exception as error:  # noqa: BLE001 (whatever Ray raises here, no node can be reached any more)
            return dict.fromkeys(arguments, NodeGone(f"the cluster cannot be reached: {_words(error)}"))


@contextlib.contextmanager
def connect(address: str, *, nodes: int | None, purpose: NodePurpose = NodePurpose.LOAD) -> Iterator[RayNodeGroup]:
    """Place a process on each of `nodes` machines of the cluster at `address`; on all machines if `nodes` is `None`.

    For a suite, which takes whole machines, Ray runs nothing else on them meanwhile. The processes end with the
    context. `address` is `auto`, for a cluster that this machine is part of, or `ray://HOST:PORT`. Raises `BadInput`
    without Ray, without a cluster, and if too few machines have a core.
    """
    ray = _imported()
    with contextlib.ExitStack() as stack:
        _join(ray, address)
        stack.callback(ray.shutdown)
        known = ray.nodes()
        alive = [node for node in known if node["Alive"]]
        there = [node for node in alive if node["Resources"].get("CPU", 0) >= 1]
        wanted = nodes or len(there)
        lost = len(known) - len(alive)
        why = f"Ray lost {_counted(lost, 'other ')}" if lost else ""
        if not there:
            raise BadInput("the cluster has no node with a core", why, "start Ray on more machines (docs/cluster.md)")
        if wanted > len(there):
            raise BadInput(
                f"--nodes {wanted} is too many: the cluster has {_counted(len(there))} with a core",
                why,
                fix="start Ray on more machines (docs/cluster.md), or use fewer --nodes",
            )
        is_alone = purpose is NodePurpose.SUITE
        assert nodes is None or not is_alone
        cores = [node["Resources"]["CPU"] if is_alone else 1 for node in there[:wanted]]
        group = _reserved(ray, cores, stack, is_alone=is_alone)
        bundles = ray.util.placement_group_table(group)["bundles_to_node_id"]
        addresses = {node["NodeID"]: node["NodeManagerAddress"] for node in there}
        hosts = tuple(addresses.get(bundles[node], "") for node in range(wanted))
        yield RayNodeGroup(ray, _placed(ray, group, _ACTORS[purpose], wanted, stack), address=address, hosts=hosts)


def _counted(nodes: int, which: str = "") -> str:
    return f"{nodes} {which}node{'' if nodes == 1 else 's'}"


def _imported() -> ModuleType:
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    with needs_extra("--cluster", "cluster"):
        import ray  # noqa: PLC0415 (a second, and only where it is installed)
        import ray.util.scheduling_strategies  # noqa: PLC0415 (as above)
    module: ModuleType = ray
    return module


def _join(ray: ModuleType, address: str) -> None:
    try:
        _reach(address)
        ray.init(address=address, namespace="s3bench", log_to_driver=False, logging_level="ERROR")
    except Exception as error:  # whatever Ray raises here, there is no usable cluster
        raise BadInput(
            f"--cluster {address}: no usable Ray cluster there",
            _words(error),
            "start one (`ray start --head`, and `ray start --address=HEAD:6379` on other machines: docs/cluster.md); "
            "a cluster that was started with a token needs it here too (RAY_AUTH_MODE=token, ~/.ray/auth_token)",
        ) from error


def _reach(address: str) -> None:
    """Check that the address accepts connections; Ray's client would try for half a minute. Raises `OSError`."""
    if address != "auto":
        host, _, port = address.removeprefix(CLIENT_SCHEME).rpartition(":")
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_S).close()


def _reserved(ray: ModuleType, cores: Sequence[float], stack: contextlib.ExitStack, *, is_alone: bool) -> Any:
    """A placement group with the given cores on as many different machines."""
    group = ray.util.placement_group([{"CPU": count} for count in cores], strategy="STRICT_SPREAD")
    stack.callback(ray.util.remove_placement_group, group)
    if not group.wait(_PLACE_S):
        raise BadInput(
            f"{_counted(len(cores))} with {'all cores free' if is_alone else 'a free core'} could not be reserved "
            f"within {_PLACE_S:g} s",
            "other work occupies the cores of the cluster (see `ray status`)",
            "wait for it to end, or stop it" if is_alone else "wait for it to end, or use fewer --nodes",
        )
    return group


def _placed(ray: ModuleType, group: Any, actor: type, nodes: int, stack: contextlib.ExitStack) -> list[Any]:
    """Start an actor on each machine of a placement group."""
    remote = ray.remote(actor)
    actors = []
    for node in range(nodes):
        place = ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(
            placement_group=group, placement_group_bundle_index=node
        )
        actors.append(remote.options(num_cpus=1, max_concurrency=2, max_restarts=0, scheduling_strategy=place).remote())
        stack.callback(ray.kill, actors[-1])
    return actors


def _result_of(result: concurrent.futures.Future[Any]) -> Any:
    error = result.exception()
    return result.result() if error is None else NodeGone(_words(error))


def _words(error: BaseException) -> str:
    """The message of an error of Ray in one line, shortened."""
    return " ".join(str(error).split())[:_WORDS_MAX] or type(error).__name__
