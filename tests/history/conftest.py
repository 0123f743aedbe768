"""Histories to test: a SQLite file always, a PostgreSQL database where Debian's package is there."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from s3bench.history.address import Address, parse_address
from s3bench.history.store import History, open_history
from tests.history.postgresql import cluster

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[Path]:
    """A PostgreSQL for all tests of the session, told by the directory of its socket."""
    with cluster() as folder:
        yield folder


@pytest.fixture
def postgresql(server: Path) -> Address:
    """An empty database on it."""
    name = f"history_{next(_numbers)}"
    engine = sa.create_engine(f"postgresql+psycopg://s3bench@/postgres?host={server}", isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return parse_address(f"postgresql://s3bench@/{name}?host={server}", data_folder=Path("/nowhere"))


@pytest.fixture
def sqlite(tmp_path: Path) -> Address:
    """A file that is not there yet."""
    return parse_address(str(tmp_path / "history.db"), data_folder=tmp_path)


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest) -> Address:
    """Either."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Address)
    return found


@pytest.fixture
def history(address: Address) -> Iterator[History]:
    """A history without documents."""
    with open_history(address, create=True) as opened:
        yield opened
