"""Adds documents to the history, and lists, shows, exports and removes them; reads figures over time.

Several processes may use a history at once: each document is added in its own transaction, completely or not at all.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection, Row

from s3bench.errors import BadInput
from s3bench.history.address import Address
from s3bench.history.database import Database, open_database
from s3bench.history.entry import Added, Entry, Filters, Pruned
from s3bench.history.indexing import Indexed, unpack, was_cut_short
from s3bench.history.machine import Machine
from s3bench.history.point import Point
from s3bench.history.tables import DOCUMENTS, FIGURES, LOAD_OPTIONS, RESULTS
from s3bench.history.timestamp import milliseconds_of, time_of
from s3bench.results.document import Status
from s3bench.results.metrics import METRICS_BY_NAME
from s3bench.results.workload import RecordedWorkload
from s3bench.spec.selection import Labels, parse_selection

_PREFIX = re.compile(r"[0-9a-f]{4,64}")
_FINGERPRINT = re.compile(r"[0-9a-f]{1,16}")
_SHOWN = 12  # hexadecimal digits of an identity, enough among millions of documents
_CHUNK = 500  # values of one statement; SQLite takes 999 in its older versions (https://www.sqlite.org/limits.html)
_Value = TypeVar("_Value", str, int)
_ENTRY = [column for column in DOCUMENTS.c if column.name != "body"]


class History:
    """An open history, see `open_history`. `now` gives the current time."""

    def __init__(self, database: Database, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._database = database
        self._now = now

    def add(self, indexed: Indexed) -> Added:
        """Store a document, unless it is stored already."""
        with self._database.writing() as connection:
            is_new = self._insert(connection, indexed)
        return Added(is_new=is_new, identity=indexed.identity)

    def list_documents(self, filters: Filters | None = None) -> tuple[Entry, ...]:
        """The documents that match `filters`, in the order in which their runs started."""
        with self._database.reading() as connection:
            return _entries(connection, filters or Filters())

    def show(self, prefix: str) -> tuple[Entry, bytes]:
        """The document whose identity starts with `prefix`, with its original text."""
        with self._database.reading() as connection:
            identity = _resolve(connection, prefix)
            row = connection.execute(sa.select(*_ENTRY).where(DOCUMENTS.c.identity == identity)).one()
            return _entry(row), _text(connection, identity)

    def resolve(self, prefixes: Iterable[str]) -> tuple[str, ...]:
        """The identities that start with the prefixes, each once. Raises `BadInput` unless each prefix is unique."""
        with self._database.reading() as connection:
            return tuple(dict.fromkeys(_resolve(connection, prefix) for prefix in prefixes))

    def texts(self, identities: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The identities and original texts of documents. Raises `BadInput` for one that was removed meanwhile."""
        for identity in identities:
            with self._database.reading() as connection:
                text = _text(connection, identity)
            yield identity, text

    def prune(self, *, before: datetime | None = None, keep_last: int | None = None, dry_run: bool = True) -> Pruned:
        """Remove documents whose runs started before `before` and are not among the last `keep_last` of their machine.

        One of the two may be omitted. With `dry_run` nothing is removed.
        """
        if before is None and keep_last is None:
            raise BadInput(
                "select the documents to remove with --before or --keep-last",
                fix="for example --before 2026-01-01, or --keep-last 100 to keep the last 100 of each machine",
            )
        transaction = self._database.reading if dry_run else self._database.writing
        with transaction() as connection:
            removed = _to_remove(_entries(connection, Filters()), before, keep_last)
            if not dry_run:
                for chunk in _chunks([entry.identity for entry in removed]):
                    connection.execute(sa.delete(DOCUMENTS).where(DOCUMENTS.c.identity.in_(chunk)))
        return Pruned(is_done=not dry_run, entries=removed)

    def points(self, metric: str, filters: Filters | None = None) -> tuple[Point, ...]:
        """The figures of `metric` of the results that match `filters`, in the order of time."""
        if metric not in METRICS_BY_NAME:
            raise BadInput(f"unknown metric {metric[:80]!r}", fix=f"use one of {', '.join(METRICS_BY_NAME)}")
        with self._database.reading() as connection:
            queries = _of_figures(connection, _points(metric), filters or Filters())
            rows = [row for query in queries for row in connection.execute(query)]
            workloads = _workloads(connection, {row.number for row in rows})
            cut_short = _cut_short(connection, {row.number for row in rows if row.ended_ms is None})
        rows.sort(key=lambda row: (row.started_ms, row.number, row.place))
        return tuple(
            _point(row, metric, workloads.get(row.number), is_cut_short=row.number in cut_short) for row in rows
        )

    def metrics(self, filters: Filters | None = None) -> tuple[str, ...]:
        """The names of the metrics of which results that match `filters` have figures."""
        with self._database.reading() as connection:
            queries = _of_figures(connection, sa.select(FIGURES.c.metric).distinct(), filters or Filters())
            found = {name for query in queries for name in connection.execute(query).scalars()}
        return tuple(name for name in METRICS_BY_NAME if name in found)

    def _insert(self, connection: Connection, indexed: Indexed) -> bool:
        insert = sqlite.insert if self._database.is_sqlite else postgresql.insert
        values = {**indexed.document, "added_ms": milliseconds_of(self._now())}
        statement = insert(DOCUMENTS).values(values).on_conflict_do_nothing(index_elements=["identity"]).inline()
        if connection.execute(statement, execution_options={"preserve_rowcount": True}).rowcount == 0:
            return False
        found = sa.select(DOCUMENTS.c.number).where(DOCUMENTS.c.identity == indexed.identity)
        number = connection.execute(found).scalar_one()
        parts = ((RESULTS, indexed.results), (FIGURES, indexed.figures), (LOAD_OPTIONS, indexed.load_options))
        for table, rows in parts:
            if rows:
                connection.execute(sa.insert(table), [{"document": number, **row} for row in rows])
        return True


@contextmanager
def open_history(address: Address, *, create: bool = False) -> Iterator[History]:
    """Open the history at `address` and migrate it if needed; with `create`, create it if there is none."""
    with open_database(address, create=create) as database:
        yield History(database)


def short(identity: str) -> str:
    """The first digits of an identity, for display."""
    return identity[:_SHOWN]


def _entries(connection: Connection, filters: Filters) -> tuple[Entry, ...]:
    query = _of_runs(sa.select(*_ENTRY).order_by(DOCUMENTS.c.started_ms, DOCUMENTS.c.number), filters)
    if filters.benchmarks or filters.client:
        numbers = _numbers(connection, filters)
        return tuple(_entry(row) for row in connection.execute(query) if row.number in numbers)
    return tuple(_entry(row) for row in connection.execute(query))


def _of_runs(query: sa.Select[Any], filters: Filters) -> sa.Select[Any]:
    """Of the documents whose runs match by their start and their machine."""
    if filters.since is not None:
        query = query.where(DOCUMENTS.c.started_ms >= milliseconds_of(filters.since))
    if filters.until is not None:
        query = query.where(DOCUMENTS.c.started_ms < milliseconds_of(filters.until))
    return query.where(_is_machine(filters.machine)) if filters.machine else query


def _numbers(connection: Connection, filters: Filters) -> frozenset[int]:
    """The documents with a matching result."""
    queries = _of_results(connection, sa.select(RESULTS.c.document).distinct(), filters)
    return frozenset(number for query in queries for number in connection.execute(query).scalars())


def _of_results(connection: Connection, query: sa.Select[Any], filters: Filters) -> Iterator[sa.Select[Any]]:
    """Of the results that match by their benchmark and their client, in chunks."""
    if filters.client:
        query = query.where(_is_client(filters.client))
    chunks = _cells(connection, filters.benchmarks)
    return (query if chunk is None else query.where(RESULTS.c.cell.in_(chunk)) for chunk in chunks)


def _cells(connection: Connection, benchmarks: str) -> tuple[Sequence[str] | None, ...]:
    """The cells that the expression selects, in chunks; a single `None` without an expression."""
    if not benchmarks:
        return (None,)
    selection = parse_selection(benchmarks)
    columns = (RESULTS.c.cell, RESULTS.c.benchmark, RESULTS.c.dimensions, RESULTS.c.tags, RESULTS.c.client)
    picked = {
        row.cell: None
        for row in connection.execute(sa.select(*columns).distinct())
        if selection.picks(
            Labels(
                name=row.benchmark,
                dimensions=_dimensions(row.dimensions),
                others=(row.client, *msgspec.json.decode(row.tags, type=tuple[str, ...])),
            )
        )
    }
    return tuple(_chunks(list(picked)))


def _points(metric: str) -> sa.Select[Any]:
    columns = [column for column in RESULTS.c if column.name not in {"cell", "tags", "document"}]
    names = ("number", "identity", "started_ms", "ended_ms", "machine", "s3bench", "git_commit")
    document = [DOCUMENTS.c[name] for name in names]
    return sa.select(FIGURES.c.median, FIGURES.c.n, *columns, *document).where(FIGURES.c.metric == metric)


def _of_figures(connection: Connection, selected: sa.Select[Any], filters: Filters) -> Iterator[sa.Select[Any]]:
    """Of the figures of matching results, with the rows of these and of their documents; in chunks."""
    query = selected.join_from(
        RESULTS, FIGURES, sa.and_(FIGURES.c.document == RESULTS.c.document, FIGURES.c.place == RESULTS.c.place)
    ).join(DOCUMENTS, DOCUMENTS.c.number == RESULTS.c.document)
    return _of_results(connection, _of_runs(query, filters), filters)


def _workloads(connection: Connection, documents: Iterable[int]) -> dict[int, RecordedWorkload]:
    """What those of these documents that are of load runs measured."""
    return {
        row.document: RecordedWorkload.of(msgspec.json.decode(row.options, type=Mapping[str, Any]))
        for chunk in _chunks(list(documents))
        for row in connection.execute(sa.select(LOAD_OPTIONS).where(LOAD_OPTIONS.c.document.in_(chunk)))
    }


def _cut_short(connection: Connection, documents: Iterable[int]) -> frozenset[int]:
    """Those of these documents without an end that were cut short. They are few, so their texts are read."""
    bodies = sa.select(DOCUMENTS.c.number, DOCUMENTS.c.body)
    return frozenset(
        row.number
        for chunk in _chunks(list(documents))
        for row in connection.execute(bodies.where(DOCUMENTS.c.number.in_(chunk)))
        if was_cut_short(row.body)
    )


def _is_client(client: str) -> sa.ColumnElement[bool]:
    return sa.or_(RESULTS.c.client == client, RESULTS.c.client_label == client)


def _is_machine(prefix: str) -> sa.ColumnElement[bool]:
    if not _FINGERPRINT.fullmatch(prefix):
        raise BadInput(
            f"{prefix[:40]!r} is not a machine",
            "a machine is identified by its fingerprint of 16 hexadecimal digits, or the first of them",
            "list the machines with: s3bench history list",
        )
    return DOCUMENTS.c.machine.startswith(prefix)


def _resolve(connection: Connection, prefix: str) -> str:
    """The only identity that starts with `prefix`."""
    if not _PREFIX.fullmatch(prefix):
        raise BadInput(
            f"{prefix[:80]!r} is not the ID of a document",
            "an ID has 64 hexadecimal digits, of which at least the first 4 are needed",
            "list the IDs with: s3bench history list",
        )
    query = sa.select(DOCUMENTS.c.identity).where(DOCUMENTS.c.identity.startswith(prefix)).limit(3)
    found = connection.execute(query.order_by(DOCUMENTS.c.identity)).scalars().all()
    if not found:
        raise BadInput(f"the history has no document {prefix}", fix="list the IDs with: s3bench history list")
    if len(found) > 1:
        raise BadInput(f"{prefix} is the start of several IDs", ", ".join(found), "pass more digits")
    identity: str = found[0]
    return identity


def _text(connection: Connection, identity: str) -> bytes:
    body = connection.execute(sa.select(DOCUMENTS.c.body).where(DOCUMENTS.c.identity == identity)).scalar()
    if body is None:
        raise BadInput(f"the document {short(identity)} was removed meanwhile")
    return unpack(body, identity)


def _to_remove(entries: Sequence[Entry], before: datetime | None, keep_last: int | None) -> tuple[Entry, ...]:
    """Those of `entries`, which are in the order of time, that are to be removed."""
    by_machine: dict[str, list[str]] = {}
    for entry in entries:
        by_machine.setdefault(entry.machine, []).append(entry.identity)
    kept = {identity for identities in by_machine.values() for identity in identities[-keep_last:]} if keep_last else ()
    until_ms = None if before is None else milliseconds_of(before)
    is_old = (until_ms is None or milliseconds_of(entry.started_at) < until_ms for entry in entries)
    return tuple(entry for entry, old in zip(entries, is_old, strict=True) if old and entry.identity not in kept)


def _chunks(values: Sequence[_Value]) -> Iterator[Sequence[_Value]]:
    return (values[start : start + _CHUNK] for start in range(0, len(values), _CHUNK))


def _dimensions(text: str) -> tuple[tuple[str, str], ...]:
    return msgspec.json.decode(text, type=tuple[tuple[str, str], ...])


def _entry(row: Row[tuple[object, ...]]) -> Entry:
    return Entry(
        identity=row.identity,
        started_at=time_of(row.started_ms),
        ended_at=None if row.ended_ms is None else time_of(row.ended_ms),
        added_at=time_of(row.added_ms),
        s3bench=row.s3bench,
        commit=row.git_commit,
        machine=row.machine,
        machine_facts=msgspec.json.decode(row.facts, type=Machine),
        clients=msgspec.json.decode(row.clients, type=tuple[str, ...]),
        results=row.results,
        measurements=row.measurements,
        failures=row.failures,
        size_bytes=row.size_bytes,
    )


def _point(
    row: Row[tuple[object, ...]], metric: str, recorded: RecordedWorkload | None, *, is_cut_short: bool
) -> Point:
    dimensions = _dimensions(row.dimensions)
    return Point(
        document=row.identity,
        benchmark=row.benchmark,
        dimensions=dimensions,
        client=row.client,
        client_version=row.client_version,
        client_label=row.client_label,
        metric=metric,
        value=row.median,
        n=row.n,
        doubtful=row.doubtful,
        status=Status(row.status),
        machine=row.machine,
        s3bench=row.s3bench,
        commit=row.git_commit,
        at=time_of(row.started_ms),
        was_cut_short=is_cut_short,
        workload=None if recorded is None else recorded.of_result(row.benchmark, dimensions),
    )
