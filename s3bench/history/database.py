"""A history's database, open: brought to today's tables, and its transactions.

Owns what differs between SQLite and PostgreSQL when many processes use one history at once. SQLite: a write-ahead log,
so that readers and the one writer do not wait for each other (https://www.sqlite.org/wal.html), and BEGIN IMMEDIATE, so
that a transaction that will write cannot fail half-way because another was faster
(https://www.sqlite.org/lang_transaction.html). PostgreSQL: its default isolation, unique constraints and, for the
tables themselves, an advisory lock. Either way a process that is killed leaves nothing half.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from s3bench.errors import BadInput, MachineError
from s3bench.history.address import Address
from s3bench.history.tables import VERSION, VERSION_TABLE

_MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK_WAIT_S = 60
_CONNECT_S = 15
_WAL_ATTEMPTS = 100
_WILL_WRITE = "s3bench_will_write"
_SQLITE_HEADER = b"SQLite format 3\0"  # https://www.sqlite.org/fileformat2.html, "The Database Header"
_ADVISORY_LOCK = int.from_bytes(b"s3bench", "big")  # any number that others hardly use


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """An open database whose tables are today's."""

    address: Address
    engine: Engine

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads: what it sees does not change meanwhile in SQLite."""
        with _told(self.address), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes: all of it is kept at the end, or nothing. Waits a minute at most for its turn."""
        with _told(self.address), self.engine.connect() as connection:
            connection.execution_options(**{_WILL_WRITE: True})
            with connection.begin():
                if not self.is_sqlite:
                    connection.execute(sa.text(f"SET LOCAL lock_timeout = '{_LOCK_WAIT_S}s'"))
                yield connection


@contextmanager
def open_database(address: Address, *, create: bool) -> Iterator[Database]:
    """Open the history at `address`; with `create`, make it where there is none.

    Raises `BadInput` when there is none, when something else is there, and when a newer s3bench wrote it, and
    `MachineError` when it cannot be reached.
    """
    if address.file is not None:
        _check_file(address.file, create=create)
    with _told(address):
        engine = _engine(address)
    try:
        database = Database(address=address, engine=engine)
        _bring_up(database, create=create)
        yield database
    finally:
        engine.dispose()


def _check_file(file: Path, *, create: bool) -> None:
    try:
        if create:
            file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("rb") as opened:
            header = opened.read(len(_SQLITE_HEADER))
    except FileNotFoundError:
        if create:
            return
        raise _no_history(str(file)) from None
    except OSError as error:
        raise MachineError(f"cannot open the history {file}", error.strerror or str(error)) from error
    if header and header != _SQLITE_HEADER:
        raise BadInput(f"{file} is no history", "it is no SQLite database", "name another file with --store")


def _no_history(name: str) -> BadInput:
    return BadInput(f"there is no history at {name} yet", fix="begin one: s3bench history add results.json")


def _engine(address: Address) -> Engine:
    if address.file is not None:
        engine = sa.create_engine(address.url, connect_args={"timeout": _LOCK_WAIT_S})
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    try:
        url = address.url.update_query_dict({"connect_timeout": str(_CONNECT_S), **address.url.query})
        return sa.create_engine(url, hide_parameters=True)
    except ModuleNotFoundError as error:
        raise BadInput(
            f"{address} needs psycopg, which is not installed",
            str(error),
            "install it with s3bench: pip install 's3bench[postgresql]'",
        ) from error


def _set_up_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    """Take transactions into our own hands, and set what holds for one connection or for the file."""
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")  # what was said to be kept outlives a power cut
    for _ in range(_WAL_ATTEMPTS):
        # Two processes that open a new file at once: one is told at once that it is locked, busy timeout or not.
        # To begin a transaction does wait; then the other has done it.
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            return
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")


def _begin_sqlite(connection: Connection) -> None:
    will_write = connection.get_execution_options().get(_WILL_WRITE, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if will_write else "BEGIN")


def _bring_up(database: Database, *, create: bool) -> None:
    """Make the tables today's; nothing is written where they are."""
    with database.reading() as connection:
        version = _version(connection, database.address)
        is_empty = version is None and not sa.inspect(connection).get_table_names()
    if version == VERSION:
        return
    if version is None and not create:
        raise _no_history(database.address.name)
    if version is None and database.is_sqlite and not is_empty:
        raise BadInput(
            f"{database.address} is no history", "it is a database of something else", "name another file with --store"
        )
    with database.writing() as connection:
        if not database.is_sqlite:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
        if _version(connection, database.address) != VERSION:
            _upgrade(connection)


def _version(connection: Connection, address: Address) -> str | None:
    """The version of the tables, null without any. Raises `BadInput` for one that we do not know."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    version: str | None = connection.scalar(sa.select(sa.column("version_num")).select_from(sa.table(VERSION_TABLE)))
    if version is not None and not (version.isdecimal() and int(version) <= int(VERSION)):
        shown = version[:20] if version.isdecimal() else repr(version[:20])
        raise BadInput(
            f"the history {address} has version {shown}; this s3bench knows {VERSION}",
            "a newer s3bench wrote it",
            "update s3bench; nothing was changed",
        )
    return version


def _upgrade(connection: Connection) -> None:
    from alembic import command  # noqa: PLC0415 (a history that is new or old needs it, once)
    from alembic.config import Config  # noqa: PLC0415 (as above)

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    command.upgrade(config, "head")


@contextmanager
def _told(address: Address) -> Iterator[None]:
    """Turn the driver's errors into ours. Its own words have no statement, no document and no password in them."""
    try:
        yield
    except SQLAlchemyError as error:
        words = str(error.orig) if isinstance(error, DBAPIError) else type(error).__name__
        words = "\n".join("".join(filter(str.isprintable, line)) for line in words.strip().splitlines())
        fix = "nothing was changed; try again when it can be reached" if isinstance(error, OperationalError) else ""
        raise MachineError(f"cannot use the history {address}", words, fix) from None
