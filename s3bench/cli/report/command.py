"""`s3bench report`: results as tables, as a page, and in the formats of other tools."""

from pathlib import Path

import click

from s3bench.report.formats import HTML, Format

_PAGE_SUFFIXES = frozenset({".html", ".htm"})


@click.command("report", context_settings={"max_content_width": 120})
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="RESULTS.json...")
@click.option(
    "--format",
    "form",
    type=click.Choice([*(each.value for each in Format), HTML]),
    metavar="NAME",
    help="Write this format instead of tables; --list-formats lists them.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE, which must not exist."
)
@click.option(
    "-k",
    "benchmarks",
    metavar="EXPRESSION",
    default="",
    help="Only benchmarks whose name, dimensions, tags or client contain these words; and, or, not, parentheses.",
)
@click.option("--svg", type=click.Path(path_type=Path), metavar="DIR", help="Draw every chart of the page into DIR.")
@click.option("--png", type=click.Path(path_type=Path), metavar="DIR", help="The same as PNG, two pixels for one.")
@click.option("--force", is_flag=True, help="Let -o replace a file that exists, and --svg and --png fill a directory.")
@click.option("--list-formats", is_flag=True, help="Print each format, the usual extension, and what it is for.")
def report_command(
    files: tuple[Path, ...],
    *,
    form: str | None,
    output: Path | None,
    benchmarks: str,
    svg: Path | None,
    png: Path | None,
    force: bool,
    list_formats: bool,
) -> None:
    """Show results documents as tables, as a page, or write them in a format that other tools read.

    \b
    s3bench report results.json                                       tables of medians
    s3bench report results.json -o page.html                          charts and tables, in one file
    s3bench report before.json after.json -o page.html                what changed, first
    s3bench report results.json -k 'cp and 32MB' -o page.html         all charts of a few benchmarks
    s3bench report results.json --format csv -o results.csv           every measurement, for a spreadsheet
    s3bench report results.json --format markdown                     for a pull request
    s3bench report before.json --format pyperf -o before.pyperf.json  then: pyperf compare_to
    s3bench report before.json --format gobench -o before.txt         then: benchstat before.txt after.txt

    A page is made of results documents, of other tools' results that `s3bench compare` reads, of the record of a gate
    or a bisection, and of a study of `s3bench tune`.

    Values are medians with their 95 % intervals where a format has one value for a result. What a format cannot hold
    is left out, and failed iterations are counted on stderr.

    Exit code 0 whatever the figures are; 2 when a file cannot be read, or has nothing that the format can hold.
    """
    from s3bench.cli.report.action import ReportOptions, print_formats, report

    if list_formats:
        print_formats()
        return
    if form is None and output is not None and output.suffix.lower() in _PAGE_SUFFIXES:
        form = HTML
    directories = {name: directory for name, directory in (("svg", svg), ("png", png)) if directory is not None}
    report(
        files,
        ReportOptions(form=form, output=output, benchmarks=benchmarks, directories=directories, force=force),
    )
