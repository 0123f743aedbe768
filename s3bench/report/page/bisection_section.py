"""A bisection as a section of the page: the first changed version, and every comparison with its interval."""

from collections.abc import Iterator

from s3bench.bisect.record import BisectRecord
from s3bench.bisect.search import ComparisonOutcome, Ending
from s3bench.report.bisection import answer_line, comparison_rows, comparison_table, headline, more_lines, sentences
from s3bench.report.gate import digest as words
from s3bench.report.label import clipped, sentence
from s3bench.report.page import theme
from s3bench.report.page.chart import MarkerStyle
from s3bench.report.page.forest import ForestRow, forest_figure
from s3bench.report.page.gate.pairs import zone_of
from s3bench.report.page.profile.explanation import explanation_sections
from s3bench.report.page.section import ChartFigure, Headline, Line, Section
from s3bench.report.table import Tone
from s3bench.results.metrics import METRICS_BY_NAME

_STYLES = {
    ComparisonOutcome.CHANGED.value: MarkerStyle(color=theme.BAD, shape="square"),
    ComparisonOutcome.UNCHANGED.value: MarkerStyle(color=theme.GOOD, shape="circle"),
    ComparisonOutcome.UNDECIDED.value: MarkerStyle(color=theme.WARNING, shape="diamond"),
    ComparisonOutcome.WITHDRAWN.value: MarkerStyle(color=theme.MUTED, shape="cross"),
}
_TONES = {
    Ending.FOUND: Tone.BAD,
    Ending.SUSPECTS: Tone.WARNING,
    Ending.NO_CHANGE: Tone.GOOD,
    Ending.UNSETTLED: Tone.WARNING,
    Ending.FAILED: Tone.BAD,
}


def bisection_section(record: BisectRecord) -> Section:
    """The section of one search."""
    return Section(
        name="bisect",
        title=clipped(f"Bisection of {record.subject}"),
        headline=_headline(record),
        lines=tuple(Line(text=sentence(f"{kind}: {text}"), tone=Tone.WARNING) for kind, text in more_lines(record)),
        tables=(comparison_table(record),) if record.answers else (),
        figures=tuple(_figures(record)),
        parts=tuple(_explanation(record)),
    )


def _explanation(record: BisectRecord) -> Iterator[Section]:
    """What the version that was found does differently from the one before it."""
    found, explanation = record.found, record.explanation
    if explanation is not None and found is not None and found.last is not None and found.first is not None:
        yield from explanation_sections((explanation,), (record.named(found.last), record.named(found.first)))


def _headline(record: BisectRecord) -> Headline:
    verdict, _, text = headline(record).partition(": ")
    found = record.found
    is_better = found is not None and found.ending is Ending.FOUND and found.is_better
    tone = Tone.WARNING if found is None else Tone.GOOD if is_better else _TONES[found.ending]
    pairs = sum(answer.row.pairs for answer in record.answers if answer.row)
    return Headline(
        verdict=clipped(verdict.upper()),
        tone=tone,
        text=sentence(text),
        remarks=tuple(sentence(f"{each[:1].upper()}{each[1:]}.") for each in sentences(record)),
        figures=(
            ("versions", f"{len(record.versions):,}"),
            ("comparisons", f"{len(record.answers):,}"),
            ("pairs", f"{pairs:,}"),
        ),
    )


def _figures(record: BisectRecord) -> Iterator[ChartFigure]:
    """The change of each compared version, for each metric."""
    rows = comparison_rows(record)
    for metric in dict.fromkeys(row.metric for _, row in rows):
        drawn = []
        for answer, row in rows:
            if row.metric == metric:
                newer, older = (record.versions[place] for place in (answer.comparison.newer, answer.comparison.older))
                drawn.append(
                    ForestRow(
                        name=clipped(f"{newer} against {older}"),
                        figures=f"{words.change(row, has_word=False)} ({words.interval(row)})",
                        label=answer_line(record, answer),
                        word=str(answer.outcome),
                        change=row.change,
                        low=row.low,
                        high=row.high,
                        **zone_of(row),
                    )
                )
        closing = "In the order of the search. Shaded are the limits below which a change counts as none."
        figure = forest_figure(drawn, metric=METRICS_BY_NAME[metric], styles=_STYLES, closing=closing)
        if figure is not None:
            yield figure
