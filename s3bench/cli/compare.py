"""`s3bench compare`: compares results documents, or groups within them."""

import gc
import shutil
import sys
from pathlib import Path

import click
import msgspec

from s3bench.cli.streams import print_styled, print_whole
from s3bench.compare.comparison import DEFAULT_METRICS, Comparison, compare
from s3bench.compare.matching import DocumentSource
from s3bench.errors import BadInput
from s3bench.report.comparison.markdown import render_markdown
from s3bench.report.comparison.table import render_comparison
from s3bench.results.collection import without_collection
from s3bench.results.document import Document
from s3bench.results.file import read_whole
from s3bench.results.foreign import read_any

_INDENT = 2


@click.command("compare", context_settings={"max_content_width": 120})
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="BASE.json [OTHER.json]...")
@click.option(
    "--by",
    metavar="DIMENSION",
    help="Compare the values of a dimension, or of `client`, within the documents; the first value is the baseline.",
)
@click.option("--baseline", metavar="VALUE", help="With --by: the value that the others are compared with.")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help=f"Only this metric; repeat for several; `all` for every metric.  [default: {', '.join(DEFAULT_METRICS)}]",
)
@click.option("--all", "show_all", is_flag=True, help="Also show the rows without a difference.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON, with all rows.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown, for example for a pull request.")
def compare_command(
    files: tuple[Path, ...],
    *,
    by: str | None,
    baseline: str | None,
    metrics: tuple[str, ...],
    show_all: bool,
    as_json: bool,
    as_markdown: bool,
) -> None:
    """Compare results documents with the first one: what got slower, what needs more memory, what is undetermined.

    \b
    s3bench compare before.json after.json             compare the second with the first
    s3bench compare results.json --by client           compare every client with the first one
    s3bench compare results.json --by S3TransferClient --baseline Classic
    s3bench compare before.json after.json --metric throughput --markdown

    Exit codes: 0 whatever the figures are (use `s3bench gate` for a verdict); 2 if there is nothing to compare.
    """
    if as_json and as_markdown:
        raise BadInput("--json cannot be combined with --markdown", fix="remove one of them")
    if not files:
        raise BadInput("no results document was given", fix="pass two: s3bench compare before.json after.json")
    with without_collection():
        sources = tuple(DocumentSource(name=str(file), document=_read(file)) for file in files)
        comparison = compare(sources, metrics=metrics or DEFAULT_METRICS, by=by, baseline=baseline)
        if as_json:
            print_whole(msgspec.json.format(msgspec.json.encode(comparison), indent=_INDENT) + b"\n")
        else:
            print_styled(_rendered(comparison, as_markdown=as_markdown, show_all=show_all))
        gc.freeze()  # the process ends here; do not search the documents for garbage at exit


def _rendered(comparison: Comparison, *, as_markdown: bool, show_all: bool) -> str:
    if as_markdown:
        return render_markdown(comparison, show_all=show_all)
    width = shutil.get_terminal_size().columns
    return render_comparison(comparison, width=width, color=sys.stdout.isatty(), show_all=show_all)


def _read(file: Path) -> Document:
    """A results document of s3bench, or of another tool whose format is known."""
    return read_any(read_whole(file, of="a results document"), source=str(file))
