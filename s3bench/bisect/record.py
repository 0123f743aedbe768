"""The record of a search: what was asked, every answer with its raw pairs, and what they come to, as versioned JSON.

Owns the format. From a record alone the search goes on where it stopped.

History of the format (`bisect_version`):
1: the first.
"""

from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from s3bench.bisect.search import Bisection, ComparisonResult, SearchResult
from s3bench.errors import BadInput
from s3bench.gate.evidence import CellEvidence
from s3bench.gate.looks import check_looks
from s3bench.gate.policy import Policy, check_gating
from s3bench.results.versioned import decode_versioned

RECORD_VERSION = 1
_Error = Annotated[float, msgspec.Meta(gt=0, lt=1)]


class BisectRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One search. Times are UTC in ISO 8601; `machine` and `options` are as in a results document.

    `client` is the client's name; `versions` are its own, the older end first, or where `dependency` is named those of
    the dependency, under the version `base` of the client. `left_out` says in words which versions take no part.
    `benchmarks` are titles. `unfinished` has the pairs of a comparison that came to no end, for which `stopped` says
    why; it is made anew when the search goes on. `found` is null until the end.
    """

    bisect_version: int = RECORD_VERSION
    s3bench: str
    started_at: str
    ended_at: str | None = None
    command_line: tuple[str, ...] = ()
    machine: dict[str, Any] = {}
    options: dict[str, Any] = {}
    client: str
    dependency: str = ""
    base: str = ""
    versions: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    benchmarks: tuple[str, ...]
    policy: Policy
    error: _Error
    seed: int
    warnings: tuple[str, ...] = ()
    answers: tuple[ComparisonResult, ...] = ()
    unfinished: tuple[CellEvidence, ...] = ()
    stopped: str = ""
    found: SearchResult | None = None

    @property
    def bisection(self) -> Bisection:
        """The search that it is of."""
        return Bisection(versions=self.versions, policy=self.policy, error=self.error)

    @property
    def subject(self) -> str:
        """What has the versions: `cli-crt`, or `botocore under boto3-classic 1.43.0`."""
        return f"{self.dependency} under {self.client} {self.base}" if self.dependency else self.client

    def named(self, place: int) -> str:
        """A version with what it is of: `cli-crt 2.36.0`, or `botocore 1.43.7 under boto3-classic 1.43.0`."""
        version = self.versions[place]
        if not self.dependency:
            return f"{self.client} {version}"
        return f"{self.dependency} {version} under {self.client} {self.base}"

    def concluded(self) -> "BisectRecord":
        """The same with what its answers come to, if that is anything yet."""
        following = self.bisection.next(self.answers)
        return replace(self, found=following if isinstance(following, SearchResult) else None)


def encode_bisect(record: BisectRecord) -> bytes:
    """Encode as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"


def parse_bisect(text: bytes, *, source: str) -> BisectRecord:
    """Parse a record strictly. Raises `BadInput`, with the path of what is wrong, naming `source`."""
    record = decode_versioned(
        text,
        BisectRecord,
        key="bisect_version",
        newest=RECORD_VERSION,
        source=source,
        noun="record of a bisection",
        fix="give a file that `s3bench bisect -o FILE` wrote",
    )
    _check(record, source)
    return record


def _check(record: BisectRecord, source: str) -> None:
    """Check what types cannot say, so that a record changed by hand is refused before anything runs."""
    try:
        check_gating((*record.policy.metrics, *record.policy.zones))
        check_looks(record.policy.looks)
        record.bisection.check()
    except BadInput as error:
        raise BadInput(f"{source}: {error.what}", error.why, error.fix) from error
    for number, answer in enumerate(record.answers):
        older, newer = answer.comparison.older, answer.comparison.newer
        if not 0 <= older < newer < len(record.versions):
            raise BadInput(f"{source}: $.answers[{number}].comparison: versions {older} and {newer} are no two of it")
