"""`s3bench tune`: its options."""

from pathlib import Path
from typing import Any

import click

from s3bench.cli.completion_items import complete_clients
from s3bench.cli.pair_options import typed_names
from s3bench.cli.quantity import DURATION, SECONDS, SIZE, FiniteRange
from s3bench.cli.sandbox import unsandboxed_option
from s3bench.cli.tune.options import BUDGET, COMPARED_ROUNDS, FILES_MAX, RUN_LIMIT_S, SAMPLE_FILES, SEEDS
from s3bench.clients.tuning.workload import Action
from s3bench.tune.objective import Aim
from s3bench.tune.study import Search

_PRICE = FiniteRange(min=0)


@click.command("tune", context_settings={"max_content_width": 120})
@click.argument(
    "action", metavar="[upload|download|sync]", type=click.Choice([action.value for action in Action]), required=False
)
@click.argument("folder", metavar="[FOLDER]", type=click.Path(path_type=Path), required=False)
@click.option(
    "--like",
    type=click.Path(path_type=Path),
    metavar="DIR|SIZES|LISTING",
    help="Transfer files of the sizes in a directory, in a listing of a bucket, or from `s3bench describe`.",
)
@click.option(
    "--sample-files",
    type=click.IntRange(1, FILES_MAX),
    default=SAMPLE_FILES,
    show_default=True,
    metavar="N",
    help="If FOLDER or --like has more files, transfer a sample of this many.",
)
@click.option(
    "--sample-size",
    type=SIZE,
    default="2GiB",
    show_default=True,
    metavar="SIZE",
    help="If all of them together are larger, transfer a sample of about this size.",
)
@click.option("--size", type=SIZE, metavar="SIZE", help="Size of each file: 512MiB, 10GiB.")
@click.option("--files", type=click.IntRange(1, FILES_MAX), default=1, show_default=True, help="Number of files.")
@click.option(
    "--clients",
    metavar="NAME[@VERSION|@PATH],...",
    shell_complete=complete_clients,
    help="Clients to try; settings are compared with the first one's defaults.  "
    "[default: cli-classic,cli-crt,boto3-classic,boto3-crt,s5cmd, those that are installed]",
)
@click.option(
    "--network", metavar="MODEL", help="Tune against an S3 in memory behind this network model, e.g. ec2:c5.large."
)
@click.option("--endpoint-url", metavar="URL", help="Tune against this live S3, with your own credentials.")
@click.option("--bucket", metavar="NAME", help="The bucket for --endpoint-url; only a prefix s3bench/... is touched.")
@unsandboxed_option
@click.option("--tls", is_flag=True, help="Use HTTPS with --network, with a generated certificate.")
@click.option(
    "--budget",
    type=DURATION,
    metavar="DURATION",
    help=f"Time limit of the whole tuning: 90s, 30m, 2h.  [default: {BUDGET}]",
)
@click.option("--max-memory", type=SIZE, metavar="SIZE", help="Recommend nothing that needs more memory than this.")
@click.option(
    "--objective",
    type=click.Choice([aim.value for aim in Aim]),
    default=Aim.TIME.value,
    show_default=True,
    help="What to minimize: the time of the command, of the transfer in it (with --network), or the cost of a run.",
)
@click.option("--machine-price", type=_PRICE, metavar="USD", help="Price of an hour of the machine, for cost-weighted.")
@click.option(
    "--request-prices",
    type=(_PRICE, _PRICE),
    metavar="WRITES READS",
    help="Prices of 1,000 writes and 1,000 reads in USD, for cost-weighted with --network.",
)
@click.option(
    "--search",
    type=click.Choice([search.value for search in Search]),
    default=Search.RACE.value,
    show_default=True,
    help="Search near the best settings so far, or try every combination of the main ones.",
)
@click.option("--no-disk", is_flag=True, help="Keep the files in memory, to tune for the network alone.")
@click.option(
    "--predict",
    multiple=True,
    metavar="size=SIZE,files=N,instance=TYPE",
    help="With --network, predict the time for another workload or EC2 instance; repeat for several.",
)
@click.option(
    "--compare-clients", is_flag=True, help="Only compare the clients at their defaults: one file and --files."
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=COMPARED_ROUNDS,
    show_default=True,
    help="Number of runs of each client, with --compare-clients.",
)
@click.option("--study", type=click.Path(path_type=Path), metavar="FILE", help="Save every trial to this file.")
@click.option("--resume", type=click.Path(path_type=Path), metavar="FILE", help="Continue an interrupted study.")
@click.option("--replay", type=click.Path(path_type=Path), metavar="FILE", help="Print the result of a study again.")
@click.option(
    "--seed",
    type=click.IntRange(0, SEEDS),
    metavar="N",
    help="Repeat the same order of runs and proposals.  [default: random]",
)
@click.option(
    "--timeout", type=SECONDS, default=RUN_LIMIT_S, show_default=True, metavar="DURATION", help="Time limit of a run."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result to stdout as JSON.")
@click.option("--markdown", type=click.Path(path_type=Path), metavar="FILE", help="Write the result as Markdown too.")
@click.option("--verbose", is_flag=True, help="Print every setting that was tried.")
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.pass_context
def tune_command(context: click.Context, /, **typed: Any) -> None:
    """Find the settings and the client that transfer your files fastest, and verify the gain before recommending them.

    \b
    s3bench tune upload --size 10GiB --network ec2:c5.large --study tune.jsonl
    s3bench tune upload ./folder --network ec2:c5.large    files of the same sizes
    s3bench tune download --size 1GiB --endpoint-url https://s3.example.org --bucket data
    s3bench tune sync --size 64KiB --files 5000 --network ec2:t3.micro --clients cli-classic,s5cmd
    s3bench tune upload --size 1GiB --files 20 --network ec2:c5.large --compare-clients
    s3bench tune --resume tune.jsonl                      continue after Ctrl-C
    s3bench tune --replay tune.jsonl --verbose            the same result again, every setting

    FOLDER is only looked at: files of the same sizes are made and uploaded, of random bytes.

    Exit code 0 when settings are recommended, the defaults are as good or clients were compared, 3 when that is
    undecided or nothing reliably stays within --max-memory, 4 when no client works.
    """
    from s3bench.cli.tune.action import tune
    from s3bench.cli.tune.options import TuneOptions

    raise click.exceptions.Exit(tune(TuneOptions.of(typed, typed_names(context, typed))))
