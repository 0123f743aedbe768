"""`s3bench run`: its options, and what --list prints."""

from pathlib import Path
from typing import Any

import click

from s3bench.cli.completion_items import complete_client
from s3bench.cli.definition_file import DefinitionFile
from s3bench.cli.quantity import SECONDS
from s3bench.cli.sandbox import unsandboxed_option
from s3bench.spec.suite import Suite


@click.command("run", context_settings={"max_content_width": 120})
@click.argument("files", nargs=-1, type=DefinitionFile(), metavar="[DEFINITIONS]...")
@click.option(
    "--benchmark-definitions", "named_files", multiple=True, type=DefinitionFile(), metavar="FILE",
    help="The same as DEFINITIONS.  [default: the shipped benchmarks.json]",
)  # fmt: skip
@click.option(
    "-n",
    "--num-iterations",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Measured runs of each benchmark and client.",
)
@click.option(
    "--warmup",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Runs before these that are not measured.",
)
@click.option(
    "-k",
    "select",
    metavar="EXPRESSION",
    help="Only what matches in the suite, by name, dimensions, client or tags: 'cp and FileSize=4KB and not crt'.",
)
@click.option(
    "--suite",
    type=click.Choice([suite.value for suite in Suite]),
    help="Benchmarks by tag: `default` leaves out those tagged `full`, also with -k.  [default: default]",
)
@click.option(
    "--client",
    "clients",
    multiple=True,
    metavar="NAME[@VERSION|@PATH]",
    shell_complete=complete_client,
    help="Only on this client; repeat for several.",
)
@click.option(
    "-L",
    "--parameter-list",
    nargs=2,
    multiple=True,
    metavar="KEY VALUES",
    help="Run S3 benchmarks once with each value of this setting, as `-L multipart_chunksize 8MB,16MB`; repeat for all "
    "combinations of several.",
)
@click.option(
    "-P",
    "--parameter-scan",
    nargs=3,
    multiple=True,
    metavar="KEY MIN MAX",
    help="The same with the values from MIN to MAX.",
)
@click.option(
    "-D",
    "--parameter-step-size",
    multiple=True,
    metavar="STEP",
    help="Distance between the values of --parameter-scan.  [default: 1 of the unit]",
)
@click.option(
    "--num-chunks", type=int, default=1, show_default=True, help="Split the benchmarks into this many chunks ..."
)
@click.option("--chunk-id", type=int, default=0, show_default=True, help="... and run this one, counted from 0.")
@click.option(
    "--cluster",
    metavar="auto|ray://HOST:PORT",
    help="Share the benchmarks among equal machines of this Ray cluster; `auto`: the one that this machine is part of.",
)
@click.option(
    "--nodes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of machines to use, with --cluster.  [default: all equal ones]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the results document here, again after every iteration.",
)
@click.option("--force", is_flag=True, help="Let -o overwrite a file that exists.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the results document to stdout (the default in a pipe without -o)."
)
@click.option(
    "--data-interval",
    type=SECONDS,
    default=0.001,
    show_default=True,
    metavar="SECONDS",
    help="Time between samples of memory and CPU.",
)
@click.option(
    "--timeout",
    type=SECONDS,
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="End a run that takes longer, unless its definition has a timeout; at most 24h.",
)
@click.option(
    "--endpoint",
    type=click.Choice(["stub", "emulator"]),
    default="stub",
    show_default=True,
    help="The definitions' responses, or an S3 in memory that holds the objects they name.",
)
@click.option("--network", metavar="MODEL", help="Impose a network model on the emulator, e.g. ec2:c5.large.")
@click.option("--tls", is_flag=True, help="Use HTTPS for the stub or emulator, with a generated certificate.")
@click.option(
    "--verify/--no-verify",
    default=True,
    show_default=True,
    help="Verify checksums that clients send, and compare uploads to the stub with their files.",
)
@click.option(
    "--stub",
    type=click.Choice(["server", "in-process"]),
    default="server",
    show_default=True,
    help="Where the stub is: a real server, or inside a Classic client's process, without sockets.",
)
@click.option(
    "--endpoint-url", metavar="URL", help="Run against this live S3 instead of the stub, with your own credentials."
)
@click.option("--bucket", metavar="NAME", help="The bucket for --endpoint-url; only a prefix s3bench/... is touched.")
@unsandboxed_option
@click.option(
    "--debug-dir",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep stdout and stderr of every run here.",
)
@click.option("--keep-workspace", is_flag=True, help="Keep the working directories, and print where they are.")
@click.option(
    "--audit", is_flag=True, help="Pair every run with one without sampling and probes; report what measuring changes."
)
@click.option(
    "--prepare",
    metavar="CMD",
    help="Run this shell command before every run of a client, warm-up too; it is not measured.",
)
@click.option(
    "--cleanup",
    metavar="CMD",
    help="Run this shell command after the last run of each benchmark and client.",
)
@click.option("--list", "list_only", is_flag=True, help="Print what would run, and run nothing.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def run_command(**typed: Any) -> None:
    """Run the benchmarks of DEFINITIONS (by default the shipped ones), each in fresh processes of each client.

    \b
    s3bench run -n 10 -k 'cp and upload' -o results.json     keep the results in a file
    s3bench run -n 5 --client cli-classic --client cli-crt   Classic against CRT
    s3bench run mine.json > results.json                     a pipe gets the results document
    s3bench run --endpoint emulator --network ec2:c5.large   an S3 in memory, behind a link of 949 MB/s
    s3bench run -k 'cp and 32MB' -L max_concurrent_requests 5,10,20         each value a benchmark of its own
    s3bench run --cluster auto -n 20 -o results.json         shared among the machines of a Ray cluster
    s3bench run --prepare 'sync; echo 3 | sudo tee /proc/sys/vm/drop_caches'   with a cold page cache
    s3bench run --list -k sync                               what would run

    Exit code 4 when any run failed: its error is in the results, beside the other measurements.
    """
    from s3bench.cli.run.options import RunOptions, check_options
    from s3bench.cli.run.plan import print_plan, read_plan

    options = RunOptions.of(typed)
    check_options(options)
    plan = read_plan(options)
    if options.list_only:
        print_plan(plan)
        return
    from s3bench.cli.run.action import run_here_or_on_cluster

    run_here_or_on_cluster(options, plan)
