"""The lines of s4: its own example comes out of the figures that it shows."""

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from s3bench.report.load.stress import StressJob, StressProgress, config_lines, second_line, size_text, total_lines

_, TITLE, CONFIG, *SECONDS, ELAPSED, TOTAL = (
    (Path(__file__).parents[1] / "data" / "s4_example.txt").read_text("utf-8").splitlines()
)
AT = datetime.fromisoformat("2018-05-21T13:04:15")
UNITS = {"MiB": 1 << 20, "GiB": 1 << 30}


def test_the_configuration_is_echoed_as_in_the_example() -> None:
    jobs = [
        StressJob(name=f"job{number}", recordsize=f"{size}Mib", threadcount=75, iterations=100)
        for number, size in ((1, 1), (2, 4))
    ]
    lines = config_lines(
        endpoint="http://s3-region.example.com",
        tls_no_verify=False,
        bucket="s4_test",
        read_range_max=0,
        read_sparse=False,
        write=jobs,
        read=(),
    )
    assert lines == (TITLE, CONFIG, "")


def test_every_second_of_the_example_comes_out() -> None:
    for number, expected in enumerate(SECONDS):
        shown = re.search(r"write: +(\d+)/ *(\d+), byte/s: ([0-9.]+) (\w+)$", expected)
        assert shown
        queued, writes, bytes_rate = int(shown[1]), int(shown[2]), float(shown[3]) * UNITS[shown[4]]
        before = StressProgress(reads_planned=0, writes_planned=15_000, writes=15_000 - queued)
        at = AT + timedelta(seconds=number)
        assert second_line(at, before, reads=0, writes=writes, bytes_rate=bytes_rate) == expected
    assert len(SECONDS) == 19


def test_the_totals_have_the_grammar_of_the_example_and_its_figures_where_they_agree() -> None:
    at = datetime.fromisoformat("2018-05-21T13:04:34")
    size_bytes = int(912 * 20.920798 * 2**20) + 1
    elapsed, total = total_lines(at, operations=6536, size_bytes=size_bytes, elapsed_s=20.920798)
    assert elapsed == ELAPSED
    assert total == TOTAL.replace("second: 326", "second: 312")
    assert 6536 // 20 == 326, "s4 divided by whole seconds there"


def test_what_was_never_planned_leaves_nothing_queued() -> None:
    before = StressProgress(reads_planned=10, writes_planned=0, reads=20)
    line = second_line(AT, before, reads=5, writes=3, bytes_rate=0)
    assert line == "2018/05/21 13:04:15 queued/read: 0/   5, queued/write:      0/   3, byte/s:  0 B"


def test_nothing_done_in_no_time_is_nothing_a_second() -> None:
    *_, total = total_lines(AT, operations=0, size_bytes=0, elapsed_s=0.0)
    assert total.endswith("Total OPS: 0, operations per second: 0, bytes per second: 0 B")


def test_names_cannot_paint_the_terminal() -> None:
    job = StressJob(name="\x1b[31m\n", recordsize="1mib", threadcount=1, iterations=1)
    line = config_lines(
        endpoint="e", tls_no_verify=True, bucket="b", read_range_max=100, read_sparse=True, write=(), read=(job,)
    )[1]
    assert line == "{e true b 100 true [] [{ [31m  1mib 1 1}]}"


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (9, "9 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (9.96 * 1024, "10 KiB"),
        (10.4 * 2**20, "10 MiB"),
        (2**40, "1.0 TiB"),
    ],
)
def test_sizes_have_a_decimal_only_below_ten(size_bytes: float, text: str) -> None:
    assert size_text(size_bytes) == text
