"""Writes every attempt as a line of CSV.

Lines are written after a turn of the event loop, once there are some sixty. That takes a fraction of a millisecond, so
that hardly an operation is delayed by it.
`begin` starts a phase. Connections are numbered by each worker. Times are nanoseconds since the phase's start;
`planned_ns` is when the operation was to start.
"""

import shutil
from pathlib import Path
from typing import Self

from s3bench.errors import BadInput
from s3bench.load.access_log.trace import COLUMNS

_LINES_MAX = 64

Attempt = tuple[int, int, int, int, str, int, str, int, str, int, int]
"""The values of one line after its phase."""


class Trace:
    """A new file of `worker` at `path`, open while the context lasts. Raises `BadInput` where it cannot be written."""

    __slots__ = ("_attempts", "_file", "_path", "_phase", "_start_ns", "_worker", "note")

    def __init__(self, path: str, *, worker: int) -> None:
        self._path = path
        self._worker = worker
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
        self.flush()
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
        phase, start_ns = f"{self._worker},{self._phase}", self._start_ns
        self._file.writelines(
            f"{phase},{planned - start_ns},{started - start_ns},{first - start_ns if first else ''},{ended - start_ns},"
            f"{kind},{number},{_quoted(key)},{size_bytes},{outcome},{attempt},{connection}\n"
            for planned, started, first, ended, kind, number, key, size_bytes, outcome, attempt, connection in (
                self._attempts
            )
        )
        self._attempts.clear()
        self._file.flush()


def part_of(path: Path, worker: int) -> Path:
    """The file of one worker beside `path`, while the run lasts."""
    return path.with_name(f"{path.name}.{worker}")


def join_traces(path: Path, *, workers: int) -> None:
    """Make one file of those of all workers, which go."""
    with path.open("wb") as joined:
        joined.write((",".join(COLUMNS) + "\n").encode())
        for part in (part_of(path, worker) for worker in range(workers)):
            if part.exists():
                with part.open("rb") as file:
                    file.readline()
                    shutil.copyfileobj(file, joined)
                part.unlink()


def _quoted(text: str) -> str:
    """A cell that may hold anything (RFC 4180)."""
    is_plain = "," not in text and '"' not in text and "\r" not in text and "\n" not in text
    return text if is_plain else '"' + text.replace('"', '""') + '"'
