"""A tuning as a section of the page: the result, what to paste, and then the evidence."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType

from s3bench.report.label import clipped
from s3bench.report.load.cells import NOTHING
from s3bench.report.page.section import CodeBlock, Headline, Line, Section
from s3bench.report.page.tune.convergence import convergence_figure
from s3bench.report.page.tune.front import front_figure
from s3bench.report.page.tune.map import map_figures
from s3bench.report.page.tune.pairs import pairs_figure
from s3bench.report.table import Table, Tone, column
from s3bench.report.tune import cells as words
from s3bench.report.tune.tables import clients_table, roles_table, settings_table
from s3bench.tune.prediction import Prediction
from s3bench.tune.recipe import Recipe
from s3bench.tune.study import Study
from s3bench.tune.study_result import SettingFigures, StudyResult
from s3bench.tune.verification import TuneVerdict
from s3bench.units import render_seconds

ROWS_MAX = 200
"""The most settings in the table of all, the best first."""

LINES_MAX = 20
"""The most failures, parameters and warnings, of each."""

LINE_MAX = 1000
"""The most characters of a line."""

_TONES = MappingProxyType(
    {
        TuneVerdict.BETTER: Tone.GOOD,
        TuneVerdict.AS_GOOD: Tone.GOOD,
        TuneVerdict.FITS: Tone.GOOD,
        TuneVerdict.UNSETTLED: Tone.WARNING,
    }
)


def tune_section(result: StudyResult, study: Study) -> Section:
    """The section of one study and what it comes to."""
    figures = (pairs_figure(result, study), *map_figures(result), front_figure(result), convergence_figure(study))
    return Section(
        name="tune",
        title="Tuning",
        headline=_headline(result),
        lines=tuple(_lines(result)),
        blocks=tuple(_recipe_block(each) for each in result.recipes),
        tables=tuple(_tables(result)),
        figures=tuple(figure for figure in figures if figure is not None),
        parts=tuple(_parts(result)),
    )


_VERDICTS = MappingProxyType(
    {
        TuneVerdict.BETTER: "BETTER",
        TuneVerdict.AS_GOOD: "KEEP THE DEFAULTS",
        TuneVerdict.FITS: "FITS",
        TuneVerdict.UNSETTLED: "UNSETTLED",
    }
)


def _headline(result: StudyResult) -> Headline:
    """The recommendation with its verified gain."""
    gain = _line(words.verdict_words(result)).text
    if result.verdict is TuneVerdict.BETTER:
        gain = words.change_words(result.gain, result.objective)
    figures = [
        ("default", words.value_text(result.default, unit=result.unit)),
        ("recommended", words.value_text(result.recommended, unit=result.unit)),
        ("peak memory", words.bytes_text(result.recommended.peak_memory)),
        ("bottleneck", str(result.bottleneck.limit)),
    ]
    return Headline(
        verdict=_VERDICTS[result.verdict],
        tone=_TONES[result.verdict],
        text=clipped(f"{gain[:1].upper()}{gain[1:]}", most=LINE_MAX),
        remarks=(_line(_recommended_words(result.recommended)).text,),
        figures=tuple((name, clipped(value)) for name, value in figures),
    )


def _lines(result: StudyResult) -> Iterator[Line]:
    yield from (_line(each) for each in words.subject_lines(result))
    if disk := words.disk_words(result):
        yield _line(f"disk: {disk}")
    notes = [note for note in result.knobs if note.obedience in words.REPORTED]
    yield from _some("parameter", words.effective_setting_lines(notes), Tone.WARNING)
    yield from _some("failure", words.failure_lines(result), Tone.BAD)
    yield from _some("warning", result.warnings, Tone.WARNING)


def _recommended_words(figures: SettingFigures) -> str:
    text = f"recommended: {figures.setting}"
    if figures.time is None:
        return text
    interval = words.interval_text(figures)
    return f"{text}: {words.real_text(figures)}" + f" ({interval})" * (interval != NOTHING)


def _some(kind: str, texts: Iterable[str], tone: Tone) -> Iterator[Line]:
    every = list(texts)
    yield from (_line(f"{kind}: {each}", tone) for each in every[:LINES_MAX])
    if len(every) > LINES_MAX:
        yield _line(f"{kind}: and {len(every) - LINES_MAX:,} more", tone)


def _line(text: str, tone: Tone = Tone.PLAIN) -> Line:
    return Line(text=clipped(text, most=LINE_MAX), tone=tone)


def _tables(result: StudyResult) -> Iterator[Table]:
    yield roles_table(result)
    if len(result.clients) > 1:
        yield clients_table(result)
    if result.predictions:
        yield _predictions_table(result.predictions)


def _bottleneck(result: StudyResult) -> Section:
    """What limited the transfer, why this is thought, and what to do about it."""
    found = result.bottleneck
    lines = (
        *(_line(f"evidence: {each}") for each in found.evidence),
        *(_line(f"remedy: {each}") for each in found.remedies),
    )
    return Section(name="bottleneck", title=f"Bottleneck: {found.limit}", lines=lines)


def _parts(result: StudyResult) -> Iterator[Section]:
    yield _bottleneck(result)
    if result.table:
        left_out = f" (the first {ROWS_MAX} of {len(result.table):,})" * (len(result.table) > ROWS_MAX)
        settings = settings_table(result, rows_max=ROWS_MAX)
        table = replace(settings, caption=f"Best first{left_out}", notes=(words.legend(result),))
        yield Section(name="settings", title="Settings tried", tables=(table,), is_folded=True)
    others = [made for each in result.clients for made in each.recipes if made not in result.recipes]
    if others:
        blocks = tuple(_recipe_block(each) for each in others)
        yield Section(name="recipes", title="To paste for the other clients", blocks=blocks, is_folded=True)
    if result.knobs:
        lines = tuple(_line(each) for each in words.effective_setting_lines(result.knobs))
        yield Section(
            name="parameters", title="Effective settings, as the requests show them", lines=lines, is_folded=True
        )


def _recipe_block(recipe: Recipe) -> CodeBlock:
    return CodeBlock(caption=f"To paste, {recipe.where}: {recipe.setting}", lines=recipe.lines)


def _predictions_table(predictions: Sequence[Prediction]) -> Table:
    def warnings(prediction: Prediction) -> str:
        return clipped("; ".join(prediction.reservations), most=LINE_MAX)

    return Table(
        caption=words.PREDICTIONS,
        columns=(
            column("transfer", predictions, lambda each: words.workload_words(each.workload)),
            column("network", predictions, lambda each: clipped(each.network)),
            column(
                "predicted time",
                predictions,
                lambda each: f"about {render_seconds(each.time_s)}",
                value=lambda each: each.time_s,
            ),
            column(
                "range",
                predictions,
                lambda each: words.span_text(each.low_s, each.high_s, render_seconds),
                value=lambda each: each.low_s,
            ),
            column("setting", predictions, lambda each: clipped(str(each.setting))),
            column("warnings", predictions, warnings),
        ),
    )
