"""`s3bench bisect`: its options."""

from pathlib import Path
from typing import Any

import click

from s3bench.cli.bisect.options import PAIRS
from s3bench.cli.completion_items import complete_client
from s3bench.cli.definition_file import DefinitionFile
from s3bench.cli.pair_options import (
    json_option,
    output_option,
    quiet_option,
    seed_option,
    select_option,
    suite_option,
    timeout_option,
    tls_option,
    typed_flags,
)
from s3bench.cli.quantity import CHANCE, DURATION


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
@select_option
@suite_option
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
    "--error",
    type=CHANCE,
    default="5%",
    metavar="SHARE",
    show_default=True,
    help="Chance that the result as a whole is wrong.",
)
@click.option("--max-time", type=DURATION, metavar="DURATION", help="Stop after 90s, 30m or 2h; --resume continues.")
@seed_option
@timeout_option
@tls_option
@output_option
@click.option("--force", is_flag=True, help="Overwrite a file that exists.")
@click.option(
    "--resume", type=click.Path(path_type=Path), metavar="FILE", help="Continue the search that this record describes."
)
@click.option(
    "--explain/--no-explain",
    "explains",
    default=True,
    show_default=True,
    help="Look for the cause of the change that was found.",
)
@json_option
@quiet_option
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
    from s3bench.cli.bisect.action import search
    from s3bench.cli.bisect.options import BisectOptions

    raise click.exceptions.Exit(search(BisectOptions.of(typed, typed_flags(context))))
