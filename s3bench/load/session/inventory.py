"""Counts the objects of a run: for each choice of sizes, those numbered from 0 without a gap.

It tracks what phases need and leave. Objects after a gap stay in the bucket until the run is cleaned up, and are not
read.
"""

from collections.abc import Mapping, Sequence

import msgspec

from s3bench.load.engine.message import PhaseEnded
from s3bench.load.engine.objects import FAR
from s3bench.load.engine.schedule import first_workers
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import Job, Phase
from s3bench.load.profile.sizes import Sizes

OBJECTS = 1000
"""Default size of a data set."""

_FILLING = frozenset({OperationKind.PUT, OperationKind.MULTIPART})


class Inventory:
    """The objects of one run. `present` tells what a run that is used again has, by the slots of the sizes.

    If it `is_reused`, phases add nothing to its data set.
    """

    def __init__(self, present: Mapping[Sizes, int] | None = None, *, is_reused: bool = False) -> None:
        self._available = {sizes.slots: count for sizes, count in (present or {}).items()}
        self._is_reused = is_reused
        self._loose = 1

    def available(self, sizes: Sizes) -> int:
        """How many objects of these sizes there are."""
        return self._available.get(sizes.slots, 0)

    def set_available(self, sizes: Sizes, count: int) -> None:
        """Set the number of objects of these sizes."""
        self._available[sizes.slots] = count

    def wanted(self, job: Job) -> int:
        """How many objects of the data set a job reads; 0 for one that only writes new ones."""
        if not job.needs_objects:
            return 0
        return job.objects or self.available(job.sizes) or OBJECTS

    def settled(self, phase: Phase) -> Phase:
        """The phase with the number of objects of each job filled in."""
        jobs = tuple(msgspec.structs.replace(job, objects=self.wanted(job)) for job in phase.jobs)
        return msgspec.structs.replace(phase, jobs=jobs)

    def first_numbers(self, filling: Sequence[bool]) -> tuple[int, ...]:
        """Where the new objects of each job begin: at 0 if it is `filling` the data set, else far from all others."""
        numbers = []
        for fills in filling:
            numbers.append(0 if fills else FAR * self._loose)
            self._loose += 1
        return tuple(numbers)

    def fills(self, job: Job, phase: Phase) -> bool:
        """Whether what a job writes becomes the data set: no other has its sizes, and there are no such objects yet."""
        others = sum(other.sizes.slots == job.sizes.slots for other in phase.jobs) > 1
        only_new = set(job.kinds) <= _FILLING and not job.overwrite
        return only_new and not others and not self.available(job.sizes) and not self._is_reused

    def after(self, phase: Phase, filling: Sequence[bool], ended: Sequence[PhaseEnded]) -> None:
        """Update the counts after a phase that wrote or deleted; `filling` is `fills` of each job before it."""
        first = first_workers(phase, len(ended))
        for index, job in enumerate(phase.jobs):
            if filling[index]:
                in_order = (*ended[first[index] :], *ended[: first[index]])
                writers = in_order[: job.threads]  # a worker without a thread writes nothing, and has no numbers
                self.set_available(job.sizes, _gapless([report.written[index] for report in writers]))
            elif job.kinds == (OperationKind.DELETE,):
                self.set_available(job.sizes, 0)


def _gapless(written: Sequence[int]) -> int:
    """How many numbers from 0 on are there, when share w of W wrote `written[w]` numbers w, w + W, w + 2 W ..."""
    return min((count * len(written) + worker for worker, count in enumerate(written)), default=0)
