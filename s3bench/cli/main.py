"""The command line's front door: the list of commands, and the one place that prints errors and exits."""

import importlib
import signal
import sys
import traceback
from types import FrameType
from typing import Any

import click

import s3bench
from s3bench.cli.streams import open_missing_descriptors, safe_streams
from s3bench.cli.unexpected import Defect, explained
from s3bench.errors import ExitCode, S3BenchError
from s3bench.results.redaction import without_url_credentials

# Command, where it lives in `s3bench.cli`, and its line in `s3bench --help`. Modules are imported only when their
# command is asked for, so that `--help` and a mistyped command answer at once.
COMMANDS = {
    "run": ("run.command:run_command", "Run benchmarks and write a results document."),
    "compare": ("compare.command:compare_command", "Hold results documents side by side."),
    "gate": ("gate.command:gate_command", "Judge a release: did the client get slower or hungrier?"),
    "tune": ("tune.command:tune_command", "Find the settings and the client that move your files fastest."),
    "bisect": ("bisect.command:bisect_command", "Find the first version that changed a metric."),
    "history": (
        "history.command:history_group",
        "Keep results documents in a database, and find them again.",
    ),
    "report": (
        "report.command:report_command",
        "Show results as tables, as a page, or in other tools' formats.",
    ),
    "load": (
        "load.command:load_command",
        "Measure what an S3 endpoint delivers: throughput, latency, errors.",
    ),
    "serve": (
        "serve.command:serve_command",
        "Serve an S3 in memory, or scripted responses, to any client.",
    ),
    "validate": ("validate:validate_command", "Check definition files; run nothing."),
    "clients": ("clients:clients_group", "List and install the clients under test."),
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

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except OSError as error:  # click takes EPIPE of any socket for a reader of stdout that has gone, and exits 1
            raise explained(error) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 (as above)
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog="Exit codes: 0 done; 1 a regression or too many errors; 2 bad input, nothing was run; 3 inconclusive; "
    "4 a client or the machine failed; 130 interrupted, with everything measured so far on disk.",
)
@click.version_option(s3bench.__version__, prog_name="s3bench")
def s3bench_command() -> None:
    """Measure how S3 clients and S3 endpoints perform, with figures that can be trusted.

    \b
    s3bench run --num-iterations 2                  the shipped benchmarks, on the clients found here
    s3bench run -k 'cp and 32MB' -o results.json    some of them, kept in a file
    s3bench compare base.json new.json              what changed, and how sure that is
    s3bench gate --baseline cli-crt@2.38.5 --candidate cli-crt@./build/aws    a release gate
    s3bench tune upload --size 10GiB --network ec2:c5.large                   the best settings, proven
    s3bench load --endpoint-url URL --bucket data   what an endpoint delivers; alone, a demonstration
    s3bench serve --bucket data                     an S3 in memory, for any client
    s3bench validate my-benchmarks.json             every mistake in a file of your own, with its JSON path
    s3bench clients list                            which clients are here, and which versions
    """


def main() -> None:
    """Run the command line; the only place where s3bench turns an error into words and an exit code."""
    open_missing_descriptors()
    signal.signal(signal.SIGTERM, _interrupt)
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
    """Write an error to stderr: what, and indented below it why and how to mend it."""
    lines = f"s3bench: {without_url_credentials(str(error))}".splitlines()
    click.echo("\n  ".join(lines), err=True)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
