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


def render_markdown(answer: StudyResult) -> str:
    """Render as GitHub Flavored Markdown; what is long stands folded away."""
    lines = [
        f"## {escaped(words.verdict_words(answer))}",
        "",
        *list_lines(words.subject_lines(answer)),
        "",
        *_recipes(answer.recipes),
        *_cli_recipes(answer),
        *_table(roles_table(answer)),
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


def _table(table: Table) -> Iterator[str]:
    yield from (*table_lines(table), "")


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
        yield from (f"### {escaped(words.CLIENTS)}", "", *_table(clients_table(answer)))
    for each in (each for each in answer.clients if each != words.cli_best(answer)):
        others = [made for made in each.recipes if made not in answer.recipes]
        yield from folded_lines(f"to paste for {each.client}", list(_recipes(others))[:-1])


def _front(answer: StudyResult) -> Iterator[str]:
    table = front_table(answer)
    if table.rows:
        yield from (f"### {escaped(table.caption)}", "", *_table(table))


def _settings(answer: StudyResult) -> Iterator[str]:
    title = f"settings tried: {len(answer.table)}, best first"
    return folded_lines(title, tuple(table_lines(settings_table(answer))))


def _maps(maps: Iterable[Heatmap]) -> Iterator[str]:
    for table in map(heatmap_table, maps):
        yield from folded_lines(table.caption, tuple(table_lines(table)))


def _titled(title: str, texts: Iterable[str]) -> Iterator[str]:
    if items := list_lines(texts):
        yield from (f"### {escaped(title)}", "", *items, "")
