"""Errors that nobody foresaw: a message, never exit code 1."""

import errno
import json
from collections.abc import Callable
from statistics import median

import msgspec
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


@pytest.mark.parametrize("parse", [json.loads, msgspec.json.decode])
def test_input_that_is_nested_too_deeply_for_a_parser_is_bad_input(
    failing: Callable[[Exception], tuple[int, list[str]]], parse: Callable[[str], object]
) -> None:
    levels = 100_000
    with pytest.raises(RecursionError) as caught:
        parse("[" * levels + "]" * levels)
    returned, lines = failing(caught.value)
    assert (returned, lines[0]) == (ExitCode.BAD_INPUT, "s3bench: the input is nested too deeply")


@pytest.mark.parametrize("calculate", [float, lambda number: number / 3, lambda number: median((number, number + 1))])
def test_a_whole_number_that_no_figure_can_be_is_bad_input(
    failing: Callable[[Exception], tuple[int, list[str]]], calculate: Callable[[int], float]
) -> None:
    with pytest.raises(OverflowError) as caught:
        calculate(10**400)
    returned, lines = failing(caught.value)
    assert (returned, lines[0]) == (ExitCode.BAD_INPUT, "s3bench: a number in the input is too large")


@pytest.mark.parametrize(
    "error",
    [
        RecursionError("maximum recursion depth exceeded"),
        RecursionError("maximum recursion depth exceeded while calling a Python object"),
        OverflowError("math range error"),
        OverflowError("timestamp too large to convert to C PyTime_t"),
    ],
)
def test_what_is_too_deep_or_too_large_after_the_input_was_parsed_is_a_defect(
    failing: Callable[[Exception], tuple[int, list[str]]], error: Exception
) -> None:
    returned, lines = failing(error)
    assert returned == ExitCode.CLIENT_FAILED
    assert f"a bug in s3bench: {type(error).__name__}: {error}" in lines[0]


def test_a_defect_of_ours_says_so_and_then_shows_the_traceback(
    failing: Callable[[Exception], tuple[int, list[str]]],
) -> None:
    returned, lines = failing(KeyError("\x1b]0;key"))
    assert returned == ExitCode.CLIENT_FAILED
    assert "a bug in s3bench: KeyError" in lines[0]
    assert lines[2] == "Traceback (most recent call last):"
    assert not any("\x1b" in line for line in lines)
