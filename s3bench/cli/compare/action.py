"""Prints the comparison of results documents, or of groups within them."""

import gc
from collections.abc import Sequence
from pathlib import Path

from s3bench.cli.streams import print_styled, print_whole
from s3bench.cli.terminal import stdout_paints, stdout_width
from s3bench.compare.comparison import Comparison, compare
from s3bench.compare.matching import DocumentSource
from s3bench.compare.metrics import DEFAULT_METRICS
from s3bench.report.comparison.markdown import render_markdown
from s3bench.report.comparison.text import render_comparison
from s3bench.results.collection import without_collection
from s3bench.results.document import Document
from s3bench.results.encoding import pretty_json
from s3bench.results.file import read_whole
from s3bench.results.foreign import read_any


def print_comparison(
    files: Sequence[Path],
    *,
    by: str | None,
    baseline: str | None,
    metrics: Sequence[str],
    show_all: bool,
    as_json: bool,
    as_markdown: bool,
) -> None:
    """Print how `files` compare: as a table, as Markdown or as JSON."""
    with without_collection():
        sources = tuple(DocumentSource(name=str(file), document=_read(file)) for file in files)
        comparison = compare(sources, metrics=metrics or DEFAULT_METRICS, by=by, baseline=baseline)
        if as_json:
            print_whole(pretty_json(comparison))
        else:
            print_styled(_rendered(comparison, as_markdown=as_markdown, show_all=show_all))
        gc.freeze()  # the process ends here; do not search the documents for garbage at exit


def _rendered(comparison: Comparison, *, as_markdown: bool, show_all: bool) -> str:
    if as_markdown:
        return render_markdown(comparison, show_all=show_all)
    width = stdout_width()
    return render_comparison(comparison, width=width, color=stdout_paints(), show_all=show_all)


def _read(file: Path) -> Document:
    """A results document of s3bench, or of another tool whose format is known."""
    return read_any(read_whole(file, of="a results document"), source=str(file))
