"""Our own form of a load profile: builds a profile from the keys of a file or of options, and renders it as keys.

A file may leave out `phases` when it has one, and `jobs` when a phase has one; their keys stand one level higher then.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from s3bench.load.profile.defaults import DEFAULT_JOB, DURATION_S
from s3bench.load.profile.placement import PlacedProfile
from s3bench.load.profile.profile import (
    Arrivals,
    Job,
    KeyDistribution,
    PayloadKind,
    Phase,
    Profile,
    Rate,
    RateChange,
    Share,
)
from s3bench.load.profile.rules import Fault, check_job, check_payload, check_phase, check_rates
from s3bench.load.profile.table import (
    JOB_OPTIONS,
    PHASE_OPTIONS,
    PROFILE,
    RUN_OPTIONS,
    LoadOption,
    Values,
    in_file,
    is_given,
)
from s3bench.spec.reader import Complaint, Report, Steps

S = TypeVar("S", bound=msgspec.Struct)

_JOB_FIELDS = tuple(option.field for option in JOB_OPTIONS)
_PHASE_FIELDS = ("name", "jobs", *(option.field for option in PHASE_OPTIONS), *_JOB_FIELDS)
_KEYS = {option.field: option.key for option in (*RUN_OPTIONS, *PHASE_OPTIONS, *JOB_OPTIONS)}


def read_form(value: object, report: Report) -> PlacedProfile:
    """Return what a decoded file says; problems go to `report`, and blanks stand for what is wrong."""
    keys = PROFILE.read(value, (), report)
    if isinstance(url := keys.get("endpoint_urls"), str):  # one URL needs no list
        keys["endpoint_urls"] = (url,)
    _check_combinations(RUN_OPTIONS, keys, (), report)
    profile = PlacedProfile(profile=Profile(phases=_phases(keys, report)))
    placed = with_run_options(profile, keys)
    _file(check_payload(placed.profile.payload), (), report)
    return placed


def with_run_options(placed: PlacedProfile, given: Values) -> PlacedProfile:
    """The same with what `given` sets of the run, in place of its own."""
    profile, placement = placed.profile, placed.placement
    payload = profile.payload
    if given.get("kind") is PayloadKind.ZERO:  # zeros have no factor of their own
        payload = changed(payload, {"compressible": 1.0})
    if is_given(given, "ca_bundle") or is_given(given, "tls_no_verify"):  # either replaces the other
        placement = changed(placement, {"ca_bundle": None, "tls_no_verify": False})
    parts = {"phases": profile.phases, "manner": changed(profile.manner, given), "payload": changed(payload, given)}
    profile = changed(profile, {**given, **parts})
    return changed(placed, {"profile": profile, "placement": changed(placement, given)})


def with_phase_options(placed: PlacedProfile, given: Values) -> PlacedProfile:
    """The same with what `given` sets of all phases, in place of their own."""
    phases = tuple(changed(phase, given) for phase in placed.profile.phases)
    return changed(placed, {"profile": changed(placed.profile, {"phases": phases})})


def job_of(given: Values, usual: Job) -> Job:
    """The job that `given` sets, with the fields of `usual` where it sets none."""
    mix = (Share(kind=given["operation"]),) if "operation" in given else given.get("mix", usual.mix)
    return changed(usual, {**given, "name": usual.name, "mix": mix, "rate": _rate(given)})


def _rate(given: Values) -> Rate | None:
    levels = given.get("rates") or ((RateChange(after_s=0.0, per_s=given["rate"]),) if "rate" in given else ())
    if not levels:
        return None
    arrivals = given.get("arrivals", Arrivals.POISSON)
    return Rate(per_s=levels[0].per_s, arrivals=arrivals, changes=tuple(levels[1:]))


def changed(part: S, given: Values) -> S:
    """The part with those of `given` that are fields of it."""
    return msgspec.structs.replace(part, **{name: given[name] for name in part.__struct_fields__ if name in given})


def _phases(keys: Values, report: Report) -> tuple[Phase, ...]:
    if "phases" not in keys:
        return (_phase(keys, (), report, name=keys.get("name", "")),)
    _refuse_beside("phases", keys, _PHASE_FIELDS, (), report)
    written = keys["phases"]
    phases: list[Phase] = []
    for index, own in enumerate(written):
        name = own.get("name", "" if len(written) == 1 else f"phase{index + 1}")
        phase = _phase(own, ("phases", index), report, name=name)
        if any((other.name, other.dimensions) == (phase.name, phase.dimensions) for other in phases):
            said = Complaint("is that of another phase, with the same dimensions", "give each phase its own name")
            report.add(("phases", index, "name"), said)
        phases.append(phase)
    return tuple(phases)


def _phase(keys: Values, at: Steps, report: Report, *, name: str) -> Phase:
    jobs = _jobs(keys, at, report)
    is_endless = any(job.operations is None for job in jobs)
    usual = Phase(jobs=jobs, duration_s=DURATION_S if is_endless else None)
    phase = changed(usual, {**keys, "jobs": jobs, "name": name})
    _file(check_phase(phase), at, report, of=("duration", "warmup", "ramp", "stable"))
    return phase


def _jobs(keys: Values, at: Steps, report: Report) -> tuple[Job, ...]:
    if "jobs" not in keys:
        return (_job(keys, at, report, name=""),)
    _refuse_beside("jobs", keys, _JOB_FIELDS, at, report)
    written = keys["jobs"]
    jobs: list[Job] = []
    for index, own in enumerate(written):
        place = (*at, "jobs", index)
        name = own.get("name", "" if len(written) == 1 else f"job{index + 1}")
        if any(job.name == name for job in jobs):
            report.add((*place, "name"), Complaint("is that of another job", "give each job of a phase its own name"))
        jobs.append(_job(own, place, report, name=name))
    return tuple(jobs)


def _job(keys: Values, at: Steps, report: Report, *, name: str) -> Job:
    _check_combinations(JOB_OPTIONS, keys, at, report)
    if "zipf_exponent" in keys and keys.get("keys") != KeyDistribution.ZIPF:
        report.add((*at, "zipf_exponent"), Complaint("needs `keys: zipf`", "add it, or take `zipf_exponent` out"))
    if keys.get("rates"):
        _file(check_rates(keys["rates"]), at, report, of=("rates",))
    if keys.get("popular_sizes") and keys.get("keys") != KeyDistribution.ZIPF:
        report.add((*at, "popular_sizes"), Complaint("needs `keys: zipf`", "add it, or take `popular_sizes` out"))
    job = job_of(keys, changed(DEFAULT_JOB, {"name": name}))
    _file(check_job(job), at, report, of=(option.key for option in JOB_OPTIONS))
    return job


def _check_combinations(options: Iterable[LoadOption], keys: Values, at: Steps, report: Report) -> None:
    for option in options:
        if not is_given(keys, option.field):
            continue
        for conflict in option.conflicts:
            for other in conflict.others:
                if is_given(keys, other):
                    what = f"cannot be combined with `{_KEYS[other]}`: {conflict.why}"
                    report.add((*at, option.key), Complaint(what, "take out one of the two"))
        if option.need and not any(is_given(keys, other) for other in option.need.others):
            needed = _KEYS[option.need.others[0]]
            what = f"needs `{needed}`: {option.need.why}"
            report.add((*at, option.key), Complaint(what, f"add `{needed}`, or take `{option.key}` out"))


def _refuse_beside(what: str, keys: Values, fields: Iterable[str], at: Steps, report: Report) -> None:
    for field in fields:
        if field in keys and field != what:
            fix = f"move it into each of the {what}, or take `{what}` out"
            report.add((*at, _KEYS.get(field, field)), Complaint(f"cannot be combined with `{what}`", fix))


def _file(faults: Iterable[Fault], at: Steps, report: Report, *, of: Iterable[str] = ()) -> None:
    """Report the faults of what is at `at`, unless one of its keys could not be read."""
    if report.touches_whole(at) or any(report.touches((*at, key)) for key in of):
        return
    for key, complaint in faults:
        report.add((*at, key), complaint)


def form_of(placed: PlacedProfile) -> dict[str, Any]:
    """Return the keys and values of a file that says the same, defaults included, in the long form."""
    profile = placed.profile
    run = _keys(RUN_OPTIONS, placed.placement, profile.manner, profile.payload, profile)
    return run | {"phases": [_form_of_phase(phase) for phase in profile.phases]}


def _form_of_phase(phase: Phase) -> Values:
    return _name(phase) | _keys(PHASE_OPTIONS, phase) | {"jobs": [_form_of_job(job) for job in phase.jobs]}


def _form_of_job(job: Job) -> Values:
    exponent = job.zipf_exponent if job.keys is KeyDistribution.ZIPF else None
    return _name(job) | _keys(JOB_OPTIONS, job, **_form_of_rate(job.rate), zipf_exponent=exponent)


def _form_of_rate(rate: Rate | None) -> Values:
    if rate is None:
        return {"rate": None}
    if not rate.changes:
        return {"rate": rate.per_s, "arrivals": rate.arrivals}
    levels = (RateChange(after_s=0.0, per_s=rate.per_s), *rate.changes)
    return {"rate": None, "rates": levels, "arrivals": rate.arrivals}


def _name(part: Phase | Job) -> Values:
    return {"name": part.name} if part.name else {}


def _keys(options: Iterable[LoadOption], *parts: msgspec.Struct, **others: Any) -> Values:
    values = {name: getattr(part, name) for part in parts for name in part.__struct_fields__} | others
    written = {option.key: in_file(values.get(option.field)) for option in options}
    return {key: value for key, value in written.items() if value is not None}
