"""The workers of a run as whoever coordinates it sees them, be they on this machine (`pool`) or on many.

Owns the interface, and nothing else.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.message import (
    BeginPhase,
    PhaseEnded,
    PreparePhase,
    WorkerLost,
)

Told = IntervalRecord | PhaseEnded | WorkerLost | None
"""What a phase brings: a second of a worker, its end, the loss of a node, or nothing for about a second."""


class Workers(AbstractContextManager["Workers"], Protocol):
    """`workers` processes on `nodes` machines, alive while the context lasts; worker w is on node w modulo `nodes`."""

    @property
    def workers(self) -> int:
        """How many there are, over all nodes."""

    @property
    def nodes(self) -> int:
        """How many machines they are on."""

    def prepare(self, orders: tuple[PreparePhase, ...]) -> None:
        """Let each worker get ready for its order. Raises `S3BenchError`."""

    def perform(self, orders: tuple[BeginPhase, ...]) -> Iterator[Told]:
        """Let each worker do its part, all from the same moment on; gives what they tell.

        Gives `None` about once a second when nothing came. Raises `S3BenchError` when there is nothing to go on with.
        """

    def stop(self) -> None:
        """Let all workers start nothing any more; their reports still come."""

    def memory_bytes_max(self) -> int | None:
        """The most memory that each worker has had, added up; `None` where a kernel does not tell."""


PoolMaker = Callable[[int, Path], Workers]
"""Makes so many workers; the directory is private to them."""
