"""The command `s3bench load` and its help."""

from pathlib import Path
from typing import Any

import click

from s3bench.cli.load.options import LoadCommand, LoadOptions, load_options


@click.command("load", cls=LoadCommand, context_settings={"max_content_width": 120})
@load_options
def load_command(**typed: Any) -> None:
    """Measure the throughput, latency and errors of an S3 endpoint.

    \b
    s3bench load                                                    20 seconds against an S3 in memory
    s3bench load --endpoint-url http://10.0.0.5:9000 --bucket test  a mix of operations against a real one
    s3bench load ... --operation get --size 4KiB --threads 64 --duration 60 -o results.json
    s3bench load ... --rate 500 --mix get=70,put=30                 open loop: 500 operations planned per second
    s3bench load ... --slo 'p99<50ms,errors<0.1%'                   the highest rate that keeps these limits
    s3bench load ... --slo 'p99<50ms' --rate 500                    whether this rate keeps them: exit code 0, 1 or 3
    s3bench load ... --matrix quick                                 sizes times threads
    s3bench load ... --replay access.log --for 10m --speed 4        an access log, four times as fast
    s3bench load profile.yaml                                       a profile of ours or of s4
    s3bench load --fit access.log -o profile.yaml                   a profile of the load that a log shows
    s3bench load -a KEY -s SECRET -b bucket -u URL -t 10 -d 60      as s3-benchmark: PUT, GET, DELETE
    s3bench load ... --cluster auto                                 load from all machines of a Ray cluster
    s3bench load ... --clean-up RUN                                 delete what an earlier run left
    s3bench load merge A.json B.json -o merged.json                 one document of several runs

    Everything is written under s3bench/RUN/ and deleted at the end. The exit code is 1 when more operations fail than
    --max-error-rate allows, when no operation that was begun ends in the measured window, or when the --rate, or every
    rate that was tried, breaks --slo; 3 when --slo stays undecided, or no operation was begun; 4 when the figures
    contradict each other, or there is no connection to the endpoint; and 130 after Ctrl-C. Results so far are kept.
    """
    from s3bench.cli.load.action import load

    load(LoadOptions.of(typed))


@load_command.command(
    "merge", short_help="Merge the results of several runs.", context_settings={"max_content_width": 120}
)
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False), metavar="RESULTS.json..."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the merged results document to this file.",
)
@click.option("--force", is_flag=True, help="Let -o replace a file that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print the document to stdout, as in a pipe without -o.")
def merge_command(files: tuple[Path, ...], *, output: Path | None, force: bool, as_json: bool) -> None:
    """Merge the results of load runs of one workload, made at the same time or one after the other.

    \b
    s3bench load merge host1.json host2.json -o merged.json    the load of two machines together
    s3bench load merge monday.json tuesday.json                two runs as the loops of one

    Counts, histograms and rates of runs at the same time add. Runs one after the other stay loops of their own, and
    nothing is added. Runs of different workloads, or that overlapped in part, are refused. The exit code is 4 when a
    run has an error, or when the merged figures contradict each other.
    """
    from s3bench.cli.load.merge import merge

    merge(files, output=output, force=force, as_json=as_json)
