"""A tuning's answer as Markdown, for issues and wikis: the same words and figures as in the terminal, all of them."""

from collections.abc import Iterable, Iterator, Sequence

from s3bench.report.columns import TextColumn
from s3bench.report.markdown import cell, code, escaped, fenced_lines, folded_lines, list_lines, table_lines
from s3bench.report.tune import cells as words
from s3bench.report.tune.heatmap import Heatmap, heatmap_rows, heatmaps
from s3bench.tune.answer import SettingFigures, StudyResult
from s3bench.tune.recipe import PYTHON, Recipe


def render_markdown(answer: StudyResult) -> str:
    """Render as GitHub Flavored Markdown; what is long stands folded away."""
    lines = [
        f"## {escaped(words.verdict_words(answer))}",
        "",
        *list_lines(words.subject_lines(answer)),
        "",
        *_recipes(answer.recipes),
        *_cli_recipes(answer),
        *_roles(answer),
        *_bottleneck(answer),
        *_clients(answer),
        *_front(answer),
        *_settings(answer),
        *_maps(heatmaps(answer)),
        *_titled(words.PREDICTIONS, [words.prediction_words(each) for each in answer.predictions]),
        *_titled("Knobs, as the wire showed them", words.knob_lines(answer.knobs)),
        *_titled("Failures", words.failure_lines(answer)),
        *_titled("Warnings", answer.warnings),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _recipes(recipes: Iterable[Recipe]) -> Iterator[str]:
    for recipe in recipes:
        yield f"To paste, {escaped(recipe.where)}: {code(str(recipe.setting))}"
        yield ""
        yield from fenced_lines(recipe.lines, language="python" if recipe.where == PYTHON else "sh")
        yield ""


def _cli_recipes(answer: StudyResult) -> Iterator[str]:
    """What to paste for the aws-cli where another client is recommended."""
    best = words.cli_best(answer)
    if best is not None:
        yield from (escaped(words.cli_words(best, answer)).capitalize(), "", *_recipes(best.recipes))


def _roles(answer: StudyResult) -> Iterator[str]:
    named = words.roles(answer)
    first = TextColumn(heading=" ", cells=tuple(role for role, _ in named))
    yield from _figures([first], [figures for _, figures in named], answer)
    yield from (escaped(words.legend(answer)), "")


def _figures(first: Sequence[TextColumn], rows: Sequence[SettingFigures], answer: StudyResult) -> Iterator[str]:
    """A table of figures, the setting in its last column."""
    yield from _table([*first, *words.figure_columns(rows, answer)], rows, answer)


def _table(columns: Sequence[TextColumn], rows: Sequence[SettingFigures], answer: StudyResult) -> Iterator[str]:
    headings = [*(cell(column.heading) for column in columns), "setting"]
    settings = [_setting(row, answer) for row in rows]
    cells = zip(*(map(cell, column.cells) for column in columns), settings, strict=True)
    yield from table_lines(headings, cells, texts=frozenset({0, len(columns)}))
    yield ""


def _setting(figures: SettingFigures, answer: StudyResult) -> str:
    doubts = words.doubt_words(figures, answer)
    return f"{code(str(figures.setting))} ({cell(doubts)})" if doubts else code(str(figures.setting))


def _bottleneck(answer: StudyResult) -> Iterator[str]:
    found = answer.bottleneck
    told = [
        f"Bottleneck: {found.limit}",
        *(f"evidence: {each}" for each in found.evidence),
        *(f"remedy: {each}" for each in found.remedies),
    ]
    if disk := words.disk_words(answer):
        told.append(f"disk: {disk}")
    yield from (*list_lines(told), "")


def _clients(answer: StudyResult) -> Iterator[str]:
    if len(answer.clients) > 1:
        yield from (f"### {escaped(words.CLIENTS)}", "")
        defaults = tuple(words.real_text(each.default) for each in answer.clients)
        names = TextColumn(heading="client", cells=tuple(each.client for each in answer.clients))
        first = [names, TextColumn(heading="its default", cells=defaults)]
        yield from _figures(first, [each.best for each in answer.clients], answer)
    for each in (each for each in answer.clients if each != words.cli_best(answer)):
        others = [made for made in each.recipes if made not in answer.recipes]
        yield from folded_lines(f"to paste for {each.client}", list(_recipes(others))[:-1])


def _front(answer: StudyResult) -> Iterator[str]:
    rows = words.front_of(answer)
    if rows:
        yield from (f"### {escaped(words.FRONT)}", "")
        columns = (
            TextColumn(heading="memory", cells=tuple(words.bytes_text(row.peak_memory) for row in rows)),
            TextColumn(heading=answer.objective, cells=tuple(words.value_text(row, unit=answer.unit) for row in rows)),
        )
        yield from _table(columns, rows, answer)


def _settings(answer: StudyResult) -> Iterator[str]:
    first = TextColumn(heading="no.", cells=tuple(f"{number}" for number in range(1, len(answer.table) + 1)))
    yield from folded_lines(
        f"settings tried: {len(answer.table)}, best first", list(_figures([first], answer.table, answer))[:-1]
    )


def _maps(maps: Iterable[Heatmap]) -> Iterator[str]:
    for each in maps:
        headings = [cell(text) for text in (f"{each.row_knob} / {each.column_knob}", *each.columns)]
        rows = (tuple(map(cell, row)) for row in heatmap_rows(each))
        table = list(table_lines(headings, rows, texts=frozenset({0})))
        yield from folded_lines(each.title, [*table, "", escaped(f"{each.axes}; {each.legend}")])


def _titled(title: str, texts: Iterable[str]) -> Iterator[str]:
    if items := list_lines(texts):
        yield from (f"### {escaped(title)}", "", *items, "")
