"""Writes every attempt as a line of CSV.

Lines are written after a turn of the event loop, once there are some sixty. That takes a fraction of a millisecond, so
that hardly an operation is delayed by it.
`begin` starts a phase. Connections are numbered by each worker. Times are nanoseconds since the phase's start;
`planned_ns` is when the operation was to start.
"""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Self

from s3bench.errors import BadInput, MachineError
from s3bench.load.access_log.trace import COLUMNS

_LINES_MAX = 64

Attempt = tuple[int, int, int, int, str, int, str, int, str, int, int]
"""The values of one line after its phase."""


class Trace:
    """A new file of `worker` at `path`, open while the context lasts. Raises `BadInput` where it cannot be made.

    Where a flush fails, as on a full disk, it raises `MachineError`; the file keeps its whole lines and gets no more.
    """

    __slots__ = ("_attempts", "_file", "_path", "_phase", "_start_ns", "_whole_bytes", "_worker", "note")

    def __init__(self, path: str, *, worker: int) -> None:
        self._path = path
        self._worker = worker
        self._whole_bytes = 0  # what was flushed
        self._phase = ""
        self._start_ns = 0
        self._attempts: list[Attempt] = []
        self.note = self._attempts.append

    def __enter__(self) -> Self:
        try:
            self._file = Path(self._path).open("x", encoding="utf-8", newline="")
        except OSError as error:
            raise BadInput(
                f"the trace {self._path} cannot be written", error.strerror or str(error), "choose a new file"
            ) from error
        self._file.write(",".join(COLUMNS) + "\n")
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.flush()
        finally:
            self._file.close()

    @property
    def is_full(self) -> bool:
        """Whether so many attempts wait that they should be written."""
        return len(self._attempts) >= _LINES_MAX

    def begin(self, phase: str, start_ns: int) -> None:
        """Begin a phase: all that follows counts from `start_ns`."""
        self.flush()
        self._phase = _quoted(phase)
        self._start_ns = start_ns

    def flush(self) -> None:
        """Write what was noted."""
        try:
            if not self._file.closed:
                self._write()
        except OSError as error:
            with suppress(OSError):  # it tries once more to write what it could not
                self._file.close()
            with suppress(OSError):
                os.truncate(self._path, self._whole_bytes)
            raise MachineError(
                f"the trace {self._path} cannot be written",
                f"{error.strerror or error}, on the disk of {Path(self._path).parent}",
                "free space there, or write the trace to another disk",
            ) from error
        finally:
            self._attempts.clear()

    def _write(self) -> None:
        phase, start_ns = f"{self._worker},{self._phase}", self._start_ns
        self._file.writelines(
            f"{phase},{planned - start_ns},{started - start_ns},{first - start_ns if first else ''},{ended - start_ns},"
            f"{kind},{number},{_quoted(key)},{size_bytes},{outcome},{attempt},{connection}\n"
            for planned, started, first, ended, kind, number, key, size_bytes, outcome, attempt, connection in (
                self._attempts
            )
        )
        self._file.flush()
        self._whole_bytes = os.fstat(self._file.fileno()).st_size


def part_of(path: Path, worker: int) -> Path:
    """The file of one worker beside `path`, while the run lasts."""
    return path.with_name(f"{path.name}.{worker}")


def join_traces(path: Path, *, workers: int) -> None:
    """Make one file of those of all workers, which go. Raises `MachineError` where that fails; the rest stays."""
    parts = [part for worker in range(workers) if (part := part_of(path, worker)).exists()]
    whole_bytes = 0
    try:
        with path.open("wb") as joined:
            joined.write((",".join(COLUMNS) + "\n").encode())
            for part in parts.copy():
                whole_bytes = joined.tell()
                _append(part, joined)
                parts.pop(0).unlink()
    except OSError as error:
        with suppress(OSError):
            os.truncate(path, whole_bytes)
        raise MachineError(
            f"the trace {path} could not be joined",
            f"{error.strerror or error}, on the disk of {path.parent}",
            f"free space there; the rest of it is in {', '.join(map(str, parts))}",
        ) from error


def _append(part: Path, joined: BinaryIO) -> None:
    """Append the lines of a part, without its header; they are written when this returns."""
    with part.open("rb") as file:
        file.readline()
        shutil.copyfileobj(file, joined)
    joined.flush()


def _quoted(text: str) -> str:
    """A cell that may hold anything (RFC 4180)."""
    is_plain = "," not in text and '"' not in text and "\r" not in text and "\n" not in text
    return text if is_plain else '"' + text.replace('"', '""') + '"'
