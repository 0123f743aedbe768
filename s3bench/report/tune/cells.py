"""The result of a tuning in sentences, and its figures as text."""

from collections.abc import Callable, Iterator, Sequence

from s3bench.clients.tuning.workload import Workload
from s3bench.report.label import sentence
from s3bench.report.load.cells import NOTHING, rate_text
from s3bench.spec.file_sizes import sizes_words
from s3bench.tune.effective_settings import EffectiveSettings, ParameterNote
from s3bench.tune.objective import Aim
from s3bench.tune.prediction import Prediction
from s3bench.tune.preference import TOLERANCE
from s3bench.tune.study_result import ClientBest, SettingFigures, StudyResult
from s3bench.tune.verification import GAIN_OF_INTEREST, Change, TuneVerdict
from s3bench.units import counted, render_bytes, render_duration, render_seconds

SEARCHED = "search only"
PREDICTIONS = "predictions, not measured: by a model fitted to these runs, with the range of its error"
CLIENTS = "best of each client; only the recommendation is verified"
FRONT = "time against memory: settings that no other beats in both"
REPORTED = frozenset({EffectiveSettings.IGNORED, EffectiveSettings.ADJUSTED})
"""The effective settings that are reported without --verbose."""

_CHANGES = {
    Aim.TIME: ("less time", "more time"),
    Aim.THROUGHPUT: ("less transfer time", "more transfer time"),
    Aim.COST: ("lower cost", "higher cost"),
}
_VALUES = {Aim.TIME: "time", Aim.THROUGHPUT: "transfer", Aim.COST: "cost"}
_NOT_COMPARED = "not compared with the default yet"
_WHOLE_PERCENTS_FROM = 0.0995  # 9.95 % is "10 %"
_THREE_DIGITS_BELOW = 0.1


def legend(result: StudyResult) -> str:
    """What the figures are."""
    return (
        f"{_value_legend(result)}real, user, sys: as time(1) prints them; real: in an average "
        "round of the verification, by all runs of a setting, so that all of them can be compared; 95 %: interval of "
        "real; user, sys and requests: medians; Gb/s: all object data over real, 10^9 bits; memory: the most that any "
        f"run needed; runs: all, and those of the verification; {SEARCHED}: few runs; the best may have been lucky"
    )


def _value_legend(result: StudyResult) -> str:
    match Aim(result.objective):
        case Aim.THROUGHPUT:
            span = "from the first request to the last response" if result.network else "the whole time of the command"
            return f"transfer: {span}; "
        case Aim.COST:
            return f"cost: of one run, machine time {'and requests' if result.network else 'alone'}; "
    return ""


def choice_words(result: StudyResult) -> str:
    """Why the recommended setting was preferred to the runner-up; empty where the default is recommended."""
    if result.recommended.setting == result.default.setting or result.runner_up is None:
        return ""
    return (
        f"settings within {TOLERANCE * 100:g} % of the fastest count as equally fast: of these the one with the least "
        "memory is recommended, and of equals that with the fewest settings"
    )


def cli_best(result: StudyResult) -> ClientBest | None:
    """The aws-cli at its best, where another client is recommended: for those who want to stay with it.

    `None` also if no setting of it keeps the memory limit: then it has no recipe.
    """
    if result.recommended.setting.descriptor.runs_any_command:
        return None
    every = (each for each in result.clients if each.best.setting.descriptor.runs_any_command)
    own = [each for each in every if each.best.value is not None and each.recipes]
    return min(own, key=lambda each: each.best.value or 0.0, default=None)


def cli_words(best: ClientBest, result: StudyResult) -> str:
    """What is said above the lines for the best setting of the aws-cli."""
    proof = "" if best.best.verified else f", {SEARCHED}"
    return f"to stay with aws-cli: {best.best.setting} ({value_text(best.best, unit=result.unit)}{proof})"


def verdict_words(result: StudyResult) -> str:
    """The verdict in one sentence."""
    match result.verdict:
        case TuneVerdict.BETTER:
            return f"better than the default: {change_words(result.gain, result.objective)}"
        case TuneVerdict.AS_GOOD:
            return f"the defaults are as good: {_largest_gain_words(result)}"
        case TuneVerdict.FITS:
            needed, allowed = bytes_text(result.default.peak_memory), bytes_text(result.max_memory_bytes)
            is_compared = result.gain is not None and result.gain.pairs
            gain = f"with {change_words(result.gain, result.objective)}" if is_compared else _NOT_COMPARED
            excess = "more than" if result.default.exceeds_memory else "too near to"
            return f"the default needs {needed}, {excess} {allowed}; this stays within, {gain}"
    made = "all pairs of the verification were made" if result.gain and result.gain.pairs else "no run is left to make"
    advice = ", or run longer with --budget" if result.can_settle else f": {made}"
    return f"unsettled: {change_words(result.gain, result.objective)}; keep the defaults{advice}"


def change_words(change: Change | None, objective: str) -> str:
    """A change with its interval and what it rests on: `23 % less time (19 to 27 %, 16 pairs)`."""
    if change is None or not change.pairs:
        return "never measured side by side"
    less, _ = _words_of(objective)
    pairs = counted(change.pairs, "pair")
    if change.low is None or change.high is None:
        return f"{_signed_words(change.estimate, objective)} (interval unknown, {pairs})"
    if change.low < 0 < change.high:
        span = f"{_signed_words(change.high, objective)} to {percent_text(-change.low)} {less}"
        return f"{_signed_words(change.estimate, objective)} ({span}, {pairs})"
    low, high = sorted((abs(change.low), abs(change.high)))
    span = f"{percent_text(low).removesuffix(' %')} to {percent_text(high)}"
    return f"{_signed_words(change.estimate, objective)} ({span}, {pairs})"


def subject_lines(result: StudyResult) -> Iterator[str]:
    """What was tuned, where, and with how many runs."""
    where = f"network {result.network} ({result.endpoint})" if result.network else f"endpoint {result.endpoint}"
    yield f"{workload_words(result.workload)}; {where}"
    limit = f", at most {render_bytes(result.max_memory_bytes)} of memory" if result.max_memory_bytes else ""
    took = render_duration(result.measured_s)
    yield f"objective {result.objective}{limit}; {counted(result.runs, 'run')}, {took} of measuring"
    if result.lead is not None and result.runner_up is not None:
        lead = change_words(result.lead, result.objective) + _memory_words(result.candidate, result.runner_up)
        yield f"against the runner-up, in pairs of the verification: {lead}"
    if chosen := choice_words(result):
        yield chosen


def workload_words(workload: Workload) -> str:
    """`upload of 20 files of 10.0 GiB`."""
    return f"{workload.action} of {sizes_words(workload.file_sizes)}"


def roles(result: StudyResult) -> tuple[tuple[str, SettingFigures], ...]:
    """The settings that were verified, each by the part it has: none is shown twice."""
    named = [("default", result.default)]
    if result.recommended.setting != result.default.setting:
        named.append(("recommended", result.recommended))
    else:
        named = [("default, recommended", result.default)]
    if result.candidate.setting not in {each.setting for _, each in named}:
        named.append(("candidate", result.candidate))
    if result.runner_up is not None and result.runner_up.setting not in {each.setting for _, each in named}:
        named.append(("runner-up", result.runner_up))
    return tuple(named)


def rate_of(figures: SettingFigures) -> str:
    """Gb/s; unknown where the run was ended as too slow."""
    return gigabits_text(None if figures.was_capped else figures.gigabits_per_s)


def setting_words(figures: SettingFigures, result: StudyResult) -> str:
    """The setting, with the warnings about it."""
    warnings = warning_words(figures, result)
    return f"{figures.setting} ({warnings})" if warnings else str(figures.setting)


def warning_words(figures: SettingFigures, result: StudyResult) -> str:
    """The warnings about a setting; empty where there are none."""
    warnings = []
    if figures.exceeds_memory:
        limit = "allowed" if result.max_memory_bytes is None else render_bytes(result.max_memory_bytes)
        warnings.append(f"needs more memory than {limit}")
    if figures.was_capped:
        warnings.append("ended as too slow")
    if figures.failures:
        warnings.append(f"{figures.failures} of {figures.failures + figures.runs} runs failed")
    return ", ".join(warnings)


def failure_lines(result: StudyResult) -> Iterator[str]:
    """Each setting that had failed runs, and how the last one failed; also clients that were left out for it."""
    tried = {each.setting for each in result.table}
    left_out = (each.default for each in result.clients if each.default.setting not in tried)
    for each in (*result.table, *left_out):
        if each.failures:
            reason = sentence(" ".join(each.failure.split())) or "no reason given"
            yield f"{each.setting}: {counted(each.failures, 'run')} failed: {reason}"


def effective_setting_lines(notes: Sequence[ParameterNote]) -> Iterator[str]:
    """What each client made of its parameters, as its requests show."""
    for each in notes:
        yield f"{each.client}: {each.knob} {each.obedience}{f': {each.said}' if each.said else ''}"


def front_of(result: StudyResult) -> tuple[SettingFigures, ...]:
    """The figures of the Pareto front's settings, in its order."""
    known = {each.setting: each for each in result.table}
    known |= {each.setting: each for _, each in roles(result)}
    return tuple(known[setting] for setting in result.pareto if setting in known)


def prediction_words(prediction: Prediction) -> str:
    """One prediction with its range: `about 131 s (118 to 146 s): upload of ...`."""
    span = span_text(prediction.low_s, prediction.high_s, render_seconds)
    where = f"{workload_words(prediction.workload)}; network {prediction.network}"
    doubts = f"; {'; '.join(prediction.reservations)}" if prediction.reservations else ""
    return f"about {render_seconds(prediction.time_s)} ({span}): {where}; {prediction.setting}{doubts}"


def runs_text(figures: SettingFigures) -> str:
    """All whole runs, and how many of them the verification made: `16 (10)`, or `3, search only`."""
    return f"{figures.runs} ({figures.verified})" if figures.verified else f"{figures.runs}, {SEARCHED}"


def _memory_words(one: SettingFigures, other: SettingFigures) -> str:
    """How the memory of one setting lies to another's: `, 51 % less memory`."""
    if not one.peak_memory or not other.peak_memory:
        return ""
    share = one.peak_memory / other.peak_memory - 1
    return f", {percent_text(abs(share))} {'less' if share < 0 else 'more'} memory"


def disk_words(result: StudyResult) -> str:
    """What the disk does by itself; empty where not measured. The bottleneck's evidence tells how much was needed."""
    disk = result.disk
    if disk is None:
        return ""
    read = "reading not measured" if disk.read is None else f"reads {render_bytes(disk.read)}/s"
    return f"{disk.kind} writes {render_bytes(disk.write)}/s, {read} ({render_bytes(disk.size_bytes)} each)"


def value_text(figures: SettingFigures, *, unit: str) -> str:
    """The objective's value, `> ` before a lower bound."""
    if figures.value is None:
        return NOTHING
    text = amount_text(figures.value, unit=unit)
    return f"> {text}" if figures.was_capped else text


def amount_text(value: float, *, unit: str) -> str:
    """Seconds scaled, dollars with three digits."""
    return render_seconds(value) if unit == "s" else f"{unit}{value:.3g}"


def real_text(figures: SettingFigures) -> str:
    """The time, `> ` before a lower bound."""
    if figures.time is None:
        return NOTHING
    return f"> {render_seconds(figures.time)}" if figures.was_capped else render_seconds(figures.time)


def interval_text(figures: SettingFigures) -> str:
    """The interval of the time's median."""
    return span_text(figures.time_low, figures.time_high, render_seconds)


def span_text(low: float | None, high: float | None, render: Callable[[float], str]) -> str:
    """Two ends, the first without its unit where that is the same: `7.98 to 8.30 s`."""
    if low is None or high is None:
        return NOTHING
    first, last = render(low), render(high)
    number, _, unit = first.partition(" ")
    return f"{number if unit == last.partition(' ')[2] else first} to {last}"


def seconds_text(seconds: float | None) -> str:
    """Seconds scaled."""
    return NOTHING if seconds is None else render_seconds(seconds)


def bytes_text(size_bytes: int | None) -> str:
    """Bytes scaled."""
    return NOTHING if size_bytes is None else render_bytes(size_bytes)


def gigabits_text(rate: float | None) -> str:
    """Gb/s with three digits."""
    return f"{rate:.3g}" if rate is not None and rate < _THREE_DIGITS_BELOW else rate_text(rate)


def percent_text(share: float) -> str:
    """A share as `23 %`, with a decimal where it is small."""
    return f"{share * 100:,.0f} %" if abs(share) >= _WHOLE_PERCENTS_FROM else f"{share * 100:.1f} %"


def slower_than(objective: str) -> str:
    """What a percentage above the best is: `more time`."""
    return _words_of(objective)[1]


def value_heading(objective: str) -> str:
    """What the value of an objective is called."""
    return _VALUES[Aim(objective)]


def _words_of(objective: str) -> tuple[str, str]:
    return _CHANGES[Aim(objective)]


def _signed_words(share: float, objective: str) -> str:
    less, more = _words_of(objective)
    return f"{percent_text(abs(share))} {less if share < 0 else more}"


def _largest_gain_words(result: StudyResult) -> str:
    """What gain the verification leaves possible; where the default was best, `gain` is that of the best other."""
    gain = result.gain
    if gain is None or not gain.pairs:
        return "no other setting reached the verification"
    none_of_interest = f"no gain of {GAIN_OF_INTEREST * 100:g} % or more"
    if gain.low is None or gain.low >= 0:
        return f"{none_of_interest} (the best other setting: {change_words(gain, result.objective)})"
    pairs = counted(gain.pairs, "pair")
    return f"{none_of_interest} (largest possible gain {percent_text(-gain.low)}, {pairs})"
