"""Turns a recording into a benchmark definition. Pure.

A transfer gets the portable form, in which every client can run it. The result also lists what was masked and what was
left out.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from s3bench.clients.client import FoundClient
from s3bench.clients.environment import FAKE_CREDENTIALS, EndpointFacts, Sandbox
from s3bench.clients.launch import ClientLaunch
from s3bench.clients.registry import known_client, known_clients
from s3bench.errors import BadInput
from s3bench.recording.command import TypedCommand
from s3bench.recording.environment import Json, RecordedFixtures, recorded_config
from s3bench.recording.exchange import Kind, RecordedExchange
from s3bench.recording.local_files import LocalFiles
from s3bench.recording.masking import Masked, Masker
from s3bench.recording.objects import listings, objects_read, without_changed
from s3bench.recording.responses import recorded_responses
from s3bench.spec.command import Transfer, TransferDirection, Verb, expected_local, parse_transfer
from s3bench.spec.transfer_options import split_command

_LISTED_SHORT_MIN = 20  # shorter listings of other commands stay as they were, with what clients print of them
_CHANGES = frozenset({Kind.PUT, Kind.COPY, Kind.START_UPLOAD})


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What was recorded: the command, the local files before it, and its requests.

    `config` is the text of the user's AWS config file, and `variables` the environment; `known_secrets` are the user's
    own credentials. `skipped_objects` are the files below `--data-dir` whose names are not UTF-8.
    """

    command: TypedCommand
    exchanges: tuple[RecordedExchange, ...]
    local: LocalFiles
    config: str = ""
    variables: Mapping[str, str]
    known_secrets: tuple[str, ...] = ()
    skipped_objects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedDefinition:
    """The JSON of a definition, and what was masked in it: the number of different values by kind.

    `left_out_keys` are keys of the user's config that a definition cannot set, `left_out_files` names that no fixture
    can have.
    """

    json: Json
    masked: Mapping[Masked, int]
    left_out_keys: tuple[str, ...]
    left_out_files: tuple[str, ...]

    @property
    def text(self) -> str:
        """The definition as a file: a list of one benchmark, a line for each response."""
        return render_definition(self.json)


def make_definition(recording: Recording, *, name: str | None) -> RecordedDefinition:
    """The definition of a recording, named `name`, or after its command.

    Raises `ClientFailed` for a response that no definition can hold.
    """
    command, exchanges = recording.command, recording.exchanges
    masker = Masker(recording.known_secrets)
    transfer = parse_transfer(command.words)
    is_portable = transfer is not None and transfer.portable
    own_config, left_out_keys = recorded_config(
        recording.config,
        profile=command.profile or recording.variables.get("AWS_PROFILE") or "default",
        variables=recording.variables,
        own=command.blocks,
        is_portable=is_portable,
    )
    masker.learn_command(command.words)
    for text in _texts(recording, own_config):
        masker.learn(text)
    fixtures = RecordedFixtures()
    fixtures.add_local(
        _masked_files(recording.local, masker), without=_downloaded(transfer, exchanges, recording.local)
    )
    objects = objects_read(exchanges)
    changed = {(each.bucket, each.key) for each in exchanges if each.kind in _CHANGES}
    listed = tuple(
        without_changed(each, (key for bucket, key in changed if bucket == each.bucket))
        if transfer and transfer.verb is Verb.SYNC
        else each
        for each in listings(exchanges)
        if transfer is not None or len(each.keys) >= _LISTED_SHORT_MIN
    )
    responses = recorded_responses(
        exchanges,
        of_transfer=transfer is not None,
        objects=objects,
        listed=listed,
        fixtures=fixtures,
        masked=masker.masked,
    )
    definition: Json = {
        "name": name or _name_of(command.words, transfer),
        "command": masker.masked_command(command.words),
    }
    if transfer is not None and is_portable:
        definition["clients"] = list(_clients_of(transfer, command.words, own_config))
    environment = fixtures.as_json() | ({"config": masker.masked(own_config)} if own_config != "[default]" else {})
    if environment:
        definition["environment"] = environment
    definition["responses"] = responses
    return RecordedDefinition(
        json=definition,
        masked=masker.counts,
        left_out_keys=left_out_keys,
        left_out_files=tuple(fixtures.left_out),
    )


def _texts(recording: Recording, config: str) -> Iterable[str]:
    """Every text that goes into the definition, but for the command."""
    yield config
    yield from (name for name, _ in recording.local.sizes)
    yield from (text for _, text in recording.local.texts)
    for each in recording.exchanges:
        yield each.path
        yield each.copy_source
        yield from each.parameters.values()
        yield from (value for _, value in each.headers)
        if each.body is not None:
            yield each.body.decode("utf-8", "replace")


def _masked_files(local: LocalFiles, masker: Masker) -> LocalFiles:
    masked = masker.masked
    return LocalFiles(
        roots=tuple(map(masked, local.roots)),
        sizes=tuple((masked(name), size) for name, size in local.sizes),
        directories=tuple(map(masked, local.directories)),
        texts=tuple((masked(name), masked(text)) for name, text in local.texts),
    )


def _downloaded(transfer: Transfer | None, exchanges: Iterable[RecordedExchange], local: LocalFiles) -> set[str]:
    """Files that a download replaced: a fixed date cannot tell that they were out of date."""
    if transfer is None or transfer.direction is not TransferDirection.DOWNLOAD:
        return set()
    keys = {each.key for each in exchanges if each.kind is Kind.READ}
    places = (expected_local(transfer, key, directories=local.directories) for key in keys)
    return {place for place in places if place is not None}


def _name_of(words: tuple[str, ...], transfer: Transfer | None) -> str:
    """As the shipped benchmarks are named: `s3.sync.upload`, `dynamodb.get-item`."""
    if transfer is None:
        return ".".join(filter(None, split_command(words).words[:2])) or "command"
    if transfer.direction is TransferDirection.DELETE:
        return f"s3.{transfer.verb}"
    return f"s3.{transfer.verb}.{transfer.direction}"


def _clients_of(transfer: Transfer, words: tuple[str, ...], config: str) -> Iterable[str]:
    """The clients that can run a transfer; those that also run what does not name them are left out."""
    return (
        name
        for name, each in known_clients().items()
        if not each.is_default and not each.runs_unnamed and _can_run(name, transfer, words, config)
    )


def _can_run(name: str, transfer: Transfer, words: tuple[str, ...], config: str) -> bool:
    nowhere = Path("/nonexistent")
    endpoint = EndpointFacts(url="http://127.0.0.1:1")
    launch = ClientLaunch(
        found=FoundClient(kind=name, version="0", executable=nowhere),
        command=words,
        config=config,
        transfer=transfer,
        endpoint=endpoint,
        sandbox=Sandbox(home=nowhere, temporary=nowhere, work=nowhere),
        credentials=FAKE_CREDENTIALS,
        env={},
    )
    try:
        known_client(name).invoke(launch)
    except BadInput:
        return False
    return True


def render_definition(definition: Json) -> str:
    """The file of one definition: short values in a line, a line for each fixture and each response."""
    lines = ["[", "  {"]
    last = len(definition) - 1
    for at, (key, value) in enumerate(definition.items()):
        comma = "," if at < last else ""
        if key == "responses" and value:
            lines += ['    "responses": [', *_items(value, 6), f"    ]{comma}"]
        elif key == "environment":
            lines += ['    "environment": {', *_environment(value), f"    }}{comma}"]
        else:
            lines.append(f"    {json.dumps(key)}: {_line(value)}{comma}")
    return "\n".join([*lines, "  }", "]", ""])


def _environment(environment: Json) -> list[str]:
    lines, last = [], len(environment) - 1
    for at, (key, value) in enumerate(environment.items()):
        comma = "," if at < last else ""
        if isinstance(value, list):
            lines += [f"      {json.dumps(key)}: [", *_items(value, 8), f"      ]{comma}"]
        else:
            lines.append(f"      {json.dumps(key)}: {_line(value)}{comma}")
    return lines


def _items(values: list[Json], indent: int) -> list[str]:
    last = len(values) - 1
    return [f"{' ' * indent}{_line(value)}{',' if at < last else ''}" for at, value in enumerate(values)]


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
