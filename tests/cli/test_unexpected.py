"""Errors that nobody foresaw: a message, never exit code 1."""

import errno
from collections.abc import Callable

import pytest
from botocore.exceptions import NoCredentialsError

from s3bench.errors import ExitCode
from tests.cli.conftest import Here


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, here: Here) -> Callable[[Exception], tuple[int, list[str]]]:
    """Run a command that raises; gives its exit code and the lines on stderr."""

    def run(error: Exception) -> tuple[int, list[str]]:
        def fail(_path: object) -> None:
            raise error

        monkeypatch.setattr("s3bench.cli.validate.read_file", fail)
        finished = here("validate", "x.json")
        assert finished.stdout == ""
        return finished.returncode, finished.stderr.splitlines()

    return run


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "/disk/file"),
            ExitCode.CLIENT_FAILED,
            "/disk/file: No space",
        ),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), ExitCode.CLIENT_FAILED, "Broken pipe"),
        (TimeoutError(), ExitCode.CLIENT_FAILED, "TimeoutError"),
        (MemoryError(), ExitCode.CLIENT_FAILED, "out of memory"),
        (RecursionError("maximum recursion depth"), ExitCode.BAD_INPUT, "nested too deeply"),
        (OverflowError("math range error"), ExitCode.BAD_INPUT, "too large"),
        (NoCredentialsError(), ExitCode.CLIENT_FAILED, "the endpoint or its configuration failed"),
    ],
)
def test_it_is_told_in_words(
    failing: Callable[[Exception], tuple[int, list[str]]], error: Exception, code: ExitCode, said: str
) -> None:
    returned, lines = failing(error)
    assert returned == code
    assert said in lines[0]
    assert "Traceback" not in "".join(lines)


def test_a_defect_of_ours_says_so_and_then_shows_the_traceback(
    failing: Callable[[Exception], tuple[int, list[str]]],
) -> None:
    returned, lines = failing(KeyError("\x1b]0;key"))
    assert returned == ExitCode.CLIENT_FAILED
    assert "a bug in s3bench: KeyError" in lines[0]
    assert lines[2] == "Traceback (most recent call last):"
    assert not any("\x1b" in line for line in lines)
