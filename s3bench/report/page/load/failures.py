"""Table of the failed attempts of a phase by kind of operation and status, over all loops, and the time they cost."""

from collections.abc import Callable, Iterator, Sequence

from s3bench.report.label import clipped
from s3bench.report.load.cells import NOTHING, LoadPhase, LoadRow, count_text, seconds_text
from s3bench.report.table import Table, TableColumn, column
from s3bench.results.load import Failures
from s3bench.units import render_bytes

ROWS_MAX = 200

_Found = tuple[LoadRow, str, list[Failures]]


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
    return Table(caption=caption, columns=tuple(_columns(found[:ROWS_MAX])))


def _by_label(row: LoadRow) -> dict[str, list[Failures]]:
    found: dict[str, list[Failures]] = {}
    for load in row.loops:
        for each in load.failures:
            found.setdefault(each.label, []).append(each)
    return found


def _columns(found: Sequence[_Found]) -> Iterator[TableColumn]:
    def total(heading: str, pick: Callable[[Failures], float], text: Callable[[float], str]) -> TableColumn:
        return column(
            heading,
            [sum(map(pick, failures)) for _, _, failures in found],
            text,
            value=float,
        )

    yield column("operation", found, lambda each: clipped(each[0].label))
    yield column("failure", found, lambda each: clipped(each[1]))
    yield total("attempts", lambda each: each.count, count_text)
    yield total("retried", lambda each: each.retried, count_text)
    yield total("time lost", lambda each: each.time_lost, seconds_text)
    yield total("bytes wasted", lambda each: each.body_bytes, lambda size: render_bytes(size) if size else NOTHING)
