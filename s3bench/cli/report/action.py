"""Writes results as tables, as a page, and in the formats of other tools."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from s3bench.cli.report.inputs import narrowed, read_inputs
from s3bench.cli.streams import print_styled, print_whole
from s3bench.cli.terminal import stdout_paints, stdout_width
from s3bench.errors import BadInput
from s3bench.extras import needs_extra
from s3bench.report.formats import HTML, Format
from s3bench.report.gate.markdown import COMMENT_CHARACTERS_MAX
from s3bench.report.load.text import render_load
from s3bench.report.rendering import RENDERINGS
from s3bench.report.run.figures import failures_in_words
from s3bench.report.run.otava import gaps_in_words
from s3bench.report.run.text import render_table
from s3bench.report.terminal import printable
from s3bench.results.document import Document
from s3bench.results.file import check_distinct, check_output, read_whole, write_whole
from s3bench.results.foreign import read_any
from s3bench.units import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """What to make of the documents. `directories` are those of charts, by the extension of their files."""

    form: str | None
    output: Path | None
    benchmarks: str
    directories: Mapping[str, Path]
    force: bool


def report(files: Sequence[Path], options: ReportOptions) -> None:
    """Write the tables, the page or the format that `options` ask for."""
    if options.form == HTML or options.directories:
        _draw(files, options)
        return
    form, output = options.form, options.output
    _check(files, form=form, output=output)
    _check_written(files, options)
    read = [(str(file), read_any(read_whole(file, of="a results document"), source=str(file))) for file in files]
    documents = [document for _, document in narrowed(read, options.benchmarks)]
    if form is None:
        print_styled(_tables(files, documents))
        return
    text = RENDERINGS[Format(form)].text_of(documents)
    _give(text, output)
    for line in (*_shortfalls(files, documents), *_gaps(documents, form), *_too_long(text, form)):
        click.echo(f"s3bench: {line}", err=True)


def print_formats() -> None:
    """Print each format, the usual extension, and what it is for."""
    click.echo("\n".join(_format_lines()))


def _draw(files: Sequence[Path], options: ReportOptions) -> None:
    """Make the page, and draw its charts into files, as far as either is asked for."""
    with needs_extra("a page with charts", "charts"):
        from s3bench.cli.report import page  # noqa: PLC0415 (loads what draws charts, and only a page needs it)

    form, output = options.form, options.output
    _check(files, form=None if form == HTML else form, output=None)
    if form not in {None, HTML} or (output is not None and form is None):
        raise BadInput(
            "--svg and --png draw the charts of the HTML page; they cannot be combined with other formats",
            fix="Remove --format, or use -o page.html",
        )
    _check_written(files, options)
    for directory in options.directories.values():
        page.check_directory(directory, force=options.force)
    inputs = read_inputs(files, benchmarks=options.benchmarks)
    sections = page.sections_of(inputs)
    if options.directories and not page.has_charts(sections):
        raise BadInput("there is no chart to draw", "no measurement has figures", "pass a document with measurements")
    if form == HTML:
        _give(page.page_html(inputs, sections), output)
    for extension, directory in options.directories.items():
        count = page.write_charts(sections, directory, extension=extension)
        click.echo(f"s3bench: {counted(count, 'chart')} in {printable(str(directory))}", err=True)


def _give(text: str, output: Path | None) -> None:
    if output is not None:
        write_whole(text.encode(), output)
    else:
        print_whole(text.encode())


def _check(files: Sequence[Path], *, form: str | None, output: Path | None) -> None:
    if not files:
        raise BadInput("no results document was given", fix="Pass at least one: s3bench report results.json")
    if output is not None and form is None:
        raise BadInput(f"the format of {output} is unknown", fix=f"Pass {_formats_of(output.suffix)}")
    if form is not None and len(files) > 1 and RENDERINGS[Format(form)].render_several is None:
        raise BadInput(
            f"--format {form} holds one document; {len(files)} were given",
            "its readers take a file for each run",
            "Run the command once for each document, with -o",
        )


def _formats_of(suffix: str) -> str:
    """The option with the formats whose files usually end with `suffix`, and where all formats are described."""
    names = [str(form) for form, rendering in RENDERINGS.items() if suffix.lower() == f".{rendering.extension}"]
    *most, last = names or ["NAME"]
    named = f"{', '.join(most)} or {last}" if most else last
    return f"--format {named}; s3bench report --list-formats describes the formats"


def _check_written(files: Sequence[Path], options: ReportOptions) -> None:
    check_distinct([("-o", options.output)], read=[("", file) for file in files])
    if options.output is not None:
        check_output(options.output, force=options.force)


def _format_lines() -> Iterator[str]:
    width = max(map(len, RENDERINGS))
    for form, rendering in RENDERINGS.items():
        yield f"{form:{width}}  .{rendering.extension:5} {rendering.description}"
    yield f"{HTML:{width}}  .{HTML:5} one page with charts and tables, for people; -o NAME.html is enough"


def _tables(files: Sequence[Path], documents: Sequence[Document]) -> str:
    """The table of each document, below its name where there are several."""
    tables = [_table(document) for document in documents]
    if len(tables) == 1:
        return tables[0]
    return "\n".join(f"{printable(str(file))}\n{table}" for file, table in zip(files, tables, strict=True))


def _table(document: Document) -> str:
    width, color = stdout_width(), stdout_paints()
    render = render_load if document.is_of_load else render_table
    return render(document, width=width, color=color)


def _gaps(documents: Sequence[Document], form: str) -> Iterator[str]:
    """A line where Otava's rows lack what only some of the documents have."""
    if form not in {Format.OTAVA, Format.OTAVA_CONFIG}:
        return
    words = gaps_in_words([each.without_parts() for each in documents])
    if words:
        yield words


def _too_long(text: str, form: str) -> Iterator[str]:
    """A line where the Markdown is longer than a comment on GitHub may be."""
    if form == Format.MARKDOWN and len(text) > COMMENT_CHARACTERS_MAX:
        yield (
            f"the Markdown has {len(text):,} characters, and a comment on GitHub may have {COMMENT_CHARACTERS_MAX:,}: "
            "select fewer benchmarks with -k"
        )


def _shortfalls(files: Sequence[Path], documents: Sequence[Document]) -> Iterator[str]:
    """What a file does not show: results without a measurement, and failures."""
    for file, document in zip(files, documents, strict=True):
        results = document.without_parts().results
        empty = sum(not result.measurements for result in results)
        failed = failures_in_words(results)
        words = [f"{empty} of {len(results)} results without a measurement"] if empty else []
        words += [failed] if failed else []
        if words:
            yield f"{printable(str(file))}: {', '.join(words)}"
