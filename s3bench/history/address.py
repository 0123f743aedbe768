"""The address of a history (`--store`): a SQLite file, or the URL of a PostgreSQL database.

A password in it is never shown.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from s3bench.errors import BadInput
from s3bench.system.home import expand_home

_FORM = "write postgresql://USER@HOST:PORT/DATABASE, with special characters in a password as %XX, or use ~/.pgpass"
_POSTGRESQL = frozenset({"postgresql", "postgres", "postgresql+psycopg"})
_DRIVER = "postgresql+psycopg"
_FILE_NAME = "history.db"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """`name` is for people and has no secret; `url` is for SQLAlchemy; `file` is `None` for PostgreSQL."""

    name: str
    url: URL = field(repr=False)
    file: Path | None

    def __str__(self) -> str:
        """The name."""
        return self.name


def parse_address(text: str | None, *, data_folder: Path) -> Address:
    """Parse an address; without `text` it is `history.db` in the data folder.

    Raises `BadInput` unless it is a path or a URL of PostgreSQL.
    """
    if text is None:
        return _of_file(data_folder / _FILE_NAME)
    if "://" in text:
        return _of_server(text)
    path = expand_home(text)
    if not text or path.is_dir():
        raise BadInput(f"--store {text}: a directory, not a file", fix=f"pass a file in it: {path / _FILE_NAME}")
    return _of_file(path)


def _of_file(path: Path) -> Address:
    file = path.absolute()
    return Address(name=str(file), url=URL.create("sqlite", database=str(file)), file=file)


def _of_server(text: str) -> Address:
    scheme = text.partition("://")[0]
    if scheme not in _POSTGRESQL:
        raise BadInput(f"--store: unsupported scheme {scheme[:20]!r}", fix=f"pass the path of a file, or {_FORM}")
    url = _parsed(text)
    if "@" in (url.host or "") or "@" in (url.database or ""):
        _raise_invalid()
    query = {name: value for name, value in url.query.items() if name != "password"}
    password = url.password or url.query.get("password")
    if password is not None and not isinstance(password, str):
        _raise_invalid()
    url = url.set(drivername=_DRIVER, query=query, password=password)
    return Address(name=_name(url), url=url, file=None)


def _parsed(text: str) -> URL:
    """Parse without repeating the text in an error, since it may contain a password."""
    try:
        return make_url(text)
    except (ArgumentError, ValueError):
        _raise_invalid()


def _raise_invalid() -> NoReturn:
    raise BadInput("--store: not a valid URL of a PostgreSQL database", fix=_FORM) from None


def _name(url: URL) -> str:
    host = url.host or str(url.query.get("host", ""))
    user = f"{url.username}@" if url.username else ""
    port = f":{url.port}" if url.port else ""
    return f"postgresql://{user}{host}{port}/{url.database or ''}"
