"""Every kind of page in a real browser: its charts tell the figures that they were made of, wide and narrow."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import altair as alt
import pytest

from s3bench.compare.comparison import compare
from s3bench.compare.matching import DocumentSource
from s3bench.report.page.comparison_section import comparison_section
from s3bench.report.page.gate.section import gate_section
from s3bench.report.page.load.section import load_sections
from s3bench.report.page.page import render_page
from s3bench.report.page.run.section import run_sections
from s3bench.report.page.section import Section
from s3bench.report.page.trend.section import trend_section
from s3bench.report.page.trend.series import TrendSeries
from s3bench.report.page.tune.section import tune_section
from s3bench.trend.metric_trend import trend_of
from s3bench.tune.conclusion import conclude
from tests.e2e.report.browsing import Open
from tests.report.conftest import made_up_gates
from tests.report.loads import document, load, result, second
from tests.report.page.chart_reader import figures, told
from tests.report.page.load.test_distribution import bins
from tests.report.page.load.test_grid import matrix
from tests.report.page.run_documents import classic_beside_crt
from tests.report.runs import two_clients
from tests.report.tune_samples import CLASSIC
from tests.trend.test_metric_trend import TIME, points
from tests.tune.simulated_client import Link, Simulation, upload


def _comparison() -> Sequence[Section]:
    sources = tuple(DocumentSource(name=name, document=two_clients()) for name in ("before.json", "after.json"))
    return (comparison_section(compare(sources)),)


def _load() -> Sequence[Section]:
    stalled = second(3, operations=0, p50=None, p99=None, max=None, stalled=True)
    seconds = (*(second(number) for number in range(3)), stalled, second(4, failures=7))
    one = load(operations=4000, window_s=5.0, seconds=seconds, stalls=(3,), bins=bins(4000))
    return load_sections(document(result("load.get", one)))


def _gates() -> Sequence[Section]:
    gates = made_up_gates()
    return tuple(gate_section(gates[name]) for name in ("fail by size", "waived"))


def _tuning() -> Sequence[Section]:
    study = Simulation(link=Link(), workload=upload(256), clients=(CLASSIC,)).study(budget_s=120.0)
    return (tune_section(conclude(study), study),)


def _trend() -> Sequence[Section]:
    return (trend_section(TIME, [TrendSeries(title="s3.cp", trend=trend_of(TIME, points((20, 0.3), (20, 0.36))))]),)


def _labels(chart: alt.TopLevelMixin, *, is_line: bool) -> Counter[str]:
    marks = (mark for mark in told(chart) if (mark["mark"]["type"] == "line") is is_line)
    return Counter(value["label"] for mark in marks for value in mark["values"])


LABELS = "charts => charts.map(chart => [...chart.querySelectorAll('[data-label]')].map(mark => mark.dataset.label))"
KINDS: Mapping[str, Callable[[], Sequence[Section]]] = {
    "runs": lambda: run_sections(classic_beside_crt()),
    "load": _load,
    "matrix": lambda: load_sections(matrix()),
    "comparison": _comparison,
    "gates": _gates,
    "tuning": _tuning,
    "trend": _trend,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_chart_tells_its_figures_on_wide_and_on_narrow_screens(kind: str, opened: Open, tmp_path: Path) -> None:
    sections = KINDS[kind]()
    path = tmp_path / "page.html"
    path.write_text(render_page(kind, sections), encoding="utf-8")
    one = opened(path)
    page = one.page
    shown, narrow = (page.locator(f"svg.{width}").evaluate_all(LABELS) for width in ("wide", "narrow"))
    assert shown == narrow
    made = [figure.chart for section in sections for figure in figures(section)]
    assert made
    for labels, chart in zip(shown, made, strict=True):
        lines, others = (_labels(chart, is_line=is_line) for is_line in (True, False))
        assert not others - Counter(labels)  # every dot, bar and cell tells its figure
        assert set(Counter(labels) - others) <= set(lines)  # a line tells that of its first point
    assert one.complaints == []
    assert len([url for url in one.requests if not url.startswith("data:")]) == 1
