"""Charts of the heat-maps of a tuning: the objective of each client over its two main parameters."""

import math
from collections.abc import Iterator

from s3bench.report.label import clipped
from s3bench.report.page.chart import Layered
from s3bench.report.page.heat_map import HeatCell, heat_chart
from s3bench.report.page.section import ChartFigure
from s3bench.report.tune.cells import slower_than
from s3bench.report.tune.heatmap import CellState, Heatmap, HeatmapCell, heatmaps
from s3bench.report.tune.tables import heatmap_table
from s3bench.tune.study_result import StudyResult

_PALE_FROM = 1.0
"""What takes this much more than the best, as a share, or more, is as pale as a cell can be."""

_WORDS = {
    CellState.CAPPED: "ended as too slow, so a lower bound",
    CellState.OVER_MEMORY: "needs more memory than allowed",
    CellState.FAILED: "no whole run",
}


def map_figures(result: StudyResult) -> Iterator[ChartFigure]:
    """A map for each client that has two main parameters and whole runs; what was not tried is a gap."""
    for number, found in enumerate(heatmaps(result), 1):
        yield ChartFigure(
            name=f"map-{number}",
            title=clipped(found.title),
            description=clipped(
                f"Rows {found.row_parameter}, columns {found.column_parameter}; each cell is the best over all other "
                f"parameters, deeper is better, a gap was not tried; {found.legend}.",
                most=500,
            ),
            chart=_chart(found),
            narrow=_chart(found, is_narrow=True),
            table=heatmap_table(found),
        )


def _chart(found: Heatmap, *, is_narrow: bool = False) -> Layered:
    return heat_chart(
        tuple(_cells(found)),
        rows=found.rows,
        columns=found.columns,
        row_title=found.row_parameter,
        column_title=found.column_parameter,
        is_narrow=is_narrow,
    )


def _cells(found: Heatmap) -> Iterator[HeatCell]:
    for row, line in zip(found.rows, found.cells, strict=True):
        for column, cell in zip(found.columns, line, strict=True):
            if cell.state is CellState.EMPTY:
                continue
            yield HeatCell(
                row=row,
                column=column,
                text=cell.text,
                label=f"{found.row_parameter} {row}, {found.column_parameter} {column}: {_cell_words(cell, found)}",
                share=_depth(cell),
            )


def _cell_words(cell: HeatmapCell, found: Heatmap) -> str:
    if cell.state in {CellState.WHOLE, CellState.CAPPED} and cell.share:
        text = f"{cell.text.removeprefix('+')} % {slower_than(found.objective)} than {found.best}"
        return text if cell.state is CellState.WHOLE else f"{text}, {_WORDS[cell.state]}"
    return f"best, {found.best}" if cell.state is CellState.WHOLE else _WORDS[cell.state]


def _depth(cell: HeatmapCell) -> float | None:
    """1 for the best, 0 from `_PALE_FROM` on, in even steps of the ratio; nothing for what is no whole run."""
    if cell.state is not CellState.WHOLE:
        return None
    return max(0.0, 1 - math.log1p(cell.share or 0.0) / math.log1p(_PALE_FROM))
