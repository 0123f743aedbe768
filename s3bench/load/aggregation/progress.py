"""The second up to which all workers have reported.

Counts workers by second, so that a record costs the same for any number of workers.
"""

from collections import Counter


class PhaseProgress:
    """Of `workers` workers, numbered from 0."""

    def __init__(self, workers: int) -> None:
        self._next = dict.fromkeys(range(workers), 0)
        self._waiting = Counter({0: workers})
        self._complete = 0

    def reported(self, worker: int, second: int) -> None:
        """Note that a worker has reported `second`; ignored for one that has left."""
        before = self._next.get(worker)
        if before is None or second < before:
            return
        self._next[worker] = second + 1
        self._waiting[before] -= 1
        self._waiting[second + 1] += 1

    def left(self, worker: int) -> None:
        """Note that a worker reports nothing any more."""
        before = self._next.pop(worker, None)
        if before is not None:
            self._waiting[before] -= 1

    def next_of(self, worker: int) -> int:
        """The first second that a worker that has not left has not reported."""
        return self._next[worker]

    def complete(self) -> int | None:
        """The first second that some worker has not reported yet; `None` if all have left."""
        if not self._next:
            return None
        while not self._waiting[self._complete]:
            del self._waiting[self._complete]
            self._complete += 1
        return self._complete
