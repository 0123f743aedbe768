"""The model of a workload, as fitted to a log: figures alone, without keys, buckets or addresses."""

from enum import StrEnum

import msgspec

from s3bench.load.fitting.popularity import Popularity
from s3bench.load.profile.profile import RateChange
from s3bench.load.profile.sizes import Sizes


class JobName(StrEnum):
    """The jobs of a fitted profile: operations that have one distribution of sizes, and one rate over time."""

    READS = "reads"
    WRITES = "writes"
    UPLOADS = "uploads"


QUANTILES = (0.5, 0.9, 0.99)
"""The shares of requests whose sizes are stated."""


class FittedSizes(msgspec.Struct, frozen=True, kw_only=True):
    """The sizes of the objects of a job.

    `quantiles_bytes` are those of `QUANTILES` in the log. With `is_by_key` each key counts once, else each request.
    `profile_mean_bytes` is the mean of the sizes in the profile. `steps` is the distribution function of the log:
    sizes, and the shares of objects that are not larger.
    """

    sizes: Sizes
    count: int
    quantiles_bytes: tuple[int, ...]
    mean_bytes: float
    profile_mean_bytes: float
    is_by_key: bool = False
    steps: tuple[tuple[float, float], ...] = ()


class FittedJob(msgspec.Struct, frozen=True, kw_only=True):
    """The operations of one job: how often each kind occurred, its sizes, and its rates from time to time.

    `popular_sizes` are those of the keys that were read most, the first of all first; none of a sample of keys.
    """

    name: JobName
    counts: dict[str, int]
    sizes: FittedSizes | None
    rates: tuple[RateChange, ...]
    range_bytes: int | None = None
    part_bytes: int | None = None
    overwrites: bool = False
    popular_sizes: tuple[int, ...] = ()


class ArrivalsOverTime(msgspec.Struct, frozen=True, kw_only=True):
    """Arrivals of all operations: the length of the log, and the counts of successive windows of `window_s`.

    Of a log of more than one of `days`, the counts are those of one mean day from midnight (UTC) on. `dispersion` is
    the variance over the mean of the counts in `dispersion_window_s` around the fitted rates.
    """

    length_s: float
    days: float
    window_s: float
    per_s: tuple[float, ...]
    dispersion: float | None
    dispersion_window_s: float


class ReadAfterWrite(msgspec.Struct, frozen=True, kw_only=True):
    """How soon keys were read after they were first written in the log.

    `written` keys of the sample were written and `read` of these were read later; of these the median and the 90th
    percentile of the time between, and of the operations between.
    """

    written: int
    read: int
    p50_s: float = 0.0
    p90_s: float = 0.0
    p50_operations: float = 0.0
    p90_operations: float = 0.0


class FittedWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """All that was fitted to a log, and in `left_out` what a profile does not express, a sentence each.

    `frequencies` are counts of reads with how many keys were read at least as often: in the log, and as expected of the
    fitted popularity. `threads` is how many requests may be in flight.
    """

    requests: int
    jobs: tuple[FittedJob, ...]
    arrivals: ArrivalsOverTime
    popularity: Popularity | None
    frequencies: tuple[tuple[int, float, float], ...]
    read_after_write: ReadAfterWrite | None
    threads: int
    is_evenly_spaced: bool
    left_out: tuple[str, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How often each kind of operation occurred."""
        return {kind: count for job in self.jobs for kind, count in job.counts.items()}
