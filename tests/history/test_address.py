"""Where a history is kept, and that no password is ever shown."""

from pathlib import Path

import pytest

from s3bench.errors import BadInput
from s3bench.history.address import parse_address

HOME = Path("/home/user/.local/share/s3bench")
SECRET = "geheim"


def test_without_an_address_it_is_a_file_in_the_data_folder() -> None:
    assert parse_address(None, data_folder=HOME).file == HOME / "history.db"


def test_a_path_is_a_file_whatever_characters_it_has(tmp_path: Path) -> None:
    for name in ("plain.db", "a?b#c%20d.db", ":memory:", "file:x?mode=memory"):
        address = parse_address(str(tmp_path / name), data_folder=HOME)
        assert (address.file, address.url.database) == (tmp_path / name, str(tmp_path / name))


def test_a_path_is_taken_from_where_we_are_and_a_tilde_is_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/user")
    assert parse_address(":memory:", data_folder=HOME).file == tmp_path / ":memory:"
    assert parse_address("~/h.db", data_folder=HOME).file == Path("/home/user/h.db")


def test_a_tilde_of_a_user_that_does_not_exist_is_bad_input() -> None:
    with pytest.raises(BadInput, match="~nosuchuser has no home directory"):
        parse_address("~nosuchuser/h.db", data_folder=HOME)


@pytest.mark.parametrize("text", ["", "."])
def test_a_directory_is_refused_and_a_file_in_it_offered(text: str) -> None:
    with pytest.raises(BadInput, match="a directory") as caught:
        parse_address(text, data_folder=HOME)
    assert caught.value.fix == "pass a file in it: history.db"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("postgresql://db.example.com/s3bench", "postgresql://db.example.com/s3bench"),
        (f"postgres://me:{SECRET}@db.example.com:5433/s3bench", "postgresql://me@db.example.com:5433/s3bench"),
        (f"postgresql://me@/s3bench?host=/run/pg&password={SECRET}", "postgresql://me@/run/pg/s3bench"),
        (f"postgresql://me:{SECRET}%40@h/s3bench?sslmode=require", "postgresql://me@h/s3bench"),
    ],
)
def test_a_server_is_named_without_its_password(text: str, name: str) -> None:
    address = parse_address(text, data_folder=HOME)
    assert (str(address), address.file, address.url.drivername) == (name, None, "postgresql+psycopg")
    assert (address.url.password or "").startswith(SECRET) is (SECRET in text)
    assert SECRET not in repr(address)
    assert "password" not in address.url.query


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://me:{SECRET}@host:{SECRET}/x",
        f"postgresql://me:pass@{SECRET}@host/x",
        f"postgresql://me:{SECRET}/@host@/x",
        f"mysql://me:{SECRET}@host/x",
        f"postgresql+asyncpg://me:{SECRET}@host/x",
        f"postgresql://h/x?password={SECRET}&password={SECRET}",
    ],
)
def test_what_cannot_be_read_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_address(text, data_folder=HOME)
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
