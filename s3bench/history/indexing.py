"""Indexes a results document for the history: its identity, its compressed text, and rows for lists and trends.

Results of single cluster nodes are stored in the text but not indexed.
"""

import hashlib
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import msgspec

from s3bench.errors import BadInput, MachineError
from s3bench.history.machine import machine_of
from s3bench.history.timestamp import parse_milliseconds
from s3bench.results.document import Document, Result, parse_document
from s3bench.results.measurement import figure
from s3bench.results.metrics import METRICS

_CELL_LENGTH = 32  # hexadecimal digits, 128 bits

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """The rows of a document, of its results, of their figures, and of the options if it is of a load run.

    All but the first lack the document's number, which the database assigns.
    """

    identity: str
    was_cut_short: bool
    document: Row
    results: tuple[Row, ...]
    figures: tuple[Row, ...]
    load_options: tuple[Row, ...]


def index_document(text: bytes, *, source: str) -> Indexed:
    """Index a results document. Raises `BadInput`, naming `source`, if it is not a results document."""
    try:
        document = parse_document(text, source=source).without_parts()
        identity = identity_of(text)
    except RecursionError as error:
        raise BadInput(f"{source} is not a results document", "its objects are nested too deeply") from error
    return Indexed(
        identity=identity,
        was_cut_short=document.was_cut_short,
        document={"identity": identity, **_document_row(document, source), **_body(text)},
        results=tuple(_result_row(place, result) for place, result in enumerate(document.results)),
        figures=tuple(row for place, result in enumerate(document.results) for row in _figure_rows(place, result)),
        load_options=({"options": _json(document.options)},) if document.is_of_load else (),
    )


def identity_of(text: bytes) -> str:
    """The SHA-256 of the JSON's content: without white space, keys sorted, every number in its shortest form.

    It is computed from the text and not from parsed types, so that it does not change with new versions of the format.
    """
    return hashlib.sha256(msgspec.json.encode(msgspec.json.decode(text), order="sorted")).hexdigest()


def unpack(body: bytes, identity: str) -> bytes:
    """The original text of a document. Raises `MachineError` if it is damaged."""
    try:
        text = zlib.decompress(body)
        is_whole = identity_of(text) == identity
    except (zlib.error, msgspec.DecodeError):
        is_whole = False
    if not is_whole:
        raise MachineError(
            f"the document {identity[:12]} in the history is damaged",
            "its content has changed since it was added",
            "restore the database from a backup",
        )
    return text


def was_cut_short(body: bytes) -> bool:
    """Whether the run of a document without an end was cut short, without reading its results.

    `False` of a damaged one, which is reported where it is read.
    """
    try:
        options = msgspec.json.decode(zlib.decompress(body), type=_Head).options
    except (zlib.error, msgspec.DecodeError):
        return False
    return Document(s3bench="", started_at="", options=options).was_cut_short


class _Head(msgspec.Struct, frozen=True):
    """The part of a document that shows whether s3bench measured it."""

    options: dict[str, Any] = {}


def _body(text: bytes) -> Row:
    return {"size_bytes": len(text), "body": zlib.compress(text)}


def _document_row(document: Document, source: str) -> Row:
    machine = machine_of(document.machine)
    commit = document.machine.get("git_commit")
    labels = dict.fromkeys(result.client.label for result in document.results)
    return {
        "started_ms": _milliseconds(document.started_at, source, "started_at"),
        "ended_ms": None if document.ended_at is None else _milliseconds(document.ended_at, source, "ended_at"),
        "machine": machine.fingerprint,
        "results": len(document.results),
        "measurements": sum(len(result.measurements) for result in document.results),
        "failures": sum(len(result.errors) for result in document.results),
        "s3bench": document.s3bench,
        "git_commit": commit if isinstance(commit, str) else None,
        "facts": _json(machine),
        "clients": _json(tuple(labels)),
    }


def _milliseconds(text: str, source: str, key: str) -> int:
    try:
        return parse_milliseconds(text)
    except ValueError as error:
        raise BadInput(
            f"{source}: $.{key} is not a time: {text[:40]!r}", "a history is ordered by time", "write ISO 8601"
        ) from error


def _result_row(place: int, result: Result) -> Row:
    dimensions = list(result.dimension_pairs)
    cell = msgspec.json.encode((result.name, sorted(dimensions), result.tags, result.client.name))
    return {
        "place": place,
        "cell": hashlib.sha256(cell).hexdigest()[:_CELL_LENGTH],
        "status": result.status.value,
        "doubtful": sum(bool(measurement.warnings) for measurement in result.measurements),
        "benchmark": result.name,
        "dimensions": _json(dimensions),
        "tags": _json(result.tags),
        "client": result.client.name,
        "client_version": result.client.version,
        "client_label": result.client.label,
    }


def _figure_rows(place: int, result: Result) -> Iterator[Row]:
    for metric in METRICS:
        values = [value for each in result.measurements if (value := figure(each, metric.name)) is not None]
        if values and (middle := _finite(values)) is not None:
            yield {"place": place, "metric": metric.name, "median": middle, "n": len(values)}


def _finite(values: list[float]) -> float | None:
    """The median, or `None` if it is not a finite floating-point number."""
    try:
        middle = float(median(values))
    except OverflowError:
        return None
    return middle if math.isfinite(middle) else None


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
