"""Plans a load run from options and a profile file: what runs, where, and with which credentials.

Without a file the workload is a matrix, the phases of the s3-benchmark tools, one phase of a mix, or a demonstration.
"""

import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from s3bench.cli.load.checks import check_options, check_plan
from s3bench.cli.load.options import OPTIONS, Form, LoadOptions, MatrixExtent
from s3bench.cli.run.options import network_facts
from s3bench.clients.environment import REGION, Credentials
from s3bench.clients.pointing import SECRET_VARIABLE
from s3bench.errors import BadInput
from s3bench.load.aggregation.slo import Slo, parse_slo
from s3bench.load.operation import OperationKind
from s3bench.load.profile.defaults import DEFAULT_JOB, DURATION_S, REPLAY_THREADS
from s3bench.load.profile.file import read_profile
from s3bench.load.profile.form import changed, form_of, job_of, with_phase_options, with_run_options
from s3bench.load.profile.matrix import FULL, QUICK, Matrix, matrix_phases
from s3bench.load.profile.placement import PlacedProfile, Placement
from s3bench.load.profile.profile import Job, Phase, Profile, Share
from s3bench.load.profile.rules import Fault, check_job, check_payload, check_phase
from s3bench.load.profile.sizes import Sizes, parse_sizes
from s3bench.load.session.session import SLO_STEP_S, is_search
from s3bench.s3.network.model import NetworkModel, parse_network

REFERENCE_BUCKET = "s3-benchmark"
REFERENCE_JOB = changed(DEFAULT_JOB, {"sizes": parse_sizes("1M"), "threads": 1})
"""Defaults of the s3-benchmark tools; their duration, 60 s, is ours as well."""

EMULATED_MIX = (Share(kind=OperationKind.GET, weight=70.0), Share(kind=OperationKind.PUT, weight=30.0))
"""The default mix in front of the emulator, where puts overwrite and deletes would find nothing."""

DEMONSTRATION: tuple[tuple[str, tuple[Share, ...], float], ...] = (
    ("put", (Share(kind=OperationKind.PUT),), 5.0),
    ("get", (Share(kind=OperationKind.GET),), 6.0),
    ("mixed", EMULATED_MIX, 6.0),
)
"""Name, mix and seconds of the phases of a run without options: about 20 s with start and data set."""

EMULATED_DATA_BYTES = 256 * 1024**2
EMULATED_OBJECTS_MIN = 16
EMULATED_OBJECTS_MAX = 10_000
"""How much data the emulator holds to be read: written quickly, and more than a processor's cache has."""

BOUNDED = "the memory of the emulator is limited, so put overwrites existing objects"
VISIBLE = (
    "-a and -s are on the command line, where other users of this machine can read them; "
    f"set {SECRET_VARIABLE}, or use the AWS CLI's credentials"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """What runs. Without an endpoint in `placement` it runs against the emulator, behind `network`.

    `credentials` are those of -a and -s; `None` uses the user's own. `options` has what is used as it is: where results
    go, data sets to keep or reuse, the seed.
    """

    profile: Profile
    placement: Placement
    options: LoadOptions
    credentials: Credentials | None = None
    network: NetworkModel | None = None
    slo: Slo | None = None
    form: Form = Form.TABLE
    warnings: tuple[str, ...] = ()

    @property
    def recorded(self) -> dict[str, object]:
        """What the results document stores: the whole profile, and what else can change a figure."""
        return {
            **form_of(self.placed),
            "network": None if self.network is None else network_facts(self.network),
            "slo": None if self.slo is None else str(self.slo),
            "seed": self.options.seed,
            "calibrate": self.options.calibrate,
        }

    @property
    def searches(self) -> bool:
        """Whether the highest rate that keeps `slo` is searched for; otherwise `slo` judges the one phase."""
        return is_search(self.profile, self.slo)

    @property
    def placed(self) -> PlacedProfile:
        """The profile and where it runs, for `render_profile`."""
        return PlacedProfile(profile=self.profile, placement=self.placement, warnings=self.warnings)


def plan_load(options: LoadOptions, *, environment: Mapping[str, str]) -> LoadPlan:
    """Plan what the options ask for; `environment` may hold the secret key. Reads the files that they name.

    Raises `BadInput` for options that contradict each other or themselves.
    """
    check_options(options)
    if options.file is None:
        bucket = REFERENCE_BUCKET if follows_reference(options) else None
        placed = PlacedProfile(profile=Profile(phases=_phases(options)), placement=Placement(bucket=bucket))
    else:
        placed = read_profile(options.file)
    urls = {} if options.url is None else {"endpoint_urls": (options.url,)}
    placed = with_phase_options(with_run_options(placed, options.given | urls), options.given)
    profile, placement = placed.profile, placed.placement
    _check_profile(profile)
    check_plan(options, placement, profile)
    if placement.ca_bundle is not None and not options.show_profile:
        _check_ca_bundle(placement.ca_bundle)
    return LoadPlan(
        profile=profile,
        placement=placement,
        options=options,
        credentials=_credentials(options, placement, environment),
        network=None if options.network is None else parse_network(options.network),
        slo=None if options.slo is None else parse_slo(options.slo),
        form=options.form or (Form.LINES if follows_reference(options) else Form.TABLE),
        warnings=(*_warnings(options, profile), *placed.warnings),
    )


_WORKLOAD = (
    *("file", "operation", "mix", "range_bytes", "part_bytes", "overwrite", "key_file", "list_existing", "reuse"),
    *("matrix", "matrix_threads", "matrix_sizes", "matrix_samples", "slo", "replay"),
)


def follows_reference(options: LoadOptions) -> bool:
    """Whether this is the command line of the s3-benchmark tools: -u, and no workload."""
    return options.url is not None and not any(map(options.has, _WORKLOAD))


def _is_emulated(options: LoadOptions) -> bool:
    return options.url is None and not options.has("endpoint_urls")


def _phases(options: LoadOptions) -> tuple[Phase, ...]:
    if options.replay is not None:  # what it does is known when the log has been read
        job = changed(job_of(options.given, DEFAULT_JOB), {"threads": options.given.get("threads", REPLAY_THREADS)})
        return (Phase(name="replay", jobs=(job,)),)
    if any(options.has(name) for name in ("matrix", "matrix_threads", "matrix_sizes", "matrix_samples")):
        return _matrix(options)
    if follows_reference(options):
        kinds = (OperationKind.PUT, OperationKind.GET, OperationKind.DELETE)
        return tuple(_phase(options, str(kind), (Share(kind=kind),), DURATION_S) for kind in kinds)
    if _is_emulated(options) and not any(map(options.has, _WORKLOAD)):
        return tuple(_phase(options, name, mix, duration_s) for name, mix, duration_s in DEMONSTRATION)
    searches = options.slo is not None and not options.has("rate")
    return (_phase(options, "", _mix(options), SLO_STEP_S if searches else DURATION_S),)


def _matrix(options: LoadOptions) -> tuple[Phase, ...]:
    usual = FULL if options.matrix is MatrixExtent.FULL else QUICK
    matrix = Matrix(
        threads=options.matrix_threads or usual.threads,
        sizes_bytes=options.matrix_sizes or usual.sizes_bytes,
        samples=options.matrix_samples or usual.samples,
    )
    job = _job(options, DEFAULT_JOB.mix)
    return matrix_phases(matrix, job, objects=options.given.get("objects"), reused=options.reuse is not None)


def _phase(options: LoadOptions, name: str, mix: tuple[Share, ...], duration_s: float) -> Phase:
    ends_by_count = options.has("operations") and not options.has("stable")
    return Phase(name=name, jobs=(_job(options, mix),), duration_s=None if ends_by_count else duration_s)


def _mix(options: LoadOptions) -> tuple[Share, ...]:
    for name, kind in (
        ("range_bytes", OperationKind.RANGE),
        ("part_bytes", OperationKind.MULTIPART),
        ("overwrite", OperationKind.PUT),
        ("key_file", OperationKind.GET),
        ("list_existing", OperationKind.GET),
    ):
        if options.has(name):
            return (Share(kind=kind),)
    return EMULATED_MIX if _is_emulated(options) else DEFAULT_JOB.mix


def _job(options: LoadOptions, mix: tuple[Share, ...]) -> Job:
    usual = REFERENCE_JOB if follows_reference(options) else DEFAULT_JOB
    job = job_of(options.given, changed(usual, {"mix": mix}))
    if not _is_emulated(options):
        return job
    objects, overwrite = job.objects or _emulated_objects(job.sizes), job.overwrite or _fills_memory(job)
    return changed(job, {"objects": objects, "overwrite": overwrite})


def _emulated_objects(sizes: Sizes) -> int:
    return min(max(EMULATED_OBJECTS_MIN, int(EMULATED_DATA_BYTES / max(1.0, sizes.mean_bytes))), EMULATED_OBJECTS_MAX)


def _fills_memory(job: Job) -> bool:
    """Whether puts without end would fill the memory of the emulator."""
    return job.operations is None and OperationKind.PUT in job.kinds and OperationKind.DELETE not in job.kinds


def _credentials(options: LoadOptions, placement: Placement, environment: Mapping[str, str]) -> Credentials | None:
    if options.access_key is None:
        return None
    secret_key = options.secret_key or environment.get(SECRET_VARIABLE)
    if not secret_key:
        raise BadInput(
            "--access-key needs --secret-key", "requests are signed with both", f"pass it, or set {SECRET_VARIABLE}"
        )
    return Credentials(access_key=options.access_key, secret_key=secret_key, region=placement.region or REGION)


def _check_ca_bundle(path: str) -> None:
    """Refuse a bundle that cannot be read, also where nothing is encrypted. Raises `BadInput`."""
    try:
        ssl.create_default_context(cafile=path)
    except OSError as error:  # ssl.SSLError is one
        raise BadInput(
            f"the CA bundle {path} cannot be used", error.strerror or str(error), "name a PEM file of certificates"
        ) from error


def _warnings(options: LoadOptions, profile: Profile) -> tuple[str, ...]:
    overwrites = any(job.overwrite for phase in profile.phases for job in phase.jobs)
    is_bounded = overwrites and options.file is None and not options.has("overwrite")
    return (*((VISIBLE,) if options.secret_key is not None else ()), *((BOUNDED,) if is_bounded else ()))


def _check_profile(profile: Profile) -> None:
    """Report what the rules of profiles refuse, by the names of options."""
    _refuse(check_payload(profile.payload))
    for phase in profile.phases:
        _refuse(check_phase(phase))
        for job in phase.jobs:
            _refuse(check_job(job))


def _refuse(faults: Iterable[Fault]) -> None:
    names = {row.key: row.name for row in OPTIONS.values() if row.key}
    for key, complaint in faults:
        raise BadInput(f"{names[key]} {complaint.what}", fix=complaint.fix)
