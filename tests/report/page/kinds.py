"""One page of each kind, of made-up figures that resemble measured ones: for the browser's tests and the gallery."""

import dataclasses
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from msgspec.structs import replace

from s3bench.cli.history.trend import trend_page
from s3bench.cli.report.inputs import Inputs
from s3bench.cli.report.page import page_html, sections_of
from s3bench.report.page.page import render_page
from s3bench.report.page.profile.section import profile_section
from s3bench.report.page.section import Section
from s3bench.report.page.trend.section import trend_section
from s3bench.report.page.trend.series import TrendSeries
from s3bench.results.bins import Bins
from s3bench.results.document import Document, Result
from s3bench.results.histogram import Histogram
from s3bench.results.load import Load, Second
from s3bench.results.measurement import Milestones
from s3bench.results.timeline import UsageSeries
from s3bench.trend.metric_trend import trend_of
from tests.compare import documents
from tests.report import loads
from tests.report.conftest import cell, controls, record
from tests.report.page.profile.stack_profiles import aws_cli_profile
from tests.report.page.run_documents import SPAN
from tests.report.test_bisection import record_of, slower_from
from tests.report.tune_samples import CLASSIC
from tests.trend.test_metric_trend import TIME, points
from tests.tune.simulated_client import Link, Simulation, upload

_CLIENTS = MappingProxyType({"cli-classic": 1.0, "cli-crt": 0.86, "boto3-crt": 0.55, "s5cmd": 0.21})
_BENCHMARKS: tuple[tuple[str, str, float], ...] = (
    ("s3.cp.upload", "32MB", 1.05),
    ("s3.cp.download", "4KB", 0.72),
)
_RUNS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPage:
    """A page, and the sections that it was rendered from."""

    sections: Sequence[Section]
    html: str


def run_document(*, seed: int = 1, factors: Mapping[str, float] = MappingProxyType({})) -> Document:
    """Two benchmarks on four clients; `factors` change the times of some clients.

    The second was measured without what happened inside its runs, of which the charts would be as those of the first.
    """
    source = random.Random(seed)
    first, second = (
        [_result(source, name, size, of, base_s * speed * factors.get(of, 1.0)) for of, speed in _CLIENTS.items()]
        for name, size, base_s in _BENCHMARKS
    )
    made_by = ("s3bench", "run", "-k", "cp and (32MB or 4KB)", "--num-iterations", f"{_RUNS}", "-o", "results.json")
    return replace(documents.document(*first, *map(_bare, second)), command_line=made_by)


def load_document() -> Document:
    """Twenty seconds of GET, of which the first two are warm-up and one is a stall with failures."""
    source = random.Random(2)
    seconds = tuple(_second(number, source) for number in range(22))
    one = loads.load(
        operations=221_200,
        window_s=20.0,
        seconds=seconds,
        stalls=(14,),
        bins=_bins(221_200, 2.6e6),
        response_bins=Bins(),
        first_byte_bins=_bins(221_200, 1.9e6),
        bottleneck="server",
        ceiling=48_000.0,
        size=65_536,
        p50_s=2.6e-3,
        failed=7,
        error_rate=7 / 221_207,
        failures=(loads.failures("503 SlowDown", 7),),
    )
    return replace(
        loads.document(loads.result("load.get", one, dimensions=[{"threads": "32"}])),
        options={"phases": [{"warmup": 2.0}], "endpoint": "http://127.0.0.1:9000"},
        command_line=("s3bench", "load", "--operation", "get", "--size", "64KiB", "-t", "32", "-o", "load.json"),
    )


def matrix_document() -> Document:
    """Five sizes times five numbers of threads."""
    sizes = {"1 KiB": 1 << 10, "32 KiB": 1 << 15, "256 KiB": 1 << 18, "1 MiB": 1 << 20, "8 MiB": 8 << 20}
    made = [
        loads.result(
            "load.get",
            _matrix_cell(size_bytes, threads),
            dimensions=[{"size": size}, {"threads": f"{threads}"}],
        )
        for size, size_bytes in sizes.items()
        for threads in (1, 2, 4, 8, 16)
    ]
    return loads.document(*made)


def one_cell_page() -> RenderedPage:
    """A matrix of one size and one number of threads."""
    dimensions = [{"size": "1 MiB"}, {"threads": "8"}]
    document = loads.document(loads.result("load.get", _matrix_cell(1 << 20, 8), dimensions=dimensions))
    return _page(documents=(("matrix.json", document),))


def _run() -> RenderedPage:
    return _page(documents=(("results.json", run_document()),))


def _compare() -> RenderedPage:
    """What changed between two documents, with the summary of each: its charts are those on the page of a run."""
    after = run_document(seed=5, factors={"cli-crt": 1.21, "s5cmd": 0.8})
    inputs = _inputs(documents=(("before.json", _all_bare(run_document())), ("after.json", _all_bare(after))))
    sections = [
        dataclasses.replace(section, parts=tuple(_without_figures(section.parts))) for section in sections_of(inputs)
    ]
    return RenderedPage(sections=sections, html=page_html(inputs, sections))


def _without_figures(parts: Sequence[Section]) -> Iterator[Section]:
    for part in parts:
        if part.name != "benchmarks":
            yield dataclasses.replace(part, figures=())


def _all_bare(document: Document) -> Document:
    """The same without what happened inside the runs: its charts are on the page of a run."""
    return replace(document, results=tuple(map(_bare, document.results)))


def _bare(result: Result) -> Result:
    bare = {"series": None, "milestones": Milestones(), "requests": ()}
    return replace(result, measurements=tuple(replace(run, **bare) for run in result.measurements))


def _gate() -> RenderedPage:
    others = [cell("s3.cp.download", slower=0.01, pairs=20), cell("s3.sync.upload.5k-files", slower=-0.04, pairs=20)]
    return _page(gates=(("gate.json", record([cell(slower=0.1, pairs=20), *others, *controls()])),))


def _tune() -> RenderedPage:
    study = Simulation(link=Link(), workload=upload(256), clients=(CLASSIC,)).study(budget_s=240.0)
    study = replace(study, header=replace(study.header, started_at="2026-11-21T00:00:00.000Z"))
    return _page(studies=(("tune.jsonl", study),))


def _trend() -> RenderedPage:
    titles = ("s3.cp.upload FileSize=32MB on cli-crt, machine 6f1d20ab", "s3.ls on cli-crt, machine 6f1d20ab")
    levels = (((18, 0.3), (22, 0.33)), ((40, 0.41),))
    found = [
        TrendSeries(title=title, trend=trend_of(TIME, points(*each)))
        for title, each in zip(titles, levels, strict=True)
    ]
    html = trend_page(found, TIME.name, over="versions", reference=None)
    return RenderedPage(sections=(trend_section(TIME, found),), html=html)


def _bisect() -> RenderedPage:
    return _page(bisections=(("bisect.json", record_of(slower_from(11, 1.09), count=16)),))


def _profile() -> RenderedPage:
    candidate, baseline = aws_cli_profile(seed=2, docs=1.0), aws_cli_profile(seed=1, docs=0.0)
    section = profile_section("s3.ls on cli-classic", candidate, baseline, labels=("2.34.8", "2.34.13"))
    html = render_page("Profile of cli-classic 2.34.13 against 2.34.8", [section])
    return RenderedPage(sections=(section,), html=html)


PAGES: Mapping[str, Callable[[], RenderedPage]] = MappingProxyType({
    "run": _run,
    "compare": _compare,
    "gate": _gate,
    "load": lambda: _page(documents=(("load.json", load_document()),)),
    "matrix": lambda: _page(documents=(("matrix.json", matrix_document()),)),
    "tune": _tune,
    "trend": _trend,
    "bisect": _bisect,
    "profile": _profile,
})  # fmt: skip
"""The page of each kind."""


def _page(**files: object) -> RenderedPage:
    inputs = _inputs(**files)
    sections = sections_of(inputs)
    return RenderedPage(sections=sections, html=page_html(inputs, sections))


def _inputs(**files: object) -> Inputs:
    return Inputs(**{"documents": (), "gates": (), "studies": (), "bisections": (), **files})


def _result(source: random.Random, name: str, size: str, of: str, median_s: float) -> Result:
    engine = {"cli-crt": "CRT", "boto3-crt": "CRT", "cli-classic": "Classic"}.get(of)
    dimensions = {"FileSize": size, **({"S3TransferClient": engine} if engine else {})}
    times_s = [median_s * math.exp(source.gauss(0, 0.03)) for _ in range(_RUNS)]
    memory = int((40 + 120 * median_s) * (1 << 20))
    made = documents.result(times_s, name=name, dimensions=dimensions, of=documents.client(of), peak=memory)
    measurements = tuple(
        replace(
            each, series=_usage(each.total_time or 0.0, memory, source), milestones=_milestones(each.total_time or 0.0)
        )
        for each in made.measurements
    )
    whole = replace(made, measurements=measurements)
    spans = tuple(_spans(median_s))
    median = whole.median_iteration
    kept = (replace(each, requests=spans) if each is median else each for each in measurements)
    return replace(whole, measurements=tuple(kept))


def _usage(total_s: float, memory: int, source: random.Random) -> UsageSeries:
    steps = 24
    return UsageSeries(
        at=tuple(total_s * step / steps for step in range(steps + 1)),
        memory=tuple(int(memory * (1 - math.exp(-5 * step / steps))) for step in range(steps + 1)),
        cores=(None, *(0.4 + 0.8 * source.random() for _ in range(steps))),
    )


def _milestones(total_s: float) -> Milestones:
    return Milestones(
        interpreter_start=0.05 * total_s,
        imports_done=0.4 * total_s,
        first_request=0.5 * total_s,
        last_response=0.94 * total_s,
        exit=0.98 * total_s,
    )


def _spans(total_s: float) -> Iterator[object]:
    for number in range(8):
        start = total_s * (0.5 + 0.1 * (number // 2))
        end = start + total_s * 0.08
        yield replace(
            SPAN, connection=1 + number % 2, kind="PUT part" if number else "POST create", start=start,
            body_end=end * 0.99, first_byte=end * 0.995, end=end, bytes_up=8 << 20, bytes_down=0, status=200,
        )  # fmt: skip


def _second(number: int, source: random.Random) -> Second:
    if number == 14:
        return loads.second(number, operations=0, p50=None, p99=None, max=None, stalled=True, failures=7)
    operations = int(11_060 * math.exp(source.gauss(0, 0.02)) * (0.6 if number == 0 else 1))
    latency_s = 2.6e-3 * math.exp(source.gauss(0, 0.03))
    return loads.second(
        number,
        operations=operations,
        bytes=operations * 65_536,
        p50=latency_s,
        p99=latency_s * 2.4,
        max=latency_s * (8 + 6 * source.random()),
        in_flight=31.6,
    )


def _bins(count: int, median_ns: float) -> Bins:
    histogram = Histogram()
    histogram.add(np.random.default_rng(7).lognormal(np.log(median_ns), 0.35, count).astype(np.int64))
    return histogram.bins()


def _matrix_cell(size_bytes: int, threads: int) -> Load:
    base_s = 9e-4 + size_bytes / 9e8
    rate = min(threads / base_s, 6e9 / size_bytes, 14_000.0)
    return loads.load(operations=int(rate * 10), size=size_bytes, p50_s=threads / rate)
