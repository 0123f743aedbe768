"""The entry point of the command line: lists the commands, and is the only place that prints errors and exits."""

import importlib
import signal
import sys
import traceback
import warnings
from types import FrameType
from typing import Any, TextIO

import click

import s3bench
from s3bench.cli.streams import open_missing_descriptors, safe_streams
from s3bench.cli.unexpected import Defect, explained
from s3bench.errors import ExitCode, S3BenchError
from s3bench.results.redaction import without_url_credentials
from s3bench.system.signals import ending_signals

# Command, its place in `s3bench.cli`, and its line in `s3bench --help`. Modules are imported only when their command
# runs, so that `--help` and a mistyped command respond at once.
COMMANDS = {
    "run": ("run.command:run_command", "Run benchmarks and write a results document."),
    "compare": ("compare.command:compare_command", "Compare results documents with each other."),
    "gate": ("gate.command:gate_command", "Decide on a release: did the client get slower or need more memory?"),
    "tune": ("tune.command:tune_command", "Find the client and the settings that transfer your files fastest."),
    "bisect": ("bisect.command:bisect_command", "Find the first version that changed a metric."),
    "profile": ("profile.command:profile_command", "Show where the time of a client goes, and what differs."),
    "history": (
        "history.command:history_group",
        "Store results documents in a database, list them, find trends.",
    ),
    "report": (
        "report.command:report_command",
        "Render results as tables, as an HTML page, or in other formats.",
    ),
    "load": (
        "load.command:load_command",
        "Measure an S3 endpoint: throughput, latency, errors.",
    ),
    "serve": (
        "serve.command:serve_command",
        "Run an S3 server in memory, or one with scripted responses.",
    ),
    "record": ("record.command:record_command", "Run a command once and write it as a benchmark definition."),
    "describe": ("describe.command:describe_command", "Describe the files of a folder or a bucket by their sizes."),
    "validate": ("validate:validate_command", "Check definition files without running them."),
    "clients": ("clients:clients_group", "List and install the clients under test."),
    "completion": ("completion:completion_command", "Print the completion script of a shell."),
    "doctor": ("doctor.command:doctor_command", "Show what on this machine disturbs measurements."),
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (click's signature)
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(f"s3bench.cli.{module}"), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as unknown:  # click suggests commands that are imported already
            raise click.NoSuchCommand(unknown.command_name, possibilities=COMMANDS, ctx=ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except OSError as error:  # click would treat EPIPE from any socket as a closed stdout and exit with 1
            raise explained(error) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 (as above)
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog="Exit codes: 0 success; 1 a regression or too many errors; 2 bad input, nothing was run; 3 inconclusive; "
    "4 a client or the machine failed; 130 interrupted, with everything measured so far saved.",
)
@click.version_option(s3bench.__version__, prog_name="s3bench")
def s3bench_command() -> None:
    """Benchmark S3 clients and S3 endpoints.

    \b
    s3bench run --num-iterations 2                  run the shipped benchmarks on the clients found here
    s3bench run -k 'cp and 32MB' -o results.json    run some of them and save the results
    s3bench compare base.json new.json              show what changed, with confidence intervals
    s3bench gate --baseline cli-crt@2.38.5 --candidate cli-crt@./build/aws    decide on a release
    s3bench tune upload --size 10GiB --network ec2:c5.large                   find and verify the best settings
    s3bench load --endpoint-url URL --bucket data   measure an endpoint; without options, a demonstration
    s3bench serve --bucket data                     run an S3 server in memory, for any client
    s3bench record -o sync.json -- aws s3 sync ./data s3://bucket/x           write a command of yours as a benchmark
    s3bench validate my-benchmarks.json             show every error of a definition file with its JSON path
    s3bench clients list                            list the clients found here and their versions
    """


def main() -> None:
    """Run the command line; the only place where s3bench turns an error into a message and an exit code."""
    open_missing_descriptors()
    for number in ending_signals():
        if number != signal.SIGINT:  # for which Python does so
            signal.signal(number, _interrupt)
    warnings.showwarning = _show_warning
    with safe_streams():
        code = _exit_code()
    sys.exit(code)


def _exit_code() -> int:
    try:
        code = s3bench_command(prog_name="s3bench", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("s3bench: interrupted", err=True)
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 (Python would print a traceback and exit 1, which means a regression)
        failure = explained(error)
        print_error(failure)
        if isinstance(failure, Defect):
            click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
        return failure.exit_code
    return int(code or 0)


def print_error(error: S3BenchError) -> None:
    """Write an error to stderr: what, and indented below it why and how to fix it."""
    lines = f"s3bench: {without_url_credentials(str(error))}".splitlines()
    click.echo("\n  ".join(lines), err=True)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,  # noqa: ARG001 (the signature of `warnings.showwarning`)
    lineno: int,  # noqa: ARG001 (as above)
    file: TextIO | None = None,  # noqa: ARG001 (as above)
    line: str | None = None,  # noqa: ARG001 (as above)
) -> None:
    """Write a warning to stderr: ours in plain words, another package's with its kind."""
    is_ours = category.__module__.partition(".")[0] == s3bench.__name__
    click.echo(f"s3bench: warning: {'' if is_ours else f'{category.__name__}: '}{message}", err=True)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
