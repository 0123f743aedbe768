"""The nodes as the driver reaches them, whatever engine spreads them over machines.

Owns the interface: questions to many nodes at once, which are `node.Node`'s methods by name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class NodeGone:
    """A node's answer that will never come: it is not there any more, or could not do it; `why` in words."""

    why: str


class NodeGroup(Protocol):
    """`nodes` nodes, numbered from 0. `facts` are what the results keep of the engine."""

    @property
    def nodes(self) -> int:
        """How many there are."""

    @property
    def facts(self) -> Mapping[str, object]:
        """The engine, its version, and what it costs."""

    def ask(self, question: str, told: Mapping[int, tuple[object, ...]], *, limit_s: float) -> Mapping[int, Any]:
        """Ask several nodes the same, each with what it is told; their answers, or `NodeGone`.

        A node that does not answer within `limit_s` is missing, and may have been asked all the same.
        """
