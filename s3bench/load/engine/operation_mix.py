"""Draws what one job of one worker does next: which kind of operation, on which object.

It follows from a seed alone. Operations are drawn in batches, since a draw of its own would cost more than the rest of
an operation's planning.
"""

import hashlib
from collections import deque
from collections.abc import Iterator
from itertools import repeat
from typing import Protocol

import numpy as np

from s3bench.load.engine.key_distribution import chooser
from s3bench.load.operation import READING, OperationKind
from s3bench.load.profile.profile import Job

_BATCH = 1024
_OWN_MAX = 1 << 18


def seed_of(*parts: str | int) -> int:
    """The seed that belongs to `parts`, such as run, job and loop: the same in every process and version."""
    return int.from_bytes(hashlib.sha256("\n".join(map(str, parts)).encode()).digest()[:8], "big")


class Operations(Protocol):
    """What one job of one worker does next, as `OperationMix` describes it."""

    @property
    def exhausted(self) -> bool:
        """Whether the last batch was the last."""

    def batch(self) -> list[tuple[OperationKind, int]]:
        """The next operations: kind and number."""

    def split(self, count: int) -> Iterator[tuple[OperationKind, int]]:
        """How many of `count` operations would be of each kind."""

    def new_number(self) -> int:
        """The number of one more new object."""

    def wrote(self, number: int) -> None:
        """Note that this worker has written an object."""

    def take(self) -> int | None:
        """The oldest object of this job's own that is still to be deleted."""

    def range_start(self, size_bytes: int) -> int:
        """Where a ranged GET of an object starts."""


class OperationMix:
    """What one job of one worker does next.

    The data set has `objects` objects, numbered from 0. The new objects of a worker are `first_number + worker` and
    every `workers`-th from there. `seed` differs from job to job and from loop to loop (`seed_of`).
    """

    def __init__(self, job: Job, *, worker: int, workers: int, objects: int, first_number: int, seed: int) -> None:
        self._first_number = first_number
        self._next_number = first_number + worker
        self._generator, self._generator_of_ranges, self._generator_of_splits = (
            np.random.Generator(np.random.Philox(stream)) for stream in np.random.SeedSequence((seed, worker)).spawn(3)
        )
        self._kinds = job.kinds
        weights = np.array([share.weight for share in job.mix])
        self._weights = weights / weights.sum()
        self._cumulated = np.cumsum(self._weights)[:-1]
        self._deletes_own = OperationKind.DELETE in self._kinds and set(self._kinds) != {OperationKind.DELETE}
        self._own: deque[int] = deque()
        self._left = range(worker, objects, workers) if set(self._kinds) == {OperationKind.DELETE} else None
        self.exhausted = self._left is not None and not self._left
        chosen = READING & set(self._kinds) or (job.overwrite and OperationKind.PUT in self._kinds)
        new = {OperationKind.MULTIPART} if job.overwrite else {OperationKind.MULTIPART, OperationKind.PUT}
        self._new = [index for index, kind in enumerate(self._kinds) if kind in new]
        self._choose = chooser(job, worker, workers, objects, self._generator) if chosen else None
        self._overwrites = job.overwrite
        self._pages = -(-objects // job.list_keys) or 1
        self._page = worker
        self._workers = workers
        self._range_bytes = job.range_bytes
        self._points: Iterator[float] = iter(())

    def batch(self) -> list[tuple[OperationKind, int]]:
        """The next operations, about 1,024; `exhausted` is whether these were the last.

        With each goes the number of its object: of the data set for what reads, a new one for PUT (without `overwrite`)
        and MULTIPART. New numbers of PUT and MULTIPART are in the order of the operations, so that a phase that ends
        early leaves no gap among them.
        COPY comes with its source and takes its target from `new_number`. LIST comes with its page: page n follows the
        keys of the `n * list_keys` objects of the data set that are first. DELETE comes with an object of the data set
        where a job does nothing else, and in a mix with -1: `take` gives the object.
        """
        if self._left is not None:
            drawn, self._left = self._left[:_BATCH], self._left[_BATCH:]
            self.exhausted = not self._left
            return list(zip(repeat(OperationKind.DELETE), drawn, strict=False))
        if len(self._kinds) == 1:
            return list(zip(repeat(self._kinds[0]), self._numbers_for(self._kinds[0], _BATCH), strict=False))
        kinds = self._kinds
        indexes = np.searchsorted(self._cumulated, self._generator.random(_BATCH), side="right")
        numbers = np.empty(_BATCH, np.int64)
        for index, kind in enumerate(kinds):
            if index not in self._new:
                places = np.flatnonzero(indexes == index)
                numbers[places] = self._numbers_for(kind, len(places))
        if self._new:
            new = np.flatnonzero(np.isin(indexes, self._new))
            numbers[new] = self._new_numbers(len(new))
        return list(zip([kinds[index] for index in indexes.tolist()], numbers.tolist(), strict=True))

    def split(self, count: int) -> Iterator[tuple[OperationKind, int]]:
        """How many of `count` operations would be of each kind, by chance; none of them is drawn."""
        return zip(self._kinds, self._generator_of_splits.multinomial(count, self._weights).tolist(), strict=True)

    def new_number(self) -> int:
        """The number of one more new object, for the target of a COPY."""
        return self._new_numbers(1)[0]

    def wrote(self, number: int) -> None:
        """Note that this worker has written an object, which a DELETE of the mix may take.

        So that memory is bounded no more than 262,144 wait to be deleted; others stay until the clean-up.
        """
        if self._deletes_own and number >= self._first_number and len(self._own) < _OWN_MAX:
            self._own.append(number)

    def take(self) -> int | None:
        """The oldest object of this job's own that is still to be deleted; `None` where there is none: draw again."""
        return self._own.popleft() if self._own else None

    def range_start(self, size_bytes: int) -> int:
        """Where a ranged GET of an object of `size_bytes` starts: a random multiple of the job's `range_bytes`."""
        assert self._range_bytes is not None, "a job with ranges has their size"
        point = next(self._points, None)
        if point is None:
            self._points = iter(self._generator_of_ranges.random(_BATCH).tolist())
            point = next(self._points)
        return int(point * (-(-size_bytes // self._range_bytes))) * self._range_bytes

    def _numbers_for(self, kind: OperationKind, count: int) -> list[int]:
        if kind is OperationKind.DELETE:
            return [-1] * count
        if kind is OperationKind.LIST:
            return self._pages_for(count)
        if self._choose is not None and (kind in READING or (kind is OperationKind.PUT and self._overwrites)):
            numbers: list[int] = self._choose(count).tolist()
            return numbers
        return list(self._new_numbers(count))

    def _new_numbers(self, count: int) -> range:
        first = self._next_number
        self._next_number += count * self._workers
        return range(first, self._next_number, self._workers)

    def _pages_for(self, count: int) -> list[int]:
        first = self._page
        self._page += count * self._workers
        return [page % self._pages for page in range(first, self._page, self._workers)]
