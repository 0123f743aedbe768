"""What each run used beside time: its peak memory and its CPU time, side by side.

Owns the pair of small charts.
"""

from collections.abc import Iterator, Sequence

import altair as alt

from s3bench.report.page import theme
from s3bench.report.page.run.axis import HEADINGS
from s3bench.report.page.run.benchmark import ClientResults
from s3bench.report.page.run.dots import dots_chart
from s3bench.report.page.section import ChartFigure
from s3bench.results.metrics import METRICS_BY_NAME

_METRICS = tuple(METRICS_BY_NAME[name] for name in ("peak_memory", "cpu_time"))
_GAP, _HEIGHT = 70, 150


def usage_figure(rows: Sequence[ClientResults], *, clients: list[str], said: str) -> Iterator[ChartFigure]:
    """The charts of those metrics that any run has a figure of; nothing where none has. `said` ends its words."""
    width = (theme.WIDTH - _GAP) // len(_METRICS)
    charts = {
        HEADINGS[metric.name]: chart
        for metric in _METRICS
        if (chart := dots_chart(rows, metric, clients=clients, width=width, height=_HEIGHT)) is not None
    }
    if not charts:
        return
    names = " and ".join(charts)
    yield ChartFigure(
        name="memory-cpu",
        title=f"{names[:1].upper()}{names[1:]} of every run",
        description=f"The {names} of each run, in run order, with medians and their 95 % intervals. "
        f"An axis that is not logarithmic does not begin at 0.{said}",
        chart=alt.hconcat(*charts.values()),
    )
