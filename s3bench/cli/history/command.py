"""`s3bench history`: its commands and their options."""

from datetime import datetime
from pathlib import Path

import click

from s3bench.cli.history.options import TimestampParam, benchmarks_option, client_option, machine_option, store_option
from s3bench.errors import BadInput
from s3bench.history.entry import Filters


@click.group("history")
def history_group() -> None:
    """Store results documents in a database, for comparison with later ones.

    \b
    s3bench history add results.json              store a document; adding it again does nothing
    s3bench history list --client cli-crt         list the stored documents
    s3bench history show 3fa9c1                   show one document as a table
    s3bench history export 3fa9c1 -o .            write it as the original file
    s3bench history trend --client cli-crt        find the releases that changed a metric
    s3bench history prune --keep-last 100         list old documents; with --yes remove them
    """


@history_group.command("add")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="FILE...")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print a list of {file, identity, is_new}.")
def add_command(files: tuple[Path, ...], *, store: str | None, as_json: bool) -> None:
    """Store results documents. All files are checked before the first is added; known documents are left as they are.

    The database is created at the first use. Several processes may add to it at once.

    \b
    s3bench history add results.json
    s3bench history add nightly/*.json --store nightly.db
    s3bench history add results.json --store postgresql://bench@db.example.com/s3bench
    """
    if not files:
        raise BadInput("no results document was given", fix="pass one: s3bench history add results.json")
    from s3bench.cli.history.action import add

    add(files, store=store, as_json=as_json)


@history_group.command("list", short_help="List the stored documents.")
@store_option
@benchmarks_option
@client_option
@machine_option
@click.option("--since", type=TimestampParam(), help="Only runs that started at this time or later; UTC.")
@click.option("--until", type=TimestampParam(), help="Only runs that started before this time; UTC.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object for each document.")
def list_command(
    *,
    store: str | None,
    benchmarks: str,
    client: str,
    machine: str,
    since: datetime | None,
    until: datetime | None,
    as_json: bool,
) -> None:
    """List the stored documents in the order in which their runs started, and their machines.

    \b
    s3bench history list
    s3bench history list -k "upload and not crt" --since 2026-11-01
    s3bench history list --client s5cmd --machine 3fa9 --json | jq -r '.[].identity'
    """
    from s3bench.cli.history.action import list_documents

    filters = Filters(benchmarks=benchmarks, client=client, machine=machine, since=since, until=until)
    list_documents(filters, store=store, as_json=as_json)


@history_group.command("show", short_help="Show one document as a table.")
@click.argument("identity", metavar="ID")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print {entry, document} as JSON.")
def show_command(identity: str, *, store: str | None, as_json: bool) -> None:
    """Show one document: its machine, and its results as `s3bench run` shows them.

    ID is an ID from `s3bench history list`, or its first characters.

    \b
    s3bench history show 3fa9c1
    s3bench history show 3fa9c1 --json | jq .document.results
    """
    from s3bench.cli.history.action import show

    show(identity, store=store, as_json=as_json)


@history_group.command("export", short_help="Write documents as they were added.")
@click.argument("identities", nargs=-1, metavar="ID...")
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="Directory to write to.",
)
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print a list of {file, identity}.")
def export_command(identities: tuple[str, ...], *, folder: Path, store: str | None, as_json: bool) -> None:
    """Write documents exactly as they were added, each to DIR/ID.json. No file is overwritten.

    \b
    s3bench history export 3fa9c1 77d0e2 -o .
    s3bench history export $(s3bench history list --json | jq -r '.[].identity') -o backup
    """
    if not identities:
        raise BadInput("no document was given", fix="pass its ID: s3bench history export 3fa9c1 -o .")
    from s3bench.cli.history.action import export

    export(identities, folder, store=store, as_json=as_json)


@history_group.command("prune")
@store_option
@click.option("--before", type=TimestampParam(), help="Remove runs that started before this time; UTC.")
@click.option("--keep-last", type=click.IntRange(min=1), metavar="N", help="Keep the last N of each machine.")
@click.option("--yes", "is_sure", is_flag=True, help="Really remove them; without it nothing is changed.")
@click.option("--json", "as_json", is_flag=True, help="Print {is_done, entries} as JSON.")
def prune_command(
    *, store: str | None, before: datetime | None, keep_last: int | None, is_sure: bool, as_json: bool
) -> None:
    """Remove old documents. Without --yes it only lists those that would be removed.

    With both --before and --keep-last, a document is removed only if both select it.

    \b
    s3bench history prune --before 2026-01-01
    s3bench history prune --keep-last 100 --yes
    """
    from s3bench.cli.history.action import prune

    prune(store=store, before=before, keep_last=keep_last, is_sure=is_sure, as_json=as_json)


@history_group.command("trend", short_help="Find the releases that changed a metric.")
@click.option(
    "--metric",
    metavar="NAME",
    help="Metric to analyse.  [default: total_time; load.latency.p50 if only load runs match]",
)
@click.option(
    "--by",
    type=click.Choice(["version", "date"]),
    help="One point per version of the client, in order of versions, or per document, in order of time.  "
    "[default: version; date for load runs]",
)
@click.option(
    "--reference",
    metavar="VERSION",
    help="Use ratios to this version of the client where it was measured in the same document.",
)
@click.option(
    "--no-adjust",
    is_flag=True,
    help="Use times as measured, without taking out the speed of the machine and waits for a core.",
)
@click.option(
    "--fail-on-change",
    is_flag=True,
    help="Exit with code 1 if the newest change is for the worse, 3 if no series has enough releases.",
)
@click.option("--json", "as_json", is_flag=True, help="Print every series with its figures and changes.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write an HTML page with a chart of each series to FILE, which must not exist.",
)
@click.option("--force", is_flag=True, help="Let -o overwrite a file that exists.")
@benchmarks_option
@client_option
@machine_option
@store_option
def trend_command(
    *,
    metric: str | None,
    by: str | None,
    reference: str | None,
    no_adjust: bool,
    fail_on_change: bool,
    as_json: bool,
    output: Path | None,
    force: bool,
    benchmarks: str,
    client: str,
    machine: str,
    store: str | None,
) -> None:
    """Find the releases that changed a metric, with the size of each change and its range of releases.

    Each machine has its own series, and so has each workload and endpoint of load runs. Finding a change needs at least
    ten releases.

    \b
    s3bench history trend --client cli-crt -k 'cp and 32MB'
    s3bench history trend --metric peak_memory --by date --fail-on-change
    s3bench history trend --client cli-crt --reference 2.36.1      ratios to a release measured with each one
    s3bench history trend --client cli-crt -o trend.html           also write a page with charts
    s3bench history trend --metric load.latency.p99 -k load.get    load runs, by date

    Exit codes: 0; with --fail-on-change 1 if the newest change of any series is for the worse, and 3 if no series has
    enough releases.
    """
    from s3bench.cli.history.trend import print_trends

    print_trends(
        metric,
        by=by,
        reference=reference,
        adjusts=not no_adjust,
        fail_on_change=fail_on_change,
        as_json=as_json,
        output=output,
        force=force,
        filters=Filters(benchmarks=benchmarks, client=client, machine=machine),
        store=store,
    )
