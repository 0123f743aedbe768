"""Estimates how long runs will take, from the runs so far and from what each benchmark transfers.

A run takes a time of its client's own, and a time for each file and each byte. The client's time is the median of its
small runs. The other two are medians of runs of many files and of large ones; before there is one, rough values stand
in, measured on two cores against the stub.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from s3bench.clients.plan import Cell

MANY_FILES = 1000
LARGE_BYTES = 8_000_000
FILE_S = 0.004
BYTE_S = 1 / 200e6


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSize:
    """What one run of a cell transfers, and by which client."""

    client: str
    files: int
    size_bytes: int

    @classmethod
    def of(cls, cell: Cell) -> "RunSize":
        """Count the files of its definition, which are those that most benchmarks transfer."""
        fixtures = cell.definition.environment
        counted = [(1, each.size_bytes) for each in fixtures.files]
        counted += [(each.file_count, each.total_bytes) for each in fixtures.directories]
        return cls(
            client=str(cell.client),
            files=sum(count for count, _ in counted),
            size_bytes=sum(size for _, size in counted),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedRun:
    """How long one run took, everything around it included."""

    size: RunSize
    seconds: float


def estimate_s(coming: Iterable[RunSize], timed: Sequence[TimedRun]) -> float:
    """The time that the `coming` runs will take together, from at least one run that was `timed`."""
    small: dict[str, list[float]] = {}
    for each in timed:
        if each.size.files < MANY_FILES and each.size.size_bytes < LARGE_BYTES:
            small.setdefault(each.size.client, []).append(each.seconds)
    own_s = {client: median(seconds) for client, seconds in small.items()}
    usual_s = median(own_s.values()) if own_s else 0.0

    def of_client(size: RunSize) -> float:
        return own_s.get(size.client, usual_s)

    per_file_s = _median_of(
        ((each.seconds - of_client(each.size)) / each.size.files for each in timed if each.size.files >= MANY_FILES),
        FILE_S,
    )
    per_byte_s = _median_of(
        (
            (each.seconds - of_client(each.size) - each.size.files * per_file_s) / each.size.size_bytes
            for each in timed
            if each.size.files < MANY_FILES and each.size.size_bytes >= LARGE_BYTES
        ),
        BYTE_S,
    )
    return sum(of_client(size) + size.files * per_file_s + size.size_bytes * per_byte_s for size in coming)


def _median_of(values: Iterable[float], otherwise: float) -> float:
    known = list(values)
    return max(0.0, median(known)) if known else otherwise
