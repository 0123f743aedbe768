"""Checks of the options of `s3bench load`: which cannot be combined, and which need another, before anything starts.

What contradicts itself within a profile, from options or from a file, is checked by `s3bench.load.profile.rules`.
"""

import math
from pathlib import Path

from s3bench.cli.load.options import GROUPS, OPTIONS, Form, LoadOptions
from s3bench.errors import BadInput
from s3bench.load.engine.key_file import parse_key_lines
from s3bench.load.operation import OperationKind
from s3bench.load.profile.placement import Placement
from s3bench.load.profile.profile import Phase, Profile
from s3bench.load.profile.table import Conflict
from s3bench.results.document import NODE

_WITH_CLEAN_UP = {row.field for row in GROUPS["Endpoint"] if row.field != "network"} | {
    *("clean_up", "file", "quiet", "retries", "timeout_s", "idle_timeout_s", "connect_timeout_s")
}
_CLEAN_UP = Conflict(tuple(name for name in OPTIONS if name not in _WITH_CLEAN_UP), "it does nothing else")
_WITH_FIT = {
    *("fit", "log_format", "nginx_format", "from_s", "to_s", "span_s"),
    *("html", "output", "force", "as_json", "quiet"),
}
_FIT = Conflict(tuple(name for name in OPTIONS if name not in _WITH_FIT), "--fit only writes a profile")
_ALONE = {"clean_up": (_CLEAN_UP,), "fit": (_FIT,)}
_ADD_ENDPOINT = "pass --endpoint-url URL (for AWS https://s3.REGION.amazonaws.com)"


def check_options(options: LoadOptions) -> None:
    """Refuse options that contradict each other. Raises `BadInput`."""
    for name, row in OPTIONS.items():
        if not options.has(name):
            continue
        for conflict in (*row.conflicts, *_ALONE.get(name, ())):
            others = [OPTIONS[other].name for other in conflict.others if options.has(other)]
            if others:
                raise BadInput(
                    f"{row.name} cannot be combined with {', '.join(others)}",
                    conflict.why,
                    f"remove {others[0]} or {row.name}",
                )
        if row.need and not any(options.has(other) for other in row.need.others):
            needed = " or ".join(OPTIONS[other].name for other in row.need.others if other in OPTIONS)
            raise BadInput(f"{row.name} needs {needed}", row.need.why, row.need.fix)
    if options.from_s is not None and options.to_s is not None and options.to_s <= options.from_s:
        raise BadInput("--to is not after --from", "no request is between them", "pass a later --to")


def check_plan(options: LoadOptions, placement: Placement, profile: Profile) -> None:
    """Refuse options that do not fit the endpoint or the profile. Raises `BadInput`."""
    if placement.endpoint_urls:
        _check_live(options, placement, profile)
    else:
        _check_emulated(options, placement)
    _check_deletes(options, profile)
    _check_lists(options, profile)
    if options.reuse is not None and any(job.overwrite for phase in profile.phases for job in phase.jobs):
        raise BadInput(
            "--reuse cannot be combined with the profile's `overwrite`",
            "the objects of another run are not changed",
            "remove --reuse, or `overwrite` from the profile",
        )
    if options.form is Form.CSV and not any(phase.dimensions for phase in profile.phases):
        raise BadInput(
            "--format csv needs --matrix", "it prints a matrix", "pass --matrix, or --csv FILE for a line per second"
        )
    if options.slo is not None:
        _check_slo(profile)


def check_key_file(path: Path) -> None:
    """Refuse a key file that cannot be read, or has a wrong line, before the endpoint is asked for anything."""
    try:
        contents = path.read_bytes()
    except OSError as error:
        raise BadInput(
            f"the key file {path} cannot be read", error.strerror or str(error), "pass a file with a key on each line"
        ) from error
    parse_key_lines(contents, str(path))


def _check_live(options: LoadOptions, placement: Placement, profile: Profile) -> None:
    if options.network is not None:
        raise BadInput(
            "--network cannot be combined with an endpoint",
            f"{placement.endpoint_urls[0]} has a network of its own",
            "remove --network, or the endpoint to measure the S3 in memory",
        )
    if not placement.bucket:
        raise BadInput("an endpoint needs --bucket", "the run writes into a bucket that exists", "pass -b NAME")
    if options.cluster is not None and placement.workers is not None:
        raise BadInput(
            "--cluster cannot be combined with the profile's `workers`",
            "--workers-per-node sets the number of processes",
            "remove `workers` from the profile",
        )
    if options.cluster is not None and any(NODE in each for phase in profile.phases for each in phase.dimensions):
        raise BadInput(
            f"--cluster cannot be combined with the profile's dimension `{NODE}`",
            "it names the machine of a result",
            "give that dimension another name",
        )
    prefix = options.list_existing
    if placement.express and prefix and not prefix.endswith("/"):
        raise BadInput(
            f"--list-existing {prefix!r} is not a prefix that a directory bucket lists",
            "directory buckets list whole directories only",
            f"pass --list-existing {prefix}/",
        )


def _check_emulated(options: LoadOptions, placement: Placement) -> None:
    given = [row.name for name, row in OPTIONS.items() if row.needs_endpoint and options.has(name)]
    if options.cluster is not None:
        why = "without one an S3 in memory is measured, which other machines cannot reach"
        raise BadInput("--cluster needs an endpoint", why, _ADD_ENDPOINT)
    if given or placement.bucket:
        raise BadInput(
            f"{given[0] if given else '--bucket'} needs an endpoint",
            "without one an S3 in memory is measured, which exists during the run only",
            _ADD_ENDPOINT,
        )


def _check_deletes(options: LoadOptions, profile: Profile) -> None:
    if not any(job.kinds == (OperationKind.DELETE,) for phase in profile.phases for job in phase.jobs):
        return
    for name in ("key_file", "list_existing", "reuse"):
        if options.has(name):
            clean_up = f", or delete that run with --clean-up {options.reuse}" if name == "reuse" else ""
            raise BadInput(
                f"--operation delete cannot be combined with {OPTIONS[name].name}",
                "a run deletes only objects that it wrote itself",
                f"remove {OPTIONS[name].name}{clean_up}",
            )


def _check_lists(options: LoadOptions, profile: Profile) -> None:
    lists = any(OperationKind.LIST in job.kinds for phase in profile.phases for job in phase.jobs)
    if lists and options.key_file is not None:
        raise BadInput(
            "--key-file cannot be combined with the operation list",
            "a listing is of a prefix, and the keys of a file may have any",
            "pass --list-existing PREFIX, or take list out",
        )


def _check_slo(profile: Profile) -> None:
    jobs = [job for phase in profile.phases for job in phase.jobs]
    if len(jobs) != 1:
        raise BadInput(
            "--slo needs a profile with one job",
            f"the profile has {len(jobs)} jobs",
            "pass a profile of one phase with one job",
        )
    phase = profile.phases[0]
    for key, is_set in (
        ("loops", profile.loops != 1),
        ("stable", phase.stable),
        ("operations", jobs[0].operations is not None),
    ):
        if is_set:
            raise BadInput(
                f"--slo cannot be combined with the profile's `{key}`",
                "each rate is tried for --duration, and there is one result",
                f"remove `{key}` from the profile",
            )
    if jobs[0].rate is None:
        _check_search(phase)


def _check_search(phase: Phase) -> None:
    """Refuse what cannot be repeated at one rate after the other."""
    if phase.jobs[0].kinds == (OperationKind.DELETE,):
        raise BadInput(
            "--slo cannot be combined with the operation delete alone",
            "the first rate deletes the objects, and nothing is left for the next one",
            "pass --rate, or a mix that also writes, such as --mix put=1,delete=1",
        )
    if phase.ramp_s and phase.duration_s is not None and math.ceil(phase.ramp_s) >= phase.duration_s:
        raise BadInput(
            "--ramp leaves nothing of --duration for --slo to measure",
            "each rate is measured from the first whole second after its ramp on",
            "pass a longer -d, or a shorter --ramp",
        )
