"""Writes the results of `s3bench run`: to a file after every iteration, to stdout at the end, as JSON or a table."""

import sys

import click

from s3bench.cli.progress import is_beside_results
from s3bench.cli.run.options import RunOptions
from s3bench.cli.streams import print_styled, print_whole
from s3bench.cli.terminal import stdout_paints, stdout_width
from s3bench.report.run.text import render_table
from s3bench.results.document import Document, encode_document
from s3bench.results.file import write_document


class RunOutput:
    """Where the results go; `latest` is what was saved last."""

    def __init__(self, options: RunOptions) -> None:
        self._output = options.output
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
            write_document(document, self._output, durable=durable)

    def finish(self, document: Document) -> None:
        """Write the whole, where it is wanted."""
        if self._output is not None:
            write_document(document, self._output)
        if self._wants_json:
            print_whole(encode_document(document), is_measured=True)
        elif self._output is None or sys.stdout.isatty():
            width = stdout_width()
            print_styled(render_table(document, width=width, color=stdout_paints(), said=self._said))
            if self._output is None:
                click.echo("s3bench: results were not saved; use -o FILE", err=True)
