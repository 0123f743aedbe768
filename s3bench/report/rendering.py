"""The formats of `s3bench report --format`: what renders each, its usual extension, and what it is for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from s3bench.report.formats import Format
from s3bench.report.run.bencher import render_bencher
from s3bench.report.run.cloudwatch import render_cloudwatch
from s3bench.report.run.csv import render_csv
from s3bench.report.run.github import render_github
from s3bench.report.run.gobench import render_gobench
from s3bench.report.run.hyperfine import render_hyperfine
from s3bench.report.run.junit import render_junit
from s3bench.report.run.markdown import render_markdown
from s3bench.report.run.openmetrics import render_openmetrics
from s3bench.report.run.otava import OTAVA_FILE, render_otava, render_otava_config
from s3bench.report.run.perfetto import render_perfetto
from s3bench.report.run.pyperf import render_pyperf
from s3bench.results.document import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """How a document becomes a format: its function, the usual extension of a file, and one line of what it is for.

    `render_several` renders documents into one file; it is `None` where a file holds one alone. `has_parts`: it holds
    what single nodes of a cluster did too; not so where its readers judge, draw or charge for each result by itself.
    """

    render: Callable[[Document], str]
    extension: str
    description: str
    render_several: Callable[[Sequence[Document]], str] | None = None
    has_parts: bool = False

    def text_of(self, documents: Sequence[Document]) -> str:
        """Render one document, or several into one file."""
        shown = documents if self.has_parts else [each.without_parts() for each in documents]
        if len(shown) > 1 and self.render_several is not None:
            return self.render_several(shown)
        return self.render(shown[0])


def _render_markdowns(documents: Sequence[Document]) -> str:
    """One after the other, an empty line between them."""
    return "\n".join(render_markdown(document) for document in documents)


RENDERINGS: Mapping[Format, Rendering] = MappingProxyType(
    {
        Format.CSV: Rendering(
            render=render_csv,
            extension="csv",
            description="a line for each measurement, every metric a column",
            has_parts=True,
        ),
        Format.MARKDOWN: Rendering(
            render=render_markdown,
            extension="md",
            description="tables for a pull request: medians with intervals",
            render_several=_render_markdowns,
            has_parts=True,
        ),
        Format.PYPERF: Rendering(
            render=render_pyperf, extension="json", description="for `pyperf stats` and `pyperf compare_to`"
        ),
        Format.HYPERFINE: Rendering(
            render=render_hyperfine, extension="json", description="as hyperfine's --export-json; no load runs"
        ),
        Format.GOBENCH: Rendering(
            render=render_gobench, extension="txt", description="Go benchmark text, for benchstat"
        ),
        Format.GITHUB: Rendering(
            render=render_github, extension="json", description="for its customSmallerIsBetter; no throughput"
        ),
        Format.BENCHER: Rendering(
            render=render_bencher, extension="json", description="Bencher Metric Format, for `bencher run`"
        ),
        Format.OPENMETRICS: Rendering(
            render=render_openmetrics, extension="prom", description="OpenMetrics text, for Prometheus: medians"
        ),
        Format.JUNIT: Rendering(
            render=render_junit, extension="xml", description="for CI servers: failed iterations are failed tests"
        ),
        Format.PERFETTO: Rendering(
            render=render_perfetto, extension="json", description="a trace of one iteration of each result"
        ),
        Format.CLOUDWATCH: Rendering(
            render=render_cloudwatch, extension="jsonl", description="input of PutMetricData, one call a line"
        ),
        Format.OTAVA: Rendering(
            render=render_otava,
            extension="csv",
            description="a row for each document, for Apache Otava",
            render_several=lambda documents: render_otava(*documents),
        ),
        Format.OTAVA_CONFIG: Rendering(
            render=render_otava_config,
            extension="yaml",
            description=f"Otava's configuration for these rows, kept as {OTAVA_FILE}",
            render_several=lambda documents: render_otava_config(*documents),
        ),
    }
)
