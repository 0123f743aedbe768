"""What a self-test showed, as text for a terminal: whether the gate can be believed here, then fault by fault.

Tables are never wider than the terminal: where it is too narrow, columns are left out, and then rows become sentences.
"""

from collections.abc import Iterator
from enum import Enum, auto

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from s3bench.gate.planted_fault import (
    FaultCounts,
    FaultKind,
    FaultVerdict,
    PlantedFault,
    SelfTest,
    smallest_caught,
)
from s3bench.gate.row import Verdict
from s3bench.report.terminal import printable, rendered, terminal_console
from s3bench.units import render_bytes, render_seconds

NOTHING = "-"
_LEGEND = (
    "FAIL: gates that FAILed through the metric which the fault is in (with nothing planted: at all), with Wilson's "
    "95 % interval; pairs and sigma: medians, sigma of the pairs' log-ratios in that metric"
)


class _Form(Enum):
    """How much a table shows, the widest first: all; without other verdicts; without metrics and pairs too."""

    WIDE = auto()
    MIDDLE = auto()
    NARROW = auto()


def render_self_test(test: SelfTest, *, width: int, color: bool) -> str:
    """Render a concluded self-test for a terminal of `width` columns. Color adds nothing to the meaning."""
    assert test.is_believed is not None, "a self-test is reported when it has concluded"
    console = terminal_console(color=color)
    can = "can" if test.is_believed else "cannot"
    headline = f"self-test: the gate {can} be believed on this machine, as faults planted into {test.client.label} show"
    lines = [
        Text(printable(headline), style=f"bold {'green' if test.is_believed else 'red'}"),
        *(Text(f"  {printable(reason)}") for reason in test.reasons),
    ]
    text = [
        *(rendered(line, console) for line in lines),
        *_rows(test, console, width),
        *(rendered(line, console) for line in _sentences(test)),
    ]
    return "\n".join(line.rstrip() for line in text) + "\n"


def render_answer(fault: PlantedFault, answer: FaultVerdict) -> str:
    """One answer to `fault` as a line, for whoever waits."""
    through = f" through {', '.join(answer.found_in)}" if answer.is_caught else ""
    return f"round {answer.round}, {_named(fault)}: {answer.verdict}{through} ({answer.pairs} pairs)"


def _rows(test: SelfTest, console: Console, width: int) -> Iterator[str]:
    for form in _Form:
        table = _table(test, form)
        if Measurement.get(console, console.options, table).maximum <= width:
            yield from rendered(table, console).splitlines()
            return
    for each in test.tallies:
        yield rendered(Text(_sentence(each)), console)


def _table(test: SelfTest, form: _Form) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1 if form is _Form.WIDE else 0, 0, 0)
    )
    table.add_column("planted", no_wrap=True)
    columns = ["size", "FAIL", "95 %", *(("through",) if form is not _Form.NARROW else ()), "PASS"]
    columns += [*(("other",) if form is _Form.WIDE else ()), *(("pairs",) if form is not _Form.NARROW else ()), "sigma"]
    for heading in columns:
        table.add_column(heading, justify="left" if heading in {"through", "other"} else "right", no_wrap=True)
    for each in test.tallies:
        cells = {
            "size": size(each.fault),
            "FAIL": f"{each.caught} of {each.gates}",
            "95 %": _interval(each),
            "through": ", ".join(each.found_in) or NOTHING,
            "PASS": f"{each.passed} of {each.gates}",
            "other": _others(each) or NOTHING,
            "pairs": NOTHING if each.pairs is None else f"{each.pairs:g}",
            "sigma": _sigma(each),
        }
        title = Text(each.fault.title, style=_style(each))
        table.add_row(title, *(Text(cells[heading]) for heading in columns))
    return table


def _style(tally: FaultCounts) -> str:
    if tally.fault.is_nothing:
        return "red" if tally.caught else "green" if tally.gates else ""
    if tally.is_always_caught:
        return "green"
    return "red" if tally.fault.is_required else ""


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


def _sentence(tally: FaultCounts) -> str:
    """A row in words."""
    words = [f"FAIL in {tally.caught} of {tally.gates} gates (95 % interval {_interval(tally)})"]
    words[0] += f" through {', '.join(tally.found_in)}" if tally.found_in else ""
    words.append(f"PASS in {tally.passed}")
    if tally.others:
        words.append(_others(tally))
    if tally.pairs is not None:
        words.append(f"{tally.pairs:g} pairs")
    if tally.sigma is not None:
        words.append(f"sigma {_sigma(tally)}")
    return f"{_named(tally.fault)}: {', '.join(words)}"


def _sentences(test: SelfTest) -> Iterator[Text]:
    """What the table means, and what has to be known beside it."""
    for each in test.tallies:
        if each.fault.is_nothing and each.gates:
            yield _line("false alarms", "cyan", _false_alarms(each))
    kinds = dict.fromkeys(each.fault.kind for each in test.tallies if each.gates and not each.fault.is_nothing)
    for kind in kinds:
        yield _line(kind, "cyan", _sensitivity(test, kind))
    usual_bytes = "" if test.usual_bytes is None else f" and {render_bytes(test.usual_bytes)} at its peak"
    usual = f"a run of {test.benchmarks[0]} takes {render_seconds(test.usual_s)}{usual_bytes}"
    yield _line("client", "cyan", f"{usual} (medians of {test.calibrating_runs} runs)")
    for text in _withdrawn(test):
        yield _line("withdrawn", "yellow", text)
    for text in test.left_out:
        yield _line("left out", "yellow", text)
    if test.stopped:
        yield _line("stopped", "yellow", test.stopped)
    for text in test.warnings:
        yield _line("warning", "yellow", text)
    yield Text(_LEGEND, style="dim")


def _false_alarms(tally: FaultCounts) -> str:
    many = f"{tally.caught} of {_gates(tally.gates)} FAILed with nothing planted"
    return f"{many}; with so many gates that means {tally.low:.0%} to {tally.high:.0%} of all (95 % interval)"


def _sensitivity(test: SelfTest, kind: FaultKind) -> str:
    smallest = smallest_caught(test.tallies, kind)
    if smallest is None:
        return "no size was caught every time"
    count = f"{smallest.caught} of {_gates(smallest.gates)}"
    surely = f"with so many gates that means at least {smallest.low:.0%} of all (95 % interval)"
    if not smallest.fault.share:
        return f"{smallest.fault.title} was caught in {count}; {surely}"
    tried = [each for each in test.tallies if each.fault.kind is kind and each.gates]
    largest = max(tried, key=lambda each: each.fault.amount)
    above = "" if largest is smallest else ", and so was every larger one planted"
    return f"the smallest that was caught every time is {_named(smallest.fault)}, {count}{above}; {surely}"


def _gates(count: int) -> str:
    return "1 gate" if count == 1 else f"{count} gates"


def _withdrawn(test: SelfTest) -> Iterator[str]:
    """Why gates were invalid, the most frequent reason first, with the figures of one of them."""
    reasons: dict[str, list[str]] = {}
    for each in test.tallies:
        for answer in each.answers:
            if answer.verdict is Verdict.INVALID and answer.reasons:
                reasons.setdefault(answer.reasons[0].partition(":")[0], []).append(answer.reasons[0])
    for alike in sorted(reasons.values(), key=len, reverse=True):
        yield f"{_gates(len(alike))} INVALID, such as: {alike[0]}"


def _line(kind: str, style: str, text: str) -> Text:
    return Text.assemble((f"{kind}: ", style), printable(text))
