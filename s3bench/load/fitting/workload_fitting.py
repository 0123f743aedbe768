"""Fits a workload to what was seen of a log."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from s3bench.errors import BadInput
from s3bench.load.fitting.arrival_counts import ArrivalSeries
from s3bench.load.fitting.fitted_workload import (
    QUANTILES,
    ArrivalsOverTime,
    FittedJob,
    FittedSizes,
    FittedWorkload,
    JobName,
    ReadAfterWrite,
)
from s3bench.load.fitting.left_out import what_is_left_out
from s3bench.load.fitting.log_histogram import LogHistogram, ks_distance, sizes_of
from s3bench.load.fitting.log_observer import JOB_NAMES, JOBS, READS_OF_KEYS, LogObserver
from s3bench.load.fitting.popularity import Popularity, Spectrum, expected_counts, fit_popularity
from s3bench.load.fitting.rate_curve import RateCurve, fit_rates
from s3bench.load.operation import OperationKind
from s3bench.load.profile.defaults import DEFAULT_JOB
from s3bench.load.profile.profile import RateChange
from s3bench.load.profile.quantity import PART_BYTES_MIN, PUT_BYTES_MAX
from s3bench.load.profile.sizes import SIZE_BYTES_MAX
from s3bench.visible import visible

EVEN_DISPERSION = 0.3
"""Counts that vary less than this belong to arrivals that are evenly spaced."""

POPULAR_MAX = 64
"""So many of the most popular keys have sizes of their own in a profile."""

_POPULAR_READS_MIN = 10
_POINTS_MAX = 300  # of a curve on the page
_KOLMOGOROV = 1.63
"""The 99th percentile of Kolmogorov's distribution."""

_THREADS_MIN, _THREADS_MAX = 16, 4096
ELAPSED_S = 0.1
"""How long a request takes where the log does not say it: a small object of S3's, p90 (docs/network.md)."""

_MARGIN = 2
_DIGITS = 5
_KEYS_MIN = 30
_EFFECTIVE_MAX = 1000.0
"""Of a sample, in which the most popular keys may be missing."""


def fit_workload(seen: LogObserver) -> FittedWorkload:
    """Fit the workload. Raises `BadInput` for a log without a request that a profile can express."""
    requests = sum(seen.counts.values())
    if not requests:
        names = ", ".join(visible(name) for name, _ in seen.others.most_common(3))
        why = f"it has no operation of a load profile that succeeded{'; it has ' * bool(names)}{names}"
        if not seen.others and not seen.failed:
            why = "no request is in the part that --from, --to and --for select"
        raise BadInput(
            "no request of the log can be fitted",
            why,
            "pass a log with reads or writes of objects, or another part of it with --from and --to",
        )
    series = seen.arrivals.series()
    curve = fit_rates(series)
    popularity = _popularity(seen)
    jobs = tuple(_jobs(seen, curve))
    after_write = _read_after_write(seen, series)
    return FittedWorkload(
        requests=requests,
        jobs=jobs,
        arrivals=_over_time(series, curve),
        popularity=popularity,
        frequencies=_frequencies(seen, popularity),
        read_after_write=after_write,
        threads=_threads(seen, curve),
        is_evenly_spaced=curve.dispersion is not None and curve.dispersion < EVEN_DISPERSION,
        left_out=tuple(what_is_left_out(seen, jobs, curve, popularity, after_write)),
    )


def _jobs(seen: LogObserver, curve: RateCurve) -> Iterator[FittedJob]:
    for index, name in enumerate(JOB_NAMES):
        counts = {str(kind): seen.counts[kind] for kind, job in JOBS.items() if job is name and seen.counts[kind]}
        if not counts:
            continue
        sizes = _sizes(seen, name)
        largest = DEFAULT_JOB.sizes.size_bytes_max if sizes is None else sizes.sizes.size_bytes_max
        yield FittedJob(
            name=name,
            counts=counts,
            sizes=sizes,
            rates=_levels(curve, index),
            range_bytes=_range_bytes(seen, largest) if OperationKind.RANGE in counts else None,
            part_bytes=_part_bytes(seen, largest) if name is JobName.UPLOADS else None,
            overwrites=name is JobName.WRITES and _overwrites(seen),
            popular_sizes=_popular_sizes(seen, largest) if name is JobName.READS else (),
        )


def _levels(curve: RateCurve, group: int) -> tuple[RateChange, ...]:
    """The rates of a group; those that are the same one after the other are one."""
    levels: list[RateChange] = []
    for after_s, per_s in zip(curve.after_s, curve.per_s, strict=True):
        level = RateChange(after_s=round(after_s, 3), per_s=_rounded(per_s[group]))
        if levels and level.after_s <= levels[-1].after_s:
            continue  # the one before is over within a millisecond
        if not levels or levels[-1].per_s != level.per_s:
            levels.append(level)
    return tuple(levels)


def _sizes(seen: LogObserver, name: JobName) -> FittedSizes | None:
    """The sizes of a job's objects, of which each key counts once unless popular keys have other sizes."""
    by_request, is_by_key = seen.sizes[name], False
    if name is JobName.UPLOADS and not by_request.count and seen.parts.count:
        by_request = LogHistogram()  # the ends of uploads do not say how large they are
        by_request.add(round(seen.parts.mean * seen.parts.count / max(1, seen.counts[OperationKind.MULTIPART])))
    if not by_request.count:
        return None
    found = by_request
    if name is JobName.READS or (name is JobName.WRITES and _overwrites(seen)):
        keys = [(key.reads if name is JobName.READS else key.writes, key.size_bytes) for key in seen.keys]
        known = [(count, size_bytes) for count, size_bytes in keys if count and size_bytes is not None]
        by_key = LogHistogram()
        for _, size_bytes in known:
            by_key.add(size_bytes)
        if len(known) >= _KEYS_MIN and _is_independent(by_request, by_key, [count for count, _ in known], seen):
            found, is_by_key = by_key, True
    largest = SIZE_BYTES_MAX if name is JobName.UPLOADS else PUT_BYTES_MAX
    sizes = found.sizes(largest=largest)
    if not sizes.size_bytes_max:
        sizes = sizes_of([1])  # no multipart upload, and no range, is empty
    return FittedSizes(
        sizes=sizes,
        count=found.count,
        quantiles_bytes=found.quantiles(QUANTILES),
        mean_bytes=found.mean,
        profile_mean_bytes=sizes.mean_bytes,
        is_by_key=is_by_key,
        steps=_steps(found),
    )


def _is_independent(by_request: LogHistogram, by_key: LogHistogram, reads: Sequence[int], seen: LogObserver) -> bool:
    """Whether the sizes of requests may be those of keys drawn by chance, whatever their popularity.

    Kolmogorov and Smirnov's test, with the number of keys that would have as much weight if all were equally popular
    (Kish, Survey Sampling, 1965): few keys that are read very often show nothing of the sizes of popular keys.
    """
    weights = np.asarray(reads, dtype=np.float64)
    effective = weights.sum() ** 2 / (weights**2).sum()
    if seen.keys.share < 1:
        effective = min(effective, _EFFECTIVE_MAX)
    keys = effective * by_key.count / (effective + by_key.count)
    return ks_distance(by_request, by_key) * math.sqrt(keys) < _KOLMOGOROV


def _popular_sizes(seen: LogObserver, largest: int) -> tuple[int, ...]:
    """The sizes of the most popular keys; none of a sample, in which some of them may be missing."""
    if seen.keys.share < 1:
        return ()
    known = [(key.reads, key.size_bytes) for key in seen.keys if key.size_bytes and key.reads >= _POPULAR_READS_MIN]
    most = sorted(known, key=lambda key: -key[0])[:POPULAR_MAX]
    return tuple(min(size_bytes, largest) for _, size_bytes in most)


def _overwrites(seen: LogObserver) -> bool:
    """Whether puts write to keys that exist: most of them did, and a profile that deletes writes new ones."""
    return 2 * seen.puts_again > seen.puts and not seen.counts[OperationKind.DELETE]


def _range_bytes(seen: LogObserver, largest: int) -> int:
    """The usual length of a range, within the largest object."""
    usual = seen.ranges.quantiles((0.5,))[0] if seen.ranges.count else largest
    return max(1, min(usual, largest))


def _part_bytes(seen: LogObserver, largest: int) -> int:
    """The usual size of a part, within what S3 allows."""
    usual = seen.parts.quantiles((0.5,))[0] if seen.parts.count else 8 * 1024**2
    return min(max(usual, PART_BYTES_MIN, -(-largest // 10_000)), PUT_BYTES_MAX)


def _steps(histogram: LogHistogram) -> tuple[tuple[float, float], ...]:
    means, counts = histogram.steps()
    shares = np.cumsum(counts) / counts.sum()
    chosen = np.unique(np.linspace(0, len(means) - 1, min(len(means), _POINTS_MAX)).round().astype(int))
    return tuple((float(means[place]), float(shares[place])) for place in chosen)


def _popularity(seen: LogObserver) -> Popularity | None:
    counts = [key.reads for key in seen.keys if key.reads]
    if not counts:
        return None
    reads = sum(count for kind, count in seen.counts.items() if kind in READS_OF_KEYS)
    return fit_popularity(Spectrum(counts, reads=reads, share=seen.keys.share))


def _frequencies(seen: LogObserver, popularity: Popularity | None) -> tuple[tuple[int, float, float], ...]:
    if popularity is None:
        return ()
    counts = np.sort(np.array([key.reads for key in seen.keys if key.reads]))[::-1]
    ranks = np.unique(np.geomspace(1, len(counts), min(len(counts), _POINTS_MAX)).round().astype(int))
    levels = sorted({int(counts[rank - 1]) for rank in ranks}, reverse=True)
    above = [float((counts >= level).sum()) / seen.keys.share for level in levels]
    return tuple(zip(levels, above, expected_counts(popularity, levels), strict=True))


def _read_after_write(seen: LogObserver, series: ArrivalSeries) -> ReadAfterWrite | None:
    written = [key for key in seen.keys if key.written_at_s is not None]
    if not written:
        return None
    pairs = [
        (key.written_at_s, read_at_s)
        for key in written
        if key.written_at_s is not None and (read_at_s := key.first_read_after_write_at_s) is not None
    ]
    if not pairs:
        return ReadAfterWrite(written=len(written), read=0)
    times_s = np.array(pairs)
    distances_s = times_s[:, 1] - times_s[:, 0]
    between = distances_s * (series.counts.sum() / series.covered_s.sum())
    if series.days <= 1:
        ends_s = series.since_s + np.concatenate(([0.0], np.cumsum(series.covered_s)))
        before = np.interp(times_s, ends_s, np.concatenate(([0.0], np.cumsum(series.counts.sum(axis=0)))))
        between = before[:, 1] - before[:, 0]
    p50_s, p90_s = np.quantile(distances_s, (0.5, 0.9)).tolist()
    p50_operations, p90_operations = np.quantile(between, (0.5, 0.9)).tolist()
    return ReadAfterWrite(
        written=len(written),
        read=len(pairs),
        p50_s=p50_s,
        p90_s=p90_s,
        p50_operations=p50_operations,
        p90_operations=p90_operations,
    )


def _over_time(series: ArrivalSeries, curve: RateCurve) -> ArrivalsOverTime:
    counts = series.counts.sum(axis=0)
    size = math.ceil(len(counts) / _POINTS_MAX)
    starts = np.arange(0, len(counts), size)
    per_s = np.add.reduceat(counts, starts) / np.add.reduceat(series.covered_s, starts)
    return ArrivalsOverTime(
        length_s=curve.length_s,
        days=series.days,
        window_s=size * series.width_s,
        per_s=tuple(per_s.tolist()),
        dispersion=curve.dispersion,
        dispersion_window_s=series.width_s,
    )


def _threads(seen: LogObserver, curve: RateCurve) -> int:
    """Twice as many as are in flight by Little's law when the rate is highest and requests take as long as most."""
    elapsed_s = seen.elapsed_us.quantiles((0.9,))[0] / 1e6 if seen.elapsed_us.count else ELAPSED_S
    highest_per_s = max(sum(row) for row in curve.per_s)
    return min(max(_THREADS_MIN, math.ceil(_MARGIN * highest_per_s * elapsed_s)), _THREADS_MAX)


def _rounded(number: float) -> float:
    """A number with five digits: a profile is to be read, and nothing is known more precisely."""
    return float(f"{number:.{_DIGITS}g}")
