"""The command to record, as typed: how it is started, and which aws-cli command stands for it in the definition. Pure.

A definition holds a command of aws-cli. The command lines of clients that declare how are translated; for any other
program the user says which command of aws-cli does the same.
"""

import os
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from s3bench.clients.descriptor import ClientDescriptor, Untranslatable
from s3bench.clients.registry import known_clients
from s3bench.errors import BadInput
from s3bench.spec.command import Local, Verb, parse_transfer
from s3bench.spec.command_rules import FILE_OPTIONS, PARAMETER_FILE

_DROPPED = {"--profile": 1, "--ca-bundle": 1, "--no-verify-ssl": 0}  # what `s3bench run` sets itself; their values
_SCHEMES = ("file://", "fileb://")
_SHORTHAND_FILE = re.compile(r"@=fileb?://([^\s,;\]}\"']*)")
_PATH_PARAMETERS = frozenset(FILE_OPTIONS) - {
    "--certificate-pem-outfile",
    "--kubeconfig",
    "--outfile",
    "--output-template-file",
    "--private-key-outfile",
    "--public-key-outfile",
    "--save-as",
}
"""Options of commands other than transfers whose value is the path of a file that is read, without `file://`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedCommand:
    """A command to record.

    `argv` is started as it is; `is_understood` if its program is one whose command lines are. `words` is the command of
    aws-cli for the definition. `blocks` are the client's own settings for the definition's config, by block. `profile`
    is the AWS profile that the command names; empty for the default.
    """

    argv: tuple[str, ...]
    is_understood: bool
    words: tuple[str, ...]
    profile: str = ""
    blocks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def paths(self) -> tuple[str, ...]:
        """The local paths with files that the command reads; a sync compares its destination."""
        transfer = parse_transfer(self.words)
        if transfer is None:
            named = (_path_of(value) for name, value in _values(self.words) if name in _PATH_PARAMETERS)
            return tuple(dict.fromkeys((*named, *(path for word in self.words for path in _parameter_files(word)))))
        places = (transfer.source, transfer.destination if transfer.verb is Verb.SYNC else None)
        return tuple(place.path for place in places if isinstance(place, Local))

    @property
    def source(self) -> str | None:
        """The local file or directory that a transfer uploads."""
        transfer = parse_transfer(self.words)
        return transfer.source.path if transfer is not None and isinstance(transfer.source, Local) else None

    @property
    def target(self) -> str | None:
        """The local destination of a download, where a directory that exists changes the names of files."""
        transfer = parse_transfer(self.words)
        if transfer is None or not isinstance(transfer.destination, Local) or transfer.destination.is_stream:
            return None
        return transfer.destination.path

    @property
    def parameter_files(self) -> tuple[str, ...]:
        """The files whose contents are a parameter (`file://NAME`)."""
        return tuple(path for word in self.words for path in _parameter_files(word) if f"file://{path}" in word)


def parse_command(argv: Sequence[str], *, stands_for: str | None, folder: Path) -> TypedCommand:
    """Understand the command `argv`, typed in `folder`; `stands_for` is the command of aws-cli that the user named.

    Raises `BadInput` for a command that cannot be recorded, or that no command of aws-cli stands for.
    """
    client = _client_of(Path(argv[0]).name)
    if any(word.partition("=")[0] == "--endpoint-url" for word in argv[1:]):
        raise BadInput(
            "the command has --endpoint-url",
            "its requests would not pass through s3bench",
            "remove it there, and pass it to record: s3bench record --endpoint-url URL -- COMMAND",
        )
    blocks: Mapping[str, Mapping[str, str]] = {}
    if stands_for is not None and client is not None:
        raise BadInput(
            f"--as cannot be combined with a command of {client.package.program}",
            "s3bench understands it, and the definition gets the command that was recorded",
            "leave out --as",
        )
    if stands_for is not None:
        words = _split(stands_for)
        words = words[1:] if words[:1] == ("aws",) else words
    elif client is None:
        raise _not_understood(argv[0], "a definition holds a command of aws-cli")
    elif client.aws_command is None:
        words = tuple(argv[1:])
    else:
        try:
            same = client.aws_command(tuple(argv[1:]), folder)
        except Untranslatable as error:
            raise _not_understood(client.package.program, str(error)) from error
        words, blocks = same.words, {client.config_block: dict(same.settings)}
    if not words:
        raise BadInput(
            "the command has no arguments", fix="write a whole command, e.g. aws s3 sync ./data s3://bucket/x"
        )
    profile = _profile_of(words if client is None else argv[1:])  # as typed: a translated command names none
    words = _within(_without_dropped(words), folder)
    transfer = parse_transfer(words)
    if transfer is not None and isinstance(transfer.source, Local) and transfer.source.is_stream:
        raise BadInput(
            "the command reads its standard input", "a definition cannot hold that", "upload a file instead of `-`"
        )
    is_understood = client is not None
    return TypedCommand(argv=tuple(argv), is_understood=is_understood, words=words, profile=profile, blocks=blocks)


def _split(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise BadInput(
            f"--as {command}: not a command line", str(error), "close what is quoted: --as 's3 cp data s3://bucket/x'"
        ) from error


def _client_of(program: str) -> ClientDescriptor | None:
    """The client whose program it is, if it runs the commands of definitions, or if they can be translated."""
    for client in known_clients().values():
        if program == client.package.program and (client.runs_any_command or client.aws_command is not None):
            return client
    return None


def _not_understood(what: str, why: str) -> BadInput:
    return BadInput(
        f"`{what}` cannot be turned into a command of aws-cli",
        why,
        "say which one does the same: --as 's3 cp data s3://bucket/data --recursive'",
    )


def _profile_of(words: Sequence[str]) -> str:
    """The AWS profile that a command names last; empty if it names none."""
    named = [value for name, value in _values(words) if name == "--profile"]
    return named[-1] if named else ""


def _without_dropped(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words without options that `s3bench run` sets."""
    kept: list[str] = []
    at = 0
    while at < len(words):
        name, equals, _ = words[at].partition("=")
        if name in _DROPPED:
            at += 1 if equals else 1 + _DROPPED[name]
        else:
            kept.append(words[at])
            at += 1
    return tuple(kept)


def _values(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The words that are no names of options, each with the option before it, if that may be its name."""
    before = ""
    for word in words:
        if not word.startswith("--"):
            yield before, word
        elif "=" in word:
            name, _, value = word.partition("=")
            yield name, value
        before = word


def _parameter_files(word: str) -> tuple[str, ...]:
    """The files that a word names with `file://` or `fileb://`, also within shorthand: `Variables@=file://NAME`."""
    whole = PARAMETER_FILE.match(word)
    return (whole[1],) if whole else tuple(dict.fromkeys(_SHORTHAND_FILE.findall(word)))


def _path_of(word: str) -> str:
    """The path in an argument: the argument itself, the value after `=`, or what follows `file://`."""
    value = word.partition("=")[2] if word.startswith("--") else word
    for scheme in _SCHEMES:
        value = value.removeprefix(scheme)
    return value


def _within(words: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """The words with the paths of existing files in their shortest form, relative to `folder`."""
    transfer = parse_transfer(words)
    places = (transfer.source, transfer.destination) if transfer is not None else ()
    sure = {place.path for place in places if isinstance(place, Local) and not place.is_stream}
    return tuple(_relative(word, folder, sure) for word in words)


def _relative(word: str, folder: Path, sure: set[str]) -> str:
    path = _path_of(word)
    if not path or (path not in sure and not (path.startswith(("/", "./", "../")) and os.path.lexists(folder / path))):
        return word
    slash = "/" if path.endswith("/") and path.strip("/") else ""
    inside = posixpath.normpath(path)
    root = str(folder.resolve())
    if inside == root or inside.startswith(f"{root}/"):
        inside = posixpath.relpath(inside, root)
    return word.removesuffix(path) + inside + slash
