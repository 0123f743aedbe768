"""The rows of a comparison that a report shows, and its figures and sentences as text."""

from collections.abc import Iterable, Iterator, Sequence

from s3bench.compare.comparison import Against, Comparison, MissingResult, summary
from s3bench.compare.difference import ChangeOutcome, ComparisonRow
from s3bench.compare.sample import SampleSummary
from s3bench.report.table import NOTHING
from s3bench.results.document import Client
from s3bench.results.metrics import Unit, render_figure
from s3bench.spec.label import benchmark_label, dimension_pairs

LEGEND = (
    "medians; change is the Hodges-Lehmann ratio to the baseline with its 95 % interval, each row by itself (exact "
    "Mann-Whitney); p is adjusted for the number of rows (Benjamini-Hochberg)"
)

_DIFFERENCE_LEGEND = (
    "a share, or a metric with a figure of 0, has no ratio: its change is the Hodges-Lehmann difference, of a share in "
    "percentage points"
)
_COLLAPSED = frozenset({
    ChangeOutcome.NO_DETECTABLE_DIFFERENCE, ChangeOutcome.NO_DIFFERENCE, ChangeOutcome.EQUAL, ChangeOutcome.VARIES,
})  # fmt: skip
_EXACT = frozenset({ChangeOutcome.DIFFERS, ChangeOutcome.EQUAL, ChangeOutcome.VARIES})
_WHOLE_PERCENTS_FROM = 9.995
_P_LEAST = 0.001
_MISSING_NAMED_MAX = 3


def shown_rows(other: Against, *, show_all: bool) -> tuple[ComparisonRow, ...]:
    """The rows to be shown: by default those with a difference, or with too few runs to tell."""
    return tuple(row for row in other.rows if show_all or row.outcome not in _COLLAPSED)


def collapsed_line(other: Against) -> str:
    """One line on the rows that are not shown, and how small a difference they may hide; empty where all are shown."""
    rows = [row for row in other.rows if row.outcome in _COLLAPSED]
    if not rows:
        return ""
    spans = list(_spans(rows))
    within = f" (intervals within {', '.join(spans)})" if spans else ""
    return f"not shown: {summary(rows)}{within}; --all shows them"


def _spans(rows: Sequence[ComparisonRow]) -> Iterator[str]:
    """What the intervals of the ratios of `rows` lie within, and of each metric whose intervals are differences."""
    ratios = [(row.low, row.high) for row in rows if row.low is not None and row.high is not None]
    if ratios:
        yield f"{_percent(min(low for low, _ in ratios))} to {_percent(max(high for _, high in ratios))}"
    differences: dict[tuple[str, Unit], list[float]] = {}
    for row in rows:
        if row.difference_low is not None and row.difference_high is not None:
            differences.setdefault((row.metric, row.unit), []).extend((row.difference_low, row.difference_high))
    for (metric, unit), ends in differences.items():
        low, high = (difference_text(end, unit) for end in (min(ends), max(ends)))
        yield f"{low} to {high} of {metric}"


def summary_lines(comparison: Comparison) -> Iterator[str]:
    """One line for each that is compared with the baseline."""
    for other in comparison.others:
        yield f"{other.summary} ({other.name} against {comparison.baseline.name})"


def header_lines(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """What was compared: each group with its clients, each document with its time."""
    baseline = comparison.baseline
    groups = [("baseline", f"{baseline.name}: {_clients(baseline.clients)}")]
    groups += [("other", f"{other.name}: {_clients(other.clients)}") for other in comparison.others]
    origins = [
        f"{source.measurements:,} measurements" + (f", started {source.started_at}" if source.started_at else "")
        for source in comparison.sources
    ]
    if comparison.by is None:  # each group is a document
        yield from ((kind, f"{words}; {origin}") for (kind, words), origin in zip(groups, origins, strict=True))
        return
    yield from groups
    for source, origin in zip(comparison.sources, origins, strict=True):
        yield "document", f"{source.name}: {origin}"


def subject_text(row: ComparisonRow) -> str:
    """The benchmark, its dimensions and its client; both clients where they differ."""
    words = _benchmark(row)
    if row.baseline_client == row.other_client:
        return f"{words} on {row.other_client}"
    return f"{words} on {row.other_client} against {row.baseline_client}"


def metric_text(row: ComparisonRow) -> str:
    """The metric's name, or the kind of request."""
    return f"requests: {row.kind}" if row.kind else row.metric


def count_text(row: ComparisonRow) -> str:
    """How many runs: `6`, or `6/5` where the baseline has 6 and the other 5."""
    before, after = row.baseline.n, row.other.n
    return str(before) if before == after else f"{before}/{after}"


def figure_text(sample: SampleSummary, row: ComparisonRow) -> str:
    """The median with its unit; of an exact figure the range, in full."""
    if sample.median is None or sample.minimum is None or sample.maximum is None:
        return NOTHING
    if not is_exact(row):
        return render_figure(sample.median, row.unit)
    unit = " B" if row.unit is Unit.BYTES else ""
    low, high = f"{sample.minimum:,.0f}", f"{sample.maximum:,.0f}"
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def outcome_text(row: ComparisonRow) -> str:
    """The outcome in words, and why."""
    return f"{row.word} ({row.detail})" if row.detail else row.word


def is_exact(row: ComparisonRow) -> bool:
    """Whether the row compares counts without statistics: those of a kind of request even if one side has none."""
    return bool(row.kind) or row.outcome in _EXACT


def exact_text(row: ComparisonRow) -> str:
    """An exact row in words: `differs: 5 → 6`."""
    before, after = figure_text(row.baseline, row), figure_text(row.other, row)
    figures = after if row.outcome is ChangeOutcome.EQUAL else f"{before} → {after}"
    return f"{row.word}: {figures}{f' ({row.detail})' if row.detail else ''}"


def change_text(row: ComparisonRow) -> str:
    """The relative change: `+5.2%`, or the difference: `+31 points`, `-106 us (medians -28.5%)`; `none` if equal."""
    if row.outcome in {ChangeOutcome.NO_DIFFERENCE, ChangeOutcome.EQUAL}:
        return "none"
    if row.difference is not None:
        of_medians = "" if row.change is None else f" (medians {_percent(row.change)})"
        return f"{difference_text(row.difference, row.unit)}{of_medians}"
    return NOTHING if row.change is None else _percent(row.change)


def interval_text(row: ComparisonRow) -> str:
    """The 95 % interval of the change or of the difference."""
    if row.difference_low is not None and row.difference_high is not None:
        low, high = (difference_text(end, row.unit) for end in (row.difference_low, row.difference_high))
        return f"{low} to {high}"
    return NOTHING if row.low is None or row.high is None else f"{_percent(row.low)} to {_percent(row.high)}"


def chance_text(row: ComparisonRow) -> str:
    """The adjusted p-value."""
    if row.p_adjusted is None:
        return NOTHING
    return f"<{_P_LEAST}" if row.p_adjusted < _P_LEAST else f"{row.p_adjusted:.3f}"


def difference_text(difference: float, unit: Unit) -> str:
    """A difference with its sign, in percentage points for a share: `+31 points`, `-20 ms`."""
    if unit is Unit.SHARE:
        points = f"{100 * difference:+.3g}"
        return f"{points} point{'' if points in {'+1', '-1'} else 's'}"
    return f"{'-' if difference < 0 else '+'}{render_figure(abs(difference), unit)}"


def legend_text(rows: Iterable[ComparisonRow]) -> str:
    """What the columns of a table of `rows` mean."""
    has_difference = any(row.difference is not None for row in rows)
    return f"{LEGEND}; {_DIFFERENCE_LEGEND}" if has_difference else LEGEND


def warning_lines(other: Against, *, show_all: bool) -> Iterator[str]:
    """The warnings about single figures, those of the most important rows first; each kind once, or all of them."""
    kinds: dict[object, list[str]] = {}
    for row in other.rows:
        for warning in row.warnings:
            line = f"{_benchmark(row)}, {row.metric} of {warning.group} ({warning.client}) {warning.words}"
            kinds.setdefault(line if show_all else warning.kind, []).append(line)
    for first, *more in kinds.values():
        yield f"{first}; {len(more)} more like it, --all shows them" if more else first


def missing_lines(other: Against, *, show_all: bool) -> Iterator[str]:
    """The results that have no counterpart, by where they are missing."""
    by_group: dict[str, list[MissingResult]] = {}
    for each in other.missing:
        by_group.setdefault(each.missing_in, []).append(each)
    for group, missing in by_group.items():
        named = missing if show_all else missing[:_MISSING_NAMED_MAX]
        names = ", ".join(f"{_benchmark(each)} on {each.client}" for each in named)
        more = f" and {len(missing) - len(named)} more (--all names them)" if len(missing) > len(named) else ""
        yield f"in {group}: {names}{more}"


def _benchmark(found: ComparisonRow | MissingResult) -> str:
    return benchmark_label(found.benchmark, dimension_pairs(found.dimensions))


def _clients(clients: Sequence[Client]) -> str:
    """Labels, with the versions that a label does not name."""
    named = (
        client.label if client.version in client.label else f"{client.label} (version {client.version})"
        for client in clients
    )
    return ", ".join(named)


def _percent(share: float) -> str:
    return f"{share:+,.0%}" if abs(share) >= _WHOLE_PERCENTS_FROM else f"{share:+.1%}"
