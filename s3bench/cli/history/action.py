"""Adds documents to the history, and lists, shows, exports and removes them."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import click
import msgspec

from s3bench.cli.history.store import open_store
from s3bench.cli.streams import print_styled, print_whole
from s3bench.cli.terminal import stdout_paints, stdout_width
from s3bench.errors import MachineError
from s3bench.history.entry import Entry, Filters
from s3bench.history.indexing import Indexed, index_document
from s3bench.history.store import short
from s3bench.report.load.text import render_load
from s3bench.report.run.text import render_table
from s3bench.report.table import Table, column
from s3bench.report.terminal import printable
from s3bench.report.text_table import table_lines
from s3bench.results.document import Document, Result, parse_document
from s3bench.results.encoding import pretty_json
from s3bench.results.file import check_output, read_whole, write_whole
from s3bench.units import counted

_FINGERPRINT_SHOWN = 8
_WORDS_SHOWN = 60  # names may be very long, and a column is as wide as its widest cell
_FACTS_SHOWN = 200


def add(files: Sequence[Path], *, store: str | None, as_json: bool) -> None:
    """Add documents, each checked before the first is added."""
    documents = [(file, index_document(read_whole(file, of="a results file"), source=str(file))) for file in files]
    with open_store(store, create=True) as history:
        rows: list[dict[str, object]] = []
        try:
            for file, document in documents:
                with _telling_what_is_stored(file, len(rows)):
                    added = history.add(document)
                rows.append({"file": str(file), "identity": added.identity, "is_new": added.is_new})
                if not as_json:
                    words = "added" if added.is_new else "known"
                    click.echo(f"{short(added.identity)}  {words}  {printable(str(file))}")
        finally:
            if as_json:
                print_whole(pretty_json(rows))
    for line in _unfinished(documents):
        click.echo(line, err=True)


@contextmanager
def _telling_what_is_stored(file: Path, count: int) -> Iterator[None]:
    """Say of an error that `file` was not added, and that the `count` files before it are stored."""
    try:
        yield
    except MachineError as error:
        before = f"the {counted(count, 'file')} before it {'is' if count == 1 else 'are'} stored"
        what = f"{printable(str(file))} was not added; {before if count else 'nothing was changed'}"
        raise MachineError(what, f"{error.what}: {error.why}", error.fix) from error


def list_documents(filters: Filters, *, store: str | None, as_json: bool) -> None:
    """List the documents that match `filters`, and their machines."""
    with open_store(store) as history:
        entries = history.list_documents(filters)
    if as_json:
        print_whole(pretty_json(entries))
    elif entries:
        click.echo("\n".join((*_table(entries), "", *_machines(entries))))
    else:
        click.echo("no document matches", err=True)


def show(identity: str, *, store: str | None, as_json: bool) -> None:
    """Show one document."""
    with open_store(store) as history:
        entry, text = history.show(identity)
    if as_json:
        print_whole(pretty_json({"entry": entry, "document": msgspec.Raw(text)}))
        return
    document = parse_document(text, source=f"the document {short(entry.identity)}")
    click.echo("\n".join(_head(entry, document)) + "\n")
    print_styled(_results(document))


def export(identities: Sequence[str], folder: Path, *, store: str | None, as_json: bool) -> None:
    """Write documents into `folder`, byte for byte."""
    with open_store(store) as history:
        files = {identity: folder / f"{short(identity)}.json" for identity in history.resolve(identities)}
        for file in files.values():
            check_output(file, force=False, if_it_exists="pass another folder with -o, or remove that file")
        for identity, text in history.texts(files):
            write_whole(text, files[identity])
            if not as_json:
                click.echo(printable(str(files[identity])))
    if as_json:
        print_whole(pretty_json([{"file": str(file), "identity": identity} for identity, file in files.items()]))


def prune(*, store: str | None, before: datetime | None, keep_last: int | None, is_sure: bool, as_json: bool) -> None:
    """Remove old documents, or list those that would be removed."""
    with open_store(store) as history:
        pruned = history.prune(before=before, keep_last=keep_last, dry_run=not is_sure)
    if as_json:
        print_whole(pretty_json(pruned))
        return
    if pruned.entries:
        click.echo("\n".join(_table(pruned.entries)))
    count = counted(len(pruned.entries), "document")
    would = f"{count} would be removed; nothing was changed; add --yes to remove"
    click.echo(f"{count} removed" if is_sure else would, err=True)


def _unfinished(documents: Iterable[tuple[Path, Indexed]]) -> Iterator[str]:
    for file, document in documents:
        if document.was_cut_short:
            yield (
                f"{printable(str(file))}: its run ended early, or is still running; if you add it again later, "
                "both versions are stored"
            )


def _table(entries: Sequence[Entry]) -> tuple[str, ...]:
    columns = (
        column("ID", entries, lambda entry: short(entry.identity)),
        column("STARTED (UTC)", entries, lambda entry: f"{entry.started_at:%Y-%m-%d %H:%M}"),
        column("MACHINE", entries, lambda entry: entry.machine[:_FINGERPRINT_SHOWN]),
        column("RESULTS", entries, lambda entry: str(entry.results), is_number=True),
        column("FAILURES", entries, lambda entry: str(entry.failures), is_number=True, rank=1),
        column("ENDED", entries, lambda entry: "no" if entry.ended_at is None else "yes", rank=2),
        column("S3BENCH", entries, lambda entry: _words(entry.s3bench), rank=3),
        column("COMMIT", entries, lambda entry: _words(entry.commit or "-"), rank=4),
        column("CLIENTS", entries, lambda entry: _words(" ".join(entry.clients))),
    )
    return tuple(table_lines(Table(columns=columns), width=stdout_width()))


def _machines(entries: Iterable[Entry]) -> Iterator[str]:
    for fingerprint, facts in {entry.machine: entry.machine_facts for entry in entries}.items():
        yield f"{fingerprint[:_FINGERPRINT_SHOWN]}  {_words(facts.words, _FACTS_SHOWN)}"


def _head(entry: Entry, document: Document) -> Iterator[str]:
    no_end = "no: ended early, or still running" if document.was_cut_short else "unknown"
    yield f"document  {entry.identity}"
    yield f"started   {entry.started_at:%Y-%m-%d %H:%M:%S} UTC"
    yield f"ended     {f'{entry.ended_at:%Y-%m-%d %H:%M:%S} UTC' if entry.ended_at else no_end}"
    yield f"added     {entry.added_at:%Y-%m-%d %H:%M:%S} UTC"
    yield f"machine   {entry.machine}: {_words(entry.machine_facts.words, _FACTS_SHOWN)}"
    yield f"s3bench   {_words(entry.s3bench)}{f' ({_words(entry.commit)})' if entry.commit else ''}"


def _results(document: Document) -> str:
    """The results, rendered as by the command that measured them."""
    render = render_load if document.is_of_load else render_table
    shortened = msgspec.structs.replace(document, results=tuple(_shortened(result) for result in document.results))
    return render(shortened, width=stdout_width(), color=stdout_paints())


def _shortened(result: Result) -> Result:
    """The same result with names shortened to fit into cells."""
    return msgspec.structs.replace(
        result,
        name=_words(result.name),
        dimensions=tuple({_words(key): _words(each[key]) for key in each} for each in result.dimensions),
        client=msgspec.structs.replace(result.client, label=_words(result.client.label)),
        measurements=tuple(msgspec.structs.replace(each, engine=_words(each.engine)) for each in result.measurements),
    )


def _words(text: str, length: int = _WORDS_SHOWN) -> str:
    """A text shortened to fit into a cell; the JSON has all of it."""
    line = printable(text[: length + 1])
    return line if len(line) <= length else line[: length - 1] + "…"
