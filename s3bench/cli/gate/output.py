"""Writes a gate's record and reports; where they go is checked before anything runs."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path, PurePosixPath
from time import monotonic

import click
from msgspec.structs import replace

from s3bench.cli.gate.options import GateOptions
from s3bench.cli.keeping import GrowingFile, why_stopped
from s3bench.cli.progress import is_beside_results
from s3bench.cli.streams import print_styled, print_whole, unescaped
from s3bench.cli.terminal import stdout_paints, stdout_width
from s3bench.errors import BadInput, MachineError, S3BenchError
from s3bench.gate.record import GateRecord, encode_record
from s3bench.report.gate.annotations import render_annotations
from s3bench.report.gate.junit import render_junit
from s3bench.report.gate.markdown import render_comment, render_summary
from s3bench.report.gate.text import render_gate
from s3bench.results.file import check_distinct, check_output, rescue, write_whole

_KEEP_EVERY_S = 5.0


def check_written(options: GateOptions) -> None:
    """Check, before anything runs, that every file can be written and that none has two purposes. Raises `BadInput`."""
    check_distinct(options.written, read=options.read)
    for option, path in options.written:
        if option == "--markdown":
            _check_appendable(path)
        else:
            check_output(path, force=options.force)


def _check_appendable(path: Path) -> None:
    if path.is_dir():
        raise BadInput(f"cannot write to {path}: it is a directory", fix=f"pass a file, for example {path}/summary.md")
    if not path.parent.is_dir():
        raise BadInput(f"cannot write to {path}: {path.parent} is not a directory", fix="create that directory first")
    written = path if path.exists() else path.parent
    if not os.access(written, os.W_OK):
        raise BadInput(
            f"cannot write to {path}: {'it' if written == path else written} is not writable",
            fix="pass another file, or change the permissions",
        )


class GateOutput:
    """The files and the stdout of one gate. Raises `BadInput` at once where a file could not be written."""

    def __init__(self, options: GateOptions) -> None:
        self._options = options
        self._file = GrowingFile(options.output)
        self._kept_at_s = -_KEEP_EVERY_S
        self._said: tuple[str, ...] = ()
        check_written(options)

    def keep(self, record: GateRecord) -> None:
        """Put what was measured so far where a crash does not lose it, now and then."""
        if self._options.output is None or monotonic() - self._kept_at_s < _KEEP_EVERY_S:
            return
        self._file.save(encode_record(record), durable=False)
        self._kept_at_s = monotonic()

    def said(self, warnings: tuple[str, ...]) -> None:
        """Take note of warnings that were printed at the start; a table on the same terminal does not repeat them."""
        self._said = warnings if is_beside_results(quiet=self._options.quiet) else ()

    def stopped(self, record: GateRecord, error: BaseException) -> None:
        """Keep what was measured until this error, and the verdict that it allows: without -o in a temporary file.

        Where it is the verdict that cannot be drawn, there is none; a replay by a mended s3bench has it.
        """
        if not record.cells:
            return
        record = replace(record, stopped=why_stopped(error))
        with suppress(Exception):
            record = record.concluded()
        content = encode_record(record)
        self._file.save(content)
        if self._options.output is None:
            click.echo(f"s3bench: {rescue(content)}", err=True)

    def finish(self, record: GateRecord) -> None:
        """Save the record, print it or the table, and write every report that was asked for.

        What cannot be written keeps nothing else from being written. Raises `MachineError` about all of it at the end.
        """
        options = self._options
        failures: list[S3BenchError] = []
        with _collected(failures):
            self._file.save(encode_record(record))
        with _collected(failures):
            self._print(record, kept=None if failures else options.output or options.replay)
        if options.annotations:
            source_of = partial(_source_in, Path.cwd(), record.candidate.label)
            unescaped(sys.stderr).write(render_annotations(record, source_of=source_of))
        if options.junit is not None:
            with _collected(failures):
                write_whole(render_junit(record), options.junit)
        if options.comment is not None:
            with _collected(failures):
                write_whole(render_comment(record).encode(), options.comment)
        if options.markdown is not None:
            with _collected(failures):
                _append(render_summary(record), options.markdown)
        if failures:
            raise MachineError("\n".join(map(str, failures)))

    def _print(self, record: GateRecord, *, kept: Path | None) -> None:
        if self._options.as_json:
            print_whole(encode_record(record), is_measured=True)
            return
        verbose, said = self._options.verbose, self._said
        width, color = stdout_width(), stdout_paints()
        text = render_gate(record, width=width, color=color, verbose=verbose, kept=kept, said=said)
        print_styled(text, unsaved=None if kept else partial(encode_record, record))


@contextmanager
def _collected(failures: list[S3BenchError]) -> Iterator[None]:
    try:
        yield
    except S3BenchError as error:
        failures.append(error)


def _source_in(root: Path, candidate: str, file: str) -> str:
    """A module's file as a path in the checkout at `root`; only a candidate named by a path may be of that checkout."""
    path = PurePosixPath(file)
    if "/" not in candidate or not file or path.is_absolute() or ".." in path.parts:
        return ""
    return next((str(found) for found in (path, PurePosixPath("src", path)) if (root / found).is_file()), "")


def _append(text: str, path: Path) -> None:
    """GitHub gives a step an empty file for its summary, and several commands may add to it."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise MachineError(f"cannot write to {path}", error.strerror or str(error)) from error
