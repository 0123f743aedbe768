"""The tables of a comparison: measured metrics with their changes, and exact counts, which need no statistics."""

from collections.abc import Sequence

from s3bench.compare.difference import ChangeOutcome, ComparisonRow
from s3bench.report.comparison.cells import (
    chance_text,
    change_text,
    count_text,
    exact_text,
    figure_text,
    interval_text,
    is_exact,
    metric_text,
    subject_text,
)
from s3bench.report.label import clipped, sentence
from s3bench.report.table import Table, TableColumn, Tone, column

TONES = {
    ChangeOutcome.WORSE: Tone.BAD,
    ChangeOutcome.DIFFERS: Tone.WARNING,
    ChangeOutcome.BETTER: Tone.GOOD,
    ChangeOutcome.TOO_FEW: Tone.WARNING,
}
"""The tones of outcomes, the gravest first; the others are plain."""


def comparison_tables(rows: Sequence[ComparisonRow]) -> tuple[Table, ...]:
    """One table of what was measured and one of exact counts, without those that would be empty."""
    measured = tuple(row for row in rows if not is_exact(row))
    counts = tuple(row for row in rows if is_exact(row))
    tables = (
        Table(caption="Measured metrics", columns=_measured_columns(measured)),
        Table(caption="Exact counts, compared without statistics", columns=_count_columns(counts)),
    )
    return tuple(table for table in tables if table.rows)


def _measured_columns(rows: Sequence[ComparisonRow]) -> tuple[TableColumn, ...]:
    return (
        *_subject_columns(rows),
        column("n", rows, count_text, value=lambda row: min(row.baseline.n, row.other.n), rank=2),
        column("baseline", rows, lambda row: figure_text(row.baseline, row), value=lambda row: row.baseline.median),
        column("other", rows, lambda row: figure_text(row.other, row), value=lambda row: row.other.median),
        _change_column(rows),
        column("95 % interval", rows, interval_text, value=lambda row: row.low, rank=1),
        column("p", rows, chance_text, value=lambda row: row.p_adjusted, rank=3),
        column("outcome", rows, lambda row: clipped(row.word), more=_detail, tone=_outcome_tone),
    )


def _count_columns(rows: Sequence[ComparisonRow]) -> tuple[TableColumn, ...]:
    counts = column("counts", rows, lambda row: sentence(exact_text(row)), tone=_outcome_tone)
    return (*_subject_columns(rows), counts, _change_column(rows, rank=1))


def _subject_columns(rows: Sequence[ComparisonRow]) -> tuple[TableColumn, ...]:
    return (
        column("benchmark and client", rows, lambda row: clipped(subject_text(row)), is_code=True, is_title=True),
        column("metric", rows, lambda row: clipped(metric_text(row)), is_code=True),
    )


def _change_column(rows: Sequence[ComparisonRow], *, rank: int = 0) -> TableColumn:
    def value(row: ComparisonRow) -> float | None:
        return row.difference if row.change is None else row.change

    return column("change", rows, change_text, value=value, rank=rank)


def _detail(row: ComparisonRow) -> str:
    return f" ({row.detail})" if row.detail else ""


def _outcome_tone(row: ComparisonRow) -> Tone:
    """How the outcome is to be taken."""
    return TONES.get(row.outcome, Tone.PLAIN)
