"""Our own form of a load profile: from the keys of a file to a profile, and back.

Owns the short forms (a profile of one phase, a phase of one job), the defaults, and keys that exclude each other. Which
keys there are is `profiletable`'s, what must agree between values `rules`'.
"""

from collections.abc import Iterable
from typing import Any

from s3bench.load.profile.defaults import (
    DURATION_S,
    MAX_ERROR_RATE,
    MIX,
    PART_BYTES,
    SIZES,
    THREADS,
)
from s3bench.load.profile.profile import (
    Arrivals,
    Job,
    KeyChoice,
    Layout,
    Manner,
    Payload,
    PayloadKind,
    Phase,
    Profile,
    Rate,
    Share,
)
from s3bench.load.profile.rules import (
    Fault,
    check_job,
    check_payload,
    check_phase,
)
from s3bench.load.profile.table import (
    JOB_KEYS,
    PHASE_KEYS,
    PROFILE,
    Keys,
)
from s3bench.load.profile.written import Addressing, Wishes, Written
from s3bench.spec.reader import Complaint, Report, Steps

_JOB_NAMES = tuple(key.name for key in JOB_KEYS)
_PHASE_NAMES = ("name", *(key.name for key in PHASE_KEYS))


def read_form(value: object, report: Report) -> Written:
    """Return what a decoded file says; problems go to `report`, and blanks stand for what is wrong."""
    keys = PROFILE.read(value, (), report)
    payload = Payload(kind=keys.get("payload", PayloadKind.RANDOM), compressible=keys.get("compressible", 1.0))
    _file(check_payload(payload), (), report)
    profile = Profile(
        phases=_phases(keys, report),
        manner=_manner(keys),
        payload=payload,
        layout=keys.get("layout", Layout.SHARED),
        loops=keys.get("loops", 1),
        max_error_rate=keys.get("max_error_rate", MAX_ERROR_RATE),
    )
    return Written(profile=profile, wishes=_wishes(keys, report))


def _wishes(keys: Keys, report: Report) -> Wishes:
    urls = keys.get("endpoint_url", ())
    wishes = Wishes(
        endpoint_urls=(urls,) if isinstance(urls, str) else urls,
        bucket=keys.get("bucket"),
        region=keys.get("region"),
        addressing=keys.get("addressing", Addressing.PATH),
        tls_verify=not keys.get("tls_no_verify", False),
        ca_bundle=keys.get("ca_bundle"),
        workers=keys.get("workers"),
    )
    if wishes.ca_bundle and not wishes.tls_verify:
        report.add(("ca_bundle",), Complaint("does not go with tls_no_verify", "take out one of the two"))
    return wishes


def _manner(keys: Keys) -> Manner:
    usual = Manner()
    return Manner(
        keep_alive=keys.get("keepalive", usual.keep_alive),
        signs_payload=keys.get("sign_payload", usual.signs_payload),
        verify=keys.get("verify", usual.verify),
        checksum=keys.get("checksum", usual.checksum),
        retries=keys.get("retries", usual.retries),
        backoff_s=keys.get("backoff", usual.backoff_s),
        connect_timeout_s=keys.get("connect_timeout", usual.connect_timeout_s),
        idle_timeout_s=keys.get("idle_timeout", usual.idle_timeout_s),
        timeout_s=keys.get("timeout", usual.timeout_s),
    )


def _phases(keys: Keys, report: Report) -> tuple[Phase, ...]:
    if "phases" not in keys:
        return (_phase(keys, (), report, name=keys.get("name", "")),)
    _refuse_beside("phases", keys, _PHASE_NAMES, (), report)
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


def _phase(keys: Keys, at: Steps, report: Report, *, name: str) -> Phase:
    jobs = _jobs(keys, at, report)
    is_endless = any(job.operations is None for job in jobs)
    phase = Phase(
        name=name,
        jobs=jobs,
        duration_s=keys.get("duration", DURATION_S if is_endless else None),
        warmup_s=keys.get("warmup", 0.0),
        ramp_s=keys.get("ramp", 0.0),
        stable=keys.get("stable", False),
        dimensions=keys.get("dimensions", ()),
    )
    _file(check_phase(phase), at, report, of=("duration", "warmup", "ramp", "stable"))
    return phase


def _jobs(keys: Keys, at: Steps, report: Report) -> tuple[Job, ...]:
    if "jobs" not in keys:
        return (_job(keys, at, report, name=""),)
    _refuse_beside("jobs", keys, _JOB_NAMES, at, report)
    written = keys["jobs"]
    jobs: list[Job] = []
    for index, own in enumerate(written):
        place = (*at, "jobs", index)
        name = own.get("name", "" if len(written) == 1 else f"job{index + 1}")
        if any(job.name == name for job in jobs):
            report.add((*place, "name"), Complaint("is that of another job", "give each job of a phase its own name"))
        jobs.append(_job(own, place, report, name=name))
    return tuple(jobs)


def _job(keys: Keys, at: Steps, report: Report, *, name: str) -> Job:
    for key, needs, right in (("arrivals", "rate", None), ("zipf_exponent", "keys", KeyChoice.ZIPF)):
        if key in keys and (needs not in keys or (right and keys[needs] != right)):
            said = f"`{needs}`" if right is None else f"`{needs}: {right}`"
            report.add((*at, key), Complaint(f"means nothing without {said}", f"add {said}, or take it out"))
    if "operation" in keys and "mix" in keys:
        report.add((*at, "operation"), Complaint("stands beside `mix`", "take out one of the two"))
    mix = (Share(kind=keys["operation"]),) if "operation" in keys else keys.get("mix", MIX)
    rate = Rate(per_s=keys["rate"], arrivals=keys.get("arrivals", Arrivals.POISSON)) if "rate" in keys else None
    job = Job(
        name=name,
        mix=mix,
        sizes=keys.get("sizes", SIZES),
        threads=keys.get("threads", THREADS),
        rate=rate,
        operations=keys.get("operations"),
        objects=keys.get("objects"),
        keys=keys.get("keys", KeyChoice.UNIFORM),
        zipf_exponent=keys.get("zipf_exponent", 1.0),
        range_bytes=keys.get("range"),
        part_bytes=keys.get("part_size", PART_BYTES),
        list_keys=keys.get("list_keys", 1000),
        overwrite=keys.get("overwrite", False),
        reads_bodies=keys.get("read_bodies", True),
    )
    _file(check_job(job), at, report, of=_JOB_NAMES)
    return job


def _refuse_beside(what: str, keys: Keys, names: Iterable[str], at: Steps, report: Report) -> None:
    for name in names:
        if name in keys and name != what:
            said = Complaint(f"stands beside `{what}`", f"move it into each of the {what}, or take `{what}` out")
            report.add((*at, name), said)


def _file(faults: Iterable[Fault], at: Steps, report: Report, *, of: Iterable[str] = ()) -> None:
    """File the faults of what stands at `at`, unless one of its keys could not be read: it says nothing then."""
    if report.touches_whole(at) or any(report.touches((*at, key)) for key in of):
        return
    for key, complaint in faults:
        report.add((*at, key), complaint)


def form_of(written: Written) -> dict[str, Any]:
    """Return the keys and values of a file that says the same, defaults included, in the long form."""
    profile, wishes, manner = written.profile, written.wishes, written.profile.manner
    return _said(
        {
            "endpoint_url": list(wishes.endpoint_urls) or None,
            "bucket": wishes.bucket,
            "region": wishes.region,
            "addressing": str(wishes.addressing),
            "tls_no_verify": not wishes.tls_verify,
            "ca_bundle": wishes.ca_bundle,
            "keepalive": manner.keep_alive,
            "payload": str(profile.payload.kind),
            "compressible": profile.payload.compressible,
            "sign_payload": manner.signs_payload,
            "checksum": manner.checksum,
            "verify": manner.verify,
            "retries": manner.retries,
            "backoff": manner.backoff_s,
            "timeout": manner.timeout_s,
            "idle_timeout": manner.idle_timeout_s,
            "connect_timeout": manner.connect_timeout_s,
            "workers": wishes.workers,
            "loops": profile.loops,
            "max_error_rate": profile.max_error_rate,
            "layout": str(profile.layout),
            "phases": [_form_of_phase(phase) for phase in profile.phases],
        }
    )


def _form_of_phase(phase: Phase) -> dict[str, Any]:
    return _said(
        {
            "name": phase.name or None,
            "duration": phase.duration_s,
            "warmup": phase.warmup_s,
            "ramp": phase.ramp_s,
            "stable": phase.stable,
            "dimensions": list(phase.dimensions) or None,
            "jobs": [_form_of_job(job) for job in phase.jobs],
        }
    )


def _form_of_job(job: Job) -> dict[str, Any]:
    rate = job.rate
    return _said(
        {
            "name": job.name or None,
            "mix": {str(share.kind): share.weight for share in job.mix},
            "sizes": job.sizes.text,
            "threads": job.threads,
            "rate": rate.per_s if rate else None,
            "arrivals": str(rate.arrivals) if rate else None,
            "operations": job.operations,
            "objects": job.objects,
            "keys": str(job.keys),
            "zipf_exponent": job.zipf_exponent if job.keys is KeyChoice.ZIPF else None,
            "range": job.range_bytes,
            "part_size": job.part_bytes,
            "list_keys": job.list_keys,
            "overwrite": job.overwrite,
            "read_bodies": job.reads_bodies,
        }
    )


def _said(keys: Keys) -> Keys:
    return {name: value for name, value in keys.items() if value is not None}
