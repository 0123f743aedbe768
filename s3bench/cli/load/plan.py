"""From the options of `s3bench load` to what is to run: the profile, where, and with which keys.

Owns which workload the options ask for: a file, a matrix, the phases of the s3-benchmark tools, one phase of a mix, or
the demonstration; and what they override in a file. Options that exclude each other are `loadchecks`'.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import msgspec

from s3bench.cli.load.checks import check_options, check_plan
from s3bench.cli.load.options import (
    Form,
    LoadOptions,
    MatrixExtent,
    option_name,
)
from s3bench.cli.run.options import network_facts
from s3bench.clients.environment import REGION, Credentials
from s3bench.clients.pointing import SECRET_VARIABLE
from s3bench.errors import BadInput
from s3bench.load.aggregation.slo import Slo, parse_slo
from s3bench.load.operation import OperationKind
from s3bench.load.profile.defaults import (
    DURATION_S,
    MAX_ERROR_RATE,
    MIX,
    PART_BYTES,
    SIZES,
    THREADS,
)
from s3bench.load.profile.file import read_profile
from s3bench.load.profile.form import form_of
from s3bench.load.profile.matrix import FULL, QUICK, matrix_phases
from s3bench.load.profile.profile import (
    Arrivals,
    Job,
    KeyChoice,
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
from s3bench.load.profile.sizes import Sizes, parse_sizes
from s3bench.load.profile.written import Addressing, Wishes, Written
from s3bench.load.session.session import KNEE_STEP_S
from s3bench.s3.network.model import NetworkModel, parse_network

REFERENCE_BUCKET = "s3-benchmark"
REFERENCE_SIZES: Sizes = parse_sizes("1M")
REFERENCE_THREADS = 1
"""What the s3-benchmark tools take for granted; their duration, 60 s, is ours as well."""

EMULATED_MIX = (Share(kind=OperationKind.GET, weight=70.0), Share(kind=OperationKind.PUT, weight=30.0))
"""What replaces the default mix in front of the emulator, where puts overwrite and deletes would find nothing."""

DEMONSTRATION: tuple[tuple[str, tuple[Share, ...], float], ...] = (
    ("put", (Share(kind=OperationKind.PUT),), 5.0),
    ("get", (Share(kind=OperationKind.GET),), 6.0),
    ("mixed", EMULATED_MIX, 6.0),
)
"""Name, mix and seconds of the phases of a run that says nothing: about 20 s with start and data set."""

EMULATED_DATA_BYTES = 256 * 1024**2
EMULATED_OBJECTS_MIN = 16
EMULATED_OBJECTS_MAX = 10_000
"""How much data the emulator gets to be read: soon written, and more than a cache of the processor's holds."""

BOUNDED = "the memory of the S3 in memory is bounded, so put overwrites objects that are there"
VISIBLE = (
    "the keys of -a and -s stand on the command line, where other users of this machine can read them; "
    f"set {SECRET_VARIABLE}, or use the AWS CLI's credentials"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """What is to run. Without `wishes.endpoint_urls` it runs against the emulator, behind `network`.

    `credentials` are those of -a and -s alone; `None` looks the user's own up. `options` has what needs no thought:
    where results go, data sets to keep or use again, the seed.
    """

    profile: Profile
    wishes: Wishes
    options: LoadOptions
    credentials: Credentials | None = None
    network: NetworkModel | None = None
    slo: Slo | None = None
    form: Form = Form.TABLE
    warnings: tuple[str, ...] = ()

    @property
    def recorded(self) -> dict[str, object]:
        """What the results document keeps: the whole profile, and what else can change a figure."""
        return {
            **form_of(self.written),
            "network": None if self.network is None else network_facts(self.network),
            "slo": None if self.slo is None else str(self.slo),
            "seed": self.options.seed,
            "calibrate": self.options.calibrate,
        }

    @property
    def written(self) -> Written:
        """The profile and its wishes, for `render_profile`."""
        return Written(profile=self.profile, wishes=self.wishes, warnings=self.warnings)


def profile_of(options: LoadOptions, *, environment: Mapping[str, str]) -> LoadPlan:
    """Return what the options ask for; `environment` may hold the secret key. Reads the files they name.

    Raises `BadInput` for options that contradict each other or themselves.
    """
    check_options(options)
    wishes = _wishes(options)
    if options.file is not None:
        written = _read(options, wishes)
    else:
        written = Written(profile=_profile(options, _phases(options)), wishes=wishes)
        _check_profile(written.profile)
    wishes = written.wishes
    check_plan(options, wishes, written.profile)
    return LoadPlan(
        profile=written.profile,
        wishes=wishes,
        options=options,
        credentials=_credentials(options, wishes, environment),
        network=None if options.network is None else parse_network(options.network),
        slo=None if options.slo is None else parse_slo(options.slo),
        form=options.form or (Form.LINES if follows_reference(options) else Form.TABLE),
        warnings=(*_warnings(options, written.profile), *written.warnings),
    )


def selects_workload(options: LoadOptions) -> bool:
    """Whether the options say what to do, and not only how large, how hard and how long."""
    said = (
        options.file,
        options.operation,
        options.mix,
        options.matrix or options.matrix_threads or options.matrix_sizes or options.matrix_samples,
        options.slo,
        options.key_file,
        options.list_existing,
        options.range_bytes,
        options.part_bytes,
        options.reuse,
    )
    return options.overwrite or any(value is not None for value in said)


def follows_reference(options: LoadOptions) -> bool:
    """Whether this is the command line of the s3-benchmark tools: -u, and no workload."""
    return options.url is not None and not selects_workload(options)


def is_emulated(options: LoadOptions) -> bool:
    """Whether the options name no endpoint."""
    return options.url is None and not options.endpoint_urls


def _phases(options: LoadOptions) -> tuple[Phase, ...]:
    if any((options.matrix, options.matrix_threads, options.matrix_sizes, options.matrix_samples)):
        return _matrix(options)
    if follows_reference(options):
        kinds = (OperationKind.PUT, OperationKind.GET, OperationKind.DELETE)
        return tuple(_phase(options, str(kind), (Share(kind=kind),), DURATION_S) for kind in kinds)
    if is_emulated(options) and not selects_workload(options):
        return tuple(_phase(options, name, mix, duration_s) for name, mix, duration_s in DEMONSTRATION)
    return (_phase(options, "", _mix(options), DURATION_S),)


def _matrix(options: LoadOptions) -> tuple[Phase, ...]:
    usual = FULL if options.matrix is MatrixExtent.FULL else QUICK
    matrix = usual.altered(
        threads=options.matrix_threads, sizes_bytes=options.matrix_sizes, samples=options.matrix_samples
    )
    phases = matrix_phases(matrix, _job(options, MIX), objects=options.objects, reused=options.reuse is not None)
    return tuple(
        msgspec.structs.replace(
            phase, duration_s=options.duration, warmup_s=options.warmup or 0.0, ramp_s=options.ramp or 0.0
        )
        for phase in phases
    )


def _phase(options: LoadOptions, name: str, mix: tuple[Share, ...], duration_s: float) -> Phase:
    ends_by_count = options.operations is not None and not options.stable
    return Phase(
        name=name,
        jobs=(_job(options, mix),),
        duration_s=options.duration or (None if ends_by_count else duration_s if options.slo is None else KNEE_STEP_S),
        warmup_s=options.warmup or 0.0,
        ramp_s=options.ramp or 0.0,
        stable=options.stable,
    )


def _mix(options: LoadOptions) -> tuple[Share, ...]:
    if options.operation is not None:
        return (Share(kind=options.operation),)
    if options.mix is not None:
        return options.mix
    if options.range_bytes is not None:
        return (Share(kind=OperationKind.RANGE),)
    if options.part_bytes is not None:
        return (Share(kind=OperationKind.MULTIPART),)
    if options.overwrite:
        return (Share(kind=OperationKind.PUT),)
    if options.key_file is not None or options.list_existing is not None:
        return (Share(kind=OperationKind.GET),)
    return EMULATED_MIX if is_emulated(options) else MIX


def _job(options: LoadOptions, mix: tuple[Share, ...]) -> Job:
    keys, exponent = options.keys or (KeyChoice.UNIFORM, 1.0)
    reference = follows_reference(options)
    sizes = options.size or (REFERENCE_SIZES if reference else SIZES)
    arrivals = options.arrivals or Arrivals.POISSON
    return Job(
        mix=mix,
        sizes=sizes,
        threads=options.threads or (REFERENCE_THREADS if reference else THREADS),
        rate=None if options.rate is None else Rate(per_s=options.rate, arrivals=arrivals),
        operations=options.operations,
        objects=options.objects or (_emulated_objects(sizes) if is_emulated(options) else None),
        keys=keys,
        zipf_exponent=exponent,
        range_bytes=options.range_bytes,
        part_bytes=options.part_bytes or PART_BYTES,
        overwrite=options.overwrite or _is_bounded(options, mix),
    )


def _emulated_objects(sizes: Sizes) -> int:
    return min(max(EMULATED_OBJECTS_MIN, int(EMULATED_DATA_BYTES / max(1.0, sizes.mean_bytes))), EMULATED_OBJECTS_MAX)


def _is_bounded(options: LoadOptions, mix: tuple[Share, ...]) -> bool:
    """Whether puts must overwrite, since without end they would fill the emulator's memory."""
    kinds = {share.kind for share in mix}
    return (
        is_emulated(options)
        and options.operations is None
        and OperationKind.PUT in kinds
        and OperationKind.DELETE not in kinds
    )


def _profile(options: LoadOptions, phases: tuple[Phase, ...]) -> Profile:
    return _overridden(Profile(phases=phases, max_error_rate=MAX_ERROR_RATE), options)


def _overridden(profile: Profile, options: LoadOptions) -> Profile:
    """The same with what the options say about the manner and the payload."""
    manner, payload = profile.manner, profile.payload
    return msgspec.structs.replace(
        profile,
        manner=Manner(
            keep_alive=manner.keep_alive and not options.disable_keepalive,
            signs_payload=manner.signs_payload or options.sign_payload,
            verify=manner.verify and not options.no_verify,
            checksum=manner.checksum or options.checksum,
            retries=manner.retries if options.retries is None else options.retries,
            backoff_s=manner.backoff_s,
            connect_timeout_s=options.connect_timeout or manner.connect_timeout_s,
            idle_timeout_s=options.idle_timeout or manner.idle_timeout_s,
            timeout_s=options.timeout or manner.timeout_s,
        ),
        payload=Payload(
            kind=options.payload or payload.kind,
            compressible=options.compressible or (1.0 if options.payload is PayloadKind.ZERO else payload.compressible),
        ),
        layout=options.layout or profile.layout,
        loops=options.loops or profile.loops,
        max_error_rate=profile.max_error_rate if options.max_error_rate is None else options.max_error_rate,
    )


def _read(options: LoadOptions, asked: Wishes) -> Written:
    """What the file says, with what the options say instead."""
    assert options.file is not None
    written = read_profile(options.file)
    profile = _overridden(written.profile, options)
    phases = tuple(
        msgspec.structs.replace(
            phase,
            duration_s=options.duration or phase.duration_s,
            warmup_s=phase.warmup_s if options.warmup is None else options.warmup,
            ramp_s=phase.ramp_s if options.ramp is None else options.ramp,
            stable=phase.stable or options.stable,
        )
        for phase in profile.phases
    )
    profile = msgspec.structs.replace(profile, phases=phases)
    _check_profile(profile)
    said = written.wishes
    wishes = Wishes(
        endpoint_urls=asked.endpoint_urls or said.endpoint_urls,
        bucket=options.bucket or said.bucket,
        region=asked.region or said.region,
        addressing=options.addressing or said.addressing,
        tls_verify=asked.tls_verify and (said.tls_verify or asked.ca_bundle is not None),
        ca_bundle=asked.ca_bundle or (said.ca_bundle if asked.tls_verify else None),
        workers=asked.workers or said.workers,
    )
    return replace(written, profile=profile, wishes=wishes)


def _wishes(options: LoadOptions) -> Wishes:
    return Wishes(
        endpoint_urls=options.endpoint_urls or (() if options.url is None else (options.url,)),
        bucket=options.bucket or (REFERENCE_BUCKET if follows_reference(options) else None),
        region=options.region,
        addressing=options.addressing or Addressing.PATH,
        tls_verify=not options.tls_no_verify,
        ca_bundle=options.ca_bundle,
        workers=options.workers,
    )


def _credentials(options: LoadOptions, wishes: Wishes, environment: Mapping[str, str]) -> Credentials | None:
    if options.access_key is None:
        return None
    secret_key = options.secret_key or environment.get(SECRET_VARIABLE)
    if not secret_key:
        raise BadInput(
            "--access-key needs --secret-key", "requests are signed with both", f"give it, or set {SECRET_VARIABLE}"
        )
    return Credentials(access_key=options.access_key, secret_key=secret_key, region=wishes.region or REGION)


def _warnings(options: LoadOptions, profile: Profile) -> tuple[str, ...]:
    overwrites = any(job.overwrite for phase in profile.phases for job in phase.jobs)
    bounded = overwrites and options.file is None and not options.overwrite
    return (*((VISIBLE,) if options.secret_key is not None else ()), *((BOUNDED,) if bounded else ()))


def _check_profile(profile: Profile) -> None:
    """Refuse what the rules refuse in a file, by the names of options."""
    _refuse(check_payload(profile.payload))
    for phase in profile.phases:
        _refuse(check_phase(phase))
        for job in phase.jobs:
            _refuse(check_job(job))


_FIELDS = {"sizes": "size", "range": "range_bytes", "part_size": "part_bytes"}


def _refuse(faults: Iterable[Fault]) -> None:
    for key, complaint in faults:
        name = option_name(_FIELDS.get(key, key))
        raise BadInput(f"{name} {complaint.what}", fix=complaint.fix)
