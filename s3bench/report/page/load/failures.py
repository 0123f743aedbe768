"""What failed in a phase: the attempts by status, and the time that was lost with them.

Owns the table; failures of all loops are summed up by kind of operation and label.
"""

from collections.abc import Sequence

from s3bench.report.label import clipped
from s3bench.report.load.cells import (
    NOTHING,
    LoadPhase,
    LoadRow,
    count_text,
    seconds_text,
)
from s3bench.report.table import Table, TableCell, TableColumn
from s3bench.results.load import Failures
from s3bench.units import render_bytes

ROWS_MAX = 200

_COLUMNS = (
    TableColumn(heading="operation"),
    TableColumn(heading="what happened"),
    TableColumn(heading="attempts", is_number=True),
    TableColumn(heading="tried again", is_number=True),
    TableColumn(heading="time lost", is_number=True),
    TableColumn(heading="bytes for nothing", is_number=True),
)


def failure_table(phase: LoadPhase) -> Table | None:
    """The failures of a phase, the most frequent first; `None` where nothing failed."""
    found = sorted(
        ((row, label, each) for row in phase.kinds for label, each in _by_label(row).items()),
        key=lambda item: -sum(failures.count for failures in item[2]),
    )
    if not found:
        return None
    caption = "Failed attempts, by HTTP status and S3's code, or by what happened instead"
    if len(found) > ROWS_MAX:
        caption += f"; the {ROWS_MAX} most frequent of {len(found):,}, all are in the results document"
    return Table.of_rows(caption=caption, columns=_COLUMNS, rows=tuple(_cells(*each) for each in found[:ROWS_MAX]))


def _by_label(row: LoadRow) -> dict[str, list[Failures]]:
    found: dict[str, list[Failures]] = {}
    for load in row.loops:
        for each in load.failures:
            found.setdefault(each.label, []).append(each)
    return found


def _cells(row: LoadRow, label: str, failures: Sequence[Failures]) -> tuple[TableCell, ...]:
    count, retried = sum(each.count for each in failures), sum(each.retried for each in failures)
    lost_s, size_bytes = sum(each.time_lost for each in failures), sum(each.body_bytes for each in failures)
    return (
        TableCell(text=clipped(row.label)),
        TableCell(text=clipped(label)),
        TableCell(text=count_text(count), value=count),
        TableCell(text=count_text(retried), value=retried),
        TableCell(text=seconds_text(lost_s), value=lost_s),
        TableCell(text=render_bytes(size_bytes) if size_bytes else NOTHING, value=size_bytes),
    )
