"""The table of keys of a load profile: all that a file can say, with shapes, defaults and meanings.

Owns the keys of a profile, a phase and a job. What they mean together is `profilefile`'s; docs/load-profiles.md is held
to this table by a test.
"""

from dataclasses import dataclass
from typing import Any

from s3bench.load.operation import MIXABLE, OperationKind
from s3bench.load.profile.defaults import DURATION_S, SIZES, THREADS
from s3bench.load.profile.profile import (
    Arrivals,
    KeyChoice,
    Layout,
    Manner,
    PayloadKind,
    Share,
)
from s3bench.load.profile.quantity import (
    PART_BYTES_MIN,
    BadFigure,
    ProfileQuantity,
    parse_byte_count,
    parse_duration,
    parse_exponent,
    parse_factor,
    parse_kind,
    parse_number,
    parse_object_sizes,
    parse_part_size,
    parse_rate,
    parse_share,
    parse_time_limit,
)
from s3bench.load.profile.written import Addressing
from s3bench.spec.compound import Either, ListOf, Record, RecordKey
from s3bench.spec.reader import Complaint, JsonObject, Report, Steps, one_of, quoted
from s3bench.spec.shape import Text, TextRule, WholeNumber, Word, wrong_kind
from s3bench.spec.table import LABEL

Keys = dict[str, Any]
"""The values that stand in an object, by their keys; absent ones are not in it."""

COUNT_MAX = 10**12
THREADS_MAX = 100_000
WORKERS_MAX = 1024
LOOPS_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    noun: str = "true or false"

    def read(self, value: Any, at: Steps, report: Report) -> bool:
        """Return the value, or false."""
        if not isinstance(value, bool):
            report.add(at, wrong_kind(value, at, self.noun, "write true or false, without quotes"))
            return False
        return value

    def schema(self) -> dict[str, Any]:
        """`type: boolean`."""
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
            except BadFigure as bad:
                report.add((*at, name), bad.complaint)
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
class _Operation:
    noun: str = "an operation"

    def read(self, value: Any, at: Steps, report: Report) -> OperationKind:
        if not isinstance(value, str):
            report.add(at, wrong_kind(value, at, self.noun, f"write {one_of(str(kind) for kind in MIXABLE)}"))
            return OperationKind.GET
        try:
            return parse_kind(value)
        except BadFigure as bad:
            report.add(at, bad.complaint)
            return OperationKind.GET

    def schema(self) -> dict[str, Any]:
        return {"enum": [str(kind) for kind in MIXABLE]}


@dataclass(frozen=True, slots=True)
class _Dimension:
    noun: str = "an object of one name and its value"

    def read(self, value: Any, at: Steps, report: Report) -> dict[str, str]:
        if not isinstance(value, JsonObject) or len(value.pairs) != 1:
            report.add(at, wrong_kind(value, at, self.noun, 'write e.g. {"size": "1 KiB"}'))
            return {}
        [(name, content)] = value.pairs
        Text(rule=LABEL).read(name, (*at, name), report)
        return {name: Text(rule=LABEL).read(content, (*at, name), report)}

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": {"type": "string"}}


def _check_url(text: str) -> Complaint | None:
    if text.lower().startswith(("http://", "https://")):
        return None
    return Complaint(f"is {quoted(text)}, which is no URL", "write it like http://127.0.0.1:9000")


def _check_bucket(text: str) -> Complaint | None:
    if text and "/" not in text and text.isprintable() and " " not in text:
        return None
    return Complaint(f"is {quoted(text)}, which is no bucket", "write the name of a bucket that exists")


URL = Text(rule=TextRule(check=_check_url, pattern="^[Hh][Tt][Tt][Pp][Ss]?://"), noun="a URL")
BUCKET = Text(rule=TextRule(check=_check_bucket, pattern="^[^/ ]+$"), noun="the name of a bucket")
_LABEL = Text(rule=LABEL)
_BYTES = ProfileQuantity(parse=parse_byte_count, noun="a size", example="64KiB", blank=1)
_DURATION = ProfileQuantity(parse=parse_duration, noun="a duration", example="10s", blank=0.0)
_LIMIT = ProfileQuantity(parse=parse_time_limit, noun="a duration", example="30s", blank=1.0)
_SIZES = ProfileQuantity(parse=parse_object_sizes, noun="sizes", example="1MiB", blank=SIZES)
_SHARE = ProfileQuantity(parse=parse_share, noun="a share", example="0.1%", blank=0.0)
_RATE = ProfileQuantity(parse=parse_rate, noun="a rate", example="500", blank=1.0)
_WEIGHT = ProfileQuantity(parse=parse_number, noun="a weight", example="70", blank=1.0)
_FACTOR = ProfileQuantity(parse=parse_factor, noun="a factor", example="2.5", blank=1.0)
_EXPONENT = ProfileQuantity(parse=parse_exponent, noun="an exponent", example="1.1", blank=1.0)


_PART_BYTES = ProfileQuantity(parse=parse_part_size, noun="a size", example="8MiB", blank=PART_BYTES_MIN)


def _key(name: str, shape: Any, meaning: str, **more: Any) -> RecordKey:
    return RecordKey(name=name, becomes=name, shape=shape, meaning=meaning, **more)


JOB_KEYS = (
    _key("operation", _Operation(), "The one operation of the job; short for a `mix` of it alone."),
    _key("mix", _Mix(), "Operations and their weights.", default={"get": 45, "head": 30, "put": 15, "delete": 10}),
    _key("sizes", _SIZES, "Sizes of the objects.", default="1MiB"),
    _key("threads", WholeNumber(minimum=1, maximum=THREADS_MAX), "Requests in flight at a time.", default=THREADS),
    _key("rate", _RATE, "Open loop: operations planned per second, by all workers together."),
    _key("arrivals", Word(words=Arrivals, noun="a kind of arrivals"), "With `rate`.", default="poisson"),
    _key("operations", WholeNumber(minimum=1, maximum=COUNT_MAX), "The job ends after as many, over all its threads."),
    _key("objects", WholeNumber(minimum=1, maximum=COUNT_MAX), "How many objects are there to be read."),
    _key("keys", Word(words=KeyChoice, noun="a choice of keys"), "Which of them is next.", default="uniform"),
    _key("zipf_exponent", _EXPONENT, "With `keys: zipf`: how uneven.", default=1.0),
    _key("range", _BYTES, "Bytes that the operation `range` reads."),
    _key("part_size", _PART_BYTES, "Bytes of a part of `multipart`.", default="8MiB"),
    _key("list_keys", WholeNumber(minimum=1, maximum=1000), "Most keys that one `list` asks for.", default=1000),
    _key("overwrite", Flag(), "`put` takes the keys of objects that are there, not new ones.", default=False),
    _key("read_bodies", Flag(), "Off: bodies are not read, connections are closed instead.", default=True),
)

JOB: Record[Keys] = Record(
    make=dict,
    noun="a job",
    keys=(_key("name", _LABEL, "Tells the job's results from others'; needed where a phase has several."), *JOB_KEYS),
)

_PHASE_OWN = (
    _key("duration", _LIMIT, "Seconds after which the phase ends.", default=f"{DURATION_S:g}s"),
    _key("warmup", _DURATION, "Seconds at its beginning that are not measured.", default=0),
    _key("ramp", _DURATION, "Seconds in which threads begin, or the rate rises.", default=0),
    _key("stable", Flag(), "End as soon as throughput has settled.", default=False),
    _key("dimensions", ListOf(item=_Dimension()), "Facts that tell its results from others'.", default=[]),
    _key("jobs", ListOf(item=JOB, least=1), "Jobs that run side by side."),
)
PHASE_KEYS = (*_PHASE_OWN, *JOB_KEYS)

PHASE: Record[Keys] = Record(
    make=dict,
    noun="a phase",
    keys=(_key("name", _LABEL, "Tells the phase's results from others'."), *PHASE_KEYS),
)

_MANNER = Manner()
RUN_KEYS = (
    _key(
        "endpoint_url",
        Either(usual=URL, special=ListOf(item=URL, least=1, distinct=True), special_type=list),
        "Where to run; several share the connections.",
    ),
    _key("bucket", BUCKET, "The bucket, which must exist."),
    _key("region", _LABEL, "The region that requests are signed for."),
    _key(
        "addressing",
        Word(words=Addressing, noun="an addressing"),
        "Bucket in path or host.",
        default="path",
    ),
    _key("tls_no_verify", Flag(), "Take any certificate.", default=False),
    _key("ca_bundle", _LABEL, "File of the authorities to trust."),
    _key("keepalive", Flag(), "Use connections again.", default=True),
    _key("payload", Word(words=PayloadKind, noun="a payload"), "What objects hold.", default="random"),
    _key("compressible", _FACTOR, "Factor by which random data shrinks.", default=1.0),
    _key("sign_payload", Flag(), "Hash bodies into the signature.", default=_MANNER.signs_payload),
    _key("checksum", Flag(), "Send a CRC32 with each PUT.", default=_MANNER.checksum),
    _key("verify", Flag(), "Hold what is read against what was written.", default=_MANNER.verify),
    _key("retries", WholeNumber(minimum=0, maximum=100), "Tries after a failed one.", default=_MANNER.retries),
    _key("backoff", _DURATION, "Wait before a retry; twice as long each time.", default="50ms"),
    _key("timeout", _LIMIT, "Limit of an attempt as a whole. Left out: none."),
    _key("idle_timeout", _LIMIT, "Limit of an attempt without progress.", default=f"{_MANNER.idle_timeout_s:g}s"),
    _key("connect_timeout", _LIMIT, "Limit of connecting.", default=f"{_MANNER.connect_timeout_s:g}s"),
    _key("workers", WholeNumber(minimum=1, maximum=WORKERS_MAX), "Processes. Left out: one per core."),
    _key("loops", WholeNumber(minimum=1, maximum=LOOPS_MAX), "How often all phases run.", default=1),
    _key("max_error_rate", _SHARE, "Share of failed operations above which the exit code is 1.", default="0.1%"),
    _key("layout", Word(words=Layout, noun="a layout"), "Keys in one prefix, or one per worker.", default="shared"),
)

PROFILE: Record[Keys] = Record(
    make=dict,
    noun="a profile",
    wrong_kind_fix="write an object of keys; see docs/load-profiles.md",
    keys=(
        *RUN_KEYS,
        _key("phases", ListOf(item=PHASE, least=1), "What runs, one after the other."),
        _key("name", _LABEL, "With one phase only: its name."),
        *PHASE_KEYS,
    ),
)
