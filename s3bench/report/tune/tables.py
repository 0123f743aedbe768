"""The tables of a tuning: what was verified, the clients, the settings tried, and the Pareto front.

In all of them the last column is the setting.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from s3bench.report.label import clipped
from s3bench.report.load.cells import NOTHING
from s3bench.report.table import Table, TableColumn, Tone, column
from s3bench.report.tune import cells as words
from s3bench.report.tune.heatmap import Heatmap, heatmap_rows
from s3bench.tune.objective import Aim
from s3bench.tune.study_result import SettingFigures, StudyResult

_TEXT_MAX = 1000


def roles_table(result: StudyResult) -> Table:
    """The settings that were verified, by their roles."""
    named = words.roles(result)
    roles = column("role", named, lambda each: each[0])
    return _table(
        "What was verified", (roles,), [figures for _, figures in named], result, notes=(words.legend(result),)
    )


def clients_table(result: StudyResult) -> Table:
    """The best setting of each client, beside the client's default."""
    first = (
        column("client", result.clients, lambda each: clipped(each.client), rank=5),
        column(
            "its default",
            result.clients,
            lambda each: words.real_text(each.default),
            value=lambda each: each.default.time,
        ),
    )
    return _table(words.CLIENTS, first, [each.best for each in result.clients], result)


def settings_table(result: StudyResult, *, rows_max: int | None = None) -> Table:
    """The settings tried, the best first."""
    rows = result.table[:rows_max]
    numbers = column("no.", range(1, len(rows) + 1), str, value=float)
    return _table("settings tried", (numbers,), rows, result)


def front_table(result: StudyResult) -> Table:
    """The settings that no other beats in both time and memory."""
    rows = words.front_of(result)
    name = words.value_heading(result.objective)
    columns = (
        column("memory", rows, lambda row: words.bytes_text(row.peak_memory), value=lambda row: row.peak_memory),
        column(name, rows, partial(words.value_text, unit=result.unit), value=lambda row: row.value),
    )
    return Table(caption=words.FRONT, columns=(*columns, _setting_column(rows, result)))


def heatmap_table(heatmap: Heatmap) -> Table:
    """A heat-map as a table, a column for each value of its second parameter."""
    headings = (f"{heatmap.row_parameter} / {heatmap.column_parameter}", *heatmap.columns)
    columns = zip(headings, zip(*heatmap_rows(heatmap), strict=True), strict=True)
    return Table(
        caption=heatmap.title,
        columns=tuple(
            column(heading, texts, str, is_number=place > 0) for place, (heading, texts) in enumerate(columns)
        ),
        notes=(f"{heatmap.axes}; {heatmap.legend}",),
    )


def _table(
    caption: str,
    first: Sequence[TableColumn],
    rows: Sequence[SettingFigures],
    result: StudyResult,
    *,
    notes: tuple[str, ...] = (),
) -> Table:
    columns = (*first, *_figure_columns(rows, result), _setting_column(rows, result))
    return Table(caption=caption, columns=columns, notes=notes)


def _figure_columns(rows: Sequence[SettingFigures], result: StudyResult) -> Iterator[TableColumn]:
    """The columns of figures; the objective's own where that is not the whole time."""
    if result.objective != Aim.TIME:
        name = words.value_heading(result.objective)
        yield column(name, rows, partial(words.value_text, unit=result.unit), value=lambda row: row.value)
    yield column("real", rows, words.real_text, value=lambda row: row.time)
    yield column("95 %", rows, words.interval_text, value=lambda row: row.time_low, rank=2)
    yield column("user", rows, lambda row: words.seconds_text(row.user), value=lambda row: row.user, rank=3)
    yield column("sys", rows, lambda row: words.seconds_text(row.system), value=lambda row: row.system, rank=3)
    yield column("Gb/s", rows, words.rate_of, value=lambda row: row.gigabits_per_s)
    yield column("memory", rows, lambda row: words.bytes_text(row.peak_memory), value=lambda row: row.peak_memory)
    yield column("requests", rows, _requests_text, value=lambda row: row.requests, rank=4)
    yield column("runs", rows, words.runs_text, value=lambda row: row.runs, rank=1)


def _setting_column(rows: Sequence[SettingFigures], result: StudyResult) -> TableColumn:
    def warnings(row: SettingFigures) -> str:
        text = words.warning_words(row, result)
        return f" ({text})" if text else ""

    return column(
        "setting", rows, lambda row: clipped(str(row.setting), most=_TEXT_MAX), more=warnings, tone=_tone, is_code=True
    )


def _requests_text(row: SettingFigures) -> str:
    return NOTHING if row.requests is None else f"{row.requests:,}"


def _tone(row: SettingFigures) -> Tone:
    if row.value is None:
        return Tone.BAD
    return Tone.WARNING if row.was_capped or row.exceeds_memory else Tone.PLAIN
