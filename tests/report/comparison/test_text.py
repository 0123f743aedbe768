"""A comparison in the terminal: the summary first, aligned, readable without color, fitted to the width."""

import re
from collections.abc import Callable, Sequence

import msgspec
import pytest

from s3bench.compare.comparison import Comparison, compare
from s3bench.compare.matching import DocumentSource
from s3bench.report.comparison.cells import difference_text
from s3bench.report.comparison.text import render_comparison
from s3bench.results.document import Result
from s3bench.results.metrics import Unit
from tests.compare.documents import BASE, client, document, result, slower, source
from tests.compare.test_load_comparison import P50S
from tests.compare.test_load_comparison import result as load_result

OLD = client("cli-crt", "2.36.0")


def comparison() -> Comparison:
    return compare(
        [
            source(
                "before.json",
                result(dimensions={"FileSize": "4KB"}, of=OLD),
                result(dimensions={"FileSize": "32MB"}, of=OLD),
                result(name="s3.rm", of=client("s5cmd", "2.3.0")),
                result(name="s3.ls", of=OLD),
            ),
            source(
                "after.json",
                result(slower(BASE, 1.2), dimensions={"FileSize": "4KB"}, peak=60 << 20),
                result(
                    (*BASE, 5.0), dimensions={"FileSize": "32MB"}, kinds={"HEAD": 2, "GET ranged": 4}, sent=33 << 20
                ),
                result(slower(BASE[:2], 1.5), name="s3.rm", of=client("s5cmd", "2.3.0")),
                result(name="\x1b[31mred", of=client("cli|odd")),
            ),
        ]
    )


def test_the_comparison_is_the_golden_one(assert_golden: Callable[[str, str], None]) -> None:
    assert_golden("comparison_table.txt", render_comparison(comparison(), width=150, color=False))


def test_color_adds_nothing_but_color() -> None:
    colored = render_comparison(comparison(), width=150, color=True)
    assert "\x1b[31m" in colored
    assert re.sub(r"\x1b\[[0-9]+m", "", colored) == render_comparison(comparison(), width=150, color=False)


def test_what_a_name_holds_does_not_reach_the_terminal() -> None:
    assert "\x1b" not in render_comparison(comparison(), width=150, color=False, show_all=True)


def test_all_shows_every_row() -> None:
    by_default, every = (
        render_comparison(comparison(), width=150, color=False, show_all=flag) for flag in (False, True)
    )
    assert "no detectable difference" not in by_default.partition("\n")[2].partition("not shown")[0]
    assert "not shown: 2 without detectable difference" in by_default
    assert "not shown" not in every
    assert sum(line.rstrip().endswith("no detectable difference") for line in every.splitlines()) == 2


@pytest.mark.parametrize("width", [40, 80, 100, 120, 150])
def test_columns_go_before_figures_are_cut(width: int) -> None:
    text = render_comparison(comparison(), width=width, color=False)
    rows = [line for line in text.splitlines() if line.startswith("  ") and "differs: " not in line]
    assert all(len(line) <= max(width, 64) for line in rows)
    assert "+13.5% to +26.9%" in text
    assert ("0.004" in text) is (width != 80)  # at 40 columns rows are sentences
    for figure in ("525 ms", "630 ms", "+20.0%", "33,554,432 B → 34,603,008 B", "slower"):
        assert figure in " ".join(text.split())


def test_details_left_out_of_a_narrow_table_stand_below_it() -> None:
    detail = "n=6 and 2; 4 on each side are enough for a 95 % interval"
    assert f"too few runs ({detail})" in render_comparison(comparison(), width=200, color=False)
    narrow = render_comparison(comparison(), width=80, color=False)
    assert f"too few runs: {detail}" in narrow.splitlines()


def test_details_stand_once_below_the_table_of_their_rows() -> None:
    lacking = msgspec.structs.replace(result(), measurements=())
    text = render_comparison(compare([source("a", result()), source("b", lacking)]), width=60, color=False)
    measured, exact = text.split("  metric")[1:]
    assert "\ntoo few runs: n=6 and 0; nothing to compare with\n" in measured
    assert "requests: GET ranged" in exact
    assert "\ntoo few runs" not in exact


def test_a_document_against_itself_has_nothing_but_that_to_show() -> None:
    one = source("a.json", result())
    text = render_comparison(compare([one, one]), width=80, color=False)
    assert text.splitlines()[0] == "no difference: the same measurements on both sides (a.json against a.json)"
    assert "not shown" not in text
    assert "gate" not in text


def test_several_others_have_their_summaries_first_and_a_section_each() -> None:
    three = [source("a", result()), source("b", result(slower(BASE, 2))), source("c", result(slower(BASE, 3)))]
    lines = render_comparison(compare(three), width=120, color=False).splitlines()
    assert lines[0].endswith("(b against a)")
    assert lines[1].endswith("(c against a)")
    assert lines.index("b against a") < lines.index("c against a")


def test_a_doubt_about_a_figure_is_told_even_where_the_row_is_not_shown() -> None:
    text = render_comparison(comparison(), width=120, color=False)
    outliers = "total_time of after.json (cli-crt@2.38.5) has outliers, which are included: iteration 6 (5.00 s)"
    assert f"FileSize=32MB, {outliers}" in text


def test_doubts_of_one_kind_are_one_line_that_says_how_many_there_are() -> None:
    wild = [result((*BASE, 5.0 + size), dimensions={"FileSize": f"{size}KB"}) for size in range(13)]
    still = [result(dimensions={"FileSize": f"{size}KB"}) for size in range(13)]
    comparison = compare([source("a", *still), source("b", *wild)], metrics=("total_time",))
    cut, whole = (render_comparison(comparison, width=80, color=False, show_all=flag) for flag in (False, True))
    assert (cut.count("has outliers"), whole.count("has outliers")) == (1, 13)
    assert "; 12 more like it, --all shows them\n" in cut


def test_many_missing_are_counted_and_all_of_them_named_on_request() -> None:
    more = [result(dimensions={"FileSize": f"{size}KB"}) for size in range(5)]
    comparison = compare([source("a", result(), *more), source("b", result(BASE[::-1]))])
    assert "FileSize=2KB on cli-crt@2.38.5 and 2 more (--all names them)" in render_comparison(
        comparison, width=80, color=False
    )
    assert "FileSize=4KB" in render_comparison(comparison, width=80, color=False, show_all=True)


def test_a_comparison_read_back_from_json_renders_the_same() -> None:
    again = msgspec.json.decode(msgspec.json.encode(comparison()), type=Comparison)
    assert render_comparison(again, width=120, color=False) == render_comparison(comparison(), width=120, color=False)


def test_a_difference_is_in_points_of_a_share_and_in_the_unit_of_other_metrics() -> None:
    before = load_result(P50S[:4])
    after = load_result(P50S[:4], error_rate=0.3)
    text = render_comparison(compare([source("a", before), source("b", after)]), width=200, color=False)
    (line,) = (line for line in text.splitlines() if "load.error_rate" in line)
    words = "load.error_rate 4 0 % 30 % +30 points +30 points to +30 points 0.029 more errors"
    assert " ".join(line.split()) == words
    assert "its change is the Hodges-Lehmann difference, of a share in percentage points" in text
    assert difference_text(-0.01, Unit.SHARE) == "-1 point"
    assert difference_text(-0.02, Unit.SECONDS) == "-20.0 ms"
    assert difference_text(0.0, Unit.PER_SECOND) == "+0/s"


def test_the_difference_of_a_time_is_followed_by_the_relative_change_of_the_medians() -> None:
    def timed(*cpu_times_s: float) -> Result:
        runs = result(BASE[:4]).runs
        measurements = tuple(
            msgspec.structs.replace(run, user_cpu_time=cpu_s) for run, cpu_s in zip(runs, cpu_times_s, strict=True)
        )
        return msgspec.structs.replace(result(), measurements=measurements)

    sides = [source("a", timed(0.0, 0.003, 0.004, 0.005)), source("b", timed(0.0, 0.001, 0.002, 0.003))]
    comparison = compare(sides, metrics=("user_cpu_time",))
    assert "-2.00 ms (medians -57.1%)" in render_comparison(comparison, width=200, color=False, show_all=True)


def test_a_file_without_times_has_no_start_in_the_header() -> None:
    first, second = (
        DocumentSource(name=name, document=msgspec.structs.replace(document(result(times_s)), started_at=""))
        for name, times_s in (("a", BASE), ("b", slower(BASE, 1.2)))
    )
    text = render_comparison(compare([first, second]), width=200, color=False)
    assert "baseline  a: cli-crt@2.38.5; 6 measurements\n" in text
    assert "started" not in text


def test_how_small_a_difference_is_that_is_not_shown_is_told_of_ratios_and_of_error_rates() -> None:
    rates = (0.0, 0.01, 0.02, 0.03, 0.04, 0.05)

    def loads(p50s: Sequence[float], rates: Sequence[float]) -> Result:
        each = (load_result([p50], error_rate=rate).loops[0] for p50, rate in zip(p50s, rates, strict=True))
        return msgspec.structs.replace(load_result(), measurements=tuple(each))

    def line(*metrics: str, of: Sequence[float] = rates) -> str:
        sides = [source("a", loads(P50S, of)), source("b", loads(P50S[::-1], of[::-1]))]
        text = render_comparison(compare(sides, metrics=metrics), width=200, color=False)
        return next(line for line in text.splitlines() if line.startswith("not shown"))

    assert "(intervals within -3 points to +3 points of load.error_rate)" in line("load.error_rate")
    both = line("load.error_rate", "load.latency.p50")
    assert "(intervals within -2.9% to +2.9%, -3 points to +3 points of load.error_rate)" in both
    assert "points" not in line("load.error_rate", of=(0.0,) * 6)
