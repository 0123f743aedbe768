"""Checks within one definition and between definitions: command, clients, config, dimensions, names."""

from s3bench.errors import BadInput
from s3bench.spec.awsconfig import transfer_kind
from s3bench.spec.client_traits import TRANSFER_CLIENT, KnownClients, named_engine
from s3bench.spec.command import Transfer, parse_transfer
from s3bench.spec.command_rules import check_command
from s3bench.spec.definition import Definition
from s3bench.spec.reader import Complaint, Report, Steps, one_of, quoted, render_path


def check_definition(definition: Definition, at: Steps, report: Report, clients: KnownClients) -> None:
    """Report the problems of the definition `at`, except of fixtures and responses; it may name `clients`."""
    if report.touches_whole(at):
        return
    _check_dimensions(definition, at, report)
    if not report.touches_whole((*at, "command")):
        _check_command(definition.command, (*at, "command"), report)
    if not report.touches((*at, "command")):
        _check_portable(definition, at, report, clients)
    if not report.touches((*at, "environment", "config")):
        _check_config(definition, at, report, clients)
    if not report.touches((*at, "dimensions")):
        _check_transfer_client(definition, at, report, clients)


def _check_dimensions(definition: Definition, at: Steps, report: Report) -> None:
    first: dict[str, int] = {}
    for index, (name, _) in enumerate(definition.dimensions):
        place = (*at, "dimensions", index, "name")
        if report.touches(place):
            continue
        if name in first:
            what = f"is {quoted(name)}, which `dimensions[{first[name]}]` has too"
            report.add(place, Complaint(what, "use each dimension once"))
        first.setdefault(name, index)


def _check_command(command: tuple[str, ...], at: Steps, report: Report) -> None:
    first, place = command[0], (*at, 0)
    if report.touches(place):
        pass
    elif first == "aws":
        report.add(place, Complaint("is `aws` itself", "remove it: the command begins with the service, e.g. `s3`"))
    elif not first:
        report.add(place, Complaint("is empty", "begin the command with a service, e.g. `s3`"))
    elif any(character.isspace() for character in first):
        what = f"is {quoted(first)}, several arguments in one string"
        report.add(place, Complaint(what, 'write each argument by itself, e.g. ["s3", "cp", ...]'))
    check_command(command, at, report)


def _check_portable(definition: Definition, at: Steps, report: Report, clients: KnownClients) -> None:
    try:
        transfer = parse_transfer(definition.command)
    except BadInput as error:
        report.add((*at, "command"), Complaint(error.what, error.fix))
        return
    for index, kind in enumerate(definition.clients):
        place = (*at, "clients", index)
        if report.touches(place) or clients[kind].runs_any_command:
            continue
        if complaint := _unportable(kind, transfer, clients):
            report.add(place, complaint)


def _unportable(kind: str, transfer: Transfer | None, clients: KnownClients) -> Complaint | None:
    names = one_of(name for name, each in clients.items() if each.runs_any_command)
    if transfer is None:
        what = f"is `{kind}`, but the command is not an S3 transfer (`s3 cp`, `mv`, `sync` or `rm`)"
        return Complaint(what, f"use only {names}")
    if transfer.portable:
        return None
    return Complaint(
        f"is `{kind}`, which cannot run {transfer.reason}", f"remove that from the command, or use only {names}"
    )


def _check_config(definition: Definition, at: Steps, report: Report, clients: KnownClients) -> None:
    wanted = transfer_kind(definition.environment.config, clients)
    if wanted is None:
        return
    for index, kind in enumerate(definition.clients):
        place = (*at, "clients", index)
        if not report.touches(place) and clients[kind].transfer_words and kind != wanted:
            what = f"is `{kind}`, but `environment.config` sets preferred_transfer_client for `{wanted}`"
            fix = "remove that line from the config (s3bench sets it for each client), or remove the client"
            report.add(place, Complaint(what, fix))


def _check_transfer_client(definition: Definition, at: Steps, report: Report, clients: KnownClients) -> None:
    """Report each client, and a config, that contradicts the dimension `S3TransferClient`."""
    wanted = named_engine(definition.dimensions)
    if wanted is None:
        return
    names = [name for name, _ in definition.dimensions]
    word = dict(definition.dimensions)[TRANSFER_CLIENT]
    for index, kind in enumerate(definition.clients):
        place = (*at, "clients", index)
        if not report.touches(place) and clients[kind].engine not in {None, wanted}:
            what = f"is `{kind}`, but the dimension {TRANSFER_CLIENT} is {quoted(word)}"
            fix = "remove the dimension (s3bench adds it for each client), or remove the client"
            report.add(place, Complaint(what, fix))
    if report.touches((*at, "environment", "config")):
        return
    configured = transfer_kind(definition.environment.config, clients)
    if configured is not None and clients[configured].engine != wanted:
        what = f"is {quoted(word)}, but `environment.config` sets preferred_transfer_client for `{configured}`"
        place = (*at, "dimensions", names.index(TRANSFER_CLIENT), "value")
        report.add(place, Complaint(what, "make the dimension and the config agree"))


def check_names(definitions: tuple[Definition, ...], report: Report) -> None:
    """Report each definition with the name and dimensions of another one, since their results would be mixed up."""
    first: dict[tuple[str, frozenset[tuple[str, str]]], Steps] = {}
    for index, definition in enumerate(definitions):
        at: Steps = (index,)
        if report.touches((*at, "name")) or report.touches((*at, "dimensions")):
            continue
        identity = definition.name, frozenset(definition.dimensions)
        if identity in first:
            what = f"is {quoted(definition.name)}, which {render_path(first[identity])} has too, with equal dimensions"
            report.add((*at, "name"), Complaint(what, "give one of them another name or another dimension"))
        first.setdefault(identity, at)
