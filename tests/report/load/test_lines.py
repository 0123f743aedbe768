"""The lines of s3-benchmark: each of its own example has one of ours, with the same figures."""

import re
from pathlib import Path

import pytest

from s3bench.report.load.lines import COMPLETED, header_lines, loop_line, speed_text
from tests.report.loads import load

COMMAND, *EXAMPLE = (Path(__file__).parents[1] / "data" / "s3_benchmark_example.txt").read_text("utf-8").splitlines()
MIB = 1 << 20

PUTS = load("put", operations=1086, window_s=60.845, size=MIB)
GETS = load("get", operations=804, window_s=60.8, size=MIB)
DELETES = load("delete", operations=1086, window_s=3.0617)


def grammar(line: str) -> re.Pattern[str]:
    """The line with any number of its kind, and any value of a parameter, in the place of each."""
    escaped = re.escape(line)
    escaped = re.sub(r"\d+\\\.\d+[KMGT]?B", r"[0-9]+(\\.[0-9])?[KMGT]?B", escaped)
    escaped = re.sub(r"\d+\\\.\d+", r"[0-9]+\\.[0-9]", escaped)
    return re.compile(re.sub(r"(?<![v\w.\[])\d+(?![\w.\]])", "[0-9]+", escaped))


def ours() -> list[str]:
    words = COMMAND.split()
    options = dict(zip(words[1::2], words[2::2], strict=True))
    header = header_lines(
        url="https://play.min.io", bucket=options["-b"], duration_s=60.0, threads=int(options["-t"]), loops=1, size="1M"
    )
    return [
        *header,
        *(
            loop_line(each, loop=1, window_s=window_s)
            for each, window_s in ((PUTS, 60.845), (GETS, 60.8), (DELETES, 3.0617))
        ),
        COMPLETED,
    ]


def test_the_example_comes_out_figure_for_figure() -> None:
    assert ours() == EXAMPLE


@pytest.mark.parametrize(("number", "of"), [(2, PUTS), (3, GETS), (4, DELETES)])
def test_other_figures_have_the_grammar_of_the_example(number: int, of: object) -> None:
    kind = ("put", "get", "delete")[number - 2]
    pattern = grammar(EXAMPLE[number])
    assert pattern.fullmatch(EXAMPLE[number])
    for operations, window_s, size in ((1, 0.01, 1), (123_456, 12.34, 4096), (17, 1000.0, 5 << 30), (0, 1.0, MIB)):
        line = loop_line(load(kind, operations=operations, window_s=window_s, size=size), loop=3, window_s=window_s)
        assert pattern.fullmatch(line), line


def test_the_secret_is_nowhere() -> None:
    words = COMMAND.split()
    secret = words[words.index("-s") + 1]
    assert all(secret not in line for line in ours())
    (_, parameters) = header_lines(
        url=f"https://user:{secret}@play.min.io", bucket="b", duration_s=1.5, threads=1, loops=2, size="4K"
    )
    assert parameters == "Parameters: url=https://***@play.min.io, bucket=b, duration=1.5, threads=1, loops=2, size=4K"


def test_failures_count_in_no_figure() -> None:
    found = load(operations=100, window_s=10.0, size=MIB, failed=900)
    assert loop_line(found, loop=1, window_s=10.0) == (
        "Loop 1: GET time 10.0 secs, objects = 100, speed = 10MB/sec, 10.0 operations/sec."
    )


def test_a_phase_without_a_success_took_as_long_as_it_did() -> None:
    line = loop_line(load("put", operations=0, failed=9), loop=1, window_s=2.5)
    assert line == "Loop 1: PUT time 2.5 secs, objects = 0, speed = 0B/sec, 0.0 operations/sec."


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0B"),
        (1023.9, "1023B"),
        (1024, "1KB"),
        (1536, "1.5KB"),
        (MIB, "1MB"),
        (3.25 * 2**30, "3.2GB"),
        (2**50, "1024TB"),
    ],
)
def test_speeds_have_binary_steps_and_one_decimal_at_most(size_bytes: float, text: str) -> None:
    assert speed_text(size_bytes) == text
