"""`s3bench bisect`: its options."""

from pathlib import Path
from typing import Any

import click

from s3bench.cli.bisect.options import PAIRS
from s3bench.cli.completion_items import complete_client
from s3bench.cli.definition_file import DefinitionFile
from s3bench.cli.quantity import SECONDS
from s3bench.spec.suite import Suite

_CHANCE = click.FloatRange(min=0, max=0.5, min_open=True, max_open=True)


@click.command("bisect", context_settings={"max_content_width": 120})
@click.argument("files", nargs=-1, type=DefinitionFile(), metavar="[DEFINITIONS]...")
@click.option(
    "--client",
    metavar="NAME[@VERSION]",
    shell_complete=complete_client,
    help="The client to search; with --dependency, NAME@VERSION fixes its version.",
)
@click.option("--good", metavar="VERSION", help="The older end.")
@click.option("--bad", metavar="VERSION", help="The newer end.")
@click.option("--dependency", metavar="PACKAGE", help="Search the versions of botocore, s3transfer or awscrt instead.")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="The metric that changed; repeat for several.  [default: total_time]",
)
@click.option("-k", "select", metavar="EXPRESSION", help="Only benchmarks that match, as in `s3bench run`.")
@click.option(
    "--suite",
    type=click.Choice([suite.value for suite in Suite]),
    help="Benchmarks by tag: `default` leaves out those tagged `full`.  [default: default]",
)
@click.option(
    "--pairs",
    default=PAIRS,
    show_default=True,
    metavar="N,N,...",
    help="Numbers of pairs at which a comparison may be decided.",
)
@click.option(
    "--zone",
    "zones",
    multiple=True,
    metavar="METRIC=D0,D1[,FLOOR]",
    help="Largest negligible change and smallest change that must be found, for example total_time=2%,6%,500us.",
)
@click.option(
    "--error", type=_CHANCE, default=0.05, show_default=True, help="Chance that the result as a whole is wrong."
)
@click.option("--max-time", metavar="DURATION", help="Stop after 90s, 30m or 2h; --resume continues.")
@click.option(
    "--seed",
    type=int,
    metavar="N",
    help="Repeat the same order of runs and hash seeds.  [default: random, and recorded]",
)
@click.option("--timeout", type=SECONDS, default=600, show_default=True, metavar="SECONDS", help="Time limit of a run.")
@click.option("--tls", is_flag=True, help="Use HTTPS for the stub.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write the record to this file, as JSON."
)
@click.option("--force", is_flag=True, help="Overwrite a file that exists.")
@click.option(
    "--resume", type=click.Path(path_type=Path), metavar="FILE", help="Continue the search that this record describes."
)
@click.option("--json", "as_json", is_flag=True, help="Print the record to stdout instead of the table.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.pass_context
def bisect_command(context: click.Context, /, **typed: Any) -> None:
    """Find the first published version of a client, or of one dependency, that changed a metric.

    Versions are installed when they are needed, and compared in pairs by the test of `s3bench gate`.

    \b
    s3bench bisect --client cli-crt --good 2.34.3 --bad 2.38.5 -k 'cp and upload and 32MB' -o bisect.json
    s3bench bisect --client boto3-classic --good 1.40.0 --bad 1.44.5 --metric peak_memory
    s3bench bisect --client boto3-classic@1.43.0 --dependency botocore --good 1.43.0 --bad 1.43.40
    s3bench bisect --resume bisect.json                   continue after Ctrl-C or --max-time

    Exit code 0 when it is found or nothing changed, 3 when it is undecided, 4 when an end does not run.
    """
    source = click.core.ParameterSource
    given = frozenset(name for name in typed if context.get_parameter_source(name) is source.COMMANDLINE)
    from s3bench.cli.bisect.action import search
    from s3bench.cli.bisect.options import BisectOptions

    raise click.exceptions.Exit(search(BisectOptions.of(typed, given)))
