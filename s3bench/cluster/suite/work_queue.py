"""Which node does which unit of a suite: each takes the next one when it is free.

Owns the queue. Pure.
"""

from collections import deque
from collections.abc import Iterable

from s3bench.cluster.suite.unit import SuiteUnit


class WorkQueue:
    """`units` for `nodes`, dealt out in their order. A node does one at a time."""

    def __init__(self, units: Iterable[SuiteUnit], nodes: Iterable[int]) -> None:
        self._waiting = deque(units)
        self._free = list(nodes)
        self.doing: dict[int, SuiteUnit] = {}

    def deal(self) -> tuple[tuple[int, SuiteUnit], ...]:
        """Give each free node the next unit."""
        count = min(len(self._free), len(self._waiting))
        dealt = tuple((self._free.pop(0), self._waiting.popleft()) for _ in range(count))
        self.doing.update(dealt)
        return dealt

    def finish(self, node: int) -> SuiteUnit:
        """Take the unit from a node that is through with it, and is free again."""
        self._free.append(node)
        return self.doing.pop(node)

    def remove(self, node: int) -> SuiteUnit | None:
        """Let a node take part no more; the unit that it had, if any."""
        if node in self._free:
            self._free.remove(node)
        return self.doing.pop(node, None)

    def clear(self) -> tuple[SuiteUnit, ...]:
        """Deal out nothing more; the units that were still waiting."""
        waiting = tuple(self._waiting)
        self._waiting.clear()
        return waiting

    @property
    def is_over(self) -> bool:
        """Whether nothing is done any more, and nobody is there to do what waits."""
        return not self.doing and not (self._waiting and self._free)
