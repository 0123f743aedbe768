"""`s3bench report`: results as tables, as a page, and in the formats of other tools."""

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from s3bench.cli.report.inputs import narrowed, read_inputs
from s3bench.cli.streams import print_whole
from s3bench.errors import BadInput
from s3bench.report.formats import RENDERINGS, Format
from s3bench.report.gate.markdown import COMMENT_CHARACTERS_MAX
from s3bench.report.load.matrix import cells, render_matrix
from s3bench.report.load.table import render_load
from s3bench.report.run.table import render_table
from s3bench.report.terminal import printable
from s3bench.results.document import Document
from s3bench.results.file import check_output, read_document, write_whole

_HTML = "html"
_PAGE_SUFFIXES = frozenset({".html", ".htm"})


@click.command("report", context_settings={"max_content_width": 120})
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="RESULTS.json...")
@click.option(
    "--format",
    "form",
    type=click.Choice([*(each.value for each in RENDERINGS), _HTML]),
    metavar="NAME",
    help="Write this format instead of tables; --list-formats tells which there are.",
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

    A page is made of results documents, of other tools' results that `s3bench compare` reads, of a gate's record and
    of a study of `s3bench tune`.

    Values are medians with their 95 % intervals where a format has one value for a result. What a format cannot hold
    is left out, and failed iterations are counted on stderr.

    Exit code 0 whatever the figures say; 2 when a file cannot be read, or holds nothing that the format can.
    """
    if list_formats:
        click.echo("\n".join(_format_lines()))
        return
    if form is None and output is not None and output.suffix.lower() in _PAGE_SUFFIXES:
        form = _HTML
    if form == _HTML or svg is not None or png is not None:
        wanted = {"svg": svg, "png": png}
        _draw(files, form=form, output=output, benchmarks=benchmarks, directories=wanted, force=force)
        return
    _check(files, form=form, output=output)
    if output is not None:
        check_output(output, force=force)
    read = [(str(file), read_document(file)) for file in files]
    documents = [document for _, document in narrowed(read, benchmarks)]
    text = _tables(files, documents) if form is None else RENDERINGS[Format(form)].text_of(documents)
    _give(text, output)
    if form is not None:
        for line in (*_shortfalls(files, documents), *_too_long(text, form)):
            click.echo(f"s3bench: {line}", err=True)


def _draw(
    files: Sequence[Path],
    *,
    form: str | None,
    output: Path | None,
    benchmarks: str,
    directories: Mapping[str, Path | None],
    force: bool,
) -> None:
    """Make the page, and draw its charts into files, as far as either is asked for."""
    from s3bench.cli.report import page

    _check(files, form=None if form == _HTML else form, output=None)
    if form not in {None, _HTML} or (output is not None and form is None):
        raise BadInput(
            "charts are of the page, and it is to be written as something else",
            fix="give -o page.html, or leave -o and --format out to draw the charts alone",
        )
    if output is not None:
        check_output(output, force=force)
    wanted = {extension: directory for extension, directory in directories.items() if directory is not None}
    for directory in wanted.values():
        page.check_directory(directory, force=force)
    inputs = read_inputs(files, benchmarks=benchmarks)
    sections = page.sections_of(inputs)
    if form == _HTML:
        _give(page.page_html(inputs, sections), output)
    for extension, directory in wanted.items():
        count = page.write_charts(sections, directory, extension=extension)
        click.echo(f"s3bench: {count} charts in {printable(str(directory))}", err=True)


def _give(text: str, output: Path | None) -> None:
    if output is not None:
        write_whole(text.encode(), output)
    else:
        print_whole(text.encode())


def _check(files: Sequence[Path], *, form: str | None, output: Path | None) -> None:
    if not files:
        raise BadInput("no results document was given", fix="name one: s3bench report results.json")
    if output is not None and form is None:
        raise BadInput(
            f"it is not said as what {output} is to be written",
            fix="add --format NAME; s3bench report --list-formats tells the names",
        )
    if form is not None and len(files) > 1 and RENDERINGS[Format(form)].render_several is None:
        raise BadInput(
            f"--format {form} holds one document; {len(files)} were named",
            "its readers take a file for each run",
            "call it once for each document, with -o",
        )


def _format_lines() -> Iterator[str]:
    width = max(map(len, RENDERINGS))
    for form, rendering in RENDERINGS.items():
        yield f"{form:{width}}  .{rendering.extension:5} {rendering.description}"
    yield f"{_HTML:{width}}  .{_HTML:5} one page with charts and tables, for people; -o NAME.html alone says it"


def _tables(files: Sequence[Path], documents: Sequence[Document]) -> str:
    """The table of each document, below its name where there are several."""
    tables = [_table(document) for document in documents]
    if len(tables) == 1:
        return tables[0]
    return "\n".join(f"{printable(str(file))}\n{table}" for file, table in zip(files, tables, strict=True))


def _table(document: Document) -> str:
    width, color = shutil.get_terminal_size().columns, sys.stdout.isatty()
    if not document.is_of_load:
        return render_table(document, width=width, color=color)
    render = render_matrix if cells(document) else render_load
    return render(document, width=width, color=color)


def _too_long(text: str, form: str) -> Iterator[str]:
    """Say where Markdown is longer than GitHub takes as a comment."""
    if form == Format.MARKDOWN and len(text) > COMMENT_CHARACTERS_MAX:
        yield (
            f"the Markdown has {len(text):,} characters, and a comment on GitHub takes {COMMENT_CHARACTERS_MAX:,}: "
            "pick fewer benchmarks with -k"
        )


def _shortfalls(files: Sequence[Path], documents: Sequence[Document]) -> Iterator[str]:
    """What the figures in a file do not tell: results without any, and failed iterations."""
    for file, document in zip(files, documents, strict=True):
        results = document.without_parts().results
        empty = sum(not result.measurements for result in results)
        failed = sum(len({failure.iteration for failure in result.errors}) for result in results)
        words = [f"{empty} of {len(results)} results without a measurement"] if empty else []
        words += [f"{failed} failed iteration{'s' * (failed != 1)}"] if failed else []
        if words:
            yield f"{printable(str(file))}: {', '.join(words)}"
