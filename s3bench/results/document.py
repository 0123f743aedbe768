"""The results document: one run of s3bench with all its measurements, as versioned JSON.

Owns the format, its history and its strict encoding and parsing. Files are `s3bench.results.file`'s. Immutable: every
change gives a new document. `docs/results.md` describes each key.

History of the format (`schema_version`):
1: the first.
2: measurements of load runs (`load`); documents of version 1 read as they are.
3: figures of a load that another tool did not tell may be null; documents before read as they are.
"""

import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Self

import msgspec

from s3bench.errors import BadInput
from s3bench.results.audit import Audit
from s3bench.results.measurement import Failure, Measurement

SCHEMA_VERSION = 3

_INDENT = 2


class Status(StrEnum):
    """How a result ended. `RUNNING`: its iterations are not all done, for good if the run was interrupted."""

    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"


class Client(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The program under test. `label` tells two of one name apart (`cli-crt@2.38.5`)."""

    name: str
    version: str
    label: str


class Result(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One benchmark on one client. `dimensions` are objects of one key each, in the definition's order."""

    name: str
    dimensions: tuple[dict[str, str], ...] = ()
    client: Client
    tags: tuple[str, ...] = ()
    status: Status = Status.RUNNING
    measurements: tuple[Measurement, ...] = ()
    errors: tuple[Failure, ...] = ()
    audit: Audit | None = None

    @property
    def identity(self) -> tuple[object, ...]:
        """What tells this result from all others in a document."""
        return self.name, tuple(tuple(dimension.items()) for dimension in self.dimensions), self.client.label

    def with_measurement(self, measurement: Measurement) -> Self:
        """Add what one more iteration showed."""
        return msgspec.structs.replace(self, measurements=(*self.measurements, measurement))

    def with_failure(self, failure: Failure) -> Self:
        """Add what went wrong in one more iteration."""
        return msgspec.structs.replace(self, errors=(*self.errors, failure))

    def with_audit(self, audit: Audit | None) -> Self:
        """Add what sampling and probes changed."""
        return msgspec.structs.replace(self, audit=audit)

    @property
    def is_running(self) -> bool:
        """Whether iterations are still to come."""
        return self.status is Status.RUNNING

    def completed(self) -> Self:
        """Close the result: complete when no iteration failed."""
        return msgspec.structs.replace(self, status=Status.FAILED if self.errors else Status.COMPLETE)


class Document(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run. Times are UTC in ISO 8601; `ended_at` is null while the run goes on, or when it was killed.

    `machine` holds the machine's facts and `options` the options in force, by their names. `command_line` is what the
    user typed, secrets taken out (`redact`).
    """

    schema_version: int = SCHEMA_VERSION
    s3bench: str
    started_at: str
    ended_at: str | None = None
    command_line: tuple[str, ...] = ()
    machine: dict[str, Any] = {}
    clients: tuple[Client, ...] = ()
    options: dict[str, Any] = {}
    warnings: tuple[str, ...] = ()
    results: tuple[Result, ...] = ()

    def with_result(self, result: Result) -> Self:
        """Put `result` in the place of the one of the same identity, or at the end."""
        places = [index for index, old in enumerate(self.results) if old.identity == result.identity]
        index = places[0] if places else len(self.results)
        return msgspec.structs.replace(self, results=(*self.results[:index], result, *self.results[index + 1 :]))

    def with_warnings(self, warnings: Iterable[str]) -> Self:
        """Add doubts about the whole run; each is kept once."""
        return msgspec.structs.replace(self, warnings=tuple(dict.fromkeys((*self.warnings, *warnings))))

    def ended(self, at: datetime) -> Self:
        """Close the run."""
        return msgspec.structs.replace(self, ended_at=render_time(at))

    @property
    def is_of_load(self) -> bool:
        """Whether it tells of an endpoint under load, and not of clients."""
        measurements = [measurement for result in self.results for measurement in result.measurements]
        return bool(measurements) and all(measurement.load is not None for measurement in measurements)

    @property
    def has_failures(self) -> bool:
        """Whether any result has an error."""
        return any(result.errors for result in self.results)


def render_time(at: datetime) -> str:
    """Render a moment as UTC in ISO 8601, to the millisecond."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def encode_document(document: Document) -> bytes:
    """Encode as JSON, keys in the order of the types. Raises `ValueError` for a figure that is not finite."""
    tree = msgspec.to_builtins(document)
    for path in _not_finite(tree, "$"):
        raise ValueError(f"{path} is not a finite number")
    return msgspec.json.format(msgspec.json.encode(tree), indent=_INDENT) + b"\n"


def parse_document(text: bytes, *, source: str) -> Document:
    """Parse a results document strictly. Raises `BadInput`, with the path of what is wrong, naming `source`."""
    try:
        head = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise BadInput(f"{source} is no JSON", str(error), "give a file that `s3bench run -o FILE` wrote") from error
    version = head.get("schema_version") if isinstance(head, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise BadInput(
            f"{source} is no results document", "it has no schema_version", "give a file that `s3bench run` wrote"
        )
    if version > SCHEMA_VERSION:
        raise BadInput(
            f"{source} has schema_version {version}; this s3bench knows {SCHEMA_VERSION}",
            "a newer s3bench wrote it",
            "update s3bench",
        )
    try:
        return msgspec.convert(head, Document)
    except msgspec.ValidationError as error:
        raise BadInput(f"{source} is no results document of version {version}", str(error)) from error


def _not_finite(value: object, path: str) -> Iterator[str]:
    match value:
        case float() if not math.isfinite(value):
            yield path
        case dict():
            for key, item in value.items():
                yield from _not_finite(item, f"{path}.{key}")
        case list() | tuple():
            for index, item in enumerate(value):
                yield from _not_finite(item, f"{path}[{index}]")
