"""The results document: one run of s3bench with all its measurements, as versioned JSON.

Encodes and parses it strictly. A document is immutable: every change gives a new one. `docs/results.md` describes each
key.

History of the format (`schema_version`):
1: the first.
2: measurements of load runs (`load`); documents of version 1 read as they are.
3: figures of a load that another tool does not report may be null; documents before read as they are.
4: memory and CPU over time of each measurement (`series`) and the requests of one iteration of each result (`requests`,
   `requests_left_out`); documents before read as they are.
5: measurements of load runs have the keys of `LoadMeasurement` alone; before, those of `Measurement` stood beside them
   and held nothing, and are dropped on reading.
6: the speed of the machine (`machine_speed`, `runqueue_wait_time`, `series.speed`); documents before read as they are.
7: `digest` of a client; `iteration` of an error and `error_rate` of a load may be null; documents before read as they
   are.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Self

import msgspec

from s3bench.errors import BadInput
from s3bench.results.audit import Audit
from s3bench.results.collection import without_collection
from s3bench.results.decoding import decode
from s3bench.results.former import FormerLoadMeasurement, recast, without_client_keys
from s3bench.results.load import LoadMeasurement
from s3bench.results.measurement import AnyMeasurement, Failure, Measurement
from s3bench.results.other_record import refusal_of_record
from s3bench.spec.label import benchmark_label, dimension_pairs
from s3bench.spec.selection import Labels

SCHEMA_VERSION = 7

NODE = "node"
"""The last dimension of a result that is one cluster node's part of another result."""

_INDENT = 2
_NUMBERS = re.compile(rb"\[\n[-+.eE0-9nul, \n]+\]")
"""An indented array of only numbers and nulls; strings have no raw line feeds, so it never matches inside one."""


class Status(StrEnum):
    """The status of a result. `RUNNING`: iterations are missing, permanently if the run was interrupted."""

    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"


class Client(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The program under test. `label` distinguishes two of the same name (`cli-crt@2.38.5`).

    `digest` is that of the program's files, by which two builds at one path are distinguished; empty if not known.
    """

    name: str
    version: str
    label: str
    digest: str = ""


class Result(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One benchmark on one client. `dimensions` are objects of one key each, in the definition's order.

    `measurements` are all of a client's iterations, or all of a load run's loops.
    """

    name: str
    dimensions: tuple[dict[str, str], ...] = ()
    client: Client
    tags: tuple[str, ...] = ()
    status: Status = Status.RUNNING
    measurements: tuple[AnyMeasurement, ...] = ()
    errors: tuple[Failure, ...] = ()
    audit: Audit | None = None

    @property
    def dimension_pairs(self) -> tuple[tuple[str, str], ...]:
        """The dimensions as pairs of name and value."""
        return dimension_pairs(self.dimensions)

    @property
    def benchmark(self) -> str:
        """The benchmark with its dimensions: `s3.cp.upload FileSize=32MB`."""
        return benchmark_label(self.name, self.dimension_pairs)

    @property
    def label(self) -> str:
        """The benchmark with its client: `s3.cp.upload FileSize=32MB on cli-crt@2.38.5`."""
        return f"{self.benchmark} on {self.client.label}"

    @property
    def identity(self) -> tuple[object, ...]:
        """The key that distinguishes this result from all others in a document."""
        return self.name, tuple(tuple(dimension.items()) for dimension in self.dimensions), self.client.label

    @property
    def whole_identity(self) -> tuple[object, ...] | None:
        """The identity of the result that this one would be a node's part of; `None` if it cannot be a part."""
        if not self.dimensions or tuple(self.dimensions[-1]) != (NODE,):
            return None
        if self.runs:
            return None
        return msgspec.structs.replace(self, dimensions=self.dimensions[:-1]).identity

    @property
    def labels(self) -> Labels:
        """What `-k` matches."""
        return Labels(
            name=self.name,
            dimensions=dimension_pairs(self.dimensions),
            others=(self.client.name, self.client.label, *self.tags),
        )

    @property
    def runs(self) -> tuple[Measurement, ...]:
        """The measurements of a client; none of a load run."""
        return tuple(each for each in self.measurements if isinstance(each, Measurement))

    @property
    def loops(self) -> tuple[LoadMeasurement, ...]:
        """The measurements of a load run; none of a client."""
        return tuple(each for each in self.measurements if isinstance(each, LoadMeasurement))

    def with_measurement(self, measurement: AnyMeasurement) -> Self:
        """Add a measurement."""
        return msgspec.structs.replace(self, measurements=(*self.measurements, measurement))

    def with_failure(self, failure: Failure) -> Self:
        """Add a failure."""
        return msgspec.structs.replace(self, errors=(*self.errors, failure))

    def with_audit(self, audit: Audit | None) -> Self:
        """Set the audit."""
        return msgspec.structs.replace(self, audit=audit)

    @property
    def is_running(self) -> bool:
        """Whether iterations are still to come."""
        return self.status is Status.RUNNING

    @property
    def failed_iterations(self) -> int:
        """How many iterations failed; one of them may have several errors, such as that of its audit."""
        return len({failure.iteration for failure in self.errors} - {None})

    @property
    def failures_outside(self) -> int:
        """How many errors are of no iteration: of a warm-up, of `--cleanup`, or of what could not be run at all."""
        return sum(failure.iteration is None for failure in self.errors)

    @property
    def median_iteration(self) -> Measurement | None:
        """The iteration of median total time (the lower of two middle ones); `None` without iterations."""
        ordered = sorted(self.runs, key=lambda each: each.total_time)
        return ordered[(len(ordered) - 1) // 2] if ordered else None

    def with_requests_of_one(self) -> Self:
        """Keep the requests of the median iteration, and drop those of the others."""
        kept = self.median_iteration
        if kept is None:
            return self
        measurements = tuple(each if each is kept else each.without_requests() for each in self.runs)
        return msgspec.structs.replace(self, measurements=measurements)

    def completed(self) -> Self:
        """Close the result: complete if no iteration failed. Only the requests of the median iteration are kept."""
        status = Status.FAILED if self.errors else Status.COMPLETE
        return msgspec.structs.replace(self.with_requests_of_one(), status=status)


class Document(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run. Times are UTC in ISO 8601; `ended_at` is null while the run continues, or if it ended early.

    `machine` has the facts about the machine and `options` the options in force, by name. `command_line` is what the
    user typed, with secrets redacted.
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
        """Replace the result of the same identity by `result`, or append it."""
        places = [index for index, old in enumerate(self.results) if old.identity == result.identity]
        index = places[0] if places else len(self.results)
        return msgspec.structs.replace(self, results=(*self.results[:index], result, *self.results[index + 1 :]))

    def selected(self, picks: Callable[[Labels], bool]) -> Self:
        """Keep the results whose labels `picks` accepts."""
        kept = tuple(each for each in self.results if picks(each.labels))
        return msgspec.structs.replace(self, results=kept)

    def without_parts(self) -> Self:
        """Leave out the parts of single cluster nodes if the result of all nodes together is present too.

        For readers that decide or count, since a part is not a benchmark of its own. Only `s3bench load --cluster`
        writes `options.cluster`, and it rejects a user's dimension `node`, so that none is mistaken for a part.
        """
        if not isinstance(self.options.get("cluster"), Mapping):
            return self
        known = {result.identity for result in self.results}
        kept = tuple(each for each in self.results if each.whole_identity not in known)
        return msgspec.structs.replace(self, results=kept)

    def with_warnings(self, warnings: Iterable[str]) -> Self:
        """Add warnings about the whole run, each only once."""
        return msgspec.structs.replace(self, warnings=tuple(dict.fromkeys((*self.warnings, *warnings))))

    def ended(self, at: datetime) -> Self:
        """Close the run."""
        return msgspec.structs.replace(self, ended_at=render_time(at))

    @property
    def is_of_load(self) -> bool:
        """Whether it is of a load run: by its measurements, or if it has none, by its phases, which only loads have."""
        measured = [result for result in self.results if result.measurements]
        return all(result.loops for result in measured) if measured else "phases" in self.options

    @property
    def was_cut_short(self) -> bool:
        """Whether the run was interrupted or killed, ended early, or has not ended yet, so that results may be missing.

        Files of other tools may not know when their run ended; they have no options.
        """
        return bool(self.options) and self.ended_at is None

    @property
    def has_failures(self) -> bool:
        """Whether any result has an error."""
        return any(result.errors for result in self.results)


def render_time(at: datetime) -> str:
    """Render a time as UTC in ISO 8601, to the millisecond."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def encode_document(document: Document) -> bytes:
    """Encode as JSON, with keys in the order of the types, and the numbers of an array on one line.

    Raises `ValueError` for a figure that is not finite.
    """
    tree = msgspec.to_builtins(document)
    if not _is_finite(tree.values()):
        raise ValueError(f"{next(_not_finite(tree, '$'))} is not a finite number")
    text = msgspec.json.format(msgspec.json.encode(tree), indent=_INDENT)
    return _NUMBERS.sub(_on_one_line, text) + b"\n"


def parse_document(text: bytes, *, source: str) -> Document:
    """Parse a results document strictly. Raises `BadInput` with `source` and the JSON path of the error."""
    try:
        with without_collection():
            read = _decode_document(text)
    except msgspec.DecodeError as error:
        raise _refusal(text, source, error) from error
    _check_known(read.schema_version, source)
    return read


def _refusal(text: bytes, source: str, error: msgspec.DecodeError) -> BadInput:
    other = refusal_of_record(text, source=source)
    if other is not None:
        return other
    if isinstance(error, msgspec.ValidationError):
        return BadInput(f"{source} is not a results document of version {_known_version(text, source)}", str(error))
    return _no_json(source, error)


def _decode_document(text: bytes) -> Document:
    """Decode a document of clients or of load runs; an error is that of the kind that it is."""
    try:
        return _document(decode(text, _ClientDocument))
    except msgspec.ValidationError as of_clients:
        try:
            return _document(decode(text, _LoadDocument))
        except msgspec.ValidationError:
            if _has_loads(text):
                raise
            raise of_clients from None


def _has_loads(text: bytes) -> bool:
    try:
        results = decode(text, _Outline).results
    except msgspec.ValidationError:
        return False
    return any(each.load for result in results for each in result.measurements)


def _document(read: "_ClientDocument | _LoadDocument") -> Document:
    results = []
    for result in read.results:
        plain = recast(result, Result)
        if isinstance(result, _LoadResult):
            plain = msgspec.structs.replace(plain, measurements=without_client_keys(result.measurements))
        results.append(plain)
    return msgspec.structs.replace(recast(read, Document), results=tuple(results))


_Version = Annotated[int, msgspec.Meta(ge=1)]


class _ClientResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    measurements: tuple[Measurement, ...] = ()


class _ClientDocument(Document, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A document of clients as it is read: its version is required."""

    schema_version: _Version
    results: tuple[_ClientResult, ...] = ()


class _LoadResult(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    measurements: tuple[FormerLoadMeasurement, ...] = ()


class _LoadDocument(Document, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A document of load runs as it is read."""

    schema_version: _Version
    results: tuple[_LoadResult, ...] = ()


class _MeasurementOutline(msgspec.Struct, frozen=True):
    load: dict[str, msgspec.Raw] | None = None


class _ResultOutline(msgspec.Struct, frozen=True):
    measurements: tuple[_MeasurementOutline, ...] = ()


class _Outline(msgspec.Struct, frozen=True):
    """The part of a document that shows whether it is of a load run."""

    results: tuple[_ResultOutline, ...] = ()


class _Head(msgspec.Struct, frozen=True):
    """The part of an unreadable document that shows whether its version is the reason."""

    schema_version: _Version


def _known_version(text: bytes, source: str) -> int:
    try:
        version = decode(text, _Head).schema_version
    except msgspec.ValidationError as error:
        raise BadInput(
            f"{source} is not a results document", "it has no schema_version", "pass a file that `s3bench run` wrote"
        ) from error
    except msgspec.DecodeError as error:
        raise _no_json(source, error) from error
    _check_known(version, source)
    return version


def _check_known(version: int, source: str) -> None:
    if version > SCHEMA_VERSION:
        raise BadInput(
            f"{source} has schema_version {version}; this s3bench reads versions up to {SCHEMA_VERSION}",
            "a newer s3bench wrote it",
            "update s3bench",
        )


def _no_json(source: str, error: Exception) -> BadInput:
    return BadInput(f"{source} is not JSON", str(error), "pass a file that `s3bench run -o FILE` wrote")


def _on_one_line(numbers: "re.Match[bytes]") -> bytes:
    return numbers[0].translate(None, b" \n").replace(b",", b", ")


def _is_finite(values: Iterable[Any]) -> bool:
    """Whether all numbers within `values` are finite; faster than finding the one that is not."""
    for value in values:
        kind = type(value)
        if kind is float:
            if not math.isfinite(value):
                return False
        elif kind is dict:
            if not _is_finite(value.values()):
                return False
        elif (kind is list or kind is tuple) and not _is_finite(value):
            return False
    return True


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
