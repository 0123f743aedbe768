"""A self-test of a gate as text for a terminal: whether the gate can be trusted here, then fault by fault."""

from collections.abc import Iterator, Sequence

from s3bench.gate.planted_fault import FaultCounts, FaultKind, FaultVerdict, PlantedFault, SelfTest, smallest_caught
from s3bench.gate.row import Verdict
from s3bench.report.table import NOTHING, Table, Tone, column
from s3bench.report.terminal import BOLD, CYAN, DIM, GREEN, RED, YELLOW, painter, printable
from s3bench.report.text_table import table_lines
from s3bench.units import counted, render_bytes, render_seconds

_LEGEND = (
    "FAIL: gates that FAILed through the metric which the fault is in (with nothing planted: at all), with Wilson's "
    "95 % interval; pairs and sigma: medians, sigma of the pairs' log-ratios in that metric"
)


def render_self_test(test: SelfTest, *, width: int, color: bool) -> str:
    """Render a concluded self-test for a terminal of `width` columns. Color adds nothing to the meaning."""
    assert test.is_believed is not None, "a self-test is reported when it has concluded"
    paint = painter(color=color)
    can, style = ("can", GREEN) if test.is_believed else ("cannot", RED)
    headline = f"self-test: the gate {can} be trusted on this machine, as faults planted into {test.client.label} show"
    lines = [
        paint(printable(headline), f"{BOLD};{style}"),
        *(f"  {printable(reason)}" for reason in test.reasons),
        *table_lines(_table(test.tallies), width=width, paint=paint),
        *(f"{paint(kind, style)}: {printable(text)}" for kind, style, text in _sentences(test)),
        paint(_LEGEND, DIM),
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def verdict_line(fault: PlantedFault, found: FaultVerdict) -> str:
    """One gate's verdict on `fault`, as a line of progress."""
    through = f" through {', '.join(found.found_in)}" if found.is_caught else ""
    return f"round {found.round}, {_named(fault)}: {found.verdict}{through} ({found.pairs} pairs)"


def _table(tallies: Sequence[FaultCounts]) -> Table:
    return Table(
        columns=(
            column("planted", tallies, lambda each: each.fault.title, tone=_tone),
            column("size", tallies, lambda each: size(each.fault), is_number=True),
            column("FAIL", tallies, lambda each: f"{each.caught} of {each.gates}", is_number=True),
            column("95 %", tallies, _interval, is_number=True),
            column("through", tallies, lambda each: ", ".join(each.found_in) or NOTHING, rank=1),
            column("PASS", tallies, lambda each: f"{each.passed} of {each.gates}", is_number=True),
            column("other", tallies, lambda each: _others(each) or NOTHING, rank=3),
            column(
                "pairs",
                tallies,
                lambda each: NOTHING if each.pairs is None else f"{each.pairs:g}",
                is_number=True,
                rank=2,
            ),
            column("sigma", tallies, _sigma, is_number=True),
        )
    )


def _tone(tally: FaultCounts) -> Tone:
    if tally.fault.is_nothing:
        return Tone.BAD if tally.caught else Tone.GOOD if tally.gates else Tone.PLAIN
    if tally.is_always_caught:
        return Tone.GOOD
    return Tone.BAD if tally.fault.is_required else Tone.PLAIN


def size(fault: PlantedFault) -> str:
    """What was planted, in figures: `+5.40 ms`, `+0.900 MiB`, `+1`."""
    if fault.is_nothing:
        return NOTHING
    match fault.kind:
        case FaultKind.WORK:
            return f"+{render_seconds(fault.amount)}"
        case FaultKind.MEMORY:
            return f"+{render_bytes(fault.amount)}"
    return f"+{fault.amount:g}"


def _named(fault: PlantedFault) -> str:
    return f"{fault.title} ({size(fault)})" if fault.share else fault.title


def _interval(tally: FaultCounts) -> str:
    return f"{tally.low:.0%} to {tally.high:.0%}"


def _sigma(tally: FaultCounts) -> str:
    if tally.fault.kind in {FaultKind.REQUEST, FaultKind.IMPORT}:
        return "exact"
    return NOTHING if tally.sigma is None else f"{tally.sigma:.1%}"


def _others(tally: FaultCounts) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in tally.others.items())


def _sentences(test: SelfTest) -> Iterator[tuple[str, str, str]]:
    """The lines below the table: false alarms, sensitivity, warnings."""
    for each in test.tallies:
        if each.fault.is_nothing and each.gates:
            yield ("false alarms", CYAN, _false_alarms(each))
    kinds = dict.fromkeys(each.fault.kind for each in test.tallies if each.gates and not each.fault.is_nothing)
    for kind in kinds:
        yield (kind, CYAN, _sensitivity(test, kind))
    usual_bytes = "" if test.usual_bytes is None else f" and {render_bytes(test.usual_bytes)} at its peak"
    usual = f"a run of {test.benchmarks[0]} takes {render_seconds(test.usual_s)}{usual_bytes}"
    yield ("client", CYAN, f"{usual} (medians of {test.calibrating_runs} runs)")
    for text in _withdrawn(test):
        yield ("withdrawn", YELLOW, text)
    for text in test.left_out:
        yield ("left out", YELLOW, text)
    if test.stopped:
        yield ("stopped", YELLOW, test.stopped)
    for text in test.warnings:
        yield ("warning", YELLOW, text)


def _false_alarms(tally: FaultCounts) -> str:
    many = f"{tally.caught} of {counted(tally.gates, 'gate')} FAILed with nothing planted"
    return f"{many}; with so many gates that means {tally.low:.0%} to {tally.high:.0%} of all (95 % interval)"


def _sensitivity(test: SelfTest, kind: FaultKind) -> str:
    smallest = smallest_caught(test.tallies, kind)
    if smallest is None:
        return "no size was caught every time"
    count = f"{smallest.caught} of {counted(smallest.gates, 'gate')}"
    surely = f"with so many gates that means at least {smallest.low:.0%} of all (95 % interval)"
    if not smallest.fault.share:
        return f"{smallest.fault.title} was caught in {count}; {surely}"
    tried = [each for each in test.tallies if each.fault.kind is kind and each.gates]
    largest = max(tried, key=lambda each: each.fault.amount)
    above = "" if largest is smallest else ", and so was every larger one planted"
    return f"the smallest that was caught every time is {_named(smallest.fault)}, {count}{above}; {surely}"


def _withdrawn(test: SelfTest) -> Iterator[str]:
    """Why gates were invalid, the most frequent reason first, with the figures of one of them."""
    reasons: dict[str, list[str]] = {}
    for each in test.tallies:
        for answer in each.answers:
            if answer.verdict is Verdict.INVALID and answer.reasons:
                reasons.setdefault(answer.reasons[0].partition(":")[0], []).append(answer.reasons[0])
    for alike in sorted(reasons.values(), key=len, reverse=True):
        yield f"{counted(len(alike), 'gate')} INVALID, for example: {alike[0]}"
