"""`s3bench compare`: compares results documents, or groups within them."""

from pathlib import Path

import click

from s3bench.compare.metrics import DEFAULT_METRICS
from s3bench.errors import BadInput


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
    from s3bench.cli.compare.action import print_comparison

    print_comparison(
        files,
        by=by,
        baseline=baseline,
        metrics=metrics,
        show_all=show_all,
        as_json=as_json,
        as_markdown=as_markdown,
    )
