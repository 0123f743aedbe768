"""The result of a tuning as Markdown, for issues and wikis, with everything that the terminal shows on request."""

from collections.abc import Iterable, Iterator

from s3bench.clients.tuning.client_tuning import PYTHON
from s3bench.report.markdown import code, escaped, fenced_lines, folded_lines, list_lines, table_lines
from s3bench.report.table import Table
from s3bench.report.tune import cells as words
from s3bench.report.tune.heatmap import Heatmap, heatmaps
from s3bench.report.tune.tables import clients_table, front_table, heatmap_table, roles_table, settings_table
from s3bench.tune.recipe import Recipe
from s3bench.tune.study_result import StudyResult


def render_markdown(result: StudyResult) -> str:
    """Render as GitHub Flavored Markdown; what is long stands folded away."""
    lines = [
        f"## {escaped(words.verdict_words(result))}",
        "",
        *list_lines(words.subject_lines(result)),
        "",
        *_recipes(result.recipes),
        *_cli_recipes(result),
        *_table(roles_table(result)),
        *_bottleneck(result),
        *_clients(result),
        *_front(result),
        *_settings(result),
        *_maps(heatmaps(result)),
        *_titled(words.PREDICTIONS, [words.prediction_words(each) for each in result.predictions]),
        *_titled("Effective settings, as the requests show them", words.effective_setting_lines(result.knobs)),
        *_titled("Failures", words.failure_lines(result)),
        *_titled("Warnings", result.warnings),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _recipes(recipes: Iterable[Recipe]) -> Iterator[str]:
    for recipe in recipes:
        yield f"To paste, {escaped(recipe.where)}: {code(str(recipe.setting))}"
        yield ""
        yield from fenced_lines(recipe.lines, language="python" if recipe.where == PYTHON else "sh")
        yield ""


def _cli_recipes(result: StudyResult) -> Iterator[str]:
    """What to paste for the aws-cli where another client is recommended."""
    best = words.cli_best(result)
    if best is not None:
        said = words.cli_words(best, result)
        yield from (escaped(f"{said[:1].upper()}{said[1:]}"), "", *_recipes(best.recipes))


def _table(table: Table) -> Iterator[str]:
    yield from (*table_lines(table), "")


def _bottleneck(result: StudyResult) -> Iterator[str]:
    found = result.bottleneck
    lines = [
        f"Bottleneck: {found.limit}",
        *(f"evidence: {each}" for each in found.evidence),
        *(f"remedy: {each}" for each in found.remedies),
    ]
    if disk := words.disk_words(result):
        lines.append(f"disk: {disk}")
    yield from (*list_lines(lines), "")


def _clients(result: StudyResult) -> Iterator[str]:
    if len(result.clients) > 1:
        yield from (f"### {escaped(words.CLIENTS)}", "", *_table(clients_table(result)))
    for each in (each for each in result.clients if each != words.cli_best(result)):
        others = [made for made in each.recipes if made not in result.recipes]
        yield from folded_lines(f"to paste for {each.client}", list(_recipes(others))[:-1])


def _front(result: StudyResult) -> Iterator[str]:
    table = front_table(result)
    if table.rows:
        yield from (f"### {escaped(table.caption)}", "", *_table(table))


def _settings(result: StudyResult) -> Iterator[str]:
    title = f"settings tried: {len(result.table)}, best first"
    return folded_lines(title, tuple(table_lines(settings_table(result))))


def _maps(maps: Iterable[Heatmap]) -> Iterator[str]:
    for table in map(heatmap_table, maps):
        yield from folded_lines(table.caption, tuple(table_lines(table)))


def _titled(title: str, texts: Iterable[str]) -> Iterator[str]:
    if items := list_lines(texts):
        yield from (f"### {escaped(title)}", "", *items, "")
