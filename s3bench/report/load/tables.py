"""The tables of a load run: a row for each kind of operation, and the figures of a matrix."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from s3bench.report.label import clipped
from s3bench.report.load.cells import (
    FIRST_BYTE_POINTS,
    GBIT_BYTES,
    LATENCY_POINTS,
    POINTS,
    LatencyOf,
    LoadPhase,
    LoadRow,
    Pick,
    bytes_rate,
    bytes_rate_text,
    count_text,
    first_byte_of,
    gbit_text,
    latency_of,
    latency_text,
    latency_value,
    operations_rate_of,
    point_of,
    rate_text,
    service_of,
    spread_text,
)
from s3bench.report.table import Table, TableColumn, Tone, column
from s3bench.results.load import Load

_RANKS = {"p90": 6, "p99.9": 3, "max": 2}
"""Of the columns of latencies; the others are never left out."""
_MATRIX_RANKS = {"p50": 0, "p90": 0, "p99": 0, "p99.9": 2, "max": 3}
_OUTER_RANK = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLine:
    """A line of the table: a row's own, or below it the latency of its attempts alone (`is_service`)."""

    phase: LoadPhase
    row: LoadRow
    is_service: bool = False

    @property
    def latency(self) -> LatencyOf:
        """The latency that the line shows."""
        return service_of if self.is_service else latency_of


def lines_of(phases: Sequence[LoadPhase]) -> tuple[TableLine, ...]:
    """The lines of all phases, in their order."""
    return tuple(line for phase in phases for row in phase.rows for line in _lines(phase, row))


def results_table(lines: Sequence[TableLine]) -> Table:
    """All figures of results over the loops; the rate in Gbit/s only if one reaches 1."""

    def figure(
        heading: str, pick: Callable[[LoadRow], float | None], text: Callable[[LoadRow], str], **known: int
    ) -> TableColumn:
        return column(
            heading,
            lines,
            lambda line: "" if line.is_service else text(line.row),
            value=lambda line: None if line.is_service else pick(line.row),
            rank=known.get("rank", 0),
        )

    def rate(heading: str, pick: Callable[[Load], float], text: Callable[[float | None], str]) -> TableColumn:
        def spread(line: TableLine) -> str:
            return f" {found}" if not line.is_service and (found := spread_text(line.row.spread(pick))) else ""

        return column(
            heading,
            lines,
            lambda line: "" if line.is_service else text(line.row.median(pick)),
            more=spread,
            value=lambda line: None if line.is_service else line.row.median(pick),
        )

    gbit = figure("Gbit/s", lambda row: row.median(bytes_rate), lambda row: gbit_text(row.median(bytes_rate)), rank=8)
    has_gbit = any((line.row.median(bytes_rate) or 0.0) >= GBIT_BYTES for line in lines)
    columns = (
        column("phase", lines, lambda line: clipped(_title(line.phase)), is_title=True),
        column("kind", lines, _kind),
        figure("ops", _total_operations, lambda row: count_text(_total_operations(row)), rank=5),
        rate("rate/s", operations_rate_of, rate_text),
        rate("throughput", bytes_rate, bytes_rate_text),
        *((gbit,) if has_gbit else ()),
        *(_latency_column(lines, heading) for heading in LATENCY_POINTS),
        *(_first_byte_column(lines, heading) for heading in FIRST_BYTE_POINTS),
        column(
            "errors",
            lines,
            lambda line: "" if line.is_service else count_text(_total_failed(line.row)),
            value=lambda line: None if line.is_service else _total_failed(line.row),
            tone=lambda line: Tone.BAD if not line.is_service and _total_failed(line.row) else Tone.PLAIN,
        ),
    )
    return Table(columns=columns)


def matrix_columns(rows: Sequence[LoadRow], time_text: Callable[[float | None], str]) -> Iterator[TableColumn]:
    """The figures of the cells of a matrix; `time_text` writes latencies."""
    yield _median_column("rate/s", rows, operations_rate_of, rate_text, rank=1)
    yield _median_column("throughput", rows, bytes_rate, bytes_rate_text)
    for group, latency in MATRIX_LATENCIES.items():
        for heading in POINTS:
            yield _point_column(heading, rows, point_of(latency, heading), time_text, group=group)
    yield column(
        "errors",
        rows,
        lambda row: count_text(_total_failed(row)),
        value=_total_failed,
        tone=lambda row: Tone.BAD if _total_failed(row) else Tone.PLAIN,
    )


MATRIX_LATENCIES: dict[str, LatencyOf] = {
    "first byte": lambda load: load.first_byte,
    "last byte": lambda load: load.latency,
}
"""The latencies of a matrix, both from the start of an attempt."""


def _lines(phase: LoadPhase, row: LoadRow) -> Iterator[TableLine]:
    yield TableLine(phase=phase, row=row)
    if any(load.response for load in row.loops):
        yield TableLine(phase=phase, row=row, is_service=True)


def _title(phase: LoadPhase) -> str:
    return (phase.title + " (not complete)" * phase.is_running).strip()


def _kind(line: TableLine) -> str:
    return clipped(line.row.label) + " service" * line.is_service


def _latency_column(lines: Sequence[TableLine], heading: str) -> TableColumn:
    return column(
        heading,
        lines,
        lambda line: latency_text(line.row, line.latency, heading),
        value=lambda line: latency_value(line.row, line.latency, heading),
        group="latency",
        rank=_RANKS.get(heading, 0),
    )


def _first_byte_column(lines: Sequence[TableLine], heading: str) -> TableColumn:
    return column(
        heading,
        lines,
        lambda line: "" if line.is_service else latency_text(line.row, first_byte_of, heading),
        value=lambda line: None if line.is_service else latency_value(line.row, first_byte_of, heading),
        group="first byte",
        rank=7,
    )


def _median_column(
    heading: str, rows: Sequence[LoadRow], pick: Pick, text: Callable[[float | None], str], *, rank: int = 0
) -> TableColumn:
    return column(heading, rows, lambda row: text(row.median(pick)), value=lambda row: row.median(pick), rank=rank)


def _point_column(
    heading: str, rows: Sequence[LoadRow], pick: Pick, text: Callable[[float | None], str], *, group: str
) -> TableColumn:
    return column(
        heading,
        rows,
        lambda row: text(row.point(heading, pick)),
        value=lambda row: row.point(heading, pick),
        rank=_MATRIX_RANKS.get(heading, _OUTER_RANK),
        group=group,
    )


def _total_operations(row: LoadRow) -> int:
    return row.total(lambda load: load.operations)


def _total_failed(row: LoadRow) -> int:
    return row.total(lambda load: load.failed)
