"""Writes the results of `s3bench run`: to a file after every iteration, to stdout at the end, as JSON or a table.

With -q and without a table, failures are printed to stderr at the end, or nothing would say why the exit code is 4.
"""

import sys
from collections.abc import Iterator

import click

from s3bench.cli.keeping import GrowingFile
from s3bench.cli.progress import is_beside_results
from s3bench.cli.run.options import RunOptions
from s3bench.cli.streams import print_styled, print_whole
from s3bench.cli.terminal import stdout_paints, stdout_width
from s3bench.report.run.text import render_table, result_line
from s3bench.results.document import Document, encode_document
from s3bench.units import counted

_FAILED_SHOWN_MAX = 10


class RunOutput:
    """Where the results go; `latest` is what was saved last."""

    def __init__(self, options: RunOptions) -> None:
        self._output = options.output
        self._file = GrowingFile(options.output)
        self._wants_json = options.as_json or (options.output is None and not sys.stdout.isatty())
        self.latest: Document | None = None
        self._quiet = options.quiet
        self._said: tuple[str, ...] = ()

    def said(self, warnings: tuple[str, ...]) -> None:
        """Take note of warnings that were printed at the start; a table on the same terminal does not repeat them."""
        self._said = warnings if is_beside_results(quiet=self._quiet) else ()

    def save(self, document: Document, *, durable: bool) -> None:
        """Write what there is so far into the file, if there is one."""
        self.latest = document
        if self._output is not None:
            self._file.save(encode_document(document), durable=durable)

    def finish(self, document: Document, *, losses: tuple[str, ...] = ()) -> None:
        """Write the whole, where it is wanted; `losses` are sentences about nodes that were lost on the way."""
        if self._output is not None:
            self._file.save(encode_document(document))
        if self._wants_json:
            print_whole(encode_document(document), is_measured=True)
        elif self._output is None or sys.stdout.isatty():
            width = stdout_width()
            print_styled(render_table(document, width=width, color=stdout_paints(), said=self._said))
            if self._output is None:
                click.echo("s3bench: results were not saved; use -o FILE", err=True)
            return
        if self._quiet:
            for line in (*losses, *self._failed(document)):
                click.echo(f"s3bench: {line}", err=True)

    def _failed(self, document: Document) -> Iterator[str]:
        """The first results with failures, a line each, and where the others are."""
        failed = [result for result in document.results if result.errors]
        yield from map(result_line, failed[:_FAILED_SHOWN_MAX])
        if more := failed[_FAILED_SHOWN_MAX:]:
            where = self._output or "the document on stdout"
            yield f"the failures of {counted(len(more), 'more result')} are in {where}"
