"""An explanation in sentences, which text, Markdown, annotations and the page share."""

from collections.abc import Iterator

from s3bench.profiling.explanation import CPU_METRICS, PAIRS_MIN, Cause, CauseKind, ChangeInterval, Explanation
from s3bench.profiling.stack_profile import OWN_MODULES
from s3bench.report.terminal import printable
from s3bench.results.metrics import METRICS_BY_NAME, Unit
from s3bench.units import counted, render_bytes, render_seconds

_NEGLIGIBLE = 0.05
_OWN = "the driver of s3bench"


def explanation_title(explanation: Explanation) -> str:
    """What is explained: `Why total_time of s3.cp.upload FileSize=4KB changed by +41 ms (+38 ms to +44 ms)`.

    Where the change may be noise: `No detectable change of total_time of ...: +3 ms (-2 ms to +8 ms)`.
    """
    what = printable(f"{explanation.metric} of {explanation.benchmark}")
    unit = _unit(explanation)
    change = _amount(explanation.change, unit) + _interval(explanation.interval, unit)
    return (
        f"Why {what} changed by {change}"
        if explanation.is_change_detected
        else f"No detectable change of {what}: {change}"
    )


def _interval(interval: ChangeInterval | None, unit: Unit) -> str:
    if interval is None:
        return ""
    if interval.low is None or interval.high is None:
        return f" (too few runs for an interval, {PAIRS_MIN} needed)"
    return f" ({_amount(interval.low, unit)} to {_amount(interval.high, unit)})"


def explanation_lines(explanation: Explanation) -> Iterator[str]:
    """The causes, a sentence each, then what they leave unexplained, then how they were found."""
    unit = _unit(explanation)
    yield from (text for _, text in cause_lines(explanation))
    if explanation.is_compared and not explanation.causes:
        yield "no cause stands out from the noise"
    left = explanation.unexplained
    if left is not None and explanation.causes and abs(left) > _NEGLIGIBLE * abs(explanation.change):
        whole = _amount(explanation.change, unit)
        yield f"{_amount(left, unit)} of {whole} are not explained: spread over many functions, or noise"
    if explanation.runs:
        slowdown = ""
        if explanation.slowdown is not None:
            slowdown = f", which makes a run {explanation.slowdown:.2f} times as long"
            slowdown += "; times are those without it" if explanation.metric not in CPU_METRICS else ""
        yield f"({counted(explanation.runs, 'run')} of each side under {printable(explanation.profiler)}{slowdown})"
    yield from (printable(note) for note in explanation.notes)


def cause_lines(explanation: Explanation) -> Iterator[tuple[Cause, str]]:
    """Each cause with its sentence."""
    for cause in explanation.causes:
        yield cause, cause_sentence(cause, _CAUSE_UNITS.get(cause.kind, Unit.SECONDS))


def cause_sentence(cause: Cause, unit: Unit) -> str:
    """`+33 ms (29 to 37 ms, 80 % of it): import of botocore.docs, from awscli.clidriver, awscli/clidriver.py:70`."""
    amount = ""
    if cause.change is not None:
        amount = _amount(cause.change, unit)
        details = []
        if cause.low is not None and cause.high is not None:
            details.append(f"{_amount(cause.low, unit)} to {_amount(cause.high, unit)}")
        if cause.share is not None:
            details.append(f"{cause.share:.0%} of it")
        amount += f" ({', '.join(details)}): " if details else ": "
    return amount + _what(cause)


_CAUSE_UNITS = {CauseKind.ALLOCATION: Unit.BYTES}


def _what(cause: Cause) -> str:
    place = printable(cause.place)
    match cause.kind:
        case CauseKind.IMPORT:
            what = f"import of {place}"
        case CauseKind.CALL:
            what = f"call of {place}"
        case CauseKind.FUNCTION:
            what = f"function {place}"
        case CauseKind.ALLOCATION:
            what = f"memory allocated in {place}"
        case _:
            what = f"{cause.kind} {place}"
    if cause.counts is not None:
        before, after = (f"{count:,.0f}" for count in cause.counts)
        what += f", {before} -> {after} times" if cause.kind is not CauseKind.IMPORT else f", {before} -> {after}"
    where = f"{cause.file}:{cause.line}" if cause.file and cause.line else cause.file
    caller = _OWN if cause.caller.startswith(OWN_MODULES) else cause.caller
    source = ", ".join(printable(part) for part in (caller, where) if part)
    return f"{what}, from {source}" if cause.caller else f"{what}, in {source}" if source else what


def _unit(explanation: Explanation) -> Unit:
    metric = METRICS_BY_NAME.get(explanation.metric)
    return metric.unit if metric else Unit.COUNT


def _amount(value: float, unit: Unit) -> str:
    sign = "-" if value < 0 else "+"
    match unit:
        case Unit.SECONDS:
            return f"{sign}{render_seconds(abs(value))}"
        case Unit.BYTES:
            return f"{sign}{render_bytes(abs(value))}"
        case _:
            return f"{value:+g}"
