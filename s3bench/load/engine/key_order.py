"""Keeps the order of operations on one key: what writes waits for all before it, and all after it wait for it.

Reads between two writes may overlap, as those of different clients do.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class _Key(Generic[T]):
    """What is on for one key, and what waits, each with whether it writes."""

    reading: int = 0
    is_writing: bool = False
    waiting: deque[tuple[bool, T]] = field(default_factory=deque)

    def admits(self, *, writes: bool) -> bool:
        """Whether one more may begin beside what is on."""
        return not self.is_writing and not (writes and self.reading)

    def begin(self, *, writes: bool) -> None:
        """Take note that one begins."""
        if writes:
            self.is_writing = True
        else:
            self.reading += 1


class KeyOrder(Generic[T]):
    """The keys on which something is on or waits; all others need no memory."""

    def __init__(self) -> None:
        self._keys: dict[int, _Key[T]] = {}
        self._count = 0

    def __len__(self) -> int:
        """How many operations wait."""
        return self._count

    def enter(self, key: int, operation: T, *, writes: bool) -> bool:
        """Whether an operation on `key` may begin now; if not, it waits and `leave` gives it back."""
        found = self._keys.get(key)
        if found is None:
            found = self._keys[key] = _Key()
        elif found.waiting or not found.admits(writes=writes):
            found.waiting.append((writes, operation))
            self._count += 1
            return False
        found.begin(writes=writes)
        return True

    def leave(self, key: int, *, writes: bool) -> list[T]:
        """Take note that an operation on `key` has ended; gives those that begin with it."""
        found = self._keys[key]
        if writes:
            found.is_writing = False
        else:
            found.reading -= 1
        freed: list[T] = []
        while found.waiting and found.admits(writes=found.waiting[0][0]):
            next_writes, operation = found.waiting.popleft()
            found.begin(writes=next_writes)
            freed.append(operation)
        self._count -= len(freed)
        if not found.reading and not found.is_writing:
            del self._keys[key]
        return freed

    def waiting(self) -> Iterator[T]:
        """What waits."""
        return (operation for key in self._keys.values() for _, operation in key.waiting)

    def clear(self) -> None:
        """Forget all."""
        self._keys.clear()
        self._count = 0
