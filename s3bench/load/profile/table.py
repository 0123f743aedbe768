"""The table of what a load profile sets: each row is a key of a profile file, an option of `s3bench load`, or both.

Options that no profile has are in `s3bench.cli.load.options`, as rows of the same type. The tables of
docs/load-profiles.md are made from both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from s3bench.load.operation import MIXABLE, OperationKind
from s3bench.load.profile.defaults import DEFAULT_JOB, DURATION_S
from s3bench.load.profile.placement import Addressing, Placement
from s3bench.load.profile.profile import (
    Arrivals,
    KeyChoice,
    Layout,
    Manner,
    Payload,
    PayloadKind,
    Phase,
    Profile,
    Share,
)
from s3bench.load.profile.quantity import (
    PART_BYTES_MIN,
    ProfileQuantity,
    parse_byte_count,
    parse_duration,
    parse_exponent,
    parse_factor,
    parse_key_choice,
    parse_kind,
    parse_mix,
    parse_part_size,
    parse_time_limit,
)
from s3bench.load.profile.sizes import Sizes, parse_sizes
from s3bench.spec.compound import NOTHING, Either, ListOf, Record, RecordKey
from s3bench.spec.reader import Complaint, JsonObject, Report, Steps
from s3bench.spec.shape import Shape, Text, TextRule, WholeNumber, Word, wrong_kind
from s3bench.spec.table import LABEL
from s3bench.units import BadQuantity, exact_bytes, parse_number, parse_rate, parse_share

Keys = dict[str, Any]
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
        is_whole = isinstance(self.shape, WholeNumber) and digits.isascii() and digits.isdecimal()
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
        case tuple():
            return list(value) or None
        case _:
            return value


@dataclass(frozen=True, slots=True)
class _Flag:
    noun: str = "true or false"

    def read(self, value: Any, at: Steps, report: Report) -> bool:
        if not isinstance(value, bool):
            report.add(at, wrong_kind(value, at, self.noun, "write true or false, without quotes"))
            return False
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class _Mix:
    noun: str = "an object of operations and weights"

    def read(self, value: Any, at: Steps, report: Report) -> tuple[Share, ...]:
        if not isinstance(value, JsonObject) or not value.pairs:
            report.add(at, wrong_kind(value, at, self.noun, "write e.g. {get: 70, put: 30}"))
            return ()
        shares: dict[OperationKind, Share] = {}
        for name, content in value.pairs:
            weight = _WEIGHT.read(content, (*at, name), report)
            try:
                kind = parse_kind(name)
            except BadQuantity as bad:
                report.add((*at, name), Complaint(bad.what, bad.fix))
                continue
            if kind in shares:
                report.add((*at, name), Complaint("is given twice", "keep one of them"))
            elif not weight and not report.touches((*at, name)):
                report.add((*at, name), Complaint("has no weight", "write a weight above 0, or take it out"))
            shares[kind] = Share(kind=kind, weight=weight)
        return tuple(shares.values())

    def schema(self) -> dict[str, Any]:
        names = {"enum": [str(kind) for kind in MIXABLE]}
        return {"type": "object", "propertyNames": names, "additionalProperties": {"type": "number"}}


@dataclass(frozen=True, slots=True)
class _Dimension:
    noun: str = "an object of one name and its value"

    def read(self, value: Any, at: Steps, report: Report) -> dict[str, str]:
        if not isinstance(value, JsonObject) or len(value.pairs) != 1:
            report.add(at, wrong_kind(value, at, self.noun, 'write e.g. {"size": "1 KiB"}'))
            return {}
        [(name, content)] = value.pairs
        _LABEL.read(name, (*at, name), report)
        return {name: _LABEL.read(content, (*at, name), report)}

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": {"type": "string"}}


def _check_url(text: str) -> Complaint | None:
    if text.lower().startswith(("http://", "https://")):
        return None
    return Complaint("is not a URL", "write it like http://127.0.0.1:9000")  # not repeated: it may hold a password


def _check_bucket(text: str) -> Complaint | None:
    if text and "/" not in text and text.isprintable() and " " not in text:
        return None
    return Complaint("is not the name of a bucket", "write the name of a bucket that exists")


FLAG = _Flag()
URL = Text(rule=TextRule(check=_check_url, pattern="^[Hh][Tt][Tt][Pp][Ss]?://"), noun="a URL")
BUCKET = Text(rule=TextRule(check=_check_bucket, pattern="^[^/ ]+$"), noun="the name of a bucket")
_LABEL = Text(rule=LABEL)
_DURATION = ProfileQuantity(
    parse=parse_duration, noun="a duration", example="10s", blank=0.0, render=lambda seconds: f"{seconds:g}s"
)
_LIMIT = ProfileQuantity(
    parse=parse_time_limit, noun="a duration", example="30s", blank=1.0, render=lambda seconds: f"{seconds:g}s"
)
_WEIGHT = ProfileQuantity(parse=parse_number, noun="a weight", example="70", blank=1.0)
_COUNT = WholeNumber(minimum=1, maximum=COUNT_MAX)

_DEFAULTS: Keys = {"duration_s": DURATION_S, "arrivals": Arrivals.POISSON} | {
    name: getattr(part, name)
    for part in (Placement(), Manner(), Payload(), Profile(phases=()), Phase(jobs=()), DEFAULT_JOB)
    for name in part.__struct_fields__
    if name != "name" and getattr(part, name) is not None
}


def _option(
    key: str, shape: Shape[Any], meaning: str, written: str = "", *, field: str = "", **others: Any
) -> LoadOption:
    """A row; `field` is that of the key unless given."""
    field = field or key
    default = _DEFAULTS.get(field)
    return LoadOption(field=field, key=key, shape=shape, meaning=meaning, written=written, default=default, **others)


RUN_OPTIONS = (
    _option(
        "endpoint_url",
        Either(usual=URL, special=ListOf(item=URL, least=1, distinct=True), special_type=list),
        "The S3 to measure; several share the connections.",
        "--endpoint-url URL",
        usual="an S3 in memory, made for the run",
        is_repeated=True,
        field="endpoint_urls",
    ),
    _option(
        "bucket",
        BUCKET,
        "The bucket, which must exist; s3bench writes under s3bench/RUN/ only.",
        "-b, --bucket NAME",
        usual="with -u: s3-benchmark",
        needs_endpoint=True,
    ),
    _option(
        "region",
        _LABEL,
        "The region that requests are signed for.",
        "--region NAME",
        parse=str,
        usual="as the AWS CLI, or us-east-1",
        needs_endpoint=True,
    ),
    _option(
        "addressing",
        Word(words=Addressing, noun="an addressing"),
        "Name the bucket in the path, or in the host name.",
        "--addressing path|virtual",
        needs_endpoint=True,
    ),
    _option("tls_no_verify", FLAG, "Accept any certificate.", "--tls-no-verify", needs_endpoint=True),
    _option(
        "ca_bundle",
        _LABEL,
        "File of the certificate authorities to trust, relative to the current directory.",
        "--ca-bundle FILE",
        parse=str,
        usual="the system's",
        conflicts=(Conflict(("tls_no_verify",), "without verification no authority is needed"),),
        needs_endpoint=True,
    ),
    _option(
        "keepalive",
        FLAG,
        "Open a new connection for each request.",
        "--disable-keepalive",
        key_meaning="Reuse connections.",
        sets=False,
        field="keep_alive",
    ),
    _option(
        "payload",
        Word(words=PayloadKind, noun="a payload"),
        "Contents of the objects.",
        "--payload random|zero",
        field="kind",
    ),
    _option(
        "compressible",
        ProfileQuantity(parse=parse_factor, noun="a factor", example="2.5", blank=1.0),
        "How many times smaller random data becomes when it is compressed.",
        "--compressible FACTOR",
    ),
    _option(
        "sign_payload",
        FLAG,
        "Include a hash of each body in its signature, as the AWS CLI does over plain HTTP.",
        "--sign-payload",
        field="signs_payload",
    ),
    _option("checksum", FLAG, "Send a CRC32 with each put.", "--checksum"),
    _option(
        "verify",
        FLAG,
        "Do not verify the objects that are read.",
        "--no-verify",
        key_meaning="Compare the objects that are read with what was written.",
        sets=False,
    ),
    _option(
        "retries",
        WholeNumber(minimum=0, maximum=100),
        "How often a failed attempt is retried; every attempt is counted.",
        "--retries N",
    ),
    _option("backoff", _DURATION, "Wait before the first retry; it doubles each time.", field="backoff_s"),
    _option(
        "timeout",
        _LIMIT,
        "Time limit of a whole attempt, from its start to the last byte.",
        "--timeout TIME",
        usual="no limit",
        field="timeout_s",
    ),
    _option(
        "idle_timeout",
        _LIMIT,
        "Time limit of an attempt without progress.",
        "--idle-timeout TIME",
        field="idle_timeout_s",
    ),
    _option(
        "connect_timeout", _LIMIT, "Time limit of connecting.", "--connect-timeout TIME", field="connect_timeout_s"
    ),
    _option(
        "workers",
        WholeNumber(minimum=1, maximum=WORKERS_MAX),
        "Worker processes.",
        "--workers N",
        usual="one per core",
    ),
    _option("loops", WholeNumber(minimum=1, maximum=LOOPS_MAX), "How often all phases run.", "-l, --loops N"),
    _option(
        "max_error_rate",
        ProfileQuantity(
            parse=parse_share, noun="a share", example="0.1%", blank=0.0, render=lambda share: f"{share:.1%}"
        ),
        "Exit with 1 when a larger share of the operations failed.",
        "--max-error-rate SHARE",
    ),
    _option(
        "layout",
        Word(words=Layout, noun="a layout"),
        "All keys under one prefix, or under one for each worker.",
        "--layout shared|worker",
    ),
)

PHASE_OPTIONS = (
    _option(
        "duration",
        _LIMIT,
        "Length of each phase; with --operations, its time limit.",
        "-d, --duration TIME",
        key_meaning="Length of the phase; no limit unless given when all its jobs have `operations`.",
        field="duration_s",
    ),
    _option(
        "warmup", _DURATION, "Time at the beginning of a phase that is not measured.", "--warmup TIME", field="warmup_s"
    ),
    _option(
        "ramp",
        _DURATION,
        "Time over which threads start one after the other, or the rate rises.",
        "--ramp TIME",
        field="ramp_s",
    ),
    _option(
        "stable",
        FLAG,
        "End a phase as soon as its throughput has settled, after --duration at the latest.",
        "--stable",
        key_meaning="End as soon as throughput has settled, after `duration` at the latest.",
    ),
    _option("dimensions", ListOf(item=_Dimension()), "Names and values that distinguish its results."),
)

JOB_OPTIONS = (
    _option(
        "operation",
        ProfileQuantity(parse=parse_kind, noun="an operation", example="get", blank=OperationKind.GET),
        f"The only operation: {', '.join(MIXABLE)}.",
        "--operation KIND",
        conflicts=(Conflict(("mix",), "a mix names its operations"),),
    ),
    _option(
        "mix",
        _Mix(),
        "Operations and how often each is chosen.",
        "--mix KIND=WEIGHT,...",
        parse=parse_mix,
        usual=",".join(f"{share.kind}={share.weight:g}" for share in DEFAULT_JOB.mix),
    ),
    _option(
        "sizes",
        ProfileQuantity(parse=parse_sizes, noun="sizes", example="1MiB", blank=DEFAULT_JOB.sizes),
        "Sizes of objects: 32MiB, 1M, 4KiB:70,1MiB:30, uniform:1KiB-1MiB, or lognormal:64KiB,1.5.",
        "-z, --size SIZES",
    ),
    _option(
        "threads",
        WholeNumber(minimum=1, maximum=THREADS_MAX),
        "Requests in flight at a time, over all workers.",
        "-t, --threads N",
        usual=f"{DEFAULT_JOB.threads}; with -u: 1",
    ),
    _option(
        "rate",
        ProfileQuantity(parse=parse_rate, noun="a rate", example="500", blank=1.0),
        "Open loop: operations planned per second, over all workers; at most as many as threads are in flight.",
        "--rate PER_S",
        usual="closed loop",
    ),
    _option(
        "arrivals",
        Word(words=Arrivals, noun="a kind of arrivals"),
        "How planned operations follow each other.",
        "--arrivals poisson|constant",
        need=Need(("rate",), "without a rate no operation is planned", "pass --rate 500"),
    ),
    _option(
        "operations",
        _COUNT,
        "End a phase after this many operations; without -d it has no time limit.",
        "--operations N",
        key_meaning="The job ends after this many operations, over all its threads.",
    ),
    _option(
        "objects",
        _COUNT,
        "How many objects there are to read.",
        "--objects N",
        usual="those written before, or else 1000; in memory as many as make 256 MiB",
    ),
    _option(
        "keys",
        Word(words=KeyChoice, noun="a key distribution"),
        "Which object is next.",
        "--keys uniform|sequential|zipf[:EXP]",
        parse=parse_key_choice,
    ),
    _option(
        "zipf_exponent",
        ProfileQuantity(parse=parse_exponent, noun="an exponent", example="1.1", blank=1.0),
        "How uneven `keys: zipf` is.",
    ),
    _option(
        "range",
        ProfileQuantity(parse=parse_byte_count, noun="a size", example="64KiB", blank=1),
        "How many bytes the operation range reads.",
        "--range SIZE",
        field="range_bytes",
    ),
    _option(
        "part_size",
        ProfileQuantity(parse=parse_part_size, noun="a size", example="8MiB", blank=PART_BYTES_MIN, render=exact_bytes),
        "Size of a part of the operation multipart.",
        "--part-size SIZE",
        field="part_bytes",
    ),
    _option("list_keys", WholeNumber(minimum=1, maximum=1000), "Most keys that one `list` asks for."),
    _option("overwrite", FLAG, "Let put write to keys that exist instead of new ones.", "--overwrite"),
    _option("read_bodies", FLAG, "Off: connections are closed instead of reading bodies.", field="reads_bodies"),
)

PROFILE_OPTIONS = (*RUN_OPTIONS, *PHASE_OPTIONS, *JOB_OPTIONS)


def _record(noun: str, *options: LoadOption, **more: Any) -> Record[Keys]:
    return Record(make=dict, noun=noun, keys=tuple(option.record_key() for option in options), **more)


_JOB_NAME = _option("name", _LABEL, "Distinguishes the results of the job; `job1` and so on by default.")
_PHASE_NAME = _option("name", _LABEL, "Distinguishes the results of the phase; `phase1` and so on by default.")
JOB = _record("a job", _JOB_NAME, *JOB_OPTIONS)
_JOBS = _option("jobs", ListOf(item=JOB, least=1), "Jobs that run side by side.")
PHASE = _record("a phase", _PHASE_NAME, *PHASE_OPTIONS, _JOBS, *JOB_OPTIONS)
_PHASES = _option("phases", ListOf(item=PHASE, least=1), "What runs, one after the other.")
PROFILE = _record(
    "a profile",
    *RUN_OPTIONS,
    _PHASES,
    _PHASE_NAME,
    *PHASE_OPTIONS,
    _JOBS,
    *JOB_OPTIONS,
    wrong_kind_fix="write an object of keys; see docs/load-profiles.md",
)
