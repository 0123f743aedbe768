"""The result of a tuning as text for a terminal: the verdict, what to paste, and then the evidence.

Tables are fitted to the terminal's width by leaving columns out; a setting that has no room behind its figures stands
below them. Sentences are one line each, which the terminal folds, and what is to be pasted stands at the line's
beginning, as Python asks for. Color adds nothing to the meaning.
"""

from collections.abc import Iterable, Iterator
from textwrap import wrap

from s3bench.report.table import Table
from s3bench.report.terminal import BOLD, CYAN, DIM, GREEN, RED, YELLOW, painter, printable
from s3bench.report.text_table import TONE_STYLES, Paint, fits, fitted, heading_lines, left_out, row_lines, table_lines
from s3bench.report.tune import cells as words
from s3bench.report.tune.heatmap import heatmaps, render_heatmap
from s3bench.report.tune.tables import clients_table, front_table, roles_table, settings_table
from s3bench.tune.recipe import Recipe
from s3bench.tune.study_result import StudyResult
from s3bench.tune.verification import TuneVerdict

_INDENT = "  "
_SHOWN_MAX = 10
_STYLES = {
    TuneVerdict.BETTER: GREEN,
    TuneVerdict.AS_GOOD: GREEN,
    TuneVerdict.FITS: GREEN,
    TuneVerdict.UNSETTLED: YELLOW,
}


def render_study_result(result: StudyResult, *, width: int, color: bool, verbose: bool = False) -> str:
    """Render a result for a terminal of `width` columns; with `verbose` all settings, maps, recipes and parameters."""
    paint = painter(color=color)
    lines = [
        paint(printable(words.verdict_words(result)), f"{BOLD};{_STYLES[result.verdict]}"),
        *(f"{_INDENT}{printable(line)}" for line in words.subject_lines(result)),
        *_recipe_lines(result.recipes, paint),
        *_cli_lines(result, paint),
        *_role_lines(result, width, paint),
        *_bottleneck_lines(result, paint),
        *_client_lines(result, width, paint, verbose=verbose),
        *_setting_lines(result, width, paint, verbose=verbose),
        *_front_lines(result, width, paint),
        *_heatmap_lines(result, width, color=color, verbose=verbose),
        *_prediction_lines(result, paint),
        *_last_lines(result, paint, verbose=verbose),
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _recipe_lines(recipes: Iterable[Recipe], paint: Paint) -> Iterator[str]:
    for recipe in recipes:
        yield ""
        yield paint(printable(f"to paste, {recipe.where}: {recipe.setting}"), BOLD)
        yield from (printable(line) for line in recipe.lines)


def _cli_lines(result: StudyResult, paint: Paint) -> Iterator[str]:
    """What to paste for the aws-cli where another client is recommended."""
    best = words.cli_best(result)
    if best is not None:
        for recipe in best.recipes:
            yield ""
            yield paint(printable(f"to paste, {recipe.where}, {words.cli_words(best, result)}"), BOLD)
            yield from (printable(line) for line in recipe.lines)


def _role_lines(result: StudyResult, width: int, paint: Paint) -> Iterator[str]:
    table = roles_table(result)
    yield ""
    yield from _table_lines(table, width, paint)
    for note in table.notes:
        yield from (paint(line, DIM) for line in wrap(note, max(width, 1), break_long_words=False))


def _table_lines(table: Table, width: int, paint: Paint, *, is_brief: bool = False) -> Iterator[str]:
    """Render figures with their settings: behind them where there is room for all of a setting, below them elsewhere.

    A brief table leaves figures out rather than put the settings below them.
    """
    *figures, settings = table.columns
    whole = Table(columns=tuple(figures))
    texts = [printable(cell.text + cell.more) for cell in settings.cells]
    room = width - len(_INDENT) - max(map(len, texts), default=0)
    beside = fitted(whole, width=room) if is_brief else whole
    has_room = fits(beside, width=room)
    shown = beside if has_room else fitted(whole, width=width)
    if not fits(shown, width=width):
        yield from table_lines(table, width=width, paint=paint)
        return
    yield from (paint(line, DIM) for line in heading_lines(shown))
    lines = row_lines(shown)
    length = max(map(len, lines), default=0)
    for line, text, cell in zip(lines, texts, settings.cells, strict=True):
        placed = (f"{line.ljust(length)}{_INDENT}{text}",) if has_room else (line, *_below(text, width))
        yield from (paint(each, TONE_STYLES[cell.tone]) for each in placed)
    beside_width = width - room if is_brief else 0
    yield from (paint(line, DIM) for line in left_out(whole, shown, width=width, beside=beside_width))


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


def _bottleneck_lines(result: StudyResult, paint: Paint) -> Iterator[str]:
    found = result.bottleneck
    yield ""
    yield _line("bottleneck", CYAN, str(found.limit), paint)
    yield from (f"{_INDENT}{_line('evidence', '', each, paint)}" for each in found.evidence)
    yield from (f"{_INDENT}{_line('remedy', '', each, paint)}" for each in found.remedies)
    if disk := words.disk_words(result):
        yield _line("disk", CYAN, disk, paint)


def _client_lines(result: StudyResult, width: int, paint: Paint, *, verbose: bool) -> Iterator[str]:
    """Each client's best, where there are several; what to paste for each with `verbose`."""
    if len(result.clients) > 1:
        yield from ("", paint(words.CLIENTS, BOLD))
        yield from _table_lines(clients_table(result), width, paint, is_brief=True)
    if verbose:
        for each in (each for each in result.clients if each != words.cli_best(result)):
            yield from _recipe_lines((made for made in each.recipes if made not in result.recipes), paint)


def _setting_lines(result: StudyResult, width: int, paint: Paint, *, verbose: bool) -> Iterator[str]:
    table = settings_table(result, rows_max=None if verbose else _SHOWN_MAX)
    if not table.rows:
        return
    hidden = len(result.table) - len(table.rows)
    more = f", the best {len(table.rows)}; {hidden} more with --verbose" if hidden else ", best first"
    yield from ("", paint(f"{table.caption}: {len(result.table)}{more}", BOLD))
    yield from _table_lines(table, width, paint, is_brief=not verbose)


def _front_lines(result: StudyResult, width: int, paint: Paint) -> Iterator[str]:
    table = front_table(result)
    if table.rows:
        yield from ("", paint(table.caption, BOLD))
        yield from _table_lines(table, width, paint)


def _heatmap_lines(result: StudyResult, width: int, *, color: bool, verbose: bool) -> Iterator[str]:
    """The map of the candidate's client; with `verbose` those of all."""
    for each in heatmaps(result):
        if verbose or each.client == result.candidate.setting.client:
            yield from ("", *render_heatmap(each, width=width, color=color))


def _prediction_lines(result: StudyResult, paint: Paint) -> Iterator[str]:
    if result.predictions:
        yield from ("", paint(words.PREDICTIONS, BOLD))
        yield from (
            _line(f"{_INDENT}predicted", CYAN, words.prediction_words(each), paint) for each in result.predictions
        )


def _last_lines(result: StudyResult, paint: Paint, *, verbose: bool) -> Iterator[str]:
    """Effective settings, failures and warnings; of each kind all, or the first few and how many more."""
    notes = [note for note in result.knobs if verbose or note.obedience in words.REPORTED]
    kinds = (
        ("parameter", YELLOW, list(words.effective_setting_lines(notes))),
        ("failure", RED, list(words.failure_lines(result))),
        ("warning", YELLOW, list(result.warnings)),
    )
    shown_max = None if verbose else _SHOWN_MAX
    if any(texts for *_, texts in kinds):
        yield ""
    for kind, style, texts in kinds:
        yield from (_line(kind, style, text, paint) for text in texts[:shown_max])
        if shown_max is not None and len(texts) > shown_max:
            yield _line(kind, style, f"and {len(texts) - shown_max} more, with --verbose", paint)


def _line(kind: str, style: str, text: str, paint: Paint) -> str:
    return f"{paint(kind, style)}: {printable(text)}"
