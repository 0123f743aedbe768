"""The files of a replay's plan: a row for each operation of one worker, in the order of their planned starts.

Rows are read in batches, so that memory does not depend on their number. `load.session.replay_plan` writes them.
"""

from collections.abc import Iterator
from enum import IntFlag
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from s3bench.load.operation import OperationKind

ROW = np.dtype(
    [
        ("start_ns", "<i8"),
        ("key", "<i8"),
        ("order", "<i8"),
        ("size_bytes", "<i8"),
        ("first", "<i8"),
        ("length_bytes", "<i8"),
        ("version", "<u4"),
        ("kind", "<u2"),
        ("flags", "<u2"),
    ]
)
"""A row as bytes; the fields are those of `PlannedOperation`."""

Rows = npt.NDArray[np.void]

KINDS = tuple(OperationKind)
"""The kinds by their numbers in a row."""

KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}

WRITERS = frozenset({OperationKind.PUT, OperationKind.MULTIPART, OperationKind.DELETE})
"""What changes an object."""

NEVER_NS = 1 << 62

_BATCH = 64  # rows that are read and made into operations in one go: those that are due meanwhile wait for it


class RowFlag(IntFlag):
    """What else is known of an operation: it must find no object; an earlier one has read the same object."""

    MISSING = 1
    AGAIN = 2


class PlannedOperation(NamedTuple):
    """One operation of a plan, from `start_ns` after the phase's start on.

    `key` numbers the object; LIST has a number of its own. `order` is the rank in the log. `size_bytes` is that of the
    whole object, whose contents are those of its `version`. A RANGE is `length_bytes` from `first` on; a MULTIPART has
    parts of `length_bytes`. `kind` is an index of `KINDS`.
    """

    start_ns: int
    key: int
    order: int
    size_bytes: int
    first: int
    length_bytes: int
    version: int
    kind: int
    flags: int


def plan_path(directory: str | Path, part: str, share: int) -> Path:
    """The file of one share of a part of the plan, such as `objects` or `operations`."""
    return Path(directory) / f"{part}.{share}"


def rows_of(path: Path) -> Iterator[Rows]:
    """Yield the rows in batches."""
    count = path.stat().st_size // ROW.itemsize
    for first in range(0, count, _BATCH):
        yield np.fromfile(path, ROW, count=min(_BATCH, count - first), offset=first * ROW.itemsize)


def planned_starts(path: Path) -> Iterator[list[int]]:
    """Yield the planned starts in batches, in nanoseconds since the phase's start, and at the end what never comes."""
    for rows in rows_of(path):
        yield rows["start_ns"].tolist()
    while True:
        yield [NEVER_NS] * _BATCH
