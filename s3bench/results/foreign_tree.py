"""What other tools wrote, as JSON: decoded once, shaped into types of ours, and put into documents.

Owns what all of them have in common: complaints with the JSON path, sources named in warnings, and measurements of
which most figures are not known. Each tool's own format is in a module of its own (`from_pyperf` and so on). Keys that
we do not read are passed over: tools add such in every version.
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
"""The start of a run whose file does not tell it."""


def decode_tree(content: bytes, *, source: str) -> dict[str, Any]:
    """Decode a JSON object. Raises `BadInput`, naming `source`."""
    try:
        tree = decode(content)
    except msgspec.DecodeError as error:
        raise BadInput(f"{source} is no JSON", str(error)) from error
    if not isinstance(tree, dict):
        raise BadInput(f"{source} is no JSON object", f"it holds {type(tree).__name__} at its top")
    return tree


def shaped(tree: object, shape: type[T], *, source: str, what: str) -> T:
    """Take from `tree` what `shape` has. Raises `BadInput` with the path of what is wrong: `source` is no `what`."""
    try:
        return msgspec.convert(tree, shape)
    except msgspec.ValidationError as error:
        raise BadInput(f"{source} is no {what}", str(error)) from error


def refuse(source: str, path: str, said: str, *, what: str) -> BadInput:
    """Make the error for what no type can tell: at `path`, `said`."""
    return BadInput(f"{source} is no {what} that can be read", f"{said} - at `{path}`")


def foreign_result(
    name: str,
    client: Client,
    *,
    dimensions: Iterable[tuple[str, str]] = (),
    measurements: Iterable[AnyMeasurement] = (),
    errors: Iterable[Failure] = (),
) -> Result:
    """One benchmark of another tool, which is over."""
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
    """A document whose first warning names `source` and `what` it is. Results that nothing tells apart are numbered."""
    told = _told_apart(tuple(results))
    return Document(
        s3bench=s3bench.__version__,
        started_at=render_time(started) if started else UNKNOWN_TIME,
        ended_at=render_time(ended) if ended else None,
        command_line=command_line,
        machine=machine or {},
        clients=tuple(dict.fromkeys(result.client for result in told)),
        results=told,
    ).with_warnings((f"read from {source}, {what}: figures that it does not have are null", *warnings))


def parse_moment(text: str | None) -> datetime | None:
    """The moment that `text` names in ISO 8601 with its zone; `None` for any other text: a guess would be no fact."""
    try:
        moment = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return moment if moment and moment.tzinfo else None


def _told_apart(results: tuple[Result, ...]) -> tuple[Result, ...]:
    """Number the results of one identity in their order, since a document holds each identity once."""
    counts: dict[tuple[object, ...], int] = {}
    numbered = []
    for result in results:
        number = counts[result.identity] = counts.get(result.identity, 0) + 1
        more = ({"occurrence": f"{number}"},) if number > 1 else ()
        numbered.append(msgspec.structs.replace(result, dimensions=(*result.dimensions, *more)))
    return tuple(numbered)
