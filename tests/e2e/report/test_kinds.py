"""Every kind of page in a real browser: its charts tell the figures that they were made of, wide and narrow."""

from collections import Counter

import altair as alt

from tests.e2e.report.browsing import Opened
from tests.e2e.report.conftest import PageOfKind
from tests.report.page.chart_reader import figures, told

LABELS = "charts => charts.map(chart => [...chart.querySelectorAll('[data-label]')].map(mark => mark.dataset.label))"


def _labels(chart: alt.TopLevelMixin, *, is_line: bool) -> Counter[str]:
    marks = (mark for mark in told(chart) if (mark["mark"]["type"] == "line") is is_line)
    return Counter(value["label"] for mark in marks for value in mark["values"])


def test_every_chart_tells_its_figures_on_wide_and_on_narrow_screens(
    page_of_kind: PageOfKind, opened_kind: Opened
) -> None:
    page = opened_kind.page
    shown, narrow = (page.locator(f"svg.{width}").evaluate_all(LABELS) for width in ("wide", "narrow"))
    assert shown == narrow
    made = [figure.chart for section in page_of_kind.sections for figure in figures(section)]
    assert made or page_of_kind.kind == "profile"  # its graph has test_flame_graph.py
    for labels, chart in zip(shown, made, strict=True):
        lines, others = (_labels(chart, is_line=is_line) for is_line in (True, False))
        assert not others - Counter(labels)  # every dot, bar and cell tells its figure
        assert set(Counter(labels) - others) <= set(lines)  # a line tells that of its first point
    assert opened_kind.complaints == []
    assert len([url for url in opened_kind.requests if not url.startswith("data:")]) == 1
