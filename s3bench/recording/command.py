"""The command to record, as typed: how it is started, and which aws-cli command stands for it in the definition. Pure.

A definition holds a command of aws-cli. The transfers of s5cmd are translated; for any other program the user says
which command of aws-cli does the same.
"""

import os
import posixpath
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from s3bench.errors import BadInput
from s3bench.spec.command import Local, Verb, parse_transfer

_DROPPED = {"--profile": 1, "--ca-bundle": 1, "--no-verify-ssl": 0}  # what `s3bench run` sets itself; their values
_PARAMETER_FILES = ("file://", "fileb://")
_SERVICE_WORDS = 2
_VERBS = frozenset({"cp", "mv", "sync", "rm"})
_S5CMD_OPTIONS = {
    "--log": 1, "--numworkers": 1, "--profile": 1, "--retry-count": 1, "-r": 1, "--json": 0, "--stat": 0,
    "--concurrency": 1, "-c": 1, "--part-size": 1, "-p": 1, "--exclude": 1, "--delete": 0,
}  # fmt: skip
"""The options of s5cmd that are understood, with their numbers of values."""
_S5CMD_SETTINGS = {
    "--numworkers": "numworkers", "--concurrency": "concurrency", "-c": "concurrency", "--part-size": "part_size",
    "-p": "part_size",
}  # fmt: skip


class Program(StrEnum):
    """The programs whose command lines are understood."""

    AWS = "aws"
    S5CMD = "s5cmd"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedCommand:
    """A command to record.

    `argv` is started as it is. `words` is the command of aws-cli for the definition. `settings` are those of s5cmd for
    the definition's config. `profile` is the AWS profile that the command names; empty for the default.
    """

    program: Program
    argv: tuple[str, ...]
    words: tuple[str, ...]
    profile: str = ""
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The arguments that may be local paths with files that the command reads; a sync compares its destination."""
        transfer = parse_transfer(self.words)
        if transfer is None:
            return tuple(_path_of(word) for word in self.words[_SERVICE_WORDS:])
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
        return tuple(word[len("file://") :] for word in self.words if word.startswith("file://"))


def parse_command(argv: Sequence[str], *, stands_for: str | None, folder: Path) -> TypedCommand:
    """Understand the command `argv`, typed in `folder`; `stands_for` is the command of aws-cli that the user named.

    Raises `BadInput` for a command that cannot be recorded, or that no command of aws-cli stands for.
    """
    program = {"aws": Program.AWS, "s5cmd": Program.S5CMD}.get(Path(argv[0]).name, Program.OTHER)
    if any(word.partition("=")[0] == "--endpoint-url" for word in argv[1:]):
        raise BadInput(
            "the command has --endpoint-url",
            "its requests would not pass through s3bench",
            "remove it there, and pass it to record: s3bench record --endpoint-url URL -- COMMAND",
        )
    settings: tuple[tuple[str, str], ...] = ()
    if stands_for is not None:
        words = tuple(shlex.split(stands_for))
        words = words[1:] if words[:1] == ("aws",) else words
    elif program is Program.AWS:
        words = tuple(argv[1:])
    elif program is Program.S5CMD:
        words, settings = _of_s5cmd(tuple(argv[1:]), folder)
    else:
        raise _not_understood(argv[0], "a definition holds a command of aws-cli")
    if not words:
        raise BadInput(
            "the command has no arguments", fix="write a whole command, e.g. aws s3 sync ./data s3://bucket/x"
        )
    kept, profile = _without_dropped(words)
    words = _within(kept, folder)
    transfer = parse_transfer(words)
    if transfer is not None and isinstance(transfer.source, Local) and transfer.source.is_stream:
        raise BadInput(
            "the command reads its standard input", "a definition cannot hold that", "upload a file instead of `-`"
        )
    return TypedCommand(program=program, argv=tuple(argv), words=words, profile=profile, settings=settings)


def _not_understood(what: str, why: str) -> BadInput:
    return BadInput(
        f"`{what}` cannot be turned into a command of aws-cli",
        why,
        "say which one does the same: --as 's3 cp data s3://bucket/data --recursive'",
    )


def _without_dropped(words: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """The words without options that `s3bench run` sets, and the profile that they named."""
    kept: list[str] = []
    profile, at = "", 0
    while at < len(words):
        name, equals, value = words[at].partition("=")
        if name in _DROPPED:
            takes = _DROPPED[name] if not equals else 0
            if name == "--profile":
                profile = value if equals else "".join(words[at + 1 : at + 2])
            at += 1 + takes
            continue
        kept.append(words[at])
        at += 1
    return tuple(kept), profile


def _path_of(word: str) -> str:
    """The path in an argument: the argument itself, the value after `=`, or what follows `file://`."""
    value = word.partition("=")[2] if word.startswith("--") else word
    for scheme in _PARAMETER_FILES:
        value = value.removeprefix(scheme)
    return value


def _within(words: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """The words with the paths of existing files in their shortest form, relative to `folder`."""
    transfer = parse_transfer(words)
    places = (transfer.source, transfer.destination) if transfer is not None else ()
    sure = {place.path for place in places if isinstance(place, Local) and not place.is_stream}
    return (*words[:_SERVICE_WORDS], *(_relative(word, folder, sure) for word in words[_SERVICE_WORDS:]))


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


def _of_s5cmd(words: tuple[str, ...], folder: Path) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """The transfer of an s5cmd command line as one of aws-cli, and s5cmd's own settings."""
    verb, places, options, settings = _split_s5cmd(words)
    if verb not in _VERBS or len(places) != (1 if verb == "rm" else 2):
        raise _not_understood("s5cmd", "s3bench knows its commands cp, mv, sync and rm")
    source, *target = places
    is_many = source.endswith("*") or (not source.startswith("s3://") and (folder / source).is_dir())
    source = source.removesuffix("*")
    if "*" in source or "?" in source:
        raise _not_understood("s5cmd", f"`{places[0]}` has a wildcard that aws-cli has not")
    recursive = ["--recursive"] if is_many and verb != "sync" else []
    return ("s3", verb, source, *target, *recursive, *options), settings


def _split_s5cmd(
    words: tuple[str, ...],
) -> tuple[str, list[str], list[str], tuple[tuple[str, str], ...]]:
    """The verb, the locations, the options that aws-cli has too, and the settings of an s5cmd command line."""
    settings: dict[str, str] = {}
    options: list[str] = []
    free: list[str] = []
    at = 0
    while at < len(words):
        name, equals, value = words[at].partition("=")
        takes = _S5CMD_OPTIONS.get(name, 0)
        if name.startswith("-") and name not in _S5CMD_OPTIONS:
            raise _not_understood("s5cmd", f"`{words[at]}` has no counterpart that s3bench knows")
        if takes and not equals:
            value = "".join(words[at + 1 : at + 2])
        if name in _S5CMD_SETTINGS:
            setting = _S5CMD_SETTINGS[name]
            settings[setting] = f"{value}MB" if setting == "part_size" else value
        elif name in {"--exclude", "--delete"}:
            options += [name, value] if takes else [name]
        elif not name.startswith("-"):
            free.append(words[at])
        at += 1 if equals else 1 + takes
    return "".join(free[:1]), free[1:], options, tuple(settings.items())
