"""Chart of what a client did from its spawn to its end, step by step.

The steps are those of no single run: each milestone is the median of all runs that reached it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import altair as alt

from s3bench.report.page.chart import Layered, chart_of, layered
from s3bench.report.page.run.axis import TOTAL_TIME, client_marks
from s3bench.report.page.run.benchmark import ClientResults
from s3bench.report.page.unit import seconds_unit
from s3bench.report.run.figures import MedianEstimate, estimate
from s3bench.report.run.perfetto import UNTIL
from s3bench.report.run.tables import interval
from s3bench.report.table import Table, TableCell, TableColumn, column
from s3bench.results.measurement import Milestones
from s3bench.results.metrics import METRICS_BY_NAME, Unit, render_figure

_END = ""
_BAR = 14
_HEADROOM = 1.2  # lengths stand behind the bars
_STEPS = tuple(UNTIL.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class WaterfallStep:
    """What `client` was at from `start_s` to `end_s`, seconds since the spawn; `runs` reached its end."""

    client: str
    name: str
    start_s: float
    end_s: float
    runs: int

    @property
    def label(self) -> str:
        """`cli-crt, import modules: 524 ms, from 43.0 ms to 567 ms`."""
        start, end = (render_figure(at_s, Unit.SECONDS) for at_s in (self.start_s, self.end_s))
        return f"{self.client}, {self.name}: {self.length}, from {start} to {end} (medians of {self.runs:,} runs)"

    @property
    def length(self) -> str:
        """How long it took."""
        return render_figure(self.end_s - self.start_s, Unit.SECONDS)


def steps_of(rows: Sequence[ClientResults]) -> tuple[WaterfallStep, ...]:
    """The steps of each client between the medians of its milestones; none of clients that reached no milestone."""
    return tuple(step for row in rows for step in _steps(row))


def waterfall_chart(steps: Sequence[WaterfallStep], *, clients: list[str]) -> Layered:
    """Draw a row for each step and in it a bar for each client, with its length behind it."""
    unit = seconds_unit(step.end_s for step in steps)
    values = [
        {
            "client": step.client,
            "step": step.name,
            "start": unit.of(step.start_s),
            "end": unit.of(step.end_s),
            "length": step.length,
            "label": step.label,
        }
        for step in steps
    ]
    shown = list(dict.fromkeys(step.client for step in steps))
    names = [name for name in _STEPS if any(step.name == name for step in steps)]
    axis = alt.Axis(labelLimit=0, ticks=False, domain=False)
    row = alt.Y("step:N", title=None, sort=names, scale=alt.Scale(paddingInner=0.25), axis=axis)
    offset = alt.YOffset("client:N", sort=shown)
    room = alt.Scale(domain=[0, (unit.of(max(step.end_s for step in steps)) or 0.0) * _HEADROOM or 1.0], nice=False)
    at = alt.X("start:Q", title=f"time since the spawn ({unit.name}), medians", scale=room, axis=alt.Axis(tickCount=6))
    chart = chart_of(values)
    bars = chart.mark_bar().encode(
        x=at,
        x2=alt.X2("end:Q"),
        y=row,
        yOffset=offset,
        color=client_marks(clients, shown)[0],
        description=alt.Description("label:N"),
    )
    words = chart.mark_text(align="left", dx=4, fontSize=11, aria=False).encode(
        x=alt.X("end:Q"), y=row, yOffset=offset, text=alt.Text("length:N")
    )
    return layered([bars, words], height=alt.Step(_BAR))


def waterfall_table(rows: Sequence[ClientResults]) -> Table:
    """When each client reached each milestone: medians with their intervals."""
    shown = [row for row in rows if any(True for _ in _steps(row))]
    found = {row.client: dict(_reached(row)) for row in shown}
    reached = [name for name in Milestones.__struct_fields__ if any(name in each for each in found.values())]
    names = (*reached, "total_time")
    return Table(
        caption="When the milestones were reached, since the spawn: medians, in brackets the 95 % interval",
        columns=(
            column("milestone", names, lambda name: name.replace("_", " ")),
            *(
                TableColumn(heading=client, cells=tuple(map(_cell, map(each.get, names))), is_number=True)
                for client, each in found.items()
            ),
        ),
    )


def _cell(found: MedianEstimate | None) -> TableCell:
    if found is None:
        return TableCell(text="-")
    return TableCell(text=found.text, more=interval(found), value=found.median)


def _reached(row: ClientResults) -> Iterator[tuple[str, MedianEstimate]]:
    for name in (*Milestones.__struct_fields__, "total_time"):
        metric = TOTAL_TIME if name == "total_time" else METRICS_BY_NAME[f"milestones.{name}"]
        if (found := estimate(row.result, metric)) is not None:
            yield name, found


def _steps(row: ClientResults) -> Iterator[WaterfallStep]:
    found = dict(_reached(row))
    end = found.pop("total_time", None)
    reached = sorted((each.median, name, each.count) for name, each in found.items() if each.median >= 0)
    if not reached:
        return
    if end is not None and reached[-1][0] < end.median:
        reached.append((end.median, _END, end.count))
    for (start_s, _, _), (end_s, name, runs) in pairwise(((0.0, _END, 0), *reached)):
        yield WaterfallStep(client=row.client, name=UNTIL[name], start_s=start_s, end_s=end_s, runs=runs)
