"""A profile for a terminal: the functions, the modules and the imports that take the time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from statistics import median

from s3bench.profiling.record import ClientProfile, ProfileRecord
from s3bench.profiling.stack_profile import NO_FUNCTION
from s3bench.profiling.tables import (
    SHARE_KNOWN_TO,
    ImportTime,
    PlaceTime,
    TimeShare,
    function_times,
    import_times,
    module_times,
    seconds_per_run,
    widest_share,
)
from s3bench.report.explanation import explanation_lines, explanation_title
from s3bench.report.profile.allocations import allocation_tables, memory_fact
from s3bench.report.table import Table, column
from s3bench.report.terminal import BOLD, painter, printable
from s3bench.report.text_table import table_lines
from s3bench.units import counted, render_seconds

_FUNCTIONS_MAX = 15
_MODULES_MAX = 10
_IMPORTS_MAX = 20
_IMPORT_SHARE_MIN = 0.01
_SAMPLES_MIN = 3  # with fewer in all runs a time is not known


def render_profile(record: ProfileRecord, *, width: int, color: bool) -> str:
    """Render a profile, or what differs between two and then the candidate's."""
    paint = painter(color=color)
    lines: list[str] = []
    if record.explanation is not None:
        lines += [paint(explanation_title(record.explanation), BOLD)]
        lines += [f"  {line}" for line in explanation_lines(record.explanation)]
        lines.append("")
    tables: Iterable[Table] = ()
    if record.memory is not None:
        lines += [paint(_title(record, record.memory.client), BOLD), f"  {memory_fact(record.memory.allocations)}", ""]
        tables = [table.head(_FUNCTIONS_MAX) for table in allocation_tables(record.memory.allocations)]
    elif record.profiles:
        shown = record.profiles[-1]
        lines += [paint(_title(record, shown.client), BOLD), *(f"  {line}" for line in _facts(shown)), ""]
        tables = _tables(shown)
    for table in tables:
        lines += [paint(table.caption, BOLD), *table_lines(table, width=width, paint=paint), ""]
    return "\n".join(line.rstrip() for line in lines[:-1]) + "\n"


def _title(record: ProfileRecord, client: str) -> str:
    alone = "the candidate alone, " if record.explanation is not None else ""
    return printable(f"Profile of {alone}{client}: {record.benchmark}")


def _facts(shown: ClientProfile) -> Iterator[str]:
    runs = shown.stacks.runs
    taken_s = seconds_per_run(shown.stacks)
    every = render_seconds(shown.stacks.interval_s)
    sampled = f"{render_seconds(taken_s)} of {shown.stacks.sampled} sampled in each, every {every}"
    yield f"{counted(len(runs), 'run')}, {sampled}"
    known_to = widest_share(function_times(shown.stacks))
    if known_to < 1:
        more = "; more runs (--runs) tell more" if known_to > SHARE_KNOWN_TO else ""
        yield f"the shares of the five largest functions are known to {known_to * 100:.1f} percentage points{more}"
    if shown.plain_times and runs:
        under, plain = median(run.total_time for run in runs), median(shown.plain_times)
        yield (
            f"a run takes {render_seconds(under)} under the profiler, {render_seconds(plain)} without: "
            "compare shares rather than times"
        )


def _tables(shown: ClientProfile) -> Iterator[Table]:
    seconds = partial(_seconds, least_s=_SAMPLES_MIN * shown.stacks.interval_s / max(1, len(shown.stacks.runs)))
    functions = function_times(shown.stacks)[:_FUNCTIONS_MAX]
    yield _place_table("Functions by self time", functions, seconds)
    yield _place_table("Modules by self time", module_times(shown.stacks)[:_MODULES_MAX], seconds)
    whole_s = seconds_per_run(shown.stacks)
    imports = list(_flat(import_times(shown.stacks), 0, _IMPORT_SHARE_MIN * whole_s))[:_IMPORTS_MAX]
    if imports:
        yield Table(
            caption="Imports, with what they import",
            columns=(
                column("import", imports, lambda row: "  " * row[0] + printable(row[1].module)),
                column("total", imports, lambda row: seconds(row[1].total_s), is_number=True),
                column("self", imports, lambda row: seconds(row[1].self_s), is_number=True, rank=1),
                column("from", imports, lambda row: _importer(row[1]), rank=2),
            ),
            notes=(f"Imports of less than {_IMPORT_SHARE_MIN:.0%} of the time are left out.",),
        )


def _flat(found: Sequence[ImportTime], depth: int, least_s: float) -> Iterator[tuple[int, ImportTime]]:
    for each in found:
        if each.total_s >= least_s:
            yield depth, each
            yield from _flat(each.children, depth + 1, least_s)


def _importer(found: ImportTime) -> str:
    importer = found.importer
    return "" if importer is None else printable(f"{importer.file or importer.module}:{importer.line}")


def _seconds(time_s: float, *, least_s: float) -> str:
    return f"<{render_seconds(least_s)}" if time_s < least_s else render_seconds(time_s)


def _place_table(caption: str, places: Sequence[PlaceTime], seconds: Callable[[float], str]) -> Table:
    return Table(
        caption=caption,
        columns=(
            column("name", places, lambda place: printable(place.name) or NO_FUNCTION),
            column("self", places, lambda place: seconds(place.self_s), is_number=True),
            column("self %", places, lambda place: f"{place.self_share.value:.1%}", is_number=True),
            column("interval", places, lambda place: _interval(place.self_share), is_number=True, rank=1),
            column("total", places, lambda place: seconds(place.total_s), is_number=True, rank=2),
        ),
    )


def _interval(share: TimeShare) -> str:
    if share.low is None or share.high is None:
        return "-"
    return f"{share.low:.1%} to {share.high:.1%}"
