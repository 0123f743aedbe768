"""Options of `s3bench load` that exclude or need each other, refused before anything starts.

Owns these rules. What contradicts itself inside a profile, however it was written, is `s3bench.load.profile.rules`'.
"""

from collections.abc import Iterable
from dataclasses import fields

from s3bench.cli.load.options import Form, LoadOptions, option_name
from s3bench.errors import BadInput
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import Profile
from s3bench.load.profile.written import Wishes
from s3bench.results.document import NODE

_JOB = (
    "operation",
    "mix",
    "size",
    "objects",
    "keys",
    "range_bytes",
    "part_bytes",
    "overwrite",
    "threads",
    "rate",
    "arrivals",
    "operations",
)
_MATRIX = ("matrix", "matrix_threads", "matrix_sizes", "matrix_samples")
_EXISTING = ("key_file", "list_existing")
_NOT_IN_A_MATRIX = tuple(name for name in _JOB if name not in {"objects", "keys"})
_LIVE_ONLY = (
    *("region", "access_key", "secret_key", "tls_no_verify", "ca_bundle", "addressing", "bucket"),
    *("keep", "reuse", "clean_up", *_EXISTING),
)
_WITH_CLEAN_UP = frozenset(
    {
        "clean_up",
        "endpoint_urls",
        "url",
        "bucket",
        "region",
        "access_key",
        "secret_key",
        "addressing",
        "tls_no_verify",
        "ca_bundle",
        "timeout",
        "idle_timeout",
        "connect_timeout",
        "retries",
        "quiet",
        "file",
    }
)


def check_options(options: LoadOptions) -> None:
    """Refuse options that contradict each other. Raises `BadInput`."""
    _exclude(options, "url", ("endpoint_urls",), "they mean the same")
    _exclude(options, "operation", ("mix",), "a mix names its operations")
    _exclude(options, "file", (*_JOB, *_MATRIX, *_EXISTING), "its jobs say that")
    for name in _MATRIX:
        _exclude(options, name, (*_NOT_IN_A_MATRIX, "slo", "stable", *_EXISTING), "a matrix says that itself")
    _exclude(options, "slo", ("rate", "arrivals", "operations", "stable"), "the search tries rates of its own")
    _exclude(options, "key_file", ("list_existing", "reuse", "overwrite", "objects"), "these objects are there already")
    _exclude(options, "list_existing", ("reuse", "overwrite", "objects"), "these objects are there already")
    _exclude(options, "reuse", ("overwrite",), "what another run kept is not changed")
    _exclude(options, "ca_bundle", ("tls_no_verify",), "authorities are for certificates that are checked")
    _exclude(options, "as_json", ("form",), "stdout gets one of them")
    _exclude(options, "cluster", ("workers",), "--workers-per-node says how many")
    _exclude(options, "cluster", ("trace", "object_log"), "every attempt would have to travel here")
    _exclude(options, "cluster", ("calibrate",), "that is this machine's ceiling, and others make the load")
    if options.clean_up is not None:
        others = [field.name for field in fields(options) if field.name not in _WITH_CLEAN_UP]
        _exclude(options, "clean_up", others, "it does nothing else")
    if options.cluster is None and (options.nodes is not None or options.workers_per_node is not None):
        name = option_name("nodes" if options.nodes is not None else "workers_per_node")
        raise BadInput(f"{name} needs --cluster", "it is about its machines", "add --cluster auto")
    if options.arrivals is not None and options.rate is None:
        raise BadInput("--arrivals needs --rate", "without a rate nothing arrives by plan", "add --rate 500")
    if options.secret_key is not None and options.access_key is None:
        raise BadInput("--secret-key needs --access-key", "requests are signed with both", "add -a KEY")
    if options.force and not any((options.output, options.csv, options.trace, options.object_log)):
        raise BadInput("--force replaces a file, and none is written", fix="add -o FILE, or leave it out")


def check_plan(options: LoadOptions, wishes: Wishes, profile: Profile) -> None:
    """Refuse what only the whole tells: options that need an endpoint, or the emulator. Raises `BadInput`."""
    if wishes.endpoint_urls:
        if options.network is not None:
            raise BadInput(
                "--network is for the S3 in memory", f"{wishes.endpoint_urls[0]} has its own", "leave one of them out"
            )
        if not wishes.bucket:
            raise BadInput("an endpoint needs --bucket", "the run writes into a bucket that exists", "add -b NAME")
        if options.cluster is not None and wishes.workers is not None:
            raise BadInput(
                "--cluster goes without the profile's `workers`",
                "--workers-per-node says how many",
                "leave `workers` out of the profile",
            )
        if options.cluster is not None:
            _check_dimensions(profile)
    else:
        _check_emulated(options, wishes)
    if (options.key_file is not None or options.list_existing is not None) and any(
        job.kinds == (OperationKind.DELETE,) for phase in profile.phases for job in phase.jobs
    ):
        raise BadInput(
            "--operation delete takes objects of the run alone",
            "nothing is deleted that s3bench did not write",
            f"leave {option_name('key_file' if options.key_file else 'list_existing')} out",
        )
    if options.reuse is not None and any(
        job.kinds == (OperationKind.DELETE,) for phase in profile.phases for job in phase.jobs
    ):
        raise BadInput(
            "--operation delete would remove the data set of --reuse",
            "what another run kept is not changed",
            f"leave --reuse out, or remove that run: --clean-up {options.reuse}",
        )
    if options.form is Form.CSV and not any(phase.dimensions for phase in profile.phases):
        raise BadInput("--format csv writes a matrix", "there is none", "add --matrix, or take --csv FILE for seconds")
    if options.slo is not None:
        _check_slo(profile)


def _check_dimensions(profile: Profile) -> None:
    if any(NODE in dimension for phase in profile.phases for dimension in phase.dimensions):
        raise BadInput(
            f"--cluster goes without the profile's dimension `{NODE}`",
            "it tells what each machine did",
            "give that dimension another name",
        )


def _check_emulated(options: LoadOptions, wishes: Wishes) -> None:
    if options.cluster is not None:
        raise BadInput(
            "--cluster needs an endpoint",
            "without one an S3 in memory is measured, which other machines cannot reach",
            "add -u URL or --endpoint-url URL (for AWS https://s3.REGION.amazonaws.com)",
        )
    given = [name for name in _LIVE_ONLY if _is_given(options, name)]
    name = option_name(given[0]) if given else "bucket" if wishes.bucket else ""
    if name:
        raise BadInput(
            f"{name} needs an endpoint",
            "without one an S3 in memory is measured, which is made for the run and gone after it",
            "add -u URL or --endpoint-url URL (for AWS https://s3.REGION.amazonaws.com)",
        )


def _check_slo(profile: Profile) -> None:
    jobs = [job for phase in profile.phases for job in phase.jobs]
    if len(jobs) != 1 or jobs[0].rate is not None:
        raise BadInput(
            "--slo searches the rate of one job",
            f"the profile has {len(jobs)} jobs" if len(jobs) != 1 else "the profile's job has a rate already",
            "give a profile of one phase with one job in closed loop",
        )


def _exclude(options: LoadOptions, name: str, others: Iterable[str], why: str) -> None:
    if not _is_given(options, name):
        return
    given = [option_name(other) for other in others if _is_given(options, other)]
    if given:
        mine = option_name(name)
        raise BadInput(f"{mine} goes without {', '.join(given)}", why, f"leave out {given[0]} or {mine}")


def _is_given(options: LoadOptions, name: str) -> bool:
    return getattr(options, name) not in (None, False, ())
