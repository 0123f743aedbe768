"""A tuning on the page: the answer, what to paste, and then the evidence.

Owns the order. Words and figures' texts are `tune_cells`', those of the terminal's report.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from s3bench.report.load.cells import NOTHING
from s3bench.report.page.section import CodeBlock, Line, Section
from s3bench.report.page.tune.convergence import convergence_figure
from s3bench.report.page.tune.front import front_figure
from s3bench.report.page.tune.map import map_figures
from s3bench.report.page.tune.pairs import pairs_figure
from s3bench.report.run.summary import clipped
from s3bench.report.table import Table, TableCell, TableColumn, Tone
from s3bench.report.tune import cells as words
from s3bench.tune.answer import SettingFigures, StudyResult
from s3bench.tune.prediction import Prediction
from s3bench.tune.recipe import Recipe
from s3bench.tune.study import Study
from s3bench.tune.verification import TuneVerdict
from s3bench.units import render_seconds

ROWS_MAX = 200
"""The most settings in the table of all, the best first."""

LINES_MAX = 20
"""The most failures, knobs and warnings that are told, of each."""

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
_VALUES: Mapping[str, Callable[[SettingFigures], float | None]] = MappingProxyType(
    {
        "real": lambda row: row.time,
        "95 %": lambda row: row.time_low,
        "user": lambda row: row.user,
        "sys": lambda row: row.system,
        "Gb/s": lambda row: row.gigabits_per_s,
        "memory": lambda row: row.peak_memory,
        "requests": lambda row: row.requests,
        "runs": lambda row: row.runs,
    }
)
"""By what a column of `tune_cells.figure_columns` is sorted; any other one is the objective's own."""


def tune_section(answer: StudyResult, study: Study) -> Section:
    """The section of one study and what it comes to."""
    figures = (pairs_figure(answer, study), *map_figures(answer), front_figure(answer), convergence_figure(study))
    return Section(
        name="tune",
        title="Tuning",
        lines=tuple(_lines(answer)),
        blocks=tuple(_recipe_block(each) for each in answer.recipes),
        tables=tuple(_tables(answer)),
        figures=tuple(figure for figure in figures if figure is not None),
        parts=tuple(_parts(answer)),
    )


def _lines(answer: StudyResult) -> Iterator[Line]:
    yield _line(words.verdict_words(answer), _TONES[answer.verdict])
    yield _line(_recommended_words(answer.recommended))
    yield from (_line(each) for each in words.subject_lines(answer))
    yield _line(f"bottleneck: {answer.bottleneck.limit}")
    yield from (_line(f"evidence: {each}") for each in answer.bottleneck.evidence)
    yield from (_line(f"remedy: {each}") for each in answer.bottleneck.remedies)
    if disk := words.disk_words(answer):
        yield _line(f"disk: {disk}")
    told = [note for note in answer.knobs if note.obedience in words.TOLD]
    yield from _some("knob", words.knob_lines(told), Tone.WARNING)
    yield from _some("failure", words.failure_lines(answer), Tone.BAD)
    yield from _some("warning", answer.warnings, Tone.WARNING)


def _recommended_words(figures: SettingFigures) -> str:
    told = f"recommended: {figures.setting}"
    if figures.time is None:
        return told
    interval = words.interval_text(figures)
    return f"{told}: {words.real_text(figures)}" + f" ({interval})" * (interval != NOTHING)


def _some(kind: str, texts: Iterable[str], tone: Tone) -> Iterator[Line]:
    every = list(texts)
    yield from (_line(f"{kind}: {each}", tone) for each in every[:LINES_MAX])
    if len(every) > LINES_MAX:
        yield _line(f"{kind}: and {len(every) - LINES_MAX:,} more", tone)


def _line(text: str, tone: Tone = Tone.PLAIN) -> Line:
    return Line(text=clipped(text, most=LINE_MAX), tone=tone)


def _tables(answer: StudyResult) -> Iterator[Table]:
    named = words.roles(answer)
    first = [("part", [TableCell(text=role) for role, _ in named])]
    yield _figures_table(words.legend(answer), first, [figures for _, figures in named], answer)
    if len(answer.clients) > 1:
        defaults = [TableCell(text=words.real_text(each.default), value=each.default.time) for each in answer.clients]
        columns = [
            ("client", [TableCell(text=clipped(each.client)) for each in answer.clients]),
            ("its default", defaults),
        ]
        yield _figures_table(words.CLIENTS, columns, [each.best for each in answer.clients], answer)
    if answer.predictions:
        yield _predictions_table(answer.predictions)


def _parts(answer: StudyResult) -> Iterator[Section]:
    shown = answer.table[:ROWS_MAX]
    if shown:
        numbers = [TableCell(text=f"{number}", value=number) for number in range(1, len(shown) + 1)]
        left_out = f" (the first {ROWS_MAX} of {len(answer.table):,})" * (len(answer.table) > ROWS_MAX)
        table = _figures_table(f"best first{left_out}; {words.legend(answer)}", [("no.", numbers)], shown, answer)
        yield Section(name="settings", title="Settings tried", tables=(table,), is_folded=True)
    others = [made for each in answer.clients for made in each.recipes if made not in answer.recipes]
    if others:
        blocks = tuple(_recipe_block(each) for each in others)
        yield Section(name="recipes", title="To paste for the other clients", blocks=blocks, is_folded=True)
    if answer.knobs:
        lines = tuple(_line(each) for each in words.knob_lines(answer.knobs))
        yield Section(name="knobs", title="Knobs, as the wire showed them", lines=lines, is_folded=True)


def _recipe_block(recipe: Recipe) -> CodeBlock:
    return CodeBlock(caption=f"To paste, {recipe.where}: {recipe.setting}", lines=recipe.lines)


def _figures_table(
    caption: str, first: Sequence[tuple[str, Sequence[TableCell]]], rows: Sequence[SettingFigures], answer: StudyResult
) -> Table:
    """A table of figures as the terminal has it, the setting in its last column."""
    columns = list(words.figure_columns(rows, answer))
    picks = [_VALUES.get(column.heading, _value) for column in columns]
    body = (
        (
            *(cells[place] for _, cells in first),
            *(
                TableCell(text=column.cells[place], value=pick(row))
                for column, pick in zip(columns, picks, strict=True)
            ),
            TableCell(text=clipped(words.setting_words(row, answer), most=LINE_MAX), tone=_tone(row)),
        )
        for place, row in enumerate(rows)
    )
    return Table.of_rows(
        caption=caption,
        columns=(
            *(
                TableColumn(heading=title, is_number=any(cell.value is not None for cell in cells))
                for title, cells in first
            ),
            *(TableColumn(heading=column.heading, is_number=True) for column in columns),
            TableColumn(heading="setting"),
        ),
        rows=tuple(body),
    )


def _value(row: SettingFigures) -> float | None:
    return row.value


def _tone(row: SettingFigures) -> Tone:
    if row.value is None:
        return Tone.BAD
    return Tone.WARNING if row.was_capped or row.exceeds_memory else Tone.PLAIN


def _predictions_table(predictions: Sequence[Prediction]) -> Table:
    return Table.of_rows(
        caption=words.PREDICTIONS,
        columns=(
            TableColumn(heading="transfer"),
            TableColumn(heading="network"),
            TableColumn(heading="predicted time", is_number=True),
            TableColumn(heading="range", is_number=True),
            TableColumn(heading="setting"),
            TableColumn(heading="reservations"),
        ),
        rows=tuple(
            (
                TableCell(text=words.workload_words(each.workload)),
                TableCell(text=clipped(each.network)),
                TableCell(text=f"about {render_seconds(each.time_s)}", value=each.time_s),
                TableCell(text=words.span_text(each.low_s, each.high_s, render_seconds), value=each.low_s),
                TableCell(text=clipped(str(each.setting))),
                TableCell(text=clipped("; ".join(each.reservations), most=LINE_MAX)),
            )
            for each in predictions
        ),
    )
