"""States what of a log a fitted profile does not express."""

from collections.abc import Iterator, Sequence

from s3bench.load.fitting.fitted_workload import FittedJob, JobName, ReadAfterWrite
from s3bench.load.fitting.log_observer import LogObserver
from s3bench.load.fitting.popularity import OBJECTS_FACTOR_MAX, Popularity, expected_top_share
from s3bench.load.fitting.rate_curve import RateCurve
from s3bench.load.operation import OperationKind
from s3bench.units import render_bytes, render_duration
from s3bench.visible import visible

_BURSTY = 1.5
_OTHERS_SHOWN = 5
_SHARE_MIN = 0.01
_MEAN_OFF = 0.05
_FAR = 2.0


def what_is_left_out(
    seen: LogObserver,
    jobs: Sequence[FittedJob],
    curve: RateCurve,
    popularity: Popularity | None,
    after_write: ReadAfterWrite | None,
) -> Iterator[str]:
    """Yield a sentence for each."""
    yield from _requests(seen)
    yield from _sizes(jobs)
    if curve.dispersion is not None and curve.dispersion > _BURSTY:
        yield (
            f"bursts: arrivals in {render_duration(curve.window_s)} vary {curve.dispersion:.3g} times as much as the "
            "Poisson arrivals of the profile"
        )
    if after_write is not None and after_write.read:
        share = after_write.read / after_write.written
        yield (
            f"reads of what the log wrote ({share:.1%} of the written keys were read later): the profile reads "
            "objects that are there from the start"
        )
    if any(job.name is JobName.READS for job in jobs):
        yield from _popularity(popularity)


def _popularity(popularity: Popularity | None) -> Iterator[str]:
    if popularity is None:
        yield "the popularity of keys: too few keys or reads show it, and the profile reads all objects alike"
        return
    expected = expected_top_share(popularity)
    if popularity.top_share > _FAR * expected:
        yield (
            f"the most popular key, which has {popularity.top_share:.1%} of the reads: the most popular object of the "
            f"profile has {expected:.1%}"
        )
    if popularity.objects >= OBJECTS_FACTOR_MAX * popularity.keys * (1 - 1e-6):
        yield f"objects that are read seldom: more than {popularity.objects:,} objects would explain the log as well"
    if popularity.sampled_share < 1 and not popularity.is_even:
        yield "the sizes of the most popular keys, which a sample of the keys does not show"
    yield "how popularity changes with time, and which keys are read together"


def _requests(seen: LogObserver) -> Iterator[str]:
    succeeded = sum(seen.counts.values())
    failed = sum(seen.failed.values())
    if failed:
        statuses = ", ".join(f"{count:,} with status {status}" for status, count in seen.failed.most_common(3))
        yield f"requests that did not succeed: {failed:,} ({failed / (failed + succeeded):.2%}), {statuses}"
    if seen.others:
        names = [f"{visible(name)} ({count:,})" for name, count in seen.others.most_common(_OTHERS_SHOWN)]
        more = len(seen.others) - len(names)
        yield f"operations that no profile has: {', '.join(names)}{f' and {more} more' if more else ''}"
    deletes, puts = seen.counts[OperationKind.DELETE], seen.counts[OperationKind.PUT]
    if deletes > puts:
        yield f"{deletes - puts:,} of {deletes:,} deletes: a profile deletes only what it has written"
    if seen.puts and min(seen.puts_again, seen.puts - seen.puts_again) > _SHARE_MIN * seen.puts:
        share = seen.puts_again / seen.puts
        what = "existing keys" if 2 * seen.puts_again > seen.puts and not deletes else "new keys"
        yield f"{share:.1%} of the puts are to keys that were known already; those of the profile are all to {what}"
    if seen.ranges.count:
        low, high = seen.ranges.quantiles((0.1, 0.9))
        if low != high:
            yield (
                f"the lengths of ranges, {render_bytes(low)} to {render_bytes(high)} for eight of ten, and where they "
                "begin: the profile has the median and random places"
            )


def _sizes(jobs: Sequence[FittedJob]) -> Iterator[str]:
    for job in jobs:
        sizes = job.sizes
        if sizes is None:
            if set(job.counts) - {OperationKind.LIST}:
                yield f"the sizes of {job.name}, which the log does not have: the profile has the default"
            continue
        if abs(sizes.profile_mean_bytes - sizes.mean_bytes) > _MEAN_OFF * sizes.mean_bytes:
            yield (
                f"{job.name}: the mean size is {render_bytes(sizes.profile_mean_bytes)} in the profile and "
                f"{render_bytes(sizes.mean_bytes)} in the log"
            )
        if job.name is JobName.READS and not sizes.is_by_key:
            yield "reads: popular keys have other sizes than others, and the profile has the sizes of requests"
