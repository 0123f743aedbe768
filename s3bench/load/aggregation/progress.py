"""Up to which second all workers have told what they did.

Owns the count of workers by second, so that a tally costs the same however many workers there are. Pure.
"""

from collections import Counter


class PhaseProgress:
    """Of `workers` workers, numbered from 0."""

    def __init__(self, workers: int) -> None:
        self._next = dict.fromkeys(range(workers), 0)
        self._waiting = Counter({0: workers})
        self._complete = 0

    def told(self, worker: int, second: int) -> None:
        """Take note that a worker has told of `second`; of one that has left nothing is expected."""
        before = self._next.get(worker)
        if before is None or second < before:
            return
        self._next[worker] = second + 1
        self._waiting[before] -= 1
        self._waiting[second + 1] += 1

    def left(self, worker: int) -> None:
        """Take note that a worker tells nothing any more."""
        before = self._next.pop(worker, None)
        if before is not None:
            self._waiting[before] -= 1

    def next_of(self, worker: int) -> int:
        """The first second of which a worker that has not left has not told."""
        return self._next[worker]

    def complete(self) -> int | None:
        """The first second that some worker has not told of yet; `None` where nobody is left to tell."""
        if not self._next:
            return None
        while not self._waiting[self._complete]:
            del self._waiting[self._complete]
            self._complete += 1
        return self._complete
