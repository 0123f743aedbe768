"""Reads the YAML configuration of s4, the S3 stress tool (https://github.com/gbunt/s4), unchanged.

Its read and write jobs run side by side in one phase, each thread as many iterations as its job says. Objects have our
names, below the prefix of the run; those that are read are written before.
"""

from typing import Any

from s3bench.load.operation import OperationKind
from s3bench.load.profile.placement import PlacedProfile, Placement
from s3bench.load.profile.profile import Job, Manner, Payload, PayloadKind, Phase, Profile, Share
from s3bench.load.profile.quantity import parse_byte_count
from s3bench.load.profile.shapes import BUCKET, FLAG, NAME, URL, ProfileQuantity
from s3bench.load.profile.sizes import SIZE_BYTES_MAX, Sizes
from s3bench.load.profile.table import COUNT_MAX, THREADS_MAX, Values
from s3bench.spec.compound import ListOf, Record, RecordKey
from s3bench.spec.reader import Complaint, JsonObject, Report
from s3bench.spec.shape import WholeNumber
from s3bench.units import BadQuantity

ZEROS = (
    "random_data is off: objects consist of zeros, as s4's do; servers and networks that compress or deduplicate are "
    "faster with them than with real data"
)
SPARSE = (
    "read_sparse is on: connections are closed instead of reading bodies, so reads count no bytes and are not verified"
)


def _key(name: str, shape: Any, meaning: str, **more: Any) -> RecordKey:
    return RecordKey(name=name, becomes=name, shape=shape, meaning=meaning, **more)


def _record_sizes(text: str) -> Sizes:
    size_bytes = parse_byte_count(text)
    if size_bytes > SIZE_BYTES_MAX:
        raise BadQuantity.of(text, "and S3 stores at most 5 TiB", "write 5TiB or less")
    return Sizes(text=text.strip(), slots=(size_bytes,))


_COUNT = WholeNumber(minimum=1, maximum=COUNT_MAX)
_JOB: Record[Values] = Record(
    make=dict,
    noun="a job of s4",
    keys=(
        _key("name", NAME, "Distinguishes its results.", required=True),
        _key(
            "recordsize",
            ProfileQuantity(parse=_record_sizes, noun="a size", example="1mib", blank=Sizes(text="1", slots=(1,))),
            "Size of each object.",
            required=True,
        ),
        _key(
            "threadcount", WholeNumber(minimum=1, maximum=THREADS_MAX), "Requests in flight at a time.", required=True
        ),
        _key("iterations", _COUNT, "Operations of each thread.", required=True),
    ),
)
_JOBS = ListOf(item=_JOB, noun="a list of jobs")
_NO_JOBS = (("read", None), ("write", None))

STRESS: Record[Values] = Record(
    make=dict,
    noun="a configuration of s4",
    keys=(
        _key("s3_endpoint", URL, "Where to run.", required=True),
        _key("bucket", BUCKET, "The bucket, which must exist.", required=True),
        _key(
            "read_range_max",
            WholeNumber(minimum=0, maximum=COUNT_MAX),
            "How many objects the read jobs read.",
            default=0,
        ),
        _key("read_sparse", FLAG, "Do not read bodies.", default=False),
        _key("random_data", FLAG, "Random data, not zeros.", default=False),
        _key("tls_no_verify", FLAG, "Take any certificate.", default=False),
        _key("disable_keepalive", FLAG, "A new connection for each request.", default=False),
        _key("read", _JOBS, "Jobs that read."),
        _key("write", _JOBS, "Jobs that write."),
    ),
)


def read_stress(value: object, report: Report) -> PlacedProfile:
    """Read a decoded configuration; problems go to `report`, and blanks stand for what is wrong."""
    keys = STRESS.read(_without_empty_jobs(value), (), report)
    reads, writes = keys.get("read", ()), keys.get("write", ())
    if not reads and not writes and not report.touches(()):
        report.add(("write",), Complaint("is missing, and so is `read`", "add jobs to `read` or `write`"))
    if reads and not keys.get("read_range_max") and not report.touches(("read_range_max",)):
        report.add(
            ("read_range_max",), Complaint("is missing or 0", "write how many objects the read jobs read, e.g. 100")
        )
    jobs = (
        *(_job(job, OperationKind.GET, keys) for job in reads),
        *(_job(job, OperationKind.PUT, keys) for job in writes),
    )
    for which, own in (("read", reads), ("write", writes)):
        _refuse_same_names(which, own, report)
    profile = Profile(
        phases=(Phase(name="s4", jobs=jobs),),
        manner=Manner(keep_alive=not keys.get("disable_keepalive", False)),
        payload=Payload(kind=PayloadKind.RANDOM if keys.get("random_data") else PayloadKind.ZERO),
    )
    placement = Placement(
        endpoint_urls=(keys["s3_endpoint"],),
        bucket=keys["bucket"],
        tls_no_verify=keys.get("tls_no_verify", False),
    )
    return PlacedProfile(profile=profile, placement=placement, warnings=_warnings(keys))


def _warnings(keys: Values) -> tuple[str, ...]:
    is_sparse = bool(keys.get("read_sparse") and keys.get("read"))
    return (*((SPARSE,) if is_sparse else ()), *(() if keys.get("random_data") else (ZEROS,)))


def _job(keys: Values, kind: OperationKind, run: Values) -> Job:
    return Job(
        name=f"{'read' if kind is OperationKind.GET else 'write'} {keys['name']}",
        mix=(Share(kind=kind),),
        sizes=keys["recordsize"],
        threads=keys["threadcount"],
        operations=keys["threadcount"] * keys["iterations"],
        objects=run.get("read_range_max") or None if kind is OperationKind.GET else None,
        reads_bodies=not run.get("read_sparse", False),
    )


def _refuse_same_names(which: str, jobs: tuple[Values, ...], report: Report) -> None:
    names = [job["name"] for job in jobs]
    for index, name in enumerate(names):
        at = (which, index, "name")
        if name in names[:index] and not report.touches(at):
            report.add(at, Complaint("is that of another job", "give each job its own name"))


def _without_empty_jobs(value: object) -> object:
    """`read:` with nothing after it means no jobs."""
    if not isinstance(value, JsonObject):
        return value
    return JsonObject(tuple(pair for pair in value.pairs if pair not in _NO_JOBS))
