"""Makes a load profile of a fitted workload, and its text with comments on what was fitted."""

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

import yaml

from s3bench.load.fitting.fitted_workload import FittedJob, FittedSizes, FittedWorkload, JobName
from s3bench.load.operation import OperationKind
from s3bench.load.profile.defaults import DEFAULT_JOB
from s3bench.load.profile.form import form_of
from s3bench.load.profile.placement import PlacedProfile
from s3bench.load.profile.profile import Arrivals, Job, KeyDistribution, Phase, Profile, Rate, RateChange, Share
from s3bench.units import render_bytes, render_duration

_WIDTH = 120
_DAY_S = 86_400.0
_HOUR_S = 3600.0
_DIGITS = 3
_EXPONENT_MIN = 0.001
_ALWAYS = frozenset({"name", "mix", "sizes", "threads", "rate", "rates"})


def fitted_profile(workload: FittedWorkload) -> Profile:
    """The profile that makes the workload: one phase, with a job for each group of operations."""
    length_s = min(max(1.0, workload.arrivals.length_s), _DAY_S)
    jobs = tuple(_job(job, workload) for job in workload.jobs if _expressible(job))
    return Profile(phases=(Phase(jobs=jobs, duration_s=round(length_s, _DIGITS)),))


def render_fitted(workload: FittedWorkload, *, version: str) -> str:
    """The profile as a file in YAML, without what is default, below comments on what was fitted and what is left out.

    `version` is that of s3bench.
    """
    comments = [f"Fitted by s3bench {version} to an access log.", ""]
    comments += [f"{name}: {text}" for name, text in summary(workload)]
    if workload.left_out:
        comments += ["", "Left out:", *(f"- {sentence}" for sentence in workload.left_out)]
    profile = fitted_profile(workload)
    usual = _form(Profile(phases=(Phase(jobs=(DEFAULT_JOB,)),)))["jobs"][0]
    form = _form(profile)
    jobs = [
        {key: value for key, value in job.items() if key in _ALWAYS or value != usual.get(key)} for job in form["jobs"]
    ]
    content = yaml.safe_dump(
        {"duration": form["duration"], "jobs": jobs}, sort_keys=False, default_flow_style=None, width=_WIDTH
    )
    return "".join(f"{line}\n" for comment in comments for line in _comment(comment)) + content


def summary(workload: FittedWorkload) -> Iterator[tuple[str, str]]:
    """Yield names and texts of what was fitted."""
    arrivals, popularity, after_write = workload.arrivals, workload.popularity, workload.read_after_write
    of_days = f", a mean day of {arrivals.days:.1f}" if arrivals.days > 1 else ""
    yield "requests", f"{workload.requests:,} in {_length_text(arrivals.length_s)}{of_days}"
    counts = workload.counts
    shares = sorted(counts.items(), key=lambda each: -each[1])
    yield "mix", ", ".join(f"{kind} {100 * count / sum(counts.values()):.2f} %" for kind, count in shares)
    for job in workload.jobs:
        if job.sizes is not None:
            yield f"sizes of {job.name}", _sizes_text(job.sizes)
    if popularity is not None:
        law = (
            f"all objects alike (Zipf exponent below {popularity.exponent_high:.3f})"
            if popularity.is_even
            else f"Zipf exponent {popularity.exponent:.3f} (95 % interval {popularity.exponent_low:.3f} to "
            f"{popularity.exponent_high:.3f})"
        )
        sampled = (
            "" if popularity.sampled_share == 1 else f", from a sample of {popularity.sampled_share:.2%} of the keys"
        )
        yield "popularity", f"{law} over {popularity.objects:,} objects, maximum likelihood of the frequencies{sampled}"
        once = f"{popularity.once_share_low:.1%} to {popularity.once_share_high:.1%}"
        read = f"{popularity.keys:,} were read in {popularity.reads:,} reads"
        yield "keys", f"{read}, {popularity.once_share:.1%} of them once (95 % interval {once})"
    for planned in fitted_profile(workload).phases[0].jobs:
        if planned.objects is not None:
            size = render_bytes(planned.objects * planned.sizes.mean_bytes)
            yield f"objects of {planned.name}", f"{planned.objects:,} with {size}, which are written before"
    yield "rate", _rate_text(workload)
    if after_write is not None:
        text = f"{after_write.read / after_write.written:.1%} of the keys that were written were read later"
        if after_write.read:
            text += (
                f", half of them within {render_duration(after_write.p50_s)} "
                f"({after_write.p50_operations:,.0f} operations), nine of ten within "
                f"{render_duration(after_write.p90_s)} ({after_write.p90_operations:,.0f})"
            )
        yield "read after write", text


def _length_text(length_s: float) -> str:
    return f"{length_s / _HOUR_S:.1f} h" if length_s >= 2 * _HOUR_S else render_duration(length_s)


def _sizes_text(sizes: FittedSizes) -> str:
    p50, p90, p99 = map(render_bytes, sizes.quantiles_bytes)
    counted = "each key counted once" if sizes.is_by_key else "each request counted"
    return f"p50 {p50}, p90 {p90}, p99 {p99}, mean {render_bytes(sizes.mean_bytes)}; {counted}"


def _rate_text(workload: FittedWorkload) -> str:
    arrivals = workload.arrivals
    rates = [level.per_s for level in _whole_rates(workload)]
    mean_per_s = workload.requests / (arrivals.length_s * max(1.0, arrivals.days))
    text = f"{mean_per_s:.4g} operations/s on average"
    if len(rates) > 1:
        text += f", {min(rates):.4g} to {max(rates):.4g} in {len(rates)} stretches"
    if arrivals.dispersion is not None:
        window = render_duration(arrivals.dispersion_window_s)
        text += f"; index of dispersion in windows of {window}: {arrivals.dispersion:.3g} (Poisson arrivals: 1)"
    return text


def _whole_rates(workload: FittedWorkload) -> tuple[RateChange, ...]:
    """The rates of all jobs together."""
    times_s = sorted({level.after_s for job in workload.jobs for level in job.rates})
    return tuple(
        RateChange(
            after_s=at_s,
            per_s=sum(
                next(level.per_s for level in reversed(job.rates) if level.after_s <= at_s) for job in workload.jobs
            ),
        )
        for at_s in times_s
    )


def _job(job: FittedJob, workload: FittedWorkload) -> Job:
    counts = _expressible(job)
    total = sum(counts.values())
    kept = total / sum(job.counts.values())
    first, *changes = (RateChange(after_s=each.after_s, per_s=_rounded(each.per_s * kept)) for each in job.rates)
    popularity = workload.popularity if job.name is JobName.READS or job.overwrites else None
    is_zipf = popularity is not None and not popularity.is_even
    return Job(
        name=str(job.name),
        mix=tuple(Share(kind=OperationKind(kind), weight=_rounded(100 * n / total)) for kind, n in counts.items()),
        sizes=DEFAULT_JOB.sizes if job.sizes is None else job.sizes.sizes,
        threads=workload.threads,
        rate=Rate(
            per_s=first.per_s,
            arrivals=Arrivals.CONSTANT if workload.is_evenly_spaced else Arrivals.POISSON,
            changes=tuple(changes),
        ),
        objects=None if popularity is None else popularity.objects,
        keys=KeyDistribution.ZIPF if is_zipf else KeyDistribution.UNIFORM,
        zipf_exponent=max(_EXPONENT_MIN, round(popularity.exponent, _DIGITS))
        if popularity is not None and is_zipf
        else 1.0,
        popular_sizes=job.popular_sizes if is_zipf else (),
        range_bytes=job.range_bytes,
        part_bytes=DEFAULT_JOB.part_bytes if job.part_bytes is None else job.part_bytes,
        overwrite=job.overwrites,
    )


def _expressible(job: FittedJob) -> Mapping[str, int]:
    """The operations that a profile can make: deletes are of objects that it has written."""
    counts = dict(job.counts)
    deletes = min(counts.pop(str(OperationKind.DELETE), 0), counts.get(str(OperationKind.PUT), 0))
    return counts | ({str(OperationKind.DELETE): deletes} if deletes else {})


def _rounded(number: float) -> float:
    """A number with five significant digits, so that what is rare stays above 0."""
    return float(f"{number:.5g}")


def _form(profile: Profile) -> dict[str, Any]:
    """The keys of the first phase."""
    phase: dict[str, Any] = form_of(PlacedProfile(profile=profile))["phases"][0]
    return phase


def _comment(text: str) -> list[str]:
    return wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="#   ") if text else ["#"]
