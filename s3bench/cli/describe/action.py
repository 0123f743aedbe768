"""Prints the sizes of files as a document, and a summary of it on stderr."""

import sys
from decimal import ROUND_CEILING, Context, Decimal
from pathlib import Path

import click

from s3bench.cli.streams import print_whole
from s3bench.errors import BadInput
from s3bench.run.description import DescribedFiles, describe_content, describe_path
from s3bench.spec.file_sizes import sizes_words
from s3bench.spec.sizes_document import encode_sizes

_STDIN = "-"


def describe(path: str, *, quiet: bool) -> None:
    """Describe a directory or a listing; `-` is a listing on stdin. Raises `BadInput`."""
    if not path:
        raise BadInput("the path to describe is empty", fix="for the current directory, write: s3bench describe .")
    found = _from_stdin() if path == _STDIN else describe_path(Path(path))
    print_whole(encode_sizes(found.document))
    for line in found.warnings:
        click.echo(f"s3bench: warning: {line}", err=True)
    if not quiet:
        click.echo(f"s3bench: {_summary(found)}", err=True)


def _from_stdin() -> DescribedFiles:
    if sys.stdin.isatty():
        raise BadInput("no listing on stdin", fix="aws s3 ls --recursive s3://bucket | s3bench describe -")
    return describe_content(sys.stdin.buffer.read(), source="stdin")


def _summary(found: DescribedFiles) -> str:
    error, folders = found.document.size_error_max, found.document.folders
    percent = Context(prec=2, rounding=ROUND_CEILING).create_decimal(100 * Decimal(str(error)))
    exact = f"sizes within {percent:f}%" if error else "all sizes exact"
    return f"{sizes_words(found.sizes)}; {folders:,} folder{'' if folders == 1 else 's'}; {exact}"
