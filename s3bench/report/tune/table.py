"""A tuning's answer as text for a terminal: the verdict, what to paste, and then the evidence.

Tables are fitted to the terminal's width by leaving columns out; a setting that has no room behind its figures stands
below them. Sentences are one line each, which the terminal folds, and what is to be pasted stands at the line's
beginning, as Python asks for. Color adds nothing to the meaning.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import wrap

from s3bench.report.columns import TextColumn, fitted, heading_lines, row_lines
from s3bench.report.terminal import BOLD, DIM, RED, YELLOW, painter, printable
from s3bench.report.tune import cells as words
from s3bench.report.tune.heatmap import heatmaps, render_heatmap
from s3bench.tune.answer import SettingFigures, StudyResult
from s3bench.tune.recipe import Recipe
from s3bench.tune.verification import TuneVerdict

_INDENT = "  "
_SHOWN_MAX = 10
_GREEN, _CYAN = "32", "36"
_STYLES = {
    TuneVerdict.BETTER: _GREEN,
    TuneVerdict.AS_GOOD: _GREEN,
    TuneVerdict.FITS: _GREEN,
    TuneVerdict.UNSETTLED: YELLOW,
}

_Paint = Callable[[str, str], str]


def render_answer(answer: StudyResult, *, width: int, color: bool, verbose: bool = False) -> str:
    """Render an answer for a terminal of `width` columns; with `verbose` all settings, maps, recipes and knobs."""
    paint = painter(color=color)
    lines = [
        paint(printable(words.verdict_words(answer)), f"{BOLD};{_STYLES[answer.verdict]}"),
        *(f"{_INDENT}{printable(line)}" for line in words.subject_lines(answer)),
        *_recipe_lines(answer.recipes, paint),
        *_cli_lines(answer, paint),
        *_role_lines(answer, width, paint),
        *_bottleneck_lines(answer, paint),
        *_client_lines(answer, width, paint, verbose=verbose),
        *_setting_lines(answer, width, paint, verbose=verbose),
        *_front_lines(answer, width, paint),
        *_heatmap_lines(answer, width, color=color, verbose=verbose),
        *_prediction_lines(answer, paint),
        *_last_lines(answer, paint, verbose=verbose),
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _recipe_lines(recipes: Iterable[Recipe], paint: _Paint) -> Iterator[str]:
    for recipe in recipes:
        yield ""
        yield paint(printable(f"to paste, {recipe.where}: {recipe.setting}"), BOLD)
        yield from (printable(line) for line in recipe.lines)


def _cli_lines(answer: StudyResult, paint: _Paint) -> Iterator[str]:
    """What to paste for the aws-cli where another client is recommended."""
    best = words.cli_best(answer)
    if best is not None:
        for recipe in best.recipes:
            yield ""
            yield paint(printable(f"to paste, {recipe.where}, {words.cli_words(best, answer)}"), BOLD)
            yield from (printable(line) for line in recipe.lines)


def _role_lines(answer: StudyResult, width: int, paint: _Paint) -> Iterator[str]:
    named = words.roles(answer)
    first = TextColumn(heading="", cells=tuple(role for role, _ in named))
    yield ""
    yield from _table_lines(first, [figures for _, figures in named], answer, width, paint)
    yield from (paint(line, DIM) for line in wrap(words.legend(answer), max(width, 1), break_long_words=False))


def _table_lines(
    first: TextColumn,
    rows: Sequence[SettingFigures],
    answer: StudyResult,
    width: int,
    paint: _Paint,
    *,
    is_brief: bool = False,
) -> Iterator[str]:
    """Render figures with their settings: behind them where there is room for all of a setting, below them elsewhere.

    A brief table rather leaves figures out than put the settings below them.
    """
    columns = (first, *words.figure_columns(rows, answer))
    settings = [printable(words.setting_words(row, answer)) for row in rows]
    styles = [RED if row.value is None else DIM if row.was_capped or row.exceeds_memory else "" for row in rows]
    room = width - len(_INDENT) - max(map(len, settings), default=0)
    beside = fitted(columns, width=room) if is_brief else columns
    has_room = max(map(len, row_lines(beside)), default=0) <= room
    shown = beside if has_room else fitted(columns, width=width)
    yield from (paint(line, DIM) for line in heading_lines(shown))
    yield from _with_settings(shown, settings, styles, 0 if has_room else width, paint)


def _with_settings(
    columns: Sequence[TextColumn], settings: Sequence[str], styles: Sequence[str], width: int, paint: _Paint
) -> Iterator[str]:
    """Put each setting behind its figures, or below them, folded to `width` where that is not 0."""
    lines = row_lines(columns)
    length = max(map(len, lines), default=0)
    for line, setting, style in zip(lines, settings, styles, strict=True):
        told = (line, *_below(setting, width)) if width else (f"{line.ljust(length)}{_INDENT}{setting}",)
        yield from (paint(each, style) for each in told)


def _below(setting: str, width: int) -> list[str]:
    indent = _INDENT * 2
    return wrap(
        setting,
        max(width, len(indent) + 1),
        initial_indent=indent,
        subsequent_indent=indent + _INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _bottleneck_lines(answer: StudyResult, paint: _Paint) -> Iterator[str]:
    found = answer.bottleneck
    yield ""
    yield _line("bottleneck", _CYAN, str(found.limit), paint)
    yield from (f"{_INDENT}{_line('evidence', '', each, paint)}" for each in found.evidence)
    yield from (f"{_INDENT}{_line('remedy', '', each, paint)}" for each in found.remedies)
    if disk := words.disk_words(answer):
        yield _line("disk", _CYAN, disk, paint)


def _client_lines(answer: StudyResult, width: int, paint: _Paint, *, verbose: bool) -> Iterator[str]:
    """Each client's best, where there are several; what to paste for each with `verbose`."""
    if len(answer.clients) > 1:
        defaults = tuple(words.real_text(each.default) for each in answer.clients)
        yield from ("", paint(words.CLIENTS, BOLD))
        first = TextColumn(heading="its default", cells=defaults)
        yield from _table_lines(first, [each.best for each in answer.clients], answer, width, paint, is_brief=True)
    if verbose:
        for each in (each for each in answer.clients if each != words.cli_best(answer)):
            yield from _recipe_lines((made for made in each.recipes if made not in answer.recipes), paint)


def _setting_lines(answer: StudyResult, width: int, paint: _Paint, *, verbose: bool) -> Iterator[str]:
    rows = answer.table if verbose else answer.table[:_SHOWN_MAX]
    if not rows:
        return
    hidden = len(answer.table) - len(rows)
    more = f", the best {len(rows)}; {hidden} more with --verbose" if hidden else ", best first"
    yield from ("", paint(f"settings tried: {len(answer.table)}{more}", BOLD))
    first = TextColumn(heading="no.", cells=tuple(f"{number}" for number in range(1, len(rows) + 1)))
    yield from _table_lines(first, rows, answer, width, paint, is_brief=not verbose)


def _front_lines(answer: StudyResult, width: int, paint: _Paint) -> Iterator[str]:
    rows = words.front_of(answer)
    if rows:
        yield from ("", paint(words.FRONT, BOLD))
        first = TextColumn(heading="memory", cells=tuple(words.bytes_text(row.peak_memory) for row in rows))
        value = TextColumn(
            heading=answer.objective, cells=tuple(words.value_text(row, unit=answer.unit) for row in rows)
        )
        settings = [printable(words.setting_words(row, answer)) for row in rows]
        room = width - len(_INDENT) - max(map(len, settings)) - len(row_lines((first, value))[0])
        yield from (paint(line, DIM) for line in heading_lines((first, value)))
        yield from _with_settings((first, value), settings, [""] * len(rows), width if room < 0 else 0, paint)


def _heatmap_lines(answer: StudyResult, width: int, *, color: bool, verbose: bool) -> Iterator[str]:
    """The map of the candidate's client; with `verbose` those of all."""
    for each in heatmaps(answer):
        if verbose or each.client == answer.candidate.setting.client:
            yield from ("", *render_heatmap(each, width=width, color=color))


def _prediction_lines(answer: StudyResult, paint: _Paint) -> Iterator[str]:
    if answer.predictions:
        yield from ("", paint(words.PREDICTIONS, BOLD))
        yield from (
            _line(f"{_INDENT}predicted", _CYAN, words.prediction_words(each), paint) for each in answer.predictions
        )


def _last_lines(answer: StudyResult, paint: _Paint, *, verbose: bool) -> Iterator[str]:
    """What clients did with knobs, failures and warnings; of each kind all, or the first few and how many more."""
    notes = [note for note in answer.knobs if verbose or note.obedience in words.TOLD]
    kinds = (
        ("knob", YELLOW, list(words.knob_lines(notes))),
        ("failure", RED, list(words.failure_lines(answer))),
        ("warning", YELLOW, list(answer.warnings)),
    )
    shown_max = None if verbose else _SHOWN_MAX
    if any(texts for *_, texts in kinds):
        yield ""
    for kind, style, texts in kinds:
        yield from (_line(kind, style, text, paint) for text in texts[:shown_max])
        if shown_max is not None and len(texts) > shown_max:
            yield _line(kind, style, f"and {len(texts) - shown_max} more, with --verbose", paint)


def _line(kind: str, style: str, text: str, paint: _Paint) -> str:
    return f"{paint(kind, style)}: {printable(text)}"
