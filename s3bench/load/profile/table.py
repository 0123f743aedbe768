"""The table of what a load profile sets: each row is a key of a profile file, an option of `s3bench load`, or both.

Options that no profile has are in `s3bench.cli.load.options`, as rows of the same type. The tables of
docs/load-profiles.md are made from both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from s3bench.load.operation import MIXABLE, OperationKind
from s3bench.load.profile.defaults import DEFAULT_JOB, DURATION_S, REPLAY_THREADS
from s3bench.load.profile.placement import Addressing, Placement
from s3bench.load.profile.profile import (
    Arrivals,
    KeyDistribution,
    Layout,
    Manner,
    Payload,
    PayloadKind,
    Phase,
    Profile,
    RateChange,
    Share,
)
from s3bench.load.profile.quantity import (
    PART_BYTES_MIN,
    parse_byte_count,
    parse_duration,
    parse_exponent,
    parse_factor,
    parse_key_distribution,
    parse_kind,
    parse_mix,
    parse_part_size,
    parse_rate_or_zero,
    parse_time_limit,
)
from s3bench.load.profile.shapes import BUCKET, FLAG, NAME, URL, DimensionShape, MixShape, ProfileQuantity
from s3bench.load.profile.sizes import Sizes, parse_sizes
from s3bench.spec.compound import NOTHING, Either, ListOf, Record, RecordKey
from s3bench.spec.reader import Report
from s3bench.spec.shape import Shape, Text, WholeNumber, Word
from s3bench.units import BadQuantity, exact_bytes, parse_rate, parse_share

Values = dict[str, Any]
"""Values that a file or a command line gives, by the field that each sets; what is not given is absent."""

COUNT_MAX = 10**12
THREADS_MAX = 100_000
WORKERS_MAX = 1024
LOOPS_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class Conflict:
    """Fields that cannot be given together with an option, and why."""

    others: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Need:
    """Fields one of which an option needs, why, and how to give it on a command line."""

    others: tuple[str, ...]
    why: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOption:
    """One thing that a user can set.

    `written` is the option as in `-t, --threads N`, or empty; without a metavar it is a flag, which sets `field` to
    `sets`. `key` is its name in a profile file, or empty. `shape` reads the value in a file, and its text in an option
    unless `parse` does. `usual` describes a default that is not a single value, `key_meaning` replaces `meaning` for
    the key.
    """

    written: str = ""
    field: str
    key: str = ""
    shape: Shape[Any] = Text()  # noqa: RUF009 (frozen)
    parse: Callable[[str], Any] | None = None
    meaning: str
    key_meaning: str = ""
    default: Any = None
    usual: str = ""
    sets: bool = True
    is_repeated: bool = False
    conflicts: tuple[Conflict, ...] = ()
    need: Need | None = None
    needs_endpoint: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        """The names on a command line: `-t`, `--threads`."""
        return tuple(part.partition(" ")[0] for part in self.written.split(", ")) if self.written else ()

    @property
    def metavar(self) -> str:
        """The value in help; empty for a flag."""
        return self.written.rpartition(", ")[2].partition(" ")[2]

    @property
    def name(self) -> str:
        """The long name on a command line."""
        return self.flags[-1]

    def parse_text(self, text: str) -> Any:
        """Parse the value of the option. Raises `BadQuantity`."""
        if self.parse is not None:
            return self.parse(text)
        digits = text.strip()
        is_whole = isinstance(self.shape, WholeNumber) and digits.isascii() and digits.removeprefix("-").isdecimal()
        report = Report()
        value = self.shape.read(int(digits[:30]) if is_whole else text, (), report)
        for problem in report.problems(text):
            raise BadQuantity(problem.what, problem.fix)
        return value

    def record_key(self) -> RecordKey:
        """The row as a key of a profile file."""
        meaning = self.key_meaning or self.meaning
        return RecordKey(
            name=self.key, becomes=self.field, shape=self.shape, meaning=meaning, default=self._default_in_file
        )

    @property
    def default_text(self) -> str:
        """The default in words, for help and documentation; empty where there is none."""
        default = self._default_in_file
        if self.usual or default is NOTHING or not self.metavar:
            return self.usual
        return default if isinstance(default, str) else f"{default:g}"

    @property
    def _default_in_file(self) -> Any:
        if self.default in (None, ()):
            return NOTHING
        render = self.shape.render if isinstance(self.shape, ProfileQuantity) else None
        return render(self.default) if render else in_file(self.default)


def is_given(keys: Mapping[str, Any], field: str) -> bool:
    """Whether a field has a value, and is not a flag that is off."""
    value = keys.get(field)
    return value is not None and value is not False and value != ()


def in_file(value: Any) -> Any:
    """The value as a profile file has it."""
    match value:
        case Sizes():
            return value.text
        case StrEnum():
            return str(value)
        case (Share(), *_):
            return {str(share.kind): share.weight for share in value}
        case (RateChange(), *_):
            return [{"after": level.after_s, "rate": level.per_s} for level in value]
        case tuple():
            return list(value) or None
        case _:
            return value


_DURATION = ProfileQuantity(
    parse=parse_duration, noun="a duration", example="10s", blank=0.0, render=lambda seconds: f"{seconds:g}s"
)
_LIMIT = replace(_DURATION, parse=parse_time_limit, blank=1.0)
_SIZE = ProfileQuantity(parse=parse_byte_count, noun="a size", example="64KiB", blank=1)
_RATE = ProfileQuantity(parse=parse_rate_or_zero, noun="a rate", example="500", blank=1.0)
_RATE_LEVEL = Record(
    make=RateChange,
    noun="a time and a rate",
    keys=(
        RecordKey(name="after", becomes="after_s", shape=_DURATION, meaning="When it begins.", required=True),
        RecordKey(name="rate", becomes="per_s", shape=_RATE, meaning="Operations planned per second.", required=True),
    ),
    wrong_kind_fix="write e.g. {after: 10m, rate: 500}",
)
_COUNT = WholeNumber(minimum=1, maximum=COUNT_MAX)

_DEFAULTS: Values = {"duration_s": DURATION_S, "arrivals": Arrivals.POISSON} | {
    name: getattr(part, name)
    for part in (Placement(), Manner(), Payload(), Profile(phases=()), Phase(jobs=()), DEFAULT_JOB)
    for name in part.__struct_fields__
    if name != "name" and getattr(part, name) is not None
}


def word_of(written: str) -> str:
    """The long name of an option as the word of a key or a field: `idle_timeout` of `--idle-timeout TIME`."""
    return written.rpartition(", ")[2].partition(" ")[0].removeprefix("--").replace("-", "_")


def _row(written: str, shape: Shape[Any], meaning: str, *, key: str = "", field: str = "", **others: Any) -> LoadOption:
    """A row whose key has the name of the option, and whose field that of the key, unless given."""
    key = key or word_of(written)
    field = field or key
    default = _DEFAULTS.get(field)
    return LoadOption(written=written, field=field, key=key, shape=shape, meaning=meaning, default=default, **others)


RUN_OPTIONS = (
    _row("--endpoint-url URL", Either(usual=URL, special=ListOf(item=URL, least=1, distinct=True), special_type=list),
         "The S3 to measure; several share the connections.", field="endpoint_urls",
         usual="an S3 in memory, made for the run", is_repeated=True),
    _row("-b, --bucket NAME", BUCKET, "The bucket, which must exist; s3bench writes under s3bench/RUN/ only.",
         usual="with -u: s3-benchmark", needs_endpoint=True),
    _row("--region NAME", NAME, "The region that requests are signed for.", parse=str,
         usual="as the AWS CLI, or us-east-1", needs_endpoint=True),
    _row("--addressing path|virtual", Word(words=Addressing, noun="an addressing"),
         "Name the bucket in the path, or in the host name.", needs_endpoint=True),
    _row("--express", FLAG, "The bucket is a directory bucket of S3 Express One Zone; sign with session credentials."),
    _row("--tls-no-verify", FLAG, "Accept any certificate.", needs_endpoint=True),
    _row("--ca-bundle FILE", NAME, "File of the certificate authorities to trust, relative to the current directory.",
         parse=str, usual="the system's",
         conflicts=(Conflict(("tls_no_verify",), "without verification no authority is needed"),), needs_endpoint=True),
    _row("--disable-keepalive", FLAG, "Open a new connection for each request.", key="keepalive", field="keep_alive",
         key_meaning="Reuse connections.", sets=False),
    _row("--payload random|zero", Word(words=PayloadKind, noun="a payload"), "Contents of the objects.", field="kind"),
    _row("--compressible FACTOR", ProfileQuantity(parse=parse_factor, noun="a factor", example="2.5", blank=1.0),
         "How many times smaller random data becomes when it is compressed."),
    _row("--sign-payload", FLAG, "Include a hash of each body in its signature, as the AWS CLI does over plain HTTP.",
         field="signs_payload"),
    _row("--checksum", FLAG, "Send a CRC32 with each put."),
    _row("--no-verify", FLAG, "Do not verify the objects that are read.", key="verify",
         key_meaning="Compare the objects that are read with what was written.", sets=False),
    _row("--retries N", WholeNumber(minimum=0, maximum=100),
         "How often a failed attempt is retried; every attempt is counted."),
    _row("", _DURATION, "Wait before the first retry; it doubles each time.", key="backoff", field="backoff_s"),
    _row("--timeout TIME", _LIMIT, "Time limit of a whole attempt, from its start to the last byte.", field="timeout_s",
         usual="no limit"),
    _row("--idle-timeout TIME", _LIMIT, "Time limit of an attempt without progress.", field="idle_timeout_s"),
    _row("--connect-timeout TIME", _LIMIT, "Time limit of connecting.", field="connect_timeout_s"),
    _row("--workers N", WholeNumber(minimum=1, maximum=WORKERS_MAX), "Worker processes.",
         usual="one per core, at most --threads; fewer beside a server on this machine"),
    _row("-l, --loops N", WholeNumber(minimum=1, maximum=LOOPS_MAX), "How often all phases run."),
    _row("--max-error-rate SHARE",
         ProfileQuantity(parse=parse_share, noun="a share", example="0.1%", blank=0.0, render=lambda x: f"{x:.1%}"),
         "Exit with 1 when a larger share of the operations failed."),
    _row("--layout shared|worker", Word(words=Layout, noun="a layout"),
         "All keys under one prefix, or under one for each worker."),
)  # fmt: skip

PHASE_OPTIONS = (
    _row("-d, --duration TIME", _LIMIT, "Length of each phase; with --operations, its time limit.", field="duration_s",
         key_meaning="Length of the phase; no limit unless given when all its jobs have `operations`."),
    _row("--warmup TIME", _DURATION, "Time at the beginning of a phase that is not measured.", field="warmup_s"),
    _row("--ramp TIME", _DURATION, "Time over which threads start one after the other, or the rate rises.",
         field="ramp_s"),
    _row("--autoterm, --stable", FLAG,
         "End a phase as soon as its throughput has settled, after --duration at the latest.",
         key_meaning="End as soon as throughput has settled, after `duration` at the latest."),
    _row("", ListOf(item=DimensionShape()), "Names and values that distinguish its results.", key="dimensions"),
)  # fmt: skip

JOB_OPTIONS = (
    _row("--operation KIND",
         ProfileQuantity(parse=parse_kind, noun="an operation", example="get", blank=OperationKind.GET),
         f"The only operation: {', '.join(MIXABLE)}.", conflicts=(Conflict(("mix",), "a mix names its operations"),)),
    _row("--mix KIND=WEIGHT,...", MixShape(), "Operations and how often each is chosen.", parse=parse_mix,
         usual=",".join(f"{share.kind}={share.weight:g}" for share in DEFAULT_JOB.mix)),
    _row("-z, --size SIZES", ProfileQuantity(parse=parse_sizes, noun="sizes", example="1MiB", blank=DEFAULT_JOB.sizes),
         "Sizes of objects: 32MiB, 1M, 4KiB:70,1MiB:30, uniform:1KiB-1MiB, or lognormal:64KiB,1.5.", key="sizes"),
    _row("-t, --threads N", WholeNumber(minimum=1, maximum=THREADS_MAX),
         "Requests in flight at a time, over all workers.",
         usual=f"{DEFAULT_JOB.threads}; with -u: 1; with --replay: {REPLAY_THREADS}"),
    _row("--rate PER_S", ProfileQuantity(parse=parse_rate, noun="a rate", example="500", blank=1.0),
         "Open loop: operations planned per second, over all workers; at most as many as threads are in flight.",
         usual="closed loop"),
    _row("", ListOf(item=_RATE_LEVEL, least=1),
         "Open loop whose rate changes: each `{after: 10m, rate: 500}` holds until the next one; 0 is a pause.",
         key="rates", conflicts=(Conflict(("rate",), "both set the rate"),)),
    _row("--arrivals poisson|constant", Word(words=Arrivals, noun="a kind of arrivals"),
         "How planned operations follow each other.",
         need=Need(("rate", "rates"), "without a rate no operation is planned", "pass --rate 500")),
    _row("--operations N", _COUNT, "End a phase after this many operations; without -d it has no time limit.",
         key_meaning="The job ends after this many operations, over all its threads."),
    _row("--objects N", _COUNT, "How many objects there are to read.",
         usual="those written before, or else 1000; in memory as many as make 256 MiB"),
    _row("--keys uniform|sequential|zipf[:EXP]", Word(words=KeyDistribution, noun="a key distribution"),
         "Which object is next.", parse=parse_key_distribution),
    _row("", ProfileQuantity(parse=parse_exponent, noun="an exponent", example="1.1", blank=1.0),
         "How uneven `keys: zipf` is.", key="zipf_exponent"),
    _row("", ListOf(item=_SIZE),
         "Sizes of the most popular objects of `keys: zipf`, the most popular first; each is the nearest of `sizes`.",
         key="popular_sizes"),
    _row("--range SIZE", _SIZE, "How many bytes the operation range reads.", field="range_bytes"),
    _row("--part-size SIZE",
         replace(_SIZE, parse=parse_part_size, example="8MiB", blank=PART_BYTES_MIN, render=exact_bytes),
         "Size of a part of the operation multipart.", field="part_bytes"),
    _row("", WholeNumber(minimum=1, maximum=1000), "Most keys that one `list` asks for.", key="list_keys"),
    _row("--overwrite", FLAG, "Let put write to keys that exist instead of new ones."),
    _row("", FLAG, "Off: connections are closed instead of reading bodies.", key="read_bodies", field="reads_bodies"),
)  # fmt: skip

PROFILE_OPTIONS = (*RUN_OPTIONS, *PHASE_OPTIONS, *JOB_OPTIONS)


def _record(noun: str, *options: LoadOption, **more: Any) -> Record[Values]:
    return Record(make=dict, noun=noun, keys=tuple(option.record_key() for option in options), **more)


_JOB_NAME = _row("", NAME, "Distinguishes the results of the job; `job1` and so on by default.", key="name")
_PHASE_NAME = _row("", NAME, "Distinguishes the results of the phase; `phase1` and so on by default.", key="name")
JOB = _record("a job", _JOB_NAME, *JOB_OPTIONS)
_JOBS = _row("", ListOf(item=JOB, least=1), "Jobs that run side by side.", key="jobs")
PHASE = _record("a phase", _PHASE_NAME, *PHASE_OPTIONS, _JOBS, *JOB_OPTIONS)
_PHASES = _row("", ListOf(item=PHASE, least=1), "What runs, one after the other.", key="phases")
PROFILE = _record(
    "a profile",
    *(*RUN_OPTIONS, _PHASES, _PHASE_NAME, *PHASE_OPTIONS, _JOBS, *JOB_OPTIONS),
    wrong_kind_fix="write an object of keys; see docs/load-profiles.md",
)
