"""`s3bench history`: keeps results documents in a database, lists them and gives them back."""

import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

import click
import msgspec

from s3bench.cli.history.store import (
    TimestampParam,
    benchmarks_option,
    client_option,
    machine_option,
    opened,
    store_option,
)
from s3bench.cli.history.trend import trend_command
from s3bench.cli.streams import print_styled, print_whole
from s3bench.errors import BadInput
from s3bench.history.entry import Entry, Filters
from s3bench.history.indexing import Indexed, index_document
from s3bench.history.store import short
from s3bench.report.columns import TextColumn, fitted, heading_lines, row_lines
from s3bench.report.load.matrix import cells, render_matrix
from s3bench.report.load.table import render_load
from s3bench.report.run.table import render_table
from s3bench.report.terminal import printable
from s3bench.results.document import Document, Result, parse_document
from s3bench.results.file import check_output, read_whole, write_whole

_INDENT = 2
_FINGERPRINT_SHOWN = 8
_WORDS_SHOWN = 60  # a name may be a megabyte long, and a table is as wide as its widest cell in every row
_FACTS_SHOWN = 200


@click.group("history")
def history_group() -> None:
    """Keep results documents in a database: what was measured before is there to be held against.

    \b
    s3bench history add results.json              keep a document; a second time does nothing
    s3bench history list --client cli-crt         what is kept
    s3bench history show 3fa9c1                   one document, as a table
    s3bench history export 3fa9c1 -o .            and as the file that it was
    s3bench history trend --client cli-crt        since when it is different
    s3bench history prune --keep-last 100         what would go; with --yes it goes
    """


history_group.add_command(trend_command)


@history_group.command("add")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="FILE...")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print a list of {file, identity, is_new}.")
def add_command(files: tuple[Path, ...], *, store: str | None, as_json: bool) -> None:
    """Keep results documents. All files are checked before the first is added; one that is there already stays.

    The history is made at the first use. Any number of processes may add to it at once.

    \b
    s3bench history add results.json
    s3bench history add nightly/*.json --store nightly.db
    s3bench history add results.json --store postgresql://bench@db.example.com/s3bench
    """
    if not files:
        raise BadInput("no results document was given", fix="name one: s3bench history add results.json")
    documents = [(file, index_document(read_whole(file, of="a results file"), source=str(file))) for file in files]
    with opened(store, create=True) as history:
        rows = []
        for file, document in documents:
            added = history.add_indexed(document)
            rows.append({"file": str(file), "identity": added.identity, "is_new": added.is_new})
            if not as_json:
                click.echo(f"{short(added.identity)}  {'added' if added.is_new else 'known'}  {printable(str(file))}")
    if as_json:
        _print_json(rows)
    for line in _unfinished(documents):
        click.echo(line, err=True)


@history_group.command("list")
@store_option
@benchmarks_option
@client_option
@machine_option
@click.option("--since", type=TimestampParam(), help="Only runs that started at this time or later; UTC.")
@click.option("--until", type=TimestampParam(), help="Only runs that started before this time; UTC.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, one object for each document.")
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
    """List the documents that are kept, in the order in which their runs started, and their machines.

    \b
    s3bench history list
    s3bench history list -k "upload and not crt" --since 2026-11-01
    s3bench history list --client s5cmd --machine 3fa9 --json | jq -r '.[].identity'
    """
    filters = Filters(benchmarks=benchmarks, client=client, machine=machine, since=since, until=until)
    with opened(store) as history:
        entries = history.list_documents(filters)
    if as_json:
        _print_json(entries)
    elif entries:
        click.echo("\n".join((*_table(entries), "", *_machines(entries))))
    else:
        click.echo("no document meets this", err=True)


@history_group.command("show")
@click.argument("identity", metavar="ID")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print {entry, document} as JSON.")
def show_command(identity: str, *, store: str | None, as_json: bool) -> None:
    """Show one document: its machine, and its results as `s3bench run` shows them.

    ID is what `s3bench history list` shows, or its beginning.

    \b
    s3bench history show 3fa9c1
    s3bench history show 3fa9c1 --json | jq .document.results
    """
    with opened(store) as history:
        entry, text = history.show(identity)
    if as_json:
        _print_json({"entry": entry, "document": msgspec.Raw(text)})
        return
    document = parse_document(text, source=f"the document {short(entry.identity)}")
    click.echo("\n".join(_head(entry)) + "\n")
    print_styled(_results(document))


@history_group.command("export")
@click.argument("identities", nargs=-1, metavar="ID...")
@click.option(
    "-o", "--output", "folder", type=click.Path(path_type=Path), required=True, metavar="DIR", help="Where to."
)
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print a list of {file, identity}.")
def export_command(identities: tuple[str, ...], *, folder: Path, store: str | None, as_json: bool) -> None:
    """Write documents as they were added, byte for byte, each to DIR/ID.json. Nothing is overwritten.

    \b
    s3bench history export 3fa9c1 77d0e2 -o .
    s3bench history export $(s3bench history list --json | jq -r '.[].identity') -o backup
    """
    if not identities:
        raise BadInput("no document was named", fix="name one: s3bench history export 3fa9c1 -o .")
    with opened(store) as history:
        files = {identity: folder / f"{short(identity)}.json" for identity in history.resolve(identities)}
        for file in files.values():
            check_output(file, force=False)
        for identity, text in history.export(tuple(files)):
            write_whole(text, files[identity])
            if not as_json:
                click.echo(printable(str(files[identity])))
    if as_json:
        _print_json([{"file": str(file), "identity": identity} for identity, file in files.items()])


@history_group.command("prune")
@store_option
@click.option("--before", type=TimestampParam(), help="Runs that started before this time; UTC.")
@click.option("--keep-last", type=click.IntRange(min=1), metavar="N", help="All but the last N of each machine.")
@click.option("--yes", "is_sure", is_flag=True, help="Remove them. Without it nothing is changed.")
@click.option("--json", "as_json", is_flag=True, help="Print {is_done, entries} as JSON.")
def prune_command(
    *, store: str | None, before: datetime | None, keep_last: int | None, is_sure: bool, as_json: bool
) -> None:
    """Remove old documents. Without --yes it only says which would go.

    With both --before and --keep-last, what either would keep stays.

    \b
    s3bench history prune --before 2026-01-01
    s3bench history prune --keep-last 100 --yes
    """
    with opened(store) as history:
        pruned = history.prune(before=before, keep_last=keep_last, dry_run=not is_sure)
    if as_json:
        _print_json(pruned)
        return
    if pruned.entries:
        click.echo("\n".join(_table(pruned.entries)))
    count = f"{len(pruned.entries)} document{'' if len(pruned.entries) == 1 else 's'}"
    click.echo(f"{count} removed" if is_sure else f"{count} would go; nothing was changed; add --yes", err=True)


def _unfinished(documents: Iterable[tuple[Path, Indexed]]) -> Iterator[str]:
    for file, document in documents:
        if not document.is_ended:
            yield (
                f"{printable(str(file))}: its run was killed or is going on; added again when it is longer, "
                "both will be kept"
            )


def _table(entries: Sequence[Entry]) -> tuple[str, ...]:
    columns = (
        TextColumn(heading="ID", cells=tuple(short(entry.identity) for entry in entries)),
        TextColumn(heading="STARTED (UTC)", cells=tuple(f"{entry.started_at:%Y-%m-%d %H:%M}" for entry in entries)),
        TextColumn(heading="MACHINE", cells=tuple(entry.machine[:_FINGERPRINT_SHOWN] for entry in entries)),
        TextColumn(heading="RESULTS", cells=tuple(str(entry.results) for entry in entries)),
        TextColumn(heading="FAILURES", cells=tuple(str(entry.failures) for entry in entries), rank=1),
        TextColumn(
            heading="ENDED", cells=tuple("no" if entry.ended_at is None else "yes" for entry in entries), rank=2
        ),
        TextColumn(heading="S3BENCH", cells=tuple(_words(entry.s3bench) for entry in entries), rank=3),
        TextColumn(heading="COMMIT", cells=tuple(_words(entry.commit or "-") for entry in entries), rank=4),
        TextColumn(heading="CLIENTS", cells=tuple(_words(" ".join(entry.clients)) for entry in entries)),
    )
    shown = fitted(columns, width=shutil.get_terminal_size().columns)
    return (*heading_lines(shown), *row_lines(shown))


def _machines(entries: Iterable[Entry]) -> Iterator[str]:
    for fingerprint, facts in {entry.machine: entry.machine_facts for entry in entries}.items():
        yield f"{fingerprint[:_FINGERPRINT_SHOWN]}  {_words(facts.words, _FACTS_SHOWN)}"


def _head(entry: Entry) -> Iterator[str]:
    yield f"document  {entry.identity}"
    yield f"started   {entry.started_at:%Y-%m-%d %H:%M:%S} UTC"
    yield f"ended     {f'{entry.ended_at:%Y-%m-%d %H:%M:%S} UTC' if entry.ended_at else 'no: killed, or going on'}"
    yield f"added     {entry.added_at:%Y-%m-%d %H:%M:%S} UTC"
    yield f"machine   {entry.machine}: {_words(entry.machine_facts.words, _FACTS_SHOWN)}"
    yield f"s3bench   {_words(entry.s3bench)}{f' ({_words(entry.commit)})' if entry.commit else ''}"


def _results(document: Document) -> str:
    """The results as the command that measured them shows them."""
    render = render_table
    if document.is_of_load:
        render = render_matrix if cells(document) else render_load
    tame = msgspec.structs.replace(document, results=tuple(_tame(result) for result in document.results))
    return render(tame, width=shutil.get_terminal_size().columns, color=sys.stdout.isatty())


def _tame(result: Result) -> Result:
    """The same result with names that fit into cells."""
    return msgspec.structs.replace(
        result,
        name=_words(result.name),
        dimensions=tuple({_words(key): _words(each[key]) for key in each} for each in result.dimensions),
        client=msgspec.structs.replace(result.client, label=_words(result.client.label)),
        measurements=tuple(msgspec.structs.replace(each, engine=_words(each.engine)) for each in result.measurements),
    )


def _words(text: str, length: int = _WORDS_SHOWN) -> str:
    """A text that fits into a cell; the whole of it is in the JSON."""
    line = printable(text[: length + 1])
    return line if len(line) <= length else line[: length - 1] + "…"


def _print_json(value: object) -> None:
    print_whole(msgspec.json.format(msgspec.json.encode(value), indent=_INDENT) + b"\n")
