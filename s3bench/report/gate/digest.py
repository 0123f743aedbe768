"""The contents of a gate's report, in the order of importance: which rows decided, the rest, and figures as text.

All reports of a gate are made of it. All texts are printable and have one line; they are not escaped for any format.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from s3bench.gate.conclusion import Conclusion
from s3bench.gate.evidence import Role, Side
from s3bench.gate.exact_metric import EXACT_BY_NAME, CountChange, Difference
from s3bench.gate.record import GateRecord
from s3bench.gate.row import ABOVE_D0, GateRow, RowKind, Verdict
from s3bench.report.table import NOTHING
from s3bench.report.terminal import printable
from s3bench.results.metrics import METRICS_BY_NAME, Direction, Unit, render_figure
from s3bench.results.warnings import gather, places_text
from s3bench.units import counted, render_seconds

ALL_BENCHMARKS = "all benchmarks together"
_VERDICTS = (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.SMALL, Verdict.PASS)
_NOT_ZERO = 0.0005  # rounds to 0.1 %
_NAMES_MAX = 3
_MILLION = 1e6
_COUNTED = (RowKind.EXACT, RowKind.INSTRUCTIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """The parts of a gate's report.

    `candidate` and `baseline` are labels. `decided`: the rows that gave the verdict, controls among them where they
    did. `notes`: what gave it and stands in no row. `rest`: the other rows that could have decided, `waived` those that
    would have. `controls`: all rows of controls. `changed`: what changed and decides nothing. `failures` and `warnings`
    are sentences. `counted` is what rows of measured metrics count: pairs, or runs of two documents.
    """

    verdict: Verdict
    candidate: str
    baseline: str
    decided: tuple[GateRow, ...]
    notes: tuple[str, ...]
    waived: tuple[GateRow, ...]
    controls: tuple[GateRow, ...]
    rest: tuple[GateRow, ...]
    changed: tuple[GateRow, ...]
    failures: tuple[str, ...]
    warnings: tuple[str, ...]
    counted: str

    @property
    def headline(self) -> str:
        """The verdict and both programs."""
        return f"{self.verdict}: {self.candidate} against {self.baseline}"


def digest(record: GateRecord) -> Digest:
    """The contents of a record that has its conclusion."""
    conclusion = record.conclusion
    assert conclusion is not None, "a gate is reported when it has concluded"
    rows = _without_counterparts(conclusion.rows)
    decided = tuple(row for row in rows if _gave(row, conclusion))
    carried = {_reason_text(row) for row in decided if row.decides}
    notes = tuple(printable(reason) for reason in conclusion.reasons if reason not in carried)
    others = [row for row in rows if row.decides and not _gave(row, conclusion)]
    fewer = [row for row in others if row.verdict is Verdict.PASS and row.changes]
    return Digest(
        verdict=conclusion.verdict,
        candidate=printable(record.candidate.label),
        baseline=printable(record.baseline.label),
        decided=decided,
        notes=(*notes, *_stopped(record, conclusion)),
        waived=tuple(row for row in others if row.waived_by),
        controls=tuple(row for row in rows if row.role is not Role.BENCHMARK),
        rest=tuple(row for row in others if not row.waived_by),
        changed=(*fewer, *(row for row in rows if row.kind is RowKind.INFORMING)),
        failures=tuple(_failures(record, conclusion)),
        warnings=tuple(dict.fromkeys(_warnings(record, conclusion))),
        counted="pairs" if record.is_paired else "runs",
    )


def benchmark(row: GateRow) -> str:
    """The benchmark's title."""
    return printable(row.benchmark) or ALL_BENCHMARKS


def subject(row: GateRow) -> str:
    """The row by name: `total_time of s3.cp.upload`."""
    return printable(row.subject)


def change(row: GateRow, *, has_word: bool = True) -> str:
    """The change with a sign and a word: `+10.2% slower`; of exact metrics how many names: `2 more`."""
    if row.kind is RowKind.EXACT:
        return _count(row.changes) if row.verdict is Verdict.PASS or row.changes else NOTHING
    if row.change is None:
        return NOTHING
    if row.kind is RowKind.INSTRUCTIONS:
        return f"{row.change:+.2%}"
    if abs(row.change) < _NOT_ZERO:
        return "0.0%"
    return f"{row.change:+.1%}" + f" {word(row)}" * has_word


def word(row: GateRow) -> str:
    """Which way a measured metric changed: `slower`, `less memory`; empty where it did not."""
    if row.kind in _COUNTED or row.change is None or abs(row.change) < _NOT_ZERO:
        return ""
    return _word(row.metric, is_more=row.change > 0)


def bound(row: GateRow) -> str:
    """The bound of the change that decided: `> +9.3%` of a FAIL or SMALL, `< +1.7%` of a PASS.

    Of a metric where higher is better `< -9.3%` and `> -1.7%`. A control that differs the other way is `better by`.
    """
    above, below = "<>" if row.is_drop else "><"
    if row.better_by is not None:
        return f"better by > {row.better_by:.1%}"
    if row.verdict in ABOVE_D0 and row.at_least is not None:
        return f"{above} {_worsened(row, row.at_least)}"
    if row.verdict is Verdict.PASS and row.at_most is not None:
        return f"{below} {_worsened(row, row.at_most)}"
    return NOTHING


def interval(row: GateRow) -> str:
    """The change's 95 % interval."""
    if row.change is None or row.kind is RowKind.INSTRUCTIONS:
        return NOTHING
    if row.low is None and row.high is None:
        return "unknown"
    return f"{_signed(row.low)} to {_signed(row.high)}"


def limits(row: GateRow) -> str:
    """The limits of the row: d0 and d1, or how much of a count is tolerated."""
    if row.d0 is not None and row.d1 is not None:
        sign = "-" * row.is_drop
        return f"{sign}{row.d0:.1%}/{sign}{row.d1:.1%}"
    if row.kind is not RowKind.EXACT:
        return NOTHING
    tolerance = EXACT_BY_NAME[row.metric].tolerance
    return f"{tolerance:.1%}" if tolerance else "exact"


def detectable(row: GateRow) -> str:
    """The smallest worsenings that 95 of 100 gates show as SMALL and as FAIL: `+3.0%/+6.0%`, once if they are equal."""
    if row.kind is RowKind.EXACT:
        if row.d0 is not None and row.d1 is not None:
            return f"{row.d0:+.1%}/{row.d1:+.1%}"
        tolerance = EXACT_BY_NAME[row.metric].tolerance
        return f"{tolerance:+.1%}" if tolerance else "1 more"
    if row.detectable is None:
        return NOTHING
    failing = _worsened(row, row.detectable)
    small = failing if row.detectable_small is None else _worsened(row, row.detectable_small)
    return failing if failing == small else f"{small}/{failing}"


def medians(row: GateRow) -> str:
    """The medians of both sides in the metric's unit: `312 ms -> 344 ms`."""
    if row.baseline is None or row.candidate is None:
        return NOTHING
    if row.kind is RowKind.INSTRUCTIONS:
        return f"{row.baseline / _MILLION:,.1f} M -> {row.candidate / _MILLION:,.1f} M"
    unit = METRICS_BY_NAME[row.metric].unit
    return f"{render_figure(row.baseline, unit)} -> {render_figure(row.candidate, unit)}"


def sentence(row: GateRow, content: Digest) -> str:
    """The whole row as a sentence, its subject left out; the bound that decided comes first."""
    runs = f"{row.pairs} {'runs' if row.kind in _COUNTED else content.counted}"
    if row.kind is RowKind.INSTRUCTIONS and row.change is not None:
        return f"{printable(row.reason)}; {medians(row)}; limits {limits(row)}; {runs} of each side"
    if row.kind is RowKind.EXACT or row.change is None:
        return f"{printable(row.reason)}; {runs}"
    parts = (
        *((printable(row.reason),) if row.kind is not RowKind.INFORMING else ()),
        f"{change(row)} ({medians(row)}), 95 % interval {interval(row)}",
        *((f"unadjusted {raw}",) if (raw := unadjusted(row)) else ()),
        f"limits {limits(row)}",
        runs,
        *((f"detectable from {detectable(row)}",) if row.detectable is not None else ()),
    )
    return "; ".join(part for part in parts if part)


def change_line(found: CountChange) -> str:
    """One count that differs: `PUT: 4 -> 5`."""
    before, after = (f"{low}" if low == high else f"{low} to {high}" for low, high in (found.baseline, found.candidate))
    return f"{printable(found.name)}: {before} -> {after}"


def unadjusted(row: GateRow) -> str:
    """The change of an adjusted row as it would be without the adjustment: `+4.1%, 95 % interval -0.3% to +8.0%`."""
    facts = row.adjustment
    if facts is None or facts.moved or facts.change_raw is None:
        return ""
    return f"{_signed(facts.change_raw)}, 95 % interval {_signed(facts.low_raw)} to {_signed(facts.high_raw)}"


def adjusted_in_words(content: Digest) -> str:
    """What the adjustment for the machine gained, for each metric; empty where nothing was adjusted."""
    gains: dict[str, list[tuple[float, float]]] = {}
    for row in (*content.decided, *content.waived, *content.rest):
        facts = row.adjustment
        if facts is not None and facts.sigma is not None and facts.sigma_raw is not None and not facts.moved:
            gains.setdefault(row.metric, []).append((facts.sigma, facts.sigma_raw))
    words = [
        f"pairs of {metric} vary by {median(with_it for with_it, _ in each):.1%} instead of "
        f"{median(without for _, without in each):.1%}" + f" (medians of {len(each)} rows)" * (len(each) > 1)
        for metric, each in gains.items()
    ]
    return f"for the speed of the machine and waits for a core: {', '.join(words)}" if words else ""


def rest_in_words(content: Digest) -> str:
    """How many rows there are beside those that decided, how bad they could be, and what could have been seen."""
    if not content.rest:
        return ""
    words = [tally(content.rest)]
    open_rows = [subject(row) for row in content.rest if row.verdict is not Verdict.PASS]
    if open_rows:
        more = f" and {len(open_rows) - _NAMES_MAX} others" if len(open_rows) > _NAMES_MAX else ""
        words.append(f"without a PASS: {', '.join(open_rows[:_NAMES_MAX])}{more}")
    bounded = [row for row in content.rest if row.verdict is Verdict.PASS and row.at_most is not None]
    if bounded:
        worst = max(bounded, key=lambda row: row.at_most or 0.0)
        largest = f"largest possible worsening {_worsened(worst, worst.at_most)} ({subject(worst)})"
        words.append(largest if (worst.at_most or 0.0) > 0 else "nothing got worse")
    seen = ", ".join(_detectable_of(content.rest))
    if seen:
        words.append(f"detectable: {seen}")
    if content.verdict is Verdict.INVALID:
        words.append("all of it withdrawn")
    return "; ".join(words)


def tally(rows: Sequence[GateRow]) -> str:
    """How many rows had which verdict: `1 row FAIL, 31 rows PASS`."""
    return tally_of([row.verdict for row in rows])


def tally_of(verdicts: Sequence[Verdict | None]) -> str:
    """The same of verdicts; informing rows have none."""
    counts = Counter(verdicts)
    named = [(counts[verdict], f" {verdict}") for verdict in _VERDICTS] + [(counts[None], " without a verdict")]
    return ", ".join(f"{counted(count, 'row')}{name}" for count, name in named if count)


def controls_in_words(record: GateRecord, content: Digest) -> str:
    """The outcome of each control, or why there is none."""
    if not record.is_paired:
        return "none, because nothing was run"
    if not content.controls:
        return "none were run" if record.policy.metrics else "none, because only counts decide"
    parts = []
    for role in (Role.NEGATIVE_CONTROL, Role.POSITIVE_CONTROL):
        rows = [row for row in content.controls if row.role is role]
        delays = [cell.planted_s for cell in record.cells if cell.role is role and cell.planted_s]
        planted = f"a planted delay of {render_seconds(delays[0])}" if delays else "a planted delay"
        name = "the baseline against itself" if role is Role.NEGATIVE_CONTROL else planted
        if rows:
            parts.append(f"{name}: {', '.join(_control(row) for row in rows)}")
    if not record.policy.shows_delay and not any(row.role is Role.POSITIVE_CONTROL for row in content.controls):
        parts.append(f"no delay was planted: it would not show in {' or '.join(record.policy.metrics)}")
    return "; ".join(parts)


def _control(row: GateRow) -> str:
    verdict = row.verdict or Verdict.INCONCLUSIVE
    if row.role is Role.POSITIVE_CONTROL:
        outcome = "found" if verdict in ABOVE_D0 else f"not found ({verdict})"
    else:
        outcome = verdict.value
    return f"{row.metric} {outcome}, {printable(row.reason)} ({row.pairs} pairs)"


def _without_counterparts(rows: Sequence[GateRow]) -> tuple[GateRow, ...]:
    """The rows, of each metric of a control one: the mirrored row where that shows a difference."""
    mirrored = {(row.benchmark, row.metric, row.role) for row in rows if row.is_mirrored}
    return tuple(row for row in rows if row.is_mirrored or (row.benchmark, row.metric, row.role) not in mirrored)


def _gave(row: GateRow, conclusion: Conclusion) -> bool:
    """Whether the conclusion names this row as a reason; reasons about controls have a prefix."""
    if row.decides:
        return _reason_text(row) in conclusion.reasons
    is_found = row.verdict in ABOVE_D0
    is_faulty = {Role.NEGATIVE_CONTROL: is_found, Role.POSITIVE_CONTROL: not is_found}.get(row.role, False)
    return is_faulty and any(reason.endswith(f": {_reason_text(row)}") for reason in conclusion.reasons)


def _reason_text(row: GateRow) -> str:
    return f"{row.subject}: {row.reason}"


def _stopped(record: GateRecord, conclusion: Conclusion) -> Iterator[str]:
    if record.stopped and record.stopped not in conclusion.reasons:
        yield printable(record.stopped)


def _failures(record: GateRecord, conclusion: Conclusion) -> Iterator[str]:
    """Runs without a measurement, except those that the reasons of the verdict name."""
    for cell in record.cells:
        for each in cell.failures:
            start = f"{cell.title}, {each.side}: {each.failure.what}"
            if not any(reason.startswith(start) for reason in conclusion.reasons):
                why = " ".join(each.failure.why.split())
                yield printable(f"{start}: {why}" if why else start)


def _warnings(record: GateRecord, conclusion: Conclusion) -> Iterator[str]:
    yield from (printable(warning) for warning in (*record.warnings, *conclusion.warnings))
    of_rows = gather((warning, _place(row)) for row in conclusion.rows for warning in row.warnings)
    yield from (printable(f"{places_text(each.places, 'test')}: {each.words}") for each in of_rows)
    of_runs = gather(
        (warning, cell.title)
        for cell in record.cells
        for side in Side
        for run in cell.runs(side)
        for warning in run.warnings
    )
    for each in of_runs:
        count = f" ({each.count} runs)" * (each.count > 1)
        yield printable(f"{places_text(each.places, 'benchmark')}: {each.words}{count}")


def _place(row: GateRow) -> str:
    return subject(row) if row.role is Role.BENCHMARK else f"{subject(row)} ({row.role})"


def _detectable_of(rows: Iterable[GateRow]) -> Iterator[str]:
    """For each measured metric, the range of the smallest detectable worsening of its rows."""
    found: dict[str, list[tuple[float, str]]] = {}
    for row in rows:
        if row.detectable is not None:
            found.setdefault(row.metric, []).append((row.detectable, _worsened(row, row.detectable)))
    for metric, values in found.items():
        (_, low), (_, high) = min(values), max(values)
        yield f"{metric} from {low}" if low == high else f"{metric} from {low} to {high}"


def _count(changes: Sequence[CountChange]) -> str:
    counts = Counter(found.difference for found in changes)
    return ", ".join(f"{counts[kind]} {kind}" for kind in Difference if counts[kind]) or "none"


def _signed(value: float | None) -> str:
    if value is None:
        return "unbounded"
    return "0.0%" if abs(value) < _NOT_ZERO else f"{value:+.1%}"


def _worsened(row: GateRow, worsening: float | None) -> str:
    """A worsening as the change of the metric."""
    return _signed(-worsening if worsening is not None and row.is_drop else worsening)


def _word(name: str, *, is_more: bool) -> str:
    metric = METRICS_BY_NAME[name]
    if metric.direction is Direction.HIGHER:
        return "higher" if is_more else "lower"
    if metric.unit is Unit.BYTES:
        return "more memory" if is_more else "less memory"
    if name.endswith("cpu_time"):
        return "more CPU time" if is_more else "less CPU time"
    if name == "total_time" or name.startswith("load."):
        return "slower" if is_more else "faster"
    return "later" if is_more else "earlier"
