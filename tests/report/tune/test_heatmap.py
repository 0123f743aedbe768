"""The heat-map shows the best of each pair of values, and what is not known as such."""

import re

import pytest
from msgspec.structs import replace

from s3bench.clients.tuning.parameter import GIB, KIB, MIB
from s3bench.clients.tuning.workload import Action, Workload
from s3bench.report.tune.heatmap import Heatmap, heatmaps, render_heatmap
from s3bench.tune.study_result import SettingFigures
from tests.report.tune_samples import CLASSIC, CRT, S5CMD, answer, capped, failed, figures


def heatmap_of(*table: SettingFigures, workload: Workload | None = None) -> Heatmap:
    told = replace(answer(), table=table, clients=())
    (found,) = heatmaps(replace(told, workload=workload or told.workload))
    return found


def cell(heatmap: Heatmap, row: str, column: str) -> str:
    return heatmap.cells[heatmap.rows.index(row)][heatmap.columns.index(column)].text


def test_a_cell_is_the_best_over_all_other_knobs_as_percent_above_the_best() -> None:
    found = heatmap_of(
        figures(CLASSIC, 10.0),
        figures(CLASSIC, 8.0, max_concurrent_requests=20, multipart_chunksize=16 * MIB),
        figures(CLASSIC, 9.0, max_concurrent_requests=20, multipart_chunksize=16 * MIB, io_chunksize=64 * KIB),
        figures(CLASSIC, 8.4, max_concurrent_requests=40, multipart_chunksize=16 * MIB),
    )
    assert (found.row_parameter, found.column_parameter) == ("max_concurrent_requests", "multipart_chunksize")
    assert (found.rows, found.columns) == (("10*", "20", "40"), ("8MB*", "16MB"))
    assert cell(found, "20", "16MB") == "best"
    assert cell(found, "40", "16MB") == "+5.0"
    assert cell(found, "10*", "8MB*") == "+25"
    assert cell(found, "20", "8MB*") == "."
    assert found.title == "cli-classic@2.38.5: % more time than its best, 8.00 s"


def test_a_value_that_is_the_default_is_the_default_though_it_was_set() -> None:
    found = heatmap_of(figures(CLASSIC, 8.0, max_concurrent_requests=10, multipart_chunksize=16 * MIB))
    assert found.rows == ("10*",)


def test_bounds_failures_and_too_much_memory_are_no_figures() -> None:
    found = heatmap_of(
        figures(CLASSIC, 10.0),
        capped(CLASSIC, 15.0, max_concurrent_requests=2),
        failed(CLASSIC, "no", max_concurrent_requests=20),
        figures(CLASSIC, 5.0, max_concurrent_requests=80, exceeds_memory=True),
    )
    assert [cell(found, row, "8MB*") for row in ("2", "10*", "20", "80")] == [">50", "best", "failed", "memory"]
    assert found.legend == (
        "*: the default; >: ended as too slow, so a lower bound; memory: needs more than allowed; failed: no whole run"
    )


def test_a_bound_below_the_best_says_no_more_than_that_it_is_above() -> None:
    found = heatmap_of(figures(CLASSIC, 10.0), capped(CLASSIC, 9.0, max_concurrent_requests=2))
    assert cell(found, "2", "8MB*") == ">0.0"


def test_a_whole_run_stands_before_a_better_one_with_too_much_memory() -> None:
    found = heatmap_of(figures(CLASSIC, 10.0), figures(CLASSIC, 5.0, io_chunksize=64 * KIB, exceeds_memory=True))
    assert cell(found, "10*", "8MB*") == "best"


def test_the_crt_chooses_by_itself_and_that_is_its_default() -> None:
    found = heatmap_of(figures(CRT, 4.5), figures(CRT, 4.0, target_bandwidth=10 * 10**9 // 8))
    assert (found.rows, found.columns) == (("auto*", "10Gb/s"), ("auto*",))


def test_of_several_knobs_the_one_tried_most_makes_the_rows() -> None:
    table = [figures(CRT, 4.0 + each, max_concurrent_requests=each) for each in (5, 10, 20)]
    assert heatmap_of(*table, figures(CRT, 4.5, target_bandwidth=GIB)).row_parameter == "max_concurrent_requests"


def test_s5cmd_has_workers_or_parts_at_once() -> None:
    many = Workload(action=Action.UPLOAD, size_bytes=GIB, files=40)
    tried = [figures(S5CMD, 9.0, numworkers=each, part_size=64 * MIB) for each in (8, 32)]
    found = heatmap_of(*tried, workload=many)
    assert (found.row_parameter, found.column_parameter) == ("numworkers", "part_size")


def test_files_without_parts_have_no_map() -> None:
    small = Workload(action=Action.UPLOAD, size_bytes=MIB, files=100)
    assert heatmaps(replace(answer(), table=(figures(CRT, 4.0),), clients=(), workload=small)) == ()


def test_without_a_whole_run_there_is_no_map() -> None:
    assert heatmaps(replace(answer(), table=(capped(CLASSIC, 9.0),), clients=())) == ()


@pytest.mark.parametrize("width", [1, 40, 60, 200])
def test_a_map_that_is_too_wide_goes_on_below(width: int) -> None:
    sizes = (5, 16, 32, 64, 128, 256, 512)
    found = heatmap_of(*(figures(CLASSIC, 6.0 + each, multipart_chunksize=each * MIB) for each in sizes))
    lines = render_heatmap(found, width=width, color=False)
    body = lines[2:-1]
    assert sorted(re.findall(r"\d+MB\*?", " ".join(body))) == sorted(found.columns)
    assert sum(line.count("+") + line.count("best") for line in body) == len(sizes)
    if width >= 40:
        assert max(map(len, body)) <= width


def test_color_paints_what_is_good_and_changes_no_figure() -> None:
    found = heatmap_of(figures(CLASSIC, 10.0), figures(CLASSIC, 8.0, max_concurrent_requests=20))
    colored = render_heatmap(found, width=80, color=True)
    assert any("\x1b[30;42mbest\x1b[0m" in line for line in colored)
    assert any("\x1b[33m+25\x1b[0m" in line for line in colored)
    plain = tuple(re.sub(r"\x1b\[[0-9;]+m", "", line) for line in colored)
    assert plain == render_heatmap(found, width=80, color=False)
