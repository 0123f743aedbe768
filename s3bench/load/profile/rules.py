"""Checks what must agree within a job, a phase and a profile, whether from a file or from options.

Each rule yields the key of a profile file and the complaint; callers add the place, a JSON path or an option.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from s3bench.load.operation import WRITING, OperationKind
from s3bench.load.profile.profile import ZIPF_OBJECTS_MAX, Job, KeyDistribution, Payload, PayloadKind, Phase, RateChange
from s3bench.load.profile.quantity import PUT_BYTES_MAX
from s3bench.spec.reader import Complaint
from s3bench.units import render_bytes

Fault = tuple[str, Complaint]
"""A key of the job, phase or profile, and what is wrong there."""

_PARTS_MAX = 10_000
"""S3's limit (https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html)."""


def check_job(job: Job) -> Iterator[Fault]:
    """Yield the contradictions within a job."""
    kinds = set(job.kinds)
    largest = job.sizes.size_bytes_max
    yield from _check_range(job)
    if job.overwrite and OperationKind.PUT not in kinds:
        yield "overwrite", Complaint("needs put, and the mix has none", "take it out, or add put to the mix")
    elif job.overwrite and OperationKind.DELETE in kinds:
        yield (
            "overwrite",
            Complaint("cannot be combined with delete, which deletes new objects", "take out one of the two"),
        )
    if job.keys is KeyDistribution.ZIPF and (job.objects or 0) > ZIPF_OBJECTS_MAX:
        yield (
            "objects",
            Complaint(f"is more than the {ZIPF_OBJECTS_MAX:,} that zipf can rank", "write fewer, or use uniform keys"),
        )
    yield from _check_deletes(job)
    if OperationKind.PUT in kinds and largest > PUT_BYTES_MAX:
        yield (
            "sizes",
            Complaint(
                f"has objects of {render_bytes(largest)}, and one PUT takes 5 GiB at most", "use multipart for them"
            ),
        )
    if OperationKind.MULTIPART in kinds and largest > job.part_bytes * _PARTS_MAX:
        least = -(-largest // _PARTS_MAX)
        yield (
            "part_size",
            Complaint(f"makes more than {_PARTS_MAX} parts of {render_bytes(largest)}", f"write {least} or more"),
        )


def _check_deletes(job: Job) -> Iterator[Fault]:
    """A delete of a mix takes an object that the mix has written; where there is none, it would be left out."""
    weights = {share.kind: share.weight for share in job.mix}
    deletes = weights.get(OperationKind.DELETE, 0.0)
    writes = sum(weight for kind, weight in weights.items() if kind in WRITING)
    if not deletes or len(weights) == 1:
        return
    if not writes:
        yield "mix", Complaint("has delete and no operation that writes objects to delete", "add put to the mix")
    elif deletes > writes and not math.isclose(deletes, writes):
        what = f"deletes more often (weight {deletes:g}) than it writes objects to delete ({writes:g})"
        yield "mix", Complaint(what, f"give delete {writes:g} or less")


def _check_range(job: Job) -> Iterator[Fault]:
    if job.range_bytes is None:
        if OperationKind.RANGE in job.kinds:
            yield "range", Complaint("is missing", "add the size of a range, e.g. 64KiB")
    elif OperationKind.RANGE not in job.kinds:
        yield "range", Complaint("needs the operation range, and the mix has none", "take it out, or use range")
    elif job.range_bytes > job.sizes.size_bytes_max:
        yield (
            "range",
            Complaint(
                f"is {render_bytes(job.range_bytes)}, more than any object has",
                f"write {job.sizes.size_bytes_max} or less",
            ),
        )


def check_rates(levels: Sequence[RateChange]) -> Iterator[Fault]:
    """Yield the contradictions within the rates of a job, of which each holds until the next."""
    if levels[0].after_s:
        yield "rates", Complaint("begins after the start of the phase", "give the first rate `after: 0s`")
    for earlier, later in pairwise(levels):
        if later.after_s <= earlier.after_s:
            what = f"has a rate after {later.after_s:g} s behind one after {earlier.after_s:g} s"
            yield "rates", Complaint(what, "write the rates in the order of their times")
            return
    if not any(level.per_s for level in levels):
        yield "rates", Complaint("plans no operation", "write a rate above 0, or take the job out")


def check_phase(phase: Phase) -> Iterator[Fault]:
    """Yield the contradictions within a phase, its jobs excluded."""
    duration_s = math.inf if phase.duration_s is None else phase.duration_s
    for key, seconds in (("warmup", phase.warmup_s), ("ramp", phase.ramp_s)):
        if seconds >= duration_s:
            yield key, Complaint(f"takes {seconds:g} s of the phase's {duration_s:g} s", "make it shorter")
        elif key == "warmup" and math.ceil(seconds) >= duration_s:
            what = (
                f"of {seconds:g} s leaves nothing to measure: measuring begins at the next whole second, and the phase "
            )
            yield key, Complaint(what + f"ends after {duration_s:g} s", "make it shorter, or the phase longer")
    if phase.ramp_s and any(job.rate is not None and job.rate.changes for job in phase.jobs):
        yield "ramp", Complaint("cannot be combined with `rates`", "take it out, and write lower rates first")
    if phase.stable and phase.duration_s is None:
        yield "stable", Complaint("needs a time limit", "add duration")


def check_payload(payload: Payload) -> Iterator[Fault]:
    """Yield the contradictions within the contents of objects."""
    if payload.kind is PayloadKind.ZERO and payload.compressible != 1:
        yield "compressible", Complaint("needs random data, and the payload is zeros", "take out one of the two")
