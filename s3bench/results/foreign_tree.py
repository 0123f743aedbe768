"""Shared parts of the readers of other tools' JSON: decoding, errors with the JSON path, building documents.

Each tool's format has its own module (`from_pyperf` and so on). Unknown keys are ignored, since tools add keys in every
version.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeVar

import msgspec

import s3bench
from s3bench.errors import BadInput
from s3bench.results.decoding import decode
from s3bench.results.document import Client, Document, Result, Status, render_time
from s3bench.results.measurement import AnyMeasurement, Failure

T = TypeVar("T")

UNKNOWN_TIME = ""
"""The start time of a run whose file does not have it."""


def decode_tree(content: bytes, *, source: str) -> dict[str, Any]:
    """Decode a JSON object. Raises `BadInput`, naming `source`."""
    try:
        tree = decode(content)
    except msgspec.DecodeError as error:
        raise BadInput(
            f"{source} is not JSON", str(error), "pass a results document, or the JSON of another tool"
        ) from error
    if not isinstance(tree, dict):
        raise BadInput(
            f"{source} is not a JSON object",
            f"its top level is a {type(tree).__name__}",
            "pass a results document, or the JSON of another tool",
        )
    return tree


def shaped(tree: object, shape: type[T], *, source: str, what: str) -> T:
    """Convert `tree` to `shape`. Raises `BadInput` with the JSON path of the error: `source` is not a `what`."""
    try:
        return msgspec.convert(tree, shape)
    except msgspec.ValidationError as error:
        raise BadInput(f"{source} is not a {what}", str(error)) from error


def unreadable(source: str, path: str, problem: str, *, what: str) -> BadInput:
    """The error for what types cannot express: the `problem` at the JSON path `path`."""
    return BadInput(f"{source} is not a {what} that s3bench can read", f"{problem} - at `{path}`")


def foreign_result(
    name: str,
    client: Client,
    *,
    dimensions: Iterable[tuple[str, str]] = (),
    measurements: Iterable[AnyMeasurement] = (),
    errors: Iterable[Failure] = (),
) -> Result:
    """The completed result of one benchmark of another tool."""
    failures = tuple(errors)
    return Result(
        name=name,
        client=client,
        dimensions=tuple({key: value} for key, value in dimensions),
        status=Status.FAILED if failures else Status.COMPLETE,
        measurements=tuple(measurements),
        errors=failures,
    )


def foreign_document(
    results: Iterable[Result],
    *,
    source: str,
    what: str,
    started: datetime | None,
    ended: datetime | None = None,
    machine: dict[str, Any] | None = None,
    command_line: tuple[str, ...] = (),
    warnings: Iterable[str] = (),
) -> Document:
    """A document whose first warning names `source` and `what` it is. Results of the same identity are numbered."""
    distinct = _distinguished(tuple(results))
    return Document(
        s3bench=s3bench.__version__,
        started_at=render_time(started) if started else UNKNOWN_TIME,
        ended_at=render_time(ended) if ended else None,
        command_line=command_line,
        machine=machine or {},
        clients=tuple(dict.fromkeys(result.client for result in distinct)),
        results=distinct,
    ).with_warnings((f"read from {source}, {what}: figures that it does not have are null", *warnings))


def parse_time(text: str | None) -> datetime | None:
    """Parse a time in ISO 8601 with a time zone; `None` for any other text, since a guess would not be a fact."""
    try:
        time = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return time if time and time.tzinfo else None


def _distinguished(results: tuple[Result, ...]) -> tuple[Result, ...]:
    """Number the results of one identity in their order, since a document holds each identity once."""
    counts: dict[tuple[object, ...], int] = {}
    numbered = []
    for result in results:
        number = counts[result.identity] = counts.get(result.identity, 0) + 1
        more = ({"occurrence": f"{number}"},) if number > 1 else ()
        numbered.append(msgspec.structs.replace(result, dimensions=(*result.dimensions, *more)))
    return tuple(numbered)
