"""The interface of the driver to its nodes, independent of the engine that runs them.

A call goes to many nodes at once and names a method of `WorkerNode` or `SuiteNode`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class NodeGone:
    """The result of a call to a node that is gone or failed, and why."""

    why: str


class NodeGroup(Protocol):
    """A group of `nodes` nodes, numbered from 0. `facts` about the engine are stored in the results."""

    @property
    def nodes(self) -> int:
        """The number of nodes."""

    @property
    def facts(self) -> Mapping[str, object]:
        """The engine, its version, and its cost on each node."""

    def call(self, method: str, arguments: Mapping[int, tuple[object, ...]], *, limit_s: float) -> Mapping[int, Any]:
        """Call a method on several nodes at once, each with its own arguments; their results, or `NodeGone`.

        A node that does not respond within `limit_s` is missing from the result; the call may still have reached it.
        """


class StoppableNodeGroup(NodeGroup, Protocol):
    """A node group whose calls can be given up before their limit."""

    def call(
        self,
        method: str,
        arguments: Mapping[int, tuple[object, ...]],
        *,
        limit_s: float,
        is_over: Callable[[], bool] = lambda: False,
    ) -> Mapping[int, Any]:
        """See `NodeGroup.call`. Raises `KeyboardInterrupt` soon after it `is_over`, and all nodes may be gone then."""
