"""What must hold within one definition and between definitions: command, clients, config, dimensions, names.

Owns those checks; what a command may reach, fixtures and responses have their own rules.
"""

from s3bench.errors import BadInput
from s3bench.spec.awsconfig import transfer_kind
from s3bench.spec.client_traits import KnownClients
from s3bench.spec.command import Transfer, parse_transfer
from s3bench.spec.command_rules import check_command
from s3bench.spec.definition import Definition
from s3bench.spec.reader import Complaint, Report, Steps, one_of, quoted, render_path


def check_definition(definition: Definition, at: Steps, report: Report, clients: KnownClients) -> None:
    """File what is wrong within the definition `at`, fixtures and responses aside; it may name `clients`."""
    if report.touches_whole(at):
        return
    _check_dimensions(definition, at, report)
    if not report.touches_whole((*at, "command")):
        _check_command(definition.command, (*at, "command"), report)
    if not report.touches((*at, "command")):
        _check_portable(definition, at, report, clients)
    if not report.touches((*at, "environment", "config")):
        _check_config(definition, at, report, clients)


def _check_dimensions(definition: Definition, at: Steps, report: Report) -> None:
    first: dict[str, int] = {}
    for index, (name, _) in enumerate(definition.dimensions):
        place = (*at, "dimensions", index, "name")
        if report.touches(place):
            continue
        if name in first:
            said = f"is {quoted(name)}, which `dimensions[{first[name]}]` has already"
            report.add(place, Complaint(said, "give each dimension once"))
        first.setdefault(name, index)


def _check_command(command: tuple[str, ...], at: Steps, report: Report) -> None:
    first, place = command[0], (*at, 0)
    if report.touches(place):
        pass
    elif first == "aws":
        report.add(place, Complaint("is `aws` itself", "leave it out: the command begins with the service, e.g. `s3`"))
    elif not first:
        report.add(place, Complaint("is empty", "begin the command with a service, e.g. `s3`"))
    elif any(character.isspace() for character in first):
        said = f"is {quoted(first)}, several arguments in one string"
        report.add(place, Complaint(said, 'write each argument by itself, e.g. ["s3", "cp", ...]'))
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
        said = f"is `{kind}`, but the command is no S3 transfer (`s3 cp`, `mv`, `sync` or `rm`)"
        return Complaint(said, f"name {names} alone")
    if transfer.portable:
        return None
    return Complaint(
        f"is `{kind}`, which cannot run {transfer.reason}", f"take that out of the command, or name {names} alone"
    )


def _check_config(definition: Definition, at: Steps, report: Report, clients: KnownClients) -> None:
    wanted = transfer_kind(definition.environment.config, clients)
    if wanted is None:
        return
    for index, kind in enumerate(definition.clients):
        place = (*at, "clients", index)
        if not report.touches(place) and clients[kind].transfer_words and kind != wanted:
            said = f"is `{kind}`, but `environment.config` sets preferred_transfer_client for `{wanted}`"
            fix = "take that line out of the config (s3bench sets it for each client), or take the client out"
            report.add(place, Complaint(said, fix))


def check_names(definitions: tuple[Definition, ...], report: Report) -> None:
    """File each definition whose name and dimensions another one has: their results could not be told apart."""
    first: dict[tuple[str, frozenset[tuple[str, str]]], Steps] = {}
    for index, definition in enumerate(definitions):
        at: Steps = (index,)
        if report.touches((*at, "name")) or report.touches((*at, "dimensions")):
            continue
        identity = definition.name, frozenset(definition.dimensions)
        if identity in first:
            said = (
                f"is {quoted(definition.name)}, which {render_path(first[identity])} has already, with equal dimensions"
            )
            report.add((*at, "name"), Complaint(said, "give one of them another name or another dimension"))
        first.setdefault(identity, at)
