"""The table of a gate: its rows with verdicts, changes and limits."""

from collections.abc import Sequence

from s3bench.gate.evidence import Role
from s3bench.gate.row import GateRow, RowKind, Verdict
from s3bench.report.gate import digest as words
from s3bench.report.gate.digest import Digest
from s3bench.report.label import clipped
from s3bench.report.table import Table, Tone, column

LEGEND = (
    "Bound: of the change, as shown by the test that decided. Interval: 95 %, of the size. "
    "Limits: a worsening up to the first is negligible, one of the second or more fails. "
    "Detectable: the smallest worsenings that 95 of 100 whole gates would show as SMALL, and FAIL."
)

TONES = {
    Verdict.INVALID: Tone.BAD,
    Verdict.FAIL: Tone.BAD,
    Verdict.INCONCLUSIVE: Tone.WARNING,
    Verdict.SMALL: Tone.WARNING,
    Verdict.PASS: Tone.GOOD,
    None: Tone.PLAIN,
}
"""How verdicts are to be taken; rows that only inform have none."""


def gate_table(rows: Sequence[GateRow], content: Digest, *, caption: str = "") -> Table:
    """One line for each row of a gate."""
    return Table(
        caption=caption,
        columns=(
            column("benchmark", rows, benchmark_text, is_code=True, is_title=True),
            column("verdict", rows, _verdict, more=_waived, tone=lambda row: TONES[row.verdict]),
            column("metric", rows, lambda row: row.metric, is_code=True),
            column("bound", rows, words.bound, value=lambda row: row.at_least),
            column("medians", rows, words.medians, is_number=True, rank=2),
            column("change", rows, lambda row: words.change(row, has_word=False), more=_word, value=_change),
            column("95 % interval", rows, words.interval, value=lambda row: row.low),
            column("limits", rows, words.limits, value=lambda row: row.d0),
            column(content.counted, rows, lambda row: f"{row.pairs}", value=lambda row: row.pairs),
            column("detectable", rows, words.detectable, value=lambda row: row.detectable, rank=1),
        ),
    )


def benchmark_text(row: GateRow) -> str:
    """The benchmark, and which control it is."""
    role = "" if row.role is Role.BENCHMARK else f" ({row.role})"
    return clipped(words.benchmark(row)) + role


def _verdict(row: GateRow) -> str:
    return "" if row.verdict is None else row.verdict.value


def _waived(row: GateRow) -> str:
    return ", waived" if row.waived_by else ""


def _word(row: GateRow) -> str:
    return f" {word}" if (word := words.word(row)) else ""


def _change(row: GateRow) -> float | None:
    return float(len(row.changes)) if row.kind is RowKind.EXACT else row.change
