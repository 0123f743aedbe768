"""A search in the terminal: the answer first, nothing cut, nothing that a name could do to the screen."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from s3bench.bisect.record import BisectRecord
from s3bench.bisect.search import ComparisonOutcome, Ending, VersionComparison, comparison_result, failed_comparison
from s3bench.gate.policy import Policy
from s3bench.report.bisection import answer_line, render_bisection
from tests.gate.evidence_maker import paired, ratios

HOSTILE = "2.0[red]x[/red]\n\x1b[31m\u202e\x00"
Takes = Callable[[int], float]


def record_of(takes: Takes, *, count: int = 8, broken: frozenset[int] = frozenset(), most: int = 99) -> BisectRecord:
    """A search among `count` versions that take so long; those `broken` are not to be had."""
    record = BisectRecord(
        s3bench="0.1.0",
        started_at="2026-11-22T00:00:00.000Z",
        client="cli-crt",
        versions=tuple(f"2.{30 + place}.0" for place in range(count)),
        benchmarks=("s3.cp.upload",),
        policy=Policy(metrics=("total_time",)),
        error=0.05,
        seed=1,
    )
    while len(record.answers) < most and isinstance(
        following := record.bisection.next(record.answers), VersionComparison
    ):
        if following.newer in broken:
            answer = failed_comparison(following, following.newer, "it was yanked")
        else:
            worsening = takes(following.candidate) / takes(following.baseline) - 1
            answer = comparison_result(following, (paired(ratios(worsening, 0.002)),), took_s=12.0)
        record = replace(record, answers=(*record.answers, answer))
    return record.concluded()


def slower_from(first: int, factor: float = 1.2) -> Takes:
    return lambda place: factor if place >= first else 1.0


def render(record: BisectRecord, *, width: int = 120, kept: Path | None = None) -> list[str]:
    return render_bisection(record, width=width, color=False, kept=kept).splitlines()


def test_the_first_line_is_the_answer_with_the_size_of_the_change() -> None:
    lines = render(record_of(slower_from(5)))
    assert lines[0].startswith(
        "found: cli-crt 2.35.0 is the first that changed total_time of s3.cp.upload: +20.0% slower"
    )
    assert lines[0].endswith("against 2.34.0")
    assert "chance of error: at most 5%" in lines[1]


def test_every_comparison_has_a_line() -> None:
    record = record_of(slower_from(5))
    table = [line for line in render(record) if re.match(r"2\.3\d\.0 ", line)]
    assert [line.split()[:3] for line in table] == [
        ["2.37.0", "2.30.0", "changed"],
        ["2.34.0", "2.30.0", "unchanged"],
        ["2.36.0", "2.30.0", "changed"],
        ["2.35.0", "2.30.0", "changed"],
        ["2.35.0", "2.34.0", "changed"],
    ]


def test_what_got_better_is_said_as_seen_from_the_newer_version() -> None:
    lines = render(record_of(slower_from(5, 0.8)))
    assert "-20.0% faster" in lines[0]
    assert "-20.1% to -19.9%" in lines[0]
    ends = next(line for line in lines if line.startswith("2.37.0") and "-20.0%" in line)
    assert "faster" in ends


def test_suspects_are_a_range_and_those_left_out_are_named() -> None:
    lines = render(record_of(slower_from(5), broken=frozenset({4, 5})))
    assert lines[0].startswith("suspects: one of 3 versions of cli-crt, after 2.33.0, up to 2.36.0, is the first")
    assert any("no result for 2.34.0, 2.35.0" in line for line in lines)
    assert "failed: 2.34.0: it was yanked" in lines


def test_no_change_tells_how_large_one_could_be() -> None:
    lines = render(record_of(lambda _: 1.0))
    assert lines[0] == "no change: cli-crt 2.37.0 against 2.30.0: nothing to find"
    assert re.search(r"total_time of s3.cp.upload is at most [+-]0\.\d% worse", lines[1])
    assert any("temporary changes" in line for line in lines)


def test_an_end_that_does_not_run_is_told_with_its_reason() -> None:
    lines = render(record_of(slower_from(5), broken=frozenset({7})))
    assert lines[0] == "failed: cli-crt from 2.30.0 to 2.37.0"
    assert lines[1].strip() == "it was yanked"


def test_more_pairs_are_not_advised_for_what_is_not_measured() -> None:
    record = record_of(lambda _: 1.0)
    assert record.found is not None
    assert record.found.size is not None
    advice = "a longer benchmark, a quieter machine or more pairs"
    unsettled = replace(record.found, ending=Ending.UNSETTLED)
    assert any(advice in line for line in render(replace(record, found=unsettled)))
    lines = render(replace(record, found=replace(unsettled, size=replace(record.found.size, change=None))))
    assert not any(advice in line for line in lines)
    assert "  choose a metric that is measured there; total_time is not" in lines


def test_what_is_not_done_tells_how_to_go_on() -> None:
    record = replace(record_of(slower_from(5), most=2), stopped="interrupted")
    lines = render(record, kept=Path("my bisect.json"))
    assert lines[0] == "not done: cli-crt: interrupted"
    assert "  comparisons made: 2" in lines
    assert lines[-1] == "continue with: s3bench bisect --resume 'my bisect.json'"


def test_a_dependency_is_named_with_what_it_is_under() -> None:
    record = replace(record_of(slower_from(5)), client="boto3-crt", dependency="awscrt", base="1.44.5", left_out=("x",))
    lines = render(record)
    assert lines[0].startswith("found: awscrt 2.35.0 under boto3-crt 1.44.5 is the first")
    assert "left out: x" in lines


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_the_table_fits_the_terminal(width: int) -> None:
    record = record_of(slower_from(5))
    for line in render(record, width=width):
        if re.match(r"(compared|2\.3\d\.0) ", line):
            assert len(line) <= width
    assert any(line.startswith("compared") for line in render(record, width=width))


def test_names_and_failures_cannot_move_the_cursor() -> None:
    record = record_of(slower_from(5), broken=frozenset({4}))
    first = replace(record.answers[1], reasons=(HOSTILE,))
    record = replace(
        record,
        versions=(HOSTILE, *record.versions[1:]),
        answers=(record.answers[0], first, *record.answers[2:]),
        warnings=(HOSTILE,),
        left_out=(HOSTILE,),
        dependency=HOSTILE,
    )
    for color in (False, True):
        text = render_bisection(record, width=100, color=color)
        assert "\x1b[31m" not in text.replace("\x1b[0m", "") or not color
        assert not any(character in text for character in "\u202e\x00")
        assert "[red]x[/red]" in text
    assert "\x1b" not in render_bisection(record, width=100, color=False)
    assert answer_line(record, first).isprintable()


def test_a_comparison_is_a_line_for_the_progress() -> None:
    record = record_of(slower_from(5), broken=frozenset({4}))
    assert answer_line(record, record.answers[0]) == "2.37.0 against 2.30.0: changed, +20.0% slower (10 pairs)"
    assert answer_line(record, record.answers[1]) == "2.34.0 against 2.30.0: failed: it was yanked"
    assert record.answers[1].outcome is ComparisonOutcome.FAILED
