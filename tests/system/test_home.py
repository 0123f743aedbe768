"""Home directories in paths: whose they are, and a user that does not exist."""

from pathlib import Path

import pytest

from s3bench.errors import BadInput
from s3bench.system.home import expand_home


def test_a_tilde_at_the_beginning_is_a_home_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/user")
    assert expand_home("~/h.db") == Path("/home/user/h.db")
    assert expand_home("a/~b") == Path("a/~b")


def test_a_user_that_does_not_exist_is_bad_input() -> None:
    with pytest.raises(BadInput) as caught:
        expand_home("~nosuchuser/h.db")
    assert caught.value.what == "~nosuchuser/h.db: ~nosuchuser has no home directory here"
    assert caught.value.fix == "write the whole path, or ./~nosuchuser for a file of that name"
