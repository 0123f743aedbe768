"""Sorts more rows than fit into memory: sorted runs in files, merged block by block.

The order is that of two columns, which together are unique.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from s3bench.load.engine.replay_file import ROW, Rows

_RUN_ROWS = 1 << 18
_BLOCK_ROWS = 1 << 18  # read of all runs together
_READ_ROWS_MIN = 512


class ExternalSort:
    """Rows in the order of the columns `by`; its files are in `directory`, named after `name`."""

    def __init__(self, directory: Path, name: str, *, by: tuple[str, str]) -> None:
        self._directory = directory
        self._name = name
        self._by = by
        self._runs: list[Path] = []
        self._rows: list[Rows] = []
        self._count = 0

    def add(self, rows: Rows) -> None:
        """Add rows."""
        self._rows.append(rows)
        self._count += len(rows)
        if self._count >= _RUN_ROWS:
            self._end_run()

    def blocks(self) -> Iterator[Rows]:
        """Yield all rows in order, in blocks; may be asked more than once, after the last `add`."""
        self._end_run()
        read_rows = max(_READ_ROWS_MIN, _BLOCK_ROWS // max(1, len(self._runs)))
        runs = [_Run(path, read_rows) for path in self._runs]
        while runs := [run for run in runs if run.fill()]:
            first, second = self._by
            last = min((tuple(run.rows[-1][[first, second]].tolist()) for run in runs if run.has_more), default=None)
            yield self._sorted([run.take(None if last is None else self._until(run.rows, *last)) for run in runs])

    def remove(self) -> None:
        """Remove the files."""
        for path in self._runs:
            path.unlink()
        self._runs.clear()

    def _end_run(self) -> None:
        if self._rows:
            path = self._directory / f"{self._name}-{len(self._runs)}"
            self._sorted(self._rows).tofile(path)
            self._runs.append(path)
            self._rows, self._count = [], 0

    def _sorted(self, parts: list[Rows]) -> Rows:
        rows = np.concatenate(parts) if parts else np.empty(0, ROW)
        first, second = self._by
        return rows[np.lexsort((rows[second], rows[first]))]

    def _until(self, rows: Rows, first_value: int, second_value: int) -> int:
        """How many of sorted rows are not after the given values."""
        first, second = self._by
        low = int(np.searchsorted(rows[first], first_value, side="left"))
        high = int(np.searchsorted(rows[first], first_value, side="right"))
        return low + int(np.searchsorted(rows[second][low:high], second_value, side="right"))


class _Run:
    """One sorted file, of which some rows are in memory."""

    def __init__(self, path: Path, read_rows: int) -> None:
        self._path = path
        self._read_rows = read_rows
        self._next = 0
        self._count = path.stat().st_size // ROW.itemsize
        self.rows: Rows = np.empty(0, ROW)

    @property
    def has_more(self) -> bool:
        """Whether there are rows that are not in memory."""
        return self._next < self._count

    def fill(self) -> bool:
        """Read rows where none is left in memory; whether there are any."""
        if not len(self.rows) and self.has_more:
            offset = self._next * ROW.itemsize
            self.rows = np.fromfile(self._path, ROW, count=self._read_rows, offset=offset)
            self._next += len(self.rows)
        return bool(len(self.rows))

    def take(self, count: int | None) -> Rows:
        """Take the first `count` rows, or all."""
        taken, self.rows = (self.rows, self.rows[:0]) if count is None else (self.rows[:count], self.rows[count:])
        return taken
