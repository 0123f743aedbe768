"""The operations of a replay: those of a plan's file, in its order, where a mix would draw them.

The number of an operation is its place in the file. What is known of it is kept from when it is read until it ends.
"""

from collections.abc import Iterator
from pathlib import Path

from s3bench.load.engine.replay_file import KINDS, PlannedOperation, Rows, rows_of
from s3bench.load.operation import OperationKind


class ReplayedOperations:
    """The operations in the file at `path`, each once, or none; it takes the place of an `OperationMix`."""

    def __init__(self, path: Path | None) -> None:
        self._batches: Iterator[Rows] = iter(()) if path is None else rows_of(path)
        self._next = next(self._batches, None)
        self._read = 0
        self._operations: dict[int, PlannedOperation] = {}

    @property
    def exhausted(self) -> bool:
        """Whether the last batch was the last."""
        return self._next is None

    def batch(self) -> list[tuple[OperationKind, int]]:
        """The next operations: kind and number."""
        rows, self._next = self._next, next(self._batches, None)
        if rows is None:
            return []
        first = self._read
        operations = [PlannedOperation._make(row) for row in rows.tolist()]
        self._read += len(operations)
        self._operations.update(enumerate(operations, first))
        return [(KINDS[operation.kind], number) for number, operation in enumerate(operations, first)]

    def operation(self, number: int) -> PlannedOperation:
        """What is planned of an operation that has not ended."""
        return self._operations[number]

    def forget(self, number: int) -> None:
        """Forget an operation that has ended."""
        del self._operations[number]

    def wrote(self, number: int) -> None:
        """Nothing follows from that an object was written."""

    def split(self, count: int) -> Iterator[tuple[OperationKind, int]]:
        """Not of a plan, whose operations are all known."""
        raise NotImplementedError

    def new_number(self) -> int:
        """Not of a plan, which has no COPY."""
        raise NotImplementedError

    def take(self) -> int | None:
        """Not of a plan, whose deletes have their objects."""
        raise NotImplementedError

    def range_start(self, size_bytes: int) -> int:
        """Not of a plan, whose ranges are known."""
        raise NotImplementedError
