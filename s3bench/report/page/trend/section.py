"""Section of the page about trends: which series changed and since when, a table of all, and a chart of each."""

from collections.abc import Iterator, Sequence

from s3bench.report.label import clipped, sentence
from s3bench.report.page.section import Headline, Line, Section
from s3bench.report.page.trend.chart import POINTS_MAX, figure_words, trend_figure
from s3bench.report.page.trend.series import TrendSeries
from s3bench.report.table import Table, Tone, column
from s3bench.results.metrics import Metric
from s3bench.trend.metric_trend import Trend

DRAWN_POINTS_MAX = 4000
"""The most points of all charts together: more would make the page too large to send around."""
ROWS_MAX = 1000


def trend_section(metric: Metric, series: Sequence[TrendSeries]) -> Section:
    """The section of one metric's series; those that changed come first, the newest for the worse before all."""
    ordered = sorted(series, key=lambda each: _rank(each.trend))
    drawn = _drawn(ordered)
    shown = tuple(_part(each, number) for number, each in enumerate(drawn, start=1))
    lines = [_summary(ordered)]
    if len(drawn) < len(ordered):
        left = f"{len(ordered) - len(drawn):,} of {len(ordered):,} series are not drawn, those with changes come first"
        lines.append(Line(text=f"{left}; choose some with -k, --client and --machine"))
    if len(ordered) > ROWS_MAX:
        lines.append(Line(text=f"the table has {ROWS_MAX:,} of {len(ordered):,} series; --json has all"))
    return Section(
        name="trend",
        title=f"Trend of {metric.name}: {metric.meaning}",
        headline=_headline(ordered, metric),
        lines=(*lines, *(shown[0].lines if shown else ())),
        figures=shown[0].figures if shown else (),
        tables=(_table(ordered[:ROWS_MAX]),) if ordered else (),
        parts=shown[1:],
    )


def _headline(ordered: Sequence[TrendSeries], metric: Metric) -> Headline:
    """The newest change of the first series, or that there is none."""
    if not ordered or not ordered[0].trend.changes:
        untested = bool(ordered) and not any(each.trend.is_tested for each in ordered)
        words = _summary(ordered).text
        return Headline(
            verdict="TOO FEW RELEASES" if untested else "NO CHANGE" if ordered else "NO FIGURES",
            tone=Tone.WARNING if untested or not ordered else Tone.GOOD,
            text=f"{metric.name}: {words}",
        )
    first = ordered[0]
    change = first.trend.changes[-1]
    word, tone = ("WORSE", Tone.BAD) if change.is_worse else ("BETTER", Tone.GOOD)
    if change.is_worse is None:
        word, tone = "CHANGED", Tone.PLAIN
    return Headline(
        verdict=word,
        tone=tone,
        text=sentence(f"{metric.name} of {first.title}: {change.words}"),
        remarks=(f"The newest change point of this series. {_summary(ordered).text}.",),
    )


def _rank(trend: Trend) -> int:
    if not trend.changes:
        return 2
    return 0 if trend.changes[-1].is_worse else 1


def _drawn(ordered: Sequence[TrendSeries]) -> list[TrendSeries]:
    """As many as the page has room for."""
    shown, points = [], 0
    for each in ordered:
        points += min(len(each.trend.points), POINTS_MAX)
        if points > DRAWN_POINTS_MAX:
            break
        shown.append(each)
    return shown


def _summary(series: Sequence[TrendSeries]) -> Line:
    if not series:
        return Line(text="no stored figures match")
    changed = [each for each in series if each.trend.changes]
    worse = sum(_rank(each.trend) == 0 for each in changed)
    few = sum(not each.trend.is_tested for each in series)
    words = f"{len(changed):,} of {len(series):,} series changed"
    if changed:
        words += f", {worse:,} of them for the worse at last"
    if few:
        words += f"; {few:,} are too short to tell"
    tone = Tone.BAD if worse else Tone.WARNING if few == len(series) else Tone.PLAIN
    return Line(text=words, tone=tone)


def _part(series: TrendSeries, number: int) -> Section:
    trend = series.trend
    return Section(
        name=f"series-{number}",
        title=clipped(series.title),
        lines=(
            *_changes(trend),
            *([] if trend.adjustment is None else [Line(text=sentence(trend.adjustment.words))]),
            *(Line(text=sentence(text), tone=Tone.WARNING) for text in series.warnings),
        ),
        figures=(trend_figure(series, name=f"trend-{number}"),) if trend.points else (),
    )


def _changes(trend: Trend) -> Iterator[Line]:
    if not trend.changes:
        yield Line(text=trend.words, tone=Tone.PLAIN if trend.is_tested else Tone.WARNING)
    for change in trend.changes:
        tone = Tone.PLAIN if change.is_worse is None else Tone.BAD if change.is_worse else Tone.GOOD
        yield Line(text=change.words, tone=tone)


def _table(series: Sequence[TrendSeries]) -> Table:
    def newest(each: TrendSeries) -> str:
        return figure_words(each.trend, len(each.trend.points) - 1) if each.trend.points else "-"

    def last_change(each: TrendSeries) -> Line:
        *_, last = _changes(each.trend)
        return last

    return Table(
        caption="All series: the newest figure, and since when it is different",
        columns=(
            column("series", series, lambda each: clipped(each.title)),
            column(
                "releases",
                series,
                lambda each: f"{len(each.trend.points):,}",
                value=lambda each: len(each.trend.points),
            ),
            column("newest", series, newest, value=lambda each: each.trend.figures[-1] if each.trend.points else None),
            column(
                "last change",
                series,
                lambda each: last_change(each).text,
                tone=lambda each: last_change(each).tone,
            ),
        ),
    )
