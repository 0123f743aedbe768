"""Opening: what is made, what is brought up to date, and what is refused."""

import os
import signal
import sqlite3
from pathlib import Path
from threading import Timer
from time import monotonic

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from s3bench.errors import BadInput, ExitCode, MachineError
from s3bench.history import database as module
from s3bench.history.address import Address, parse_address
from s3bench.history.database import open_database
from s3bench.history.store import History, open_history
from s3bench.history.tables import DOCUMENTS, METADATA, VERSION
from tests.compare.documents import result
from tests.history.documents import add, full_after, load_text, text


def test_the_migrations_end_in_the_tables_of_today(address: Address) -> None:
    with open_database(address, create=True) as database, database.reading() as connection:
        options = {"version_table": "s3bench_version", "compare_type": True}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), METADATA) == []
    config = Config()
    config.set_main_option("script_location", str(module._MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_heads() == [VERSION]


def test_reading_makes_nothing(sqlite: Address, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no history at"), open_history(sqlite):
        pass
    assert list(tmp_path.iterdir()) == []


def test_reading_makes_no_tables_in_a_teams_database(postgresql: Address) -> None:
    with pytest.raises(BadInput, match="there is no history at"), open_history(postgresql):
        pass
    with open_database(postgresql, create=True):  # only now
        pass


def test_adding_makes_the_folders_too(tmp_path: Path) -> None:
    address = parse_address(None, data_folder=tmp_path / "share" / "s3bench")
    with open_history(address, create=True) as history:
        assert add(history, text()).is_new
    assert (tmp_path / "share" / "s3bench" / "history.db").is_file()


def test_a_file_that_is_empty_becomes_a_history(sqlite: Address) -> None:
    assert sqlite.file
    sqlite.file.touch()
    with pytest.raises(BadInput, match="there is no history"), open_history(sqlite):
        pass
    assert sqlite.file.read_bytes() == b""
    with open_history(sqlite, create=True) as history:
        assert history.list_documents() == ()


def test_a_history_of_a_newer_version_is_refused_and_left_alone(address: Address) -> None:
    with open_history(address, create=True) as history:
        add(history, text())
        _set_version(history, "3")
    for create in (False, True):
        with pytest.raises(BadInput, match="has version 3; this s3bench reads versions up to 2") as caught:
            open_history(address, create=create).__enter__()
        assert "update s3bench" in caught.value.fix
    engine = sa.create_engine(address.url)
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM s3bench_documents")).scalar() == 1
    engine.dispose()


def test_a_history_of_version_1_learns_what_its_load_runs_measured(address: Address) -> None:
    with open_history(address, create=True) as history:
        add(history, text())
        damaged = add(history, load_text(sizes="1MiB", day=2)).identity
        for day, sizes in enumerate(("4KiB", "4KiB\\\0", "256KiB"), start=3):
            add(history, load_text(sizes=sizes, day=day))
        before = history.points("load.latency.p50")
        _make_version_1(history, damaged)
    with open_history(address) as history:
        points = history.points("load.latency.p50")
        assert points[1:] == before[1:]
        assert [dict(point.workload or ())["size"] for point in points[1:]] == ["4KiB", "4KiB\\\0", "256KiB"]
        assert points[0].workload == ()
        assert [point.workload for point in history.points("total_time")] == [None]
        assert add(history, load_text(sizes="4KiB", day=3)).is_new is False


def _make_version_1(history: History, damaged: str) -> None:
    """Take back what version 2 added, and damage a document."""
    with history._database.writing() as connection:
        connection.execute(sa.text("DROP TABLE s3bench_load_options"))
        connection.execute(sa.update(DOCUMENTS).where(DOCUMENTS.c.identity == damaged).values(body=b"no zlib"))
    _set_version(history, "1")


def _set_version(history: History, version: str) -> None:
    with history._database.writing() as connection:
        connection.execute(sa.text("UPDATE s3bench_version SET version_num = :version"), {"version": version})


@pytest.mark.parametrize("content", [b"a text, and no database at all", b"{}"])
def test_a_file_of_another_kind_is_refused_and_left_alone(sqlite: Address, content: bytes) -> None:
    assert sqlite.file
    sqlite.file.write_bytes(content)
    with pytest.raises(BadInput, match="is not a history"), open_history(sqlite, create=True):
        pass
    assert sqlite.file.read_bytes() == content


@pytest.mark.parametrize("create", [False, True])
def test_another_programs_database_is_refused_and_left_alone(sqlite: Address, *, create: bool) -> None:
    assert sqlite.file
    connection = sqlite3.connect(sqlite.file)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()
    before = sqlite.file.read_bytes()
    with pytest.raises(BadInput, match="is not a history") as caught, open_history(sqlite, create=create):
        pass
    assert caught.value.why == "it is another kind of database"
    assert sqlite.file.read_bytes() == before
    assert list(sqlite.file.parent.iterdir()) == [sqlite.file]


def test_a_copy_of_a_history_without_its_log_gets_one(sqlite: Address) -> None:
    assert sqlite.file
    with open_history(sqlite, create=True) as history:
        add(history, text())
    connection = sqlite3.connect(sqlite.file)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    with open_database(sqlite, create=False) as database, database.reading() as reader:
        assert reader.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_a_teams_database_may_hold_other_things(postgresql: Address) -> None:
    engine = sa.create_engine(postgresql.url)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE alembic_version (version_num TEXT)"))
    engine.dispose()
    with open_history(postgresql, create=True) as history:
        assert add(history, text()).is_new


def test_a_server_that_is_not_there_is_reported_without_the_password(server: Path, tmp_path: Path) -> None:
    for query in (f"host={tmp_path}", f"host={server}&sslmode=nonsense", f"host={server}&nonsense=1"):
        address = parse_address(f"postgresql://s3bench:geheim@/nothing?{query}", data_folder=tmp_path)
        with pytest.raises(MachineError) as caught, open_history(address):
            pass
        assert caught.value.exit_code is ExitCode.CLIENT_FAILED
        assert "geheim" not in f"{caught.value}{caught.value!r}"


def test_without_the_driver_the_user_is_reported_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def missing(*_arguments: object, **_options: object) -> None:
        raise ModuleNotFoundError("No module named 'psycopg'")

    monkeypatch.setattr(sa, "create_engine", missing)
    with (
        pytest.raises(BadInput, match="needs packages") as caught,
        open_history(parse_address("postgresql://h/x", data_folder=tmp_path)),
    ):
        pass
    assert "install 'psycopg[binary]" in caught.value.fix


def test_a_sqlite_history_has_a_write_ahead_log_and_waits_for_its_turn(sqlite: Address) -> None:
    with open_database(sqlite, create=True) as database, database.writing() as connection:
        for pragma, value in (
            ("journal_mode", "wal"),
            ("foreign_keys", 1),
            ("synchronous", 2),
        ):
            assert connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() == value
        other = sqlite3.connect(str(sqlite.file), timeout=0, isolation_level=None)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        other.close()


def test_a_lock_that_is_never_released_is_an_error_of_the_machine(
    sqlite: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_history(sqlite, create=True):
        pass
    monkeypatch.setattr(module, "_LOCK_WAIT_S", 0)
    other = sqlite3.connect(str(sqlite.file), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with open_history(sqlite) as history, pytest.raises(MachineError, match="cannot use the history") as caught:
        add(history, text())
    other.close()
    assert "database is locked" in caught.value.why
    assert caught.value.fix == "try again when it is reachable"


def test_a_writer_waits_longer_for_a_lock_than_sqlite_does(sqlite: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_history(sqlite, create=True):
        pass
    monkeypatch.setattr(module, "_SQLITE_WAIT_S", 0)
    other = sqlite3.connect(str(sqlite.file), isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    released = Timer(0.2, other.close)
    released.start()
    with open_history(sqlite) as history:
        assert add(history, text()).is_new
    released.join()


def test_ctrl_c_ends_the_wait_for_a_lock(sqlite: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_history(sqlite, create=True):
        pass
    monkeypatch.setattr(module, "_LOCK_WAIT_S", 5)
    other = sqlite3.connect(str(sqlite.file), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    pressed = Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    with open_history(sqlite) as history:
        began_s = monotonic()
        pressed.start()
        with pytest.raises(KeyboardInterrupt):
            add(history, text())
    other.close()
    assert monotonic() - began_s < 3


def _refuse_writing(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Make `os.access` answer as on a read-only mount; root may write everywhere else."""
    real = os.access

    def access(path: Path, mode: int) -> bool:
        return real(path, mode) and not (path == folder and mode & os.W_OK)

    monkeypatch.setattr(os, "access", access)


def test_a_history_in_a_folder_that_is_not_writable_is_read_without_files_beside_it(
    sqlite: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sqlite.file
    with open_history(sqlite, create=True) as history:
        add(history, text())
    _refuse_writing(monkeypatch, sqlite.file.parent)
    with open_history(sqlite) as history:
        (entry,) = history.list_documents()
        assert history.show(entry.identity)[1] == text()
        assert list(sqlite.file.parent.iterdir()) == [sqlite.file]
        with pytest.raises(MachineError, match="readonly") as caught:
            history.prune(keep_last=0, dry_run=False)
    assert caught.value.fix.startswith(f"make {sqlite.file} and the folder {sqlite.file.parent} writable: ")


def test_a_history_that_somebody_has_open_is_read_with_its_log_whatever_the_folder(
    sqlite: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sqlite.file
    with open_history(sqlite, create=True) as writer:
        add(writer, text())
        _refuse_writing(monkeypatch, sqlite.file.parent)
        with open_history(sqlite) as history:
            assert len(history.list_documents()) == 1


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_what_needs_a_folder_that_is_writable_says_so(sqlite: Address) -> None:
    assert sqlite.file
    with open_history(sqlite, create=True) as history:
        add(history, text())
    sqlite.file.parent.chmod(0o500)
    try:
        with open_history(sqlite) as history:
            assert len(history.list_documents()) == 1
        with pytest.raises(MachineError) as caught, open_history(sqlite, create=True):
            pass
    finally:
        sqlite.file.parent.chmod(0o700)
    assert f"the folder {sqlite.file.parent} writable" in caught.value.fix


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_log_in_a_folder_that_is_not_writable_is_not_passed_over(sqlite: Address) -> None:
    assert sqlite.file
    with open_history(sqlite, create=True) as history:
        add(history, text())
    sqlite.file.with_name("history.db-wal").touch()
    sqlite.file.parent.chmod(0o500)
    try:
        with pytest.raises(MachineError) as caught, open_history(sqlite):
            pass
    finally:
        sqlite.file.parent.chmod(0o700)
    assert f"the folder {sqlite.file.parent} writable" in caught.value.fix


def test_a_disk_that_is_full_asks_for_space(sqlite: Address) -> None:
    with open_history(sqlite, create=True) as history, full_after(pages=30):
        add(history, text())
    with full_after(pages=30), open_history(sqlite) as history, pytest.raises(MachineError) as caught:
        add(history, text(*(result(name=f"n{number}") for number in range(200)), day=2))
    assert caught.value.why == "database or disk is full"
    assert caught.value.fix == "free space on the disk of the history, then repeat the command"
