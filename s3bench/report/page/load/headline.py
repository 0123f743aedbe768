"""The answers of a load run: the rate that was reached and what limited it, and where a matrix was fastest."""

from collections.abc import Iterator, Sequence

from s3bench.report.label import clipped
from s3bench.report.load.cells import (
    LoadRow,
    bytes_rate,
    bytes_rate_text,
    count_text,
    latency_of,
    latency_text,
    latency_value,
    operations_rate_of,
    rate_text,
)
from s3bench.report.page.load.grid import RATE, THROUGHPUT, Grid, best_text
from s3bench.report.page.section import Headline, Line
from s3bench.report.table import Tone

_LIMITED = {
    "client": "limited by the load generator, not by the server",
    "other programs": "limited by other programs on the load generator's machine",
    "connections": "limited by its connections",
    "network": "limited by the network",
    "server": "limited by the server",
}
_MANY_FAILED = 0.01
_LATENCIES = ("p50", "p99", "max")


def load_headline(rows: Sequence[LoadRow], found: Iterator[Line]) -> Headline | None:
    """The headline of the fastest whole phase, or the result of an SLO search; `None` where there is no figure."""
    best = fastest(rows)
    if best is None:
        return None
    whole = [row for row in rows if row.is_whole]
    failed = sum(row.total(lambda load: load.failed) for row in whole)
    ended = failed + sum(row.total(lambda load: load.operations) for row in whole)
    limits = {load.bottleneck for load in best.loops}
    limit = _LIMITED.get(limits.pop(), "") if len(limits) == 1 else ""
    text = f"{rate_text(best.median(operations_rate_of))} {_operation(best)}/s"
    words = next(found, None)
    remarks = [f"The highest rate of {len(whole)} phases: {clipped(best.phase or best.label)}."] * (len(whole) > 1)
    return Headline(
        text=words.text if words else f"{text}, {limit}" if limit else text,
        verdict=f"{count_text(failed)} failed" if failed else "",
        tone=_failure_tone(failed, ended) if failed else words.tone if words else Tone.PLAIN,
        remarks=((f"{text}, {limit}." if limit else f"{text}."),) if words else tuple(remarks),
        figures=tuple(_figures(best, failed)),
    )


def fastest(rows: Sequence[LoadRow]) -> LoadRow | None:
    """The row of a whole phase that has the highest rate; `None` where none has any."""
    whole = [row for row in rows if row.is_whole and row.median(operations_rate_of) is not None]
    return max(whole, key=lambda row: row.median(operations_rate_of) or 0.0, default=None)


def grid_headline(grid: Grid) -> Headline:
    """Where throughput and rate were highest."""
    failed = sum(row.total(lambda load: load.failed) for row in grid.rows.values())
    ended = failed + sum(row.total(lambda load: load.operations) for row in grid.rows.values())
    if len(grid.rows) == 1:
        (row,) = grid.rows.values()
        ((size, threads),) = grid.rows
        text = f"{bytes_rate_text(row.median(bytes_rate))} with objects of {size} on {threads} threads"
        figures = tuple(_figures(row, failed))
    else:
        text = f"Highest throughput {best_text(grid, THROUGHPUT)}"
        figures = (("cells", f"{len(grid.rows):,}"), ("operations failed", count_text(failed)))
    return Headline(
        text=text,
        verdict=f"{count_text(failed)} failed" if failed else "",
        tone=_failure_tone(failed, ended) if failed else Tone.PLAIN,
        remarks=(f"Highest rate {best_text(grid, RATE)} ({RATE.title}).",),
        figures=figures,
    )


def _failure_tone(failed: int, ended: int) -> Tone:
    return Tone.BAD if failed >= _MANY_FAILED * ended else Tone.WARNING


def _operation(row: LoadRow) -> str:
    return "operations" if row.label == "all" else clipped(row.label.upper())


def _figures(row: LoadRow, failed: int) -> Iterator[tuple[str, str]]:
    if moved := row.median(bytes_rate):
        yield "throughput", bytes_rate_text(moved)
    for name in _LATENCIES:
        if latency_value(row, latency_of, name) is not None:
            yield f"latency {name}", latency_text(row, latency_of, name)
    yield "operations", count_text(row.total(lambda load: load.operations))
    yield "failed", count_text(failed)
