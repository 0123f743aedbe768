"""Trials become cells; the fastest client stands first."""

import pytest

from s3bench.clients.tuning.parameter import GIB
from s3bench.clients.tuning.workload import Action, Workload
from s3bench.tune.client_table import ClientCell, client_table
from s3bench.tune.study import Trial
from tests.report.tune_samples import CLASSIC, CRT, ONE_FILE, S5CMD, TWENTY_FILES, trial

TIMES = (10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0)


def cell_of(trials: list[Trial], workload: Workload = ONE_FILE) -> ClientCell:
    (row,) = client_table([(workload, trials)]).rows
    (cell,) = row.cells
    return cell


def test_a_cell_has_medians_the_rate_of_all_bytes_and_the_most_memory() -> None:
    cell = cell_of([trial(number, CLASSIC, time_s) for number, time_s in enumerate(TIMES)], TWENTY_FILES)
    assert (cell.runs, cell.time, cell.failures, cell.failure) == (7, 13.0, 0, "")
    bits = 20 * 10 * GIB * 8
    assert cell.gigabits_per_s == pytest.approx(bits / 1e9 / 13)
    assert cell.user == pytest.approx(9.1)
    assert cell.system == 0.25
    assert cell.peak_memory == 80 << 20
    assert (cell.time_low, cell.time_high) == (10.0, 16.0), "of seven values, the ends: 2 / 128 < 5 %"
    assert cell.gigabits_low == pytest.approx(bits / 1e9 / 16)
    assert cell.gigabits_high == pytest.approx(bits / 1e9 / 10)


def test_too_few_runs_have_no_interval() -> None:
    cell = cell_of([trial(number, CLASSIC, 10.0) for number in range(5)])
    assert (cell.time, cell.time_low, cell.gigabits_high) == (10.0, None, None)


def test_the_fastest_stands_first_and_what_lacks_a_workload_last() -> None:
    one_file = [trial(0, CLASSIC, 50.0), trial(1, CRT, 20.0), trial(2, S5CMD, 1.0)]
    many = [trial(0, CLASSIC, 50.0), trial(1, CRT, 100.0), trial(2, S5CMD, None)]
    table = client_table([(ONE_FILE, one_file), (TWENTY_FILES, many)])
    assert [row.setting.client for row in table.rows] == [CRT, CLASSIC, S5CMD]
    assert table.workloads == (ONE_FILE, TWENTY_FILES)


def test_failures_are_counted_and_the_last_one_is_reported() -> None:
    trials = [trial(0, CLASSIC, 9.0), trial(1, CLASSIC, None, why="first"), trial(2, CLASSIC, None, why="second")]
    cell = cell_of(trials)
    assert (cell.runs, cell.failures, cell.failure) == (1, 2, "the client failed: second")


def test_a_run_that_was_ended_as_too_slow_is_no_figure() -> None:
    ended = trial(0, CLASSIC, 30.0, was_capped=True, cap_s=30.0, measurement=None)
    cell = cell_of([ended])
    assert (cell.runs, cell.time, cell.failure) == (0, None, "ended as too slow after 30 s")


def test_a_client_that_never_ran_a_workload_has_an_empty_cell() -> None:
    small = Workload(action=Action.DOWNLOAD, size_bytes=GIB)
    row = client_table([(ONE_FILE, [trial(0, CLASSIC, 1.0)]), (small, [])]).rows[0]
    assert (row.cells[1].runs, row.cells[1].failures, row.cells[1].gigabits_per_s) == (0, 0, None)


def test_no_trials_are_an_empty_table() -> None:
    assert client_table([]).rows == ()
