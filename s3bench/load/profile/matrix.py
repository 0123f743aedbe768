"""The matrix of sizes and threads: plans phases that read objects of each size with each number of threads.

Its two usual extents follow s3-benchmark (https://github.com/dvassallo/s3-benchmark): the quick test there has 8 to 16
threads, the full one 1 to 48, both in steps of one, over sizes from 1 KB that double. Here threads double as well:
throughput and latency go with the logarithm of the concurrency, so that the steps between add little and cost most of
the hours. 48, its last, stays.
"""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import Job, Phase, Share
from s3bench.load.profile.quantity import PUT_BYTES_MAX, parse_byte_count
from s3bench.load.profile.sizes import fixed
from s3bench.load.profile.table import THREADS_MAX
from s3bench.units import BadQuantity, exact_bytes

_KIB = 1024
_STEPS_MAX = 64

OBJECTS_MAX = 1000
OBJECTS_MIN = 16
DATA_BYTES = 32 * 1024**2
"""For each size as many objects as make up these bytes, within the limits above.

Not one hot object, which caches would serve, and no more than the emulator can hold: 1.3 GB for the usual sizes.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Numbers of threads and sizes in bytes, both ascending, and the number of operations of each cell."""

    threads: tuple[int, ...]
    sizes_bytes: tuple[int, ...]
    samples: int


_USUAL_SIZES = tuple(_KIB * 2**power for power in range(16))

QUICK = Matrix(threads=(8, 16), sizes_bytes=_USUAL_SIZES, samples=1000)
"""Minutes: 134 GB read."""

FULL = Matrix(threads=(1, 2, 4, 8, 16, 32, 48), sizes_bytes=_USUAL_SIZES, samples=10_000)
"""Hours: 4.7 TB read. The samples carry a p99.9."""


def matrix_phases(matrix: Matrix, like: Job, *, objects: int | None = None, reused: bool = False) -> tuple[Phase, ...]:
    """Plan the phases: for each size one that writes its objects, then one that reads them for each number of threads.

    `like` has the other fields of the jobs. Each size has as many objects as `objects`, or else `DATA_BYTES`, says;
    with `reused` they are those of a data set that exists, and none are written. Objects are written by the largest
    number of threads; these phases too are measured, and their dimensions distinguish them from reads.
    """
    phases: list[Phase] = []
    for size_bytes in matrix.sizes_bytes:
        count = objects or _objects(size_bytes)
        of_size = msgspec.structs.replace(like, sizes=fixed(size_bytes))
        if not reused:
            phases.append(_writing(of_size, size_bytes, count, threads=max(matrix.threads)))
        phases.extend(
            Phase(
                name="get",
                jobs=(
                    msgspec.structs.replace(
                        of_size,
                        mix=(Share(kind=OperationKind.GET),),
                        threads=threads,
                        operations=matrix.samples,
                        objects=count,
                    ),
                ),
                dimensions=_dimensions(size_bytes, threads),
            )
            for threads in matrix.threads
        )
    return tuple(phases)


def _writing(of_size: Job, size_bytes: int, count: int, *, threads: int) -> Phase:
    job = msgspec.structs.replace(of_size, mix=(Share(kind=OperationKind.PUT),), threads=threads, operations=count)
    return Phase(
        name="put",
        jobs=(job,),
        dimensions=(*_dimensions(size_bytes, threads), {"purpose": "preparation"}),
    )


def _dimensions(size_bytes: int, threads: int) -> tuple[dict[str, str], ...]:
    return {"size": exact_bytes(size_bytes, separator=" ")}, {"threads": str(threads)}


def _objects(size_bytes: int) -> int:
    return max(OBJECTS_MIN, min(OBJECTS_MAX, DATA_BYTES // size_bytes))


def parse_threads(text: str) -> tuple[int, ...]:
    """Parse `1,2,4-16` into numbers of threads, ascending; a range doubles from its start and ends with its end."""
    return _parse_list(text, _parse_count, "1,2,4-16")


def parse_sizes_bytes(text: str) -> tuple[int, ...]:
    """Parse `1KiB-32MiB` or `4KiB,1MiB` into bytes, ascending; a range doubles from its start and ends with its end."""
    return _parse_list(text, _parse_size, "1KiB-32MiB")


def _parse_list(text: str, parse: Callable[[str], int], example: str) -> tuple[int, ...]:
    values: set[int] = set()
    for item in text.split(","):
        first_text, dash, last_text = item.partition("-")
        first = parse(first_text)
        last = parse(last_text) if dash else first
        if last < first:
            raise BadQuantity.of(text, f"in which {item.strip()} goes down", f"write it like {example}")
        while first < last:
            values.add(first)
            first *= 2
        values.add(last)
    if len(values) > _STEPS_MAX:
        raise BadQuantity.of(text, f"which is {len(values)} values", f"write at most {_STEPS_MAX}")
    return tuple(sorted(values))


def _parse_count(text: str) -> int:
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()) or not 1 <= int(digits[:20]) <= THREADS_MAX:
        raise BadQuantity.of(text, "not a number of threads", f"write 1 to {THREADS_MAX}, like 1,2,4-16")
    return int(digits)


def _parse_size(text: str) -> int:
    size_bytes = parse_byte_count(text)
    if size_bytes > PUT_BYTES_MAX:
        raise BadQuantity.of(text, "and one PUT takes 5 GiB at most", "write 5GiB or less")
    return size_bytes
