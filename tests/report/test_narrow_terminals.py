"""Every table at every width: no line is wider than the terminal, and no figure is cut or lost without being named."""

import re
from collections import Counter
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.gate.record import GateRecord
from s3bench.report import text_table
from s3bench.report.comparison.text import render_comparison
from s3bench.report.gate.self_test import render_self_test
from s3bench.report.gate.text import render_gate
from s3bench.report.load.matrix import render_matrix
from s3bench.report.load.text import render_load
from s3bench.report.run.text import render_table
from s3bench.report.table import Table, TableCell, TableColumn
from s3bench.report.text_table import table_lines
from s3bench.report.tune.clients import render_clients
from s3bench.report.tune.tables import clients_table, front_table, roles_table, settings_table
from s3bench.report.tune.text import render_study_result
from tests.report import loads, runs, tune_samples
from tests.report.comparison.test_text import comparison
from tests.report.gate.test_self_test import BELIEVED
from tests.report.load.test_matrix import matrix

WIDTHS = (40, 60, 80, 200)
RENDERED: Mapping[str, Callable[[int], str]] = {
    "run": lambda width: render_table(runs.with_failures(), width=width, color=False),
    "load": lambda width: render_load(loads.everything(), width=width, color=False),
    "matrix": lambda width: render_matrix(matrix(), width=width, color=False),
    "compare": lambda width: render_comparison(comparison(), width=width, color=False, show_all=True),
    "self-test": lambda width: render_self_test(BELIEVED, width=width, color=False),
    "tune": lambda width: render_study_result(tune_samples.everything(), width=width, color=False, verbose=True),
    "clients": lambda width: render_clients(tune_samples.compared(), width=width, color=False),
}


def check(table: Table, width: int, lines: list[str]) -> None:
    """The texts of all columns but those that the note names are there, whole, and no line is too wide."""
    assert all(len(line) <= width or " " not in line.strip() for line in lines)
    _, _, note = " ".join(" ".join(lines).split()).partition("left out at ")
    named = {word.strip("(),;:") for word in note.split()}
    shown = [
        cell.text
        + ("" if "deviation" in named or not re.search(r"\d", cell.more) or not column.is_number else cell.more)
        for column in table.columns
        if not set(column.heading.split()) <= named
        for cell in column.cells
    ]
    there = Counter(words(" ".join(lines)))
    titles = {word for column in table.columns if column.is_title for cell in column.cells for word in words(cell.text)}
    missing = Counter(word for text in shown for word in words(text)) - there
    assert missing.keys() <= titles, missing  # which are printed once for all their rows


def words(text: str) -> list[str]:
    return [word.strip(",:") for word in text.split() if word.strip(",:")]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", RENDERED)
def test_no_figure_of_a_report_is_cut(name: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    check_tables(RENDERED[name], width, monkeypatch)


@pytest.mark.parametrize("width", WIDTHS)
def test_no_figure_of_a_gate_is_cut(
    gates: Mapping[str, GateRecord], width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_tables(
        lambda width: "".join(render_gate(gate, width=width, color=False, verbose=True) for gate in gates.values()),
        width,
        monkeypatch,
    )


def check_tables(render: Callable[[int], str], width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the tables of which `render` makes its text."""
    tables: list[tuple[Table, int, int]] = []
    fitted = text_table.fitted

    def recorded(table: Table, *, width: int, gap: int = 2) -> Table:
        tables.append((table, width, gap))
        return fitted(table, width=width, gap=gap)

    with monkeypatch.context() as patched:
        patched.setattr(text_table, "fitted", recorded)
        render(width)
    for table, its_width, gap in tables:
        check(table, its_width, list(table_lines(table, width=its_width, gap=gap)))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("make", [roles_table, clients_table, settings_table, front_table])
def test_no_figure_of_a_tuning_is_cut(make: Callable[..., Table], width: int) -> None:
    result = tune_samples.everything()
    figures = Table(columns=make(result).columns[:-1])
    check(figures, width, list(table_lines(figures, width=width)))
    text = render_study_result(result, width=width, color=False, verbose=True)
    there = Counter(words(text))
    for column in figures.columns:
        if column.rank == 0:
            assert not {word for cell in column.cells for word in words(cell.text)} - there.keys()


WORDS = ("1", "12.5", "1,234", "100%", "ms", "MiB/s", "s3.cp.upload", "slower", "cli-crt@2.38.5")


@st.composite
def tables(draw: st.DrawFn) -> Table:
    rows = draw(st.integers(1, 4))
    cell = st.builds(
        TableCell,
        text=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
        more=st.sampled_from(("", " ±3%")),
    )
    column = st.builds(
        TableColumn,
        heading=st.sampled_from(("A", "RATE", "THROUGHPUT", "P50")),
        cells=st.lists(cell, min_size=rows, max_size=rows).map(tuple),
        is_number=st.booleans(),
        rank=st.integers(0, 3),
        group=st.sampled_from(("", "", "GROUP")),
    )
    first = draw(column)
    return Table(columns=(TableColumn(heading="NAME", cells=first.cells), *draw(st.lists(column, max_size=6))))


@given(tables(), st.integers(30, 80))
def test_no_figure_of_any_table_is_cut_at_any_width(table: Table, width: int) -> None:
    check(table, width, list(table_lines(table, width=width)))
