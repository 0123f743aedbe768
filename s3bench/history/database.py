"""Opens the database of a history, migrates its tables, and runs transactions.

Several processes can use a history at once. SQLite: a write-ahead log, so that readers and the one writer do not wait
for each other (https://www.sqlite.org/wal.html), and BEGIN IMMEDIATE, so that a writing transaction cannot fail halfway
because another was faster (https://www.sqlite.org/lang_transaction.html). The log is kept in files beside the database,
also by readers; in a folder that is not writable a database without a log is opened as one that nobody changes
(https://www.sqlite.org/uri.html, "immutable"). A file gets its log only after it was recognised as a history, so
that no database of another program is changed. PostgreSQL: its default isolation, unique constraints and, for
migrations, an advisory lock. A killed process leaves nothing half-written.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from s3bench.errors import BadInput, MachineError
from s3bench.extras import needs_extra
from s3bench.history.address import Address
from s3bench.history.tables import VERSION, VERSION_TABLE

_MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK_WAIT_S = 60
_SQLITE_WAIT_S = 0.25
"""How long SQLite itself waits for a lock: until it returns, Python cannot act on Ctrl-C."""

_RETRY_S = 0.01
_CONNECT_S = 15
_WILL_WRITE, _WITHOUT_TRANSACTION = "s3bench_will_write", "s3bench_without_transaction"
_SQLITE_HEADER = b"SQLite format 3\0"  # https://www.sqlite.org/fileformat2.html, "The Database Header"
_FILE_CODES = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY})
_PRIMARY_CODE = 0xFF  # of an extended result code: https://www.sqlite.org/rescode.html
_DISK_FULL = "53100"  # https://www.postgresql.org/docs/current/errcodes-appendix.html
_ADVISORY_LOCK = int.from_bytes(b"s3bench", "big")  # any number that others hardly use


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """An open database with tables of the current version; `is_unchanging`: a file that nobody changes meanwhile."""

    address: Address
    engine: Engine
    is_unchanging: bool = False

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A reading transaction; in SQLite it sees a consistent snapshot."""
        with _driver_errors_of(self.address), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A writing transaction, committed completely or not at all. Waits up to a minute for a lock."""
        with _driver_errors_of(self.address), self.engine.connect() as connection:
            connection.execution_options(**{_WILL_WRITE: True})
            with connection.begin():
                if not self.is_sqlite:
                    connection.execute(sa.text(f"SET LOCAL lock_timeout = '{_LOCK_WAIT_S}s'"))
                yield connection


@contextmanager
def open_database(address: Address, *, create: bool) -> Iterator[Database]:
    """Open the history at `address`; with `create`, create it if there is none.

    Raises `BadInput` if there is none, if it is something else, and if a newer s3bench wrote it; `MachineError` if it
    cannot be reached.
    """
    if address.file is not None:
        _check_file(address.file, create=create)
    is_unchanging = address.file is not None and not create and _is_unchanging(address.file)
    with _driver_errors_of(address):
        engine = _engine(address, is_unchanging=is_unchanging)
    try:
        database = Database(address=address, engine=engine, is_unchanging=is_unchanging)
        _migrate(database, create=create)
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
        raise BadInput(f"{file} is not a history", "it is not a SQLite database", "pass another file with --store")


def _no_history(name: str) -> BadInput:
    return BadInput(f"there is no history at {name} yet", fix="create it with: s3bench history add results.json")


def _engine(address: Address, *, is_unchanging: bool) -> Engine:
    if address.file is not None:
        if is_unchanging:
            query = {"uri": "true", "mode": "ro", "immutable": "1"}
            engine = sa.create_engine(sa.URL.create("sqlite", database=address.file.as_uri(), query=query))
            event.listen(engine, "connect", _begin_explicitly)
        else:
            engine = sa.create_engine(address.url, connect_args={"timeout": _SQLITE_WAIT_S})
            event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    with needs_extra(str(address), "postgresql"):
        url = address.url.update_query_dict({"connect_timeout": str(_CONNECT_S), **address.url.query})
        return sa.create_engine(url, hide_parameters=True)


def _is_unchanging(file: Path) -> bool:
    """Whether the folder is not writable and nobody has the file open, who would have a write-ahead log beside it."""
    real = file.resolve()
    return not os.access(real.parent, os.W_OK | os.X_OK) and not real.with_name(f"{real.name}-wal").exists()


def _begin_explicitly(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None


def _set_up_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    """Disable implicit transactions, and set the pragmas of the connection."""
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")
    # Committed documents survive a power cut. This pragma reads the tables' definitions, and may have to wait.
    _when_unlocked(lambda: connection.execute("PRAGMA synchronous = FULL"))


def _begin_sqlite(connection: Connection) -> None:
    """Begin a transaction and take its lock, which is all that a transaction may have to wait for."""
    options = connection.get_execution_options()
    if options.get(_WITHOUT_TRANSACTION, False):
        return
    _when_unlocked(lambda: _lock(connection, will_write=options.get(_WILL_WRITE, False)))


def _lock(connection: Connection, *, will_write: bool) -> None:
    if will_write:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        return
    connection.exec_driver_sql("BEGIN")
    connection.exec_driver_sql("SELECT 1 FROM sqlite_master LIMIT 1").close()


def _when_unlocked(act: Callable[[], object]) -> None:
    """Do what needs a lock of SQLite, again and again for up to a minute while another process holds it."""
    ends_s = monotonic() + _LOCK_WAIT_S
    while True:
        try:
            act()
        except (OperationalError, sqlite3.OperationalError) as error:
            cause = error.orig if isinstance(error, OperationalError) else error
            if _sqlite_code(cause) != sqlite3.SQLITE_BUSY or monotonic() >= ends_s:
                raise
        else:
            return
        sleep(_RETRY_S)


def _keep_log(database: Database) -> None:
    """Let a SQLite history have a write-ahead log from now on."""
    options = {_WITHOUT_TRANSACTION: True}
    with _driver_errors_of(database.address), database.engine.connect().execution_options(**options) as connection:
        _when_unlocked(lambda: connection.exec_driver_sql("PRAGMA journal_mode = WAL").close())


def _migrate(database: Database, *, create: bool) -> None:
    """Migrate the tables to the current version, if needed."""
    with database.reading() as connection:
        version = _version(connection, database.address)
        is_empty = version is None and not sa.inspect(connection).get_table_names()
    if version is None and database.is_sqlite and not is_empty:
        raise BadInput(
            f"{database.address} is not a history", "it is another kind of database", "pass another file with --store"
        )
    if version is None and not create:
        raise _no_history(database.address.name)
    if database.is_sqlite and not database.is_unchanging:
        _keep_log(database)
    if version == VERSION:
        return
    with database.writing() as connection:
        if not database.is_sqlite:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
        if _version(connection, database.address) != VERSION:
            _upgrade(connection)


def _version(connection: Connection, address: Address) -> str | None:
    """The version of the tables, `None` without any. Raises `BadInput` for an unknown version."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    version: str | None = connection.scalar(sa.select(sa.column("version_num")).select_from(sa.table(VERSION_TABLE)))
    if version is not None and not (version.isdecimal() and int(version) <= int(VERSION)):
        shown = version[:20] if version.isdecimal() else repr(version[:20])
        raise BadInput(
            f"the history {address} has version {shown}; this s3bench reads versions up to {VERSION}",
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
def _driver_errors_of(address: Address) -> Iterator[None]:
    """Turn errors of the database driver into `MachineError`, without statements, documents and passwords."""
    try:
        yield
    except SQLAlchemyError as error:
        words = str(error.orig) if isinstance(error, DBAPIError) else type(error).__name__
        words = "\n".join("".join(filter(str.isprintable, line)) for line in words.strip().splitlines())
        raise MachineError(f"cannot use the history {address}", words, _remedy(address, error)) from None


def _remedy(address: Address, error: SQLAlchemyError) -> str:
    cause = error.orig if isinstance(error, DBAPIError) else None
    code = _sqlite_code(cause)
    if code == sqlite3.SQLITE_FULL or getattr(cause, "sqlstate", None) == _DISK_FULL:
        return "free space on the disk of the history, then repeat the command"
    if address.file is not None and code in _FILE_CODES:
        return (
            f"make {address.file} and the folder {address.file.parent} writable: SQLite keeps files beside a history "
            "while it is open"
        )
    return "try again when it is reachable" if isinstance(error, OperationalError) else ""


def _sqlite_code(error: BaseException | None) -> int:
    """The primary result code of SQLite; 0 of another driver's error."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & _PRIMARY_CODE
