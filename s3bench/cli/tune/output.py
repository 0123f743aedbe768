"""Prints the result of a tuning as a table or JSON, and writes it as Markdown; files are checked before it runs."""

import shlex
from collections.abc import Callable, Iterator, Sequence

import click
import msgspec

from s3bench.cli.streams import print_styled, print_whole
from s3bench.cli.terminal import stdout_paints, stdout_width
from s3bench.cli.tune.options import RUN_LIMIT_S, TuneOptions
from s3bench.errors import S3BenchError
from s3bench.report.tune.clients import render_clients, render_clients_markdown
from s3bench.report.tune.markdown import render_markdown
from s3bench.report.tune.text import render_study_result
from s3bench.results.encoding import pretty_json
from s3bench.results.file import check_distinct, check_output, write_whole
from s3bench.tune.client_table import ClientTable, client_table
from s3bench.tune.conclusion import conclude
from s3bench.tune.study import Stage, Study
from s3bench.tune.study_result import StudyResult


class TuneOutput:
    """The files and the stdout of one tuning. Raises `BadInput` at once where a file could not be written."""

    def __init__(self, options: TuneOptions) -> None:
        self._options = options
        read = (("--resume", options.resume), ("--replay", options.replay), ("--like", options.like))
        check_distinct([("--study", options.study), ("--markdown", options.markdown)], read=read)
        for path in (options.markdown, options.study):
            if path is not None:
                check_output(path, force=options.force)

    def finish(self, study: Study, *, has_ended: bool) -> StudyResult:
        """Print the result of `study`. Raises `S3BenchError` when no run of it succeeded."""
        others = self._options.others(study.header.workload, is_live=study.header.network is None)
        answer = conclude(study, [(other.workload, other.network) for other in others], has_ended=has_ended)
        if self._options.markdown is not None:
            write_whole(render_markdown(answer).encode(), self._options.markdown)
        self._print(
            answer,
            lambda width, color: render_study_result(answer, width=width, color=color, verbose=self._options.verbose),
        )
        if self._options.is_new and self._options.study is None:
            click.echo("s3bench: trials were not saved; use --study FILE", err=True)
        return answer

    def interrupted(self, study: Study) -> None:
        """Print the result of the trials so far, and how to continue."""
        if study.of(Stage.SEARCH):
            try:
                self.finish(study, has_ended=False)
            except S3BenchError as error:
                click.echo(f"s3bench: so far, {error.what}", err=True)
        kept = self._options.study or self._options.resume
        if kept is not None:
            go_on = shlex.join(("s3bench", "tune", "--resume", str(kept), *self._not_in_study()))
            click.echo(f"s3bench: {len(study.trials)} trials are saved; continue with: {go_on}", err=True)

    def _not_in_study(self) -> Iterator[str]:
        """The options that are not in the file of a study; it has the budget with which it began."""
        options = self._options
        if options.resume is not None and options.budget is not None:
            yield from ("--budget", str(options.budget))
        if options.timeout != RUN_LIMIT_S:
            yield from ("--timeout", f"{options.timeout:.12g}s")
        if options.allow_unsandboxed:
            yield "--allow-unsandboxed"

    def compared(self, studies: Sequence[Study]) -> ClientTable:
        """Print the comparison of clients."""
        table = client_table([(study.header.workload, study.of(Stage.SEARCH)) for study in studies])
        if self._options.markdown is not None:
            write_whole(render_clients_markdown(table).encode(), self._options.markdown)
        self._print(table, lambda width, color: render_clients(table, width=width, color=color))
        return table

    def _print(self, content: msgspec.Struct, render: Callable[[int, bool], str]) -> None:
        if self._options.as_json:
            print_whole(pretty_json(content, indent=1), is_measured=True)
            return
        print_styled(render(stdout_width(), stdout_paints()))
