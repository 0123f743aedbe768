"""Runs `s3bench load merge`: reads results documents, and writes the one of all runs together."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from s3bench.cli.provenance import command_origin
from s3bench.cli.streams import print_styled, print_whole
from s3bench.cli.terminal import stdout_paints, stdout_width
from s3bench.errors import BadInput, ExitCode
from s3bench.load.aggregation.merge import RunPart, merge_runs
from s3bench.report.load.text import render_load
from s3bench.results.document import encode_document
from s3bench.results.file import check_distinct, check_output, read_document, write_document


def merge(files: Sequence[Path], *, output: Path | None, force: bool, as_json: bool) -> None:
    """Merge the documents, write the result to `output`, and print it as JSON or as a table."""
    check_distinct([("-o", output)], read=[("", file) for file in files])
    if output is not None:
        check_output(output, force=force)
    elif force:
        raise BadInput("--force needs -o", "it replaces a file, and none is written", "pass -o FILE, or remove --force")
    parts = [RunPart(name=str(file), document=read_document(file)) for file in files]
    document = merge_runs(parts, command_line=command_origin()["command_line"])
    if output is not None:
        write_document(document, output)
    if as_json or (output is None and not sys.stdout.isatty()):
        print_whole(encode_document(document))
    elif output is None or sys.stdout.isatty():
        width, color = stdout_width(), stdout_paints()
        print_styled(render_load(document, width=width, color=color))
        if output is None:
            click.echo("s3bench: the results were not saved; use -o FILE", err=True)
    raise click.exceptions.Exit(ExitCode.CLIENT_FAILED if document.has_failures else ExitCode.DONE)
