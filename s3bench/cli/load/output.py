"""Writes the results of `s3bench load`: the document, stdout in the requested format, and a line per second.

The document is written again after every phase, so that a crash loses at most the running one. That of a run that ends
early has a warning and no end, like that of a run of clients.
"""

import glob
import os
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Self, TextIO

import click
import msgspec

import s3bench
from s3bench.cli.load.options import Form, LoadOptions
from s3bench.cli.load.plan import LoadPlan
from s3bench.cli.load.stress_view import StressView, reads
from s3bench.cli.load.view import LoadView
from s3bench.cli.streams import print_styled, print_whole, rescued
from s3bench.cli.terminal import stdout_paints, stdout_width
from s3bench.cluster.worker_pool import ClusterWorkerPool
from s3bench.errors import S3BenchError
from s3bench.load.aggregation.measurements import client, recorded, results
from s3bench.load.aggregation.phase_aggregation import PhaseAggregation
from s3bench.load.aggregation.slo import SloVerdict
from s3bench.load.profile.profile import Job
from s3bench.load.session.capacity import capacity_of
from s3bench.load.session.replay_plan import ReplaySummary
from s3bench.load.session.session import Measured, Terms
from s3bench.load.session.site import Site
from s3bench.load.session.slo_search import HighestRate
from s3bench.report.load.csv import matrix_csv, second_row, seconds_header
from s3bench.report.load.lines import COMPLETED, header_lines, loop_line
from s3bench.report.load.stress import StressJob, config_lines
from s3bench.report.load.text import render_load
from s3bench.results.document import Document, encode_document, render_time
from s3bench.results.file import check_distinct, check_output, write_document
from s3bench.results.redaction import redact
from s3bench.run.machine import machine_facts, machine_warnings
from s3bench.visible import visible


class LoadOutput:
    """Takes the results of a run, second by second and phase by phase; a context manager that ends the document.

    Making it checks, before anything runs, that everything can be written; raises `BadInput`. Stdout is written at the
    end of the context, when no live view uses the terminal any more, and also when something has failed after the first
    results.
    """

    def __init__(self, plan: LoadPlan) -> None:
        self._plan = plan
        options = plan.options
        _check_distinct(options)
        for path in (options.output, options.csv, options.object_log, *_traces(options.trace)):
            if path is not None:
                check_output(path, force=options.force)
        self._wants_json = options.as_json or (
            options.form is None and plan.form is Form.TABLE and options.output is None and not sys.stdout.isatty()
        )
        facts = machine_facts()
        self.capacity = capacity_of(facts)
        self.document = Document(
            s3bench=s3bench.__version__,
            started_at=render_time(datetime.now(UTC)),
            command_line=("s3bench", *redact(sys.argv[1:])),
            machine=msgspec.to_builtins(facts),
            clients=(client(s3bench.__version__),),
            options=plan.recorded,
            warnings=(*machine_warnings(facts), *plan.warnings),
        )
        self._has_former = options.output is not None and options.output.exists()
        self._count = len(plan.profile.phases) * plan.profile.loops
        self._complete = 0  # phases without a loss or an interruption
        self._is_searched = False  # whether the search of `--slo` came to its end
        self._was_cut_short = False
        self._stack = ExitStack()
        self._seconds: TextIO | None = None
        self._pool: ClusterWorkerPool | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        self._stack.close()
        if isinstance(error, KeyboardInterrupt):
            self.interrupted()
        elif error is not None:
            self._ended_early(error.what if isinstance(error, S3BenchError) else type(error).__name__)
        if kind is None or self.document.results:
            self._end()
        if self._keeps_former:
            click.echo(f"s3bench: nothing was measured, so {self._plan.options.output} was not changed", err=True)

    def begin(self, site: Site, terms: Terms, pool: ClusterWorkerPool | None = None) -> None:
        """Record where it runs, start the files, and print the head of other tools' formats.

        `pool` has the nodes of a cluster.
        """
        self._pool = pool
        self.document = self.document.with_warnings(() if pool is None else pool.warnings)
        options = self._plan.options
        if options.csv is not None:
            self._seconds = self._stack.enter_context(options.csv.open("w", encoding="utf-8", newline=""))
            self._seconds.write(seconds_header())
        for path in _traces(options.trace):
            path.unlink(missing_ok=True)
        urls, bucket = site.urls, site.bucket.name
        where = "emulator" if site.is_emulated else list(redact(urls))
        more = {
            "endpoint_url": where,
            "bucket": bucket,
            "run": terms.run,
            "workers": terms.workers,
            "seed": terms.seed,
        }
        self.document = msgspec.structs.replace(self.document, options={**self.document.options, **more})
        if self._plan.form is Form.LINES:
            self._print(header_lines(url=urls[0], bucket=bucket, **_shape(self._plan)))
        elif self._plan.form is Form.S4:
            self._print(_config(self._plan, urls[0], bucket))

    def replay(self, plan: LoadPlan, summary: ReplaySummary) -> None:
        """Record what is replayed, now that the log has been read; `plan` is the run's with the phase of the replay."""
        self._plan = plan
        options = {**plan.recorded, "replay": msgspec.to_builtins(summary)}
        warnings = tuple(f"replay: {visible(each)}" for each in summary.differences)
        self.document = msgspec.structs.replace(self.document, options=options).with_warnings(warnings)

    def warn(self, words: str) -> None:
        """Record a warning about the whole run."""
        self.document = self.document.with_warnings((words,))

    def interrupted(self) -> None:
        """Record that the run was interrupted."""
        if self._plan.searches:
            if not self._is_searched:
                self._cut_short(
                    "interrupted: the search for the highest rate ended early, without the rate that was being tried"
                )
        elif self._complete < self._count:
            self._cut_short("interrupted: the phase that was running ended early, and those after it did not run")

    def write_seconds(self, aggregation: PhaseAggregation, *, phase: str, loop: int) -> None:
        """Write the seconds of a phase that are complete."""
        if self._seconds is not None:
            self._seconds.writelines(
                second_row(second, phase=phase, kind=kind, loop=loop + 1) for kind, second in aggregation.take_rows()
            )
            self._seconds.flush()

    def view(self, view: LoadView) -> LoadView:
        """Return the view of a measured phase: s4's lines replace ours."""
        if self._plan.form is not Form.S4 or self._wants_json:
            return view
        jobs = [job for phase in self._plan.profile.phases for job in phase.jobs]
        return StressView(
            view,
            reads_planned=sum(job.operations or 0 for job in jobs if reads(job)),
            writes_planned=sum(job.operations or 0 for job in jobs if not reads(job)),
            now=lambda: datetime.now().astimezone(),
            write=_echo,
        )

    def add_phase(self, measured: Measured, *, is_interrupted: bool) -> None:
        """Store the result of a phase, which the user may have interrupted."""
        new = results(
            measured.result,
            measured.phase,
            iteration=measured.loop,
            version=s3bench.__version__,
            started_at=measured.started_at,
            peak_memory_bytes=measured.memory_bytes_max,
        )
        self.document = recorded(self.document, new)
        if self._pool is not None:
            self.document = msgspec.structs.replace(
                self.document, options={**self.document.options, "cluster": self._pool.facts}
            )
        if measured.result.losses:
            self._ended_early(f"{measured.phase.name}: {measured.result.losses[0]}")
        elif not is_interrupted:
            self._complete += 1
        self._save()
        if self._plan.form is Form.LINES:
            loads, window_s = measured.result.parts or (measured.result.whole,), measured.result.window_s
            self._print(tuple(loop_line(load, loop=measured.loop + 1, window_s=window_s) for load in loads))

    def add_highest_rate(self, found: HighestRate, *, is_interrupted: bool) -> None:
        """Store the result of an SLO search, which the user may have interrupted."""
        self._is_searched = not is_interrupted
        self._add_found({"rate_per_s": found.rate_per_s, "is_limit": found.is_limit, "words": found.words})

    def add_verdict(self, verdict: SloVerdict) -> None:
        """Store whether the rate that the user chose kept the limits of `--slo`."""
        self._add_found({"outcome": verdict.outcome, "clause": verdict.clause, "words": verdict.sentence})

    def _add_found(self, result: dict[str, object]) -> None:
        self.document = msgspec.structs.replace(self.document, options={**self.document.options, "found": result})

    def _ended_early(self, why: str) -> None:
        """Record that the run ended before all of it was measured, unless all of it was."""
        what = f"with {self._complete} of {self._count} phases complete"
        if self._plan.searches:
            what = "" if "found" in self.document.options else "before the highest rate was found"
        elif self._complete == self._count:
            what = ""
        if what:
            self._cut_short(f"the run ended early, {what}: {why}")

    def _cut_short(self, warning: str) -> None:
        """Record a warning, and that the document gets no end, since figures are missing."""
        self._was_cut_short = True
        self.document = self.document.with_warnings((warning,))

    @property
    def _keeps_former(self) -> bool:
        """Whether nothing was measured and `-o` names an earlier document, which must not be lost for that."""
        return self._has_former and not any(result.measurements for result in self.document.results)

    def _save(self) -> None:
        if self._plan.options.output is not None and not self._keeps_former:
            write_document(self.document, self._plan.options.output)

    def _end(self) -> None:
        """Write the document for the last time, and stdout."""
        if not self._was_cut_short:
            self.document = self.document.ended(datetime.now(UTC))
        self._save()
        with rescued(None if self._plan.options.output else partial(encode_document, self.document)):
            self._print_end()

    def _print_end(self) -> None:
        if self._wants_json:
            print_whole(encode_document(self.document))
        elif self._plan.form is Form.LINES:
            self._print((COMPLETED,))
        elif self._plan.form is Form.CSV:
            _echo("".join(matrix_csv(self.document)).rstrip())
        elif self._plan.form is Form.TABLE and (
            self._plan.options.output is None or self._plan.options.form is not None or sys.stdout.isatty()
        ):
            width, color = stdout_width(), stdout_paints()
            print_styled(render_load(self.document, width=width, color=color))
            if self._plan.options.output is None:
                click.echo("s3bench: the results were not saved; use -o FILE", err=True)

    def _print(self, lines: tuple[str, ...]) -> None:
        if not self._wants_json:
            _echo("\n".join(lines))


def _config(plan: LoadPlan, url: str, bucket: str) -> tuple[str, ...]:
    (shown,) = redact((url,))
    jobs = tuple(job for phase in plan.profile.phases for job in phase.jobs)
    return config_lines(
        endpoint=shown,
        tls_no_verify=plan.placement.tls_no_verify,
        bucket=bucket,
        read_range_max=max((job.objects or 0 for job in jobs), default=0),
        read_sparse=any(not job.reads_bodies for job in jobs),
        write=tuple(_stress_job(job) for job in jobs if not reads(job)),
        read=tuple(_stress_job(job) for job in jobs if reads(job)),
    )


def _stress_job(job: Job) -> StressJob:
    iterations = (job.operations or 0) // job.threads
    name = job.name.removeprefix("read ").removeprefix("write ")  # which `stress` adds
    return StressJob(name=name, recordsize=job.sizes.text, threadcount=job.threads, iterations=iterations)


def _echo(line: str) -> None:
    """Print below earlier output, also while a live view uses the terminal, which `click.echo` would not."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _check_distinct(options: LoadOptions) -> None:
    """Check that each file has one purpose, the parts of the trace included, whose number is not known yet."""
    bundle = options.given.get("ca_bundle")
    read = [
        ("", options.file),
        ("--key-file", options.key_file),
        ("--ca-bundle", None if bundle is None else Path(bundle)),
        *options.logs,
    ]
    written = [("-o", options.output), ("--csv", options.csv), ("--object-log", options.object_log)]
    parts = [("--trace", path) for _, path in (*read, *written) if path is not None and _is_part(path, options.trace)]
    check_distinct([*written, ("--trace", options.trace), *parts], read=read)


def _is_part(path: Path, trace: Path | None) -> bool:
    """Whether a worker may write its part of the trace to `path`."""
    if trace is None:
        return False
    whole, _, number = os.path.realpath(path).rpartition(".")
    return number.isdecimal() and whole == os.path.realpath(trace)


def _traces(path: Path | None) -> tuple[Path, ...]:
    """The file of `--trace`, and the files beside it to which workers write their parts."""
    if path is None:
        return ()
    others = path.parent.glob(f"{glob.escape(path.name)}.*")
    return path, *(each for each in others if each.suffix[1:].isdecimal())


def _shape(plan: LoadPlan) -> dict[str, Any]:
    phase = plan.profile.phases[0]
    job = phase.jobs[0]
    return {
        "duration_s": phase.duration_s or 0.0,
        "threads": job.threads,
        "loops": plan.profile.loops,
        "size": job.sizes.text,
    }
