"""`s3bench report`: results documents as tables, and in the formats of other tools."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from s3bench.errors import BadInput
from s3bench.report.formats import RENDERINGS, Format
from s3bench.report.load_matrix import cells, render_matrix
from s3bench.report.load_table import render_load
from s3bench.report.table import render_table
from s3bench.report.terminal import printable
from s3bench.results.document import Document
from s3bench.results.file import check_output, read_document, write_whole


@click.command("report", context_settings={"max_content_width": 120})
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="RESULTS.json...")
@click.option(
    "--format",
    "form",
    type=click.Choice([each.value for each in RENDERINGS]),
    metavar="NAME",
    help="Write this format instead of tables; --list-formats tells which there are.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE, which must not exist."
)
@click.option("--force", is_flag=True, help="Let -o replace a file that exists.")
@click.option("--list-formats", is_flag=True, help="Print each format, the usual extension, and what it is for.")
def report_command(
    files: tuple[Path, ...], *, form: str | None, output: Path | None, force: bool, list_formats: bool
) -> None:
    """Show results documents as tables, or write them in a format that other tools read.

    \b
    s3bench report results.json                                       tables of medians
    s3bench report results.json --format csv -o results.csv           every measurement, for a spreadsheet
    s3bench report results.json --format markdown                     for a pull request
    s3bench report before.json --format pyperf -o before.pyperf.json  then: pyperf compare_to
    s3bench report before.json --format gobench -o before.txt         then: benchstat before.txt after.txt

    Values are medians with their 95 % intervals where a format has one value for a result. What a format cannot hold
    is left out, and failed iterations are counted on stderr.

    Exit code 0 whatever the figures say; 2 when a file cannot be read, or holds nothing that the format can.
    """
    if list_formats:
        click.echo("\n".join(_format_lines()))
        return
    _check(files, form=form, output=output)
    if output is not None:
        check_output(output, force=force)
    documents = [read_document(file) for file in files]
    text = _tables(files, documents) if form is None else _joined(documents, Format(form))
    if output is not None:
        write_whole(text.encode(), output)
    else:
        sys.stdout.buffer.write(text.encode())  # as it is: CSV has line ends of its own
        sys.stdout.buffer.flush()
    if form is not None:
        for line in _shortfalls(files, documents):
            click.echo(f"s3bench: {line}", err=True)


def _check(files: Sequence[Path], *, form: str | None, output: Path | None) -> None:
    if not files:
        raise BadInput("no results document was named", fix="name one: s3bench report results.json")
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


def _joined(documents: Sequence[Document], form: Format) -> str:
    rendering = RENDERINGS[form]
    if len(documents) > 1 and rendering.render_several is not None:
        return rendering.render_several(documents)
    return rendering.render(documents[0])


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


def _shortfalls(files: Sequence[Path], documents: Sequence[Document]) -> Iterator[str]:
    """What the figures in a file do not tell: results without any, and failed iterations."""
    for file, document in zip(files, documents, strict=True):
        empty = sum(not result.measurements for result in document.results)
        failed = sum(len({failure.iteration for failure in result.errors}) for result in document.results)
        words = [f"{empty} of {len(document.results)} results without a measurement"] if empty else []
        words += [f"{failed} failed iteration{'s' * (failed != 1)}"] if failed else []
        if words:
            yield f"{printable(str(file))}: {', '.join(words)}"
