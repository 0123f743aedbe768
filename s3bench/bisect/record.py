"""The record of a bisection as versioned JSON: its versions and options, every comparison with its pairs, the result.

An interrupted bisection continues from its record.

History of the format (`bisect_version`):
1: the first.
2: `floor_d1` of zones. The floor of d1 was that of d0 before, and the default floor of times 2 ms: records of version 1
   are continued with these.
3: `is_drop` of zones, as in records of gates; records before are continued with their own limits.
"""

import dataclasses
import hashlib
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from s3bench.bisect.search import Bisection, ComparisonOutcome, ComparisonResult, SearchResult
from s3bench.errors import BadInput
from s3bench.gate.evidence import ClientCellEvidence
from s3bench.gate.looks import check_looks
from s3bench.gate.policy import Policy, check_gating
from s3bench.gate.row import GateRow
from s3bench.profiling.explanation import Explanation
from s3bench.results.encoding import pretty_json
from s3bench.results.versioned import decode_versioned
from s3bench.spec.definition import Definition
from s3bench.spec.suite import Suite

RECORD_VERSION = 3
_AS_WRITTEN = "pass a record as `s3bench bisect -o FILE` wrote it"
_Error = Annotated[float, msgspec.Meta(gt=0, lt=1)]


class SearchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options that a continued search takes again: `s3bench bisect --help` describes them.

    `suite` is null in a record of a version in which --select chose from all benchmarks. `pins` are the versions of all
    packages beside a dependency that is bisected.
    """

    files: tuple[str, ...] = ()
    select: str | None = None
    suite: Suite | None = None
    timeout: Annotated[float, msgspec.Meta(gt=0)] = 600.0
    tls: bool = False
    pins: dict[str, str] | None = None


class BisectRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One bisection. Times are UTC in ISO 8601; `machine` is as in a results document.

    `client` is the client's name; `versions` are its versions, the older end first, or those of `dependency`, if that
    is given, under the version `base` of the client. `left_out` describes the versions that are not searched.
    `benchmarks` are titles, `benchmarks_digest` is of what they do; former records have none. `unfinished` has the
    pairs of a comparison that was interrupted for the reason `stopped`; it is repeated when the search continues.
    `answers` are the comparisons made so far. `found` is null until the end. `explanation` is of the first changed
    version beside the one before it, where one was found.
    """

    bisect_version: int = RECORD_VERSION
    s3bench: str
    started_at: str
    ended_at: str | None = None
    command_line: tuple[str, ...] = ()
    machine: dict[str, Any] = {}
    options: SearchOptions = SearchOptions()
    client: str
    dependency: str = ""
    base: str = ""
    versions: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    benchmarks: tuple[str, ...]
    benchmarks_digest: str = ""
    policy: Policy
    error: _Error
    seed: Annotated[int, msgspec.Meta(ge=0)]
    warnings: tuple[str, ...] = ()
    answers: tuple[ComparisonResult, ...] = ()
    unfinished: tuple[ClientCellEvidence, ...] = ()
    stopped: str = ""
    found: SearchResult | None = None
    explanation: Explanation | None = None

    @property
    def bisection(self) -> Bisection:
        """The search that the record belongs to."""
        return Bisection(versions=self.versions, policy=self.policy, error=self.error)

    @property
    def subject(self) -> str:
        """What is bisected: `cli-crt`, or `botocore under boto3-classic 1.43.0`."""
        return f"{self.dependency} under {self.client} {self.base}" if self.dependency else self.client

    def named(self, place: int) -> str:
        """A version with its program: `cli-crt 2.36.0`, or `botocore 1.43.7 under boto3-classic 1.43.0`."""
        version = self.versions[place]
        if not self.dependency:
            return f"{self.client} {version}"
        return f"{self.dependency} {version} under {self.client} {self.base}"

    def concluded(self) -> "BisectRecord":
        """The same with the search result of its comparisons, or without one if more comparisons are needed."""
        following = self.bisection.next(self.answers)
        return replace(self, found=following if isinstance(following, SearchResult) else None)


def digest_of(definitions: Sequence[Definition]) -> str:
    """The SHA-256 of what runs of `definitions` do, in their order.

    Keys at their defaults are left out, so that a key that a later s3bench adds does not change it.
    """
    facts = [(each.command, each.environment, each.responses, each.timeout_s) for each in definitions]
    return hashlib.sha256(msgspec.json.encode(_without_defaults(facts))).hexdigest()


def _without_defaults(value: object) -> object:
    """The value with dataclasses as objects of what differs from the default."""
    if isinstance(value, list | tuple):
        return [_without_defaults(each) for each in value]
    if not dataclasses.is_dataclass(value):
        return value
    known = ((field, getattr(value, field.name)) for field in dataclasses.fields(value))
    return {field.name: _without_defaults(each) for field, each in known if each != field.default}


def encode_bisect(record: BisectRecord) -> bytes:
    """Encode as indented JSON."""
    return pretty_json(record, indent=1)


def parse_bisect(text: bytes, *, source: str) -> BisectRecord:
    """Parse a record strictly. Raises `BadInput` with `source` and the JSON path of the error."""
    record = decode_versioned(
        text,
        BisectRecord,
        key="bisect_version",
        newest=RECORD_VERSION,
        source=source,
        noun="record of a bisection",
        fix="pass a file that `s3bench bisect -o FILE` wrote",
    )
    _check(record, source)
    return _with_limits_of_its_version(record)


def _with_limits_of_its_version(record: BisectRecord) -> BisectRecord:
    """The record and its comparisons in today's version, with the zones declared that were in force in theirs."""
    version = record.bisect_version
    return replace(
        record,
        bisect_version=RECORD_VERSION,
        policy=record.policy.of_record(version),
        answers=tuple(
            replace(each, comparison=replace(each.comparison, policy=each.comparison.policy.of_record(version)))
            for each in record.answers
        ),
    )


def _check(record: BisectRecord, source: str) -> None:
    """Check what types cannot express, so that a record edited by hand is rejected before anything runs."""
    if len(set(record.versions)) < len(record.versions):
        raise BadInput(f"{source}: $.versions: a version is listed twice", fix=_AS_WRITTEN)
    try:
        check_gating((*record.policy.metrics, *record.policy.zones))
        check_looks(record.policy.looks)
        record.bisection.check_versions()
    except BadInput as error:
        raise BadInput(f"{source}: {error.what}", error.why, error.fix) from error
    for number, result in enumerate(record.answers):
        older, newer = result.comparison.older, result.comparison.newer
        if not 0 <= older < newer < len(record.versions):
            raise BadInput(
                f"{source}: $.answers[{number}].comparison: {older} and {newer} are not two places in order",
                fix=_AS_WRITTEN,
            )
        for name, row in (("row", result.row), *((f"others[{place}]", row) for place, row in enumerate(result.others))):
            _check_row(row, record, f"{source}: $.answers[{number}].{name}")
        if result.row is None and result.outcome is ComparisonOutcome.CHANGED:
            raise BadInput(f"{source}: $.answers[{number}].row: a change needs a row", fix=_AS_WRITTEN)
    if record.found is not None:
        _check_row(record.found.size, record, f"{source}: $.found.size")
        for name in ("last", "first", "sized_from"):
            place = getattr(record.found, name)
            if place is not None and not 0 <= place < len(record.versions):
                raise BadInput(f"{source}: $.found.{name}: there is no version {place}", fix=_AS_WRITTEN)


def _check_row(row: GateRow | None, record: BisectRecord, where: str) -> None:
    if row is None:
        return
    if row.benchmark not in {"", *record.benchmarks}:
        raise BadInput(f"{where}.benchmark: {row.benchmark!r} is not in $.benchmarks", fix=_AS_WRITTEN)
    for name in ("change", "low", "high"):
        if (value := getattr(row, name)) is not None and value <= -1:
            raise BadInput(f"{where}.{name}: {value:g} is not above -1 (-100 %)", fix=_AS_WRITTEN)
