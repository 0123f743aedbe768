"""The answer of a run: which client is fastest, by how much, and on which benchmark, as far as the intervals show it.

Two clients are distinguished on a benchmark if the 95 % intervals of their medians do not overlap. The fastest one is
known if its interval lies below those of all others. Ratios are those of the medians.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from s3bench.report.page.run.benchmark import Benchmark
from s3bench.report.page.run.ratio import TimedClient, timed_rows
from s3bench.report.page.section import Headline
from s3bench.report.run.figures import failures_in_words
from s3bench.report.table import Tone
from s3bench.units import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """The client of the lowest median on a benchmark, and the others by their medians."""

    benchmark: str
    fastest: TimedClient
    others: tuple[TimedClient, ...]

    @property
    def other(self) -> TimedClient:
        """The next client, with which the fastest one is compared."""
        return self.others[0]

    @property
    def has_intervals(self) -> bool:
        """Whether all medians have intervals."""
        return None not in (self.fastest.found.high, *(each.found.low for each in self.others))

    @property
    def rivals(self) -> int:
        """How many others may be the fastest as well: the fastest client's interval does not lie below theirs."""
        high = self.fastest.found.high
        lows = [each.found.low for each in self.others]
        return sum(high is None or low is None or high >= low for low in lows)

    @property
    def is_shown(self) -> bool:
        """Whether the fastest client's interval lies below those of all others."""
        return self.rivals == 0

    @property
    def ratio(self) -> float:
        """How many times as fast the fastest client is."""
        return self.other.found.median / self.fastest.found.median if self.fastest.found.median > 0 else 1.0


def run_headline(benchmarks: Sequence[Benchmark]) -> Headline | None:
    """The headline; `None` of a document without results."""
    rows = [row for benchmark in benchmarks for row in benchmark.rows]
    if not rows:
        return None
    failed = failures_in_words([row.result for row in rows], "run")
    outside = sum(row.result.failures_outside for row in rows)
    runs = sum(len(row.result.measurements) for row in rows)
    figures = (
        ("benchmarks", f"{len(benchmarks):,}"),
        ("clients", f"{len({row.client for row in rows}):,}"),
        ("runs measured", f"{runs:,}"),
        ("runs failed", f"{sum(row.result.failed_iterations for row in rows):,}"),
        *((("failures outside of the iterations", f"{outside:,}"),) if outside else ()),
    )
    text, remark = _answer(benchmarks)
    return Headline(
        text=text,
        verdict=failed,
        tone=Tone.BAD if failed else Tone.PLAIN,
        remarks=(remark,) if remark else (),
        figures=figures,
    )


def _answer(benchmarks: Sequence[Benchmark]) -> tuple[str, str]:
    timed = timed_rows(benchmarks)
    if not timed:
        return "No total time was measured", ""
    by_benchmark: dict[str, list[TimedClient]] = {}
    for each in timed:
        by_benchmark.setdefault(each.benchmark, []).append(each)
    found = {name: sorted(rows, key=lambda each: each.found.median) for name, rows in by_benchmark.items()}
    several = {name: rows for name, rows in found.items() if len(rows) > 1}
    if not several:
        return _times(timed), ""
    nearest = [Lead(benchmark=name, fastest=rows[0], others=tuple(rows[1:])) for name, rows in several.items()]
    shown = [each for each in nearest if each.is_shown]
    fastest = {each.fastest.row.client for each in nearest}
    if len(shown) == len(nearest) > 1 and len(fastest) == 1:
        ratios = sorted(each.ratio for each in shown)
        text = (
            f"{fastest.pop()} is the fastest client on all {len(shown)} benchmarks, "
            f"{_span(ratios[0], ratios[-1])} as fast as the next"
        )
        return text, _remark(shown)
    if shown:
        lead = max(shown, key=lambda each: each.ratio)
        text = (
            f"{lead.fastest.row.client} is {_times_text(lead.ratio)} times as fast as {lead.other.row.client} "
            f"on {lead.benchmark}"
        )
        return text, _remark(shown, lead) + _unclear([each for each in nearest if not each.is_shown])
    if not all(each.has_intervals for each in nearest):
        return "Too few runs to rank the clients", "A median has an interval from six runs on: -n 6 or more."
    return (
        "The fastest clients cannot be distinguished",
        f"The 95 % intervals of their medians overlap.{_unclear(nearest)}",
    )


def _remark(shown: Sequence[Lead], lead: Lead | None = None) -> str:
    """The figures behind the answer."""
    each = lead or shown[0]
    on = "" if lead else f" on {each.benchmark}"
    words = (
        f"Median total time{on}: {each.fastest.row.client} {_median(each.fastest)}, "
        f"{each.other.row.client} {_median(each.other)}."
    )
    return f"{words} The 95 % intervals do not overlap."


def _unclear(leads: Sequence[Lead]) -> str:
    """How many clients may be the fastest where the intervals do not show it."""
    if not leads:
        return ""
    counts = [each.rivals + 1 for each in leads]
    least, most = min(counts), max(counts)
    clients = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return f" {clients} clients may be the fastest on {counted(len(leads), 'benchmark')}."


def _median(timed: TimedClient) -> str:
    interval = f" ({timed.found.interval})" if timed.found.interval else ""
    return f"{timed.found.text}{interval}"


def _times(timed: Sequence[TimedClient]) -> str:
    """Of one client: its time, or the span of its times."""
    clients = list(dict.fromkeys(each.row.client for each in timed))
    name = clients[0] if len(clients) == 1 else counted(len(clients), "client")
    if len(timed) == 1:
        return f"{timed[0].benchmark} takes {timed[0].row.client} {_median(timed[0])}"
    ordered = sorted(timed, key=lambda each: each.found.median)
    span = f"from {ordered[0].found.text} to {ordered[-1].found.text}"
    return f"{counted(len(timed), 'benchmark')} of {name}: medians {span}"


def _span(low: float, high: float) -> str:
    least, most = _times_text(low), _times_text(high)
    return f"{least} times" if least == most else f"{least} to {most} times"


def _times_text(ratio: float) -> str:
    """`3.1`, from ten on `12`, and next to 1 `1.04`."""
    return f"{ratio:.0f}" if ratio >= 9.95 else f"{ratio:.1f}" if ratio >= 1.95 else f"{ratio:.2f}"  # noqa: PLR2004
