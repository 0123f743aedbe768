"""The interface of the workers of a run, on this machine (`worker_pool`) or on many (`s3bench.cluster.worker_pool`)."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.engine.message import BeginPhase, PhaseEnded, PreparePhase, WorkerLost

PhaseReport = IntervalRecord | PhaseEnded | WorkerLost | None
"""A report during a phase: a second of a worker, its end, the loss of a node, or `None` after a second without."""


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

    def perform(self, orders: tuple[BeginPhase, ...]) -> Iterator[PhaseReport]:
        """Let each worker do its part, all from the same moment on; yields their reports.

        Yields `None` about once a second without one. Raises `S3BenchError` if the run cannot continue, after all
        reports that there are.
        """

    def stop(self) -> None:
        """Let all workers start no more operations; their reports still come."""

    def memory_bytes_max(self) -> int | None:
        """The peak memory of each worker, added up; `None` if a kernel does not report it."""


PoolMaker = Callable[[int, Path], Workers]
"""Makes so many workers; the directory is private to them."""
