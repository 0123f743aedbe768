"""The work queue of a suite: each free node gets the next unit."""

from collections import deque
from collections.abc import Iterable

from s3bench.cluster.suite.unit import SuiteUnit


class WorkQueue:
    """`units` for `nodes`, assigned in order. A node runs one unit at a time."""

    def __init__(self, units: Iterable[SuiteUnit], nodes: Iterable[int]) -> None:
        self._waiting = deque(units)
        self._free = list(nodes)
        self.doing: dict[int, SuiteUnit] = {}

    def assign(self) -> tuple[tuple[int, SuiteUnit], ...]:
        """Assign the next unit to each free node."""
        count = min(len(self._free), len(self._waiting))
        assigned = tuple((self._free.pop(0), self._waiting.popleft()) for _ in range(count))
        self.doing.update(assigned)
        return assigned

    def finish(self, node: int) -> SuiteUnit:
        """Mark a node's unit as finished and the node as free; returns the unit."""
        self._free.append(node)
        return self.doing.pop(node)

    def remove(self, node: int) -> SuiteUnit | None:
        """Remove a node; returns its unit, if any."""
        if node in self._free:
            self._free.remove(node)
        return self.doing.pop(node, None)

    def clear(self) -> tuple[SuiteUnit, ...]:
        """Stop assigning units; returns those that were still waiting."""
        waiting = tuple(self._waiting)
        self._waiting.clear()
        return waiting

    @property
    def is_over(self) -> bool:
        """Whether no unit is running and none can be assigned."""
        return not self.doing and not (self._waiting and self._free)
