"""What an S3 transfer command asks for: `s3 cp|mv|sync|rm` understood well enough for other clients to do the same.

Owns the meaning of locations, filters and options, whether our own drivers can run the command, and where a downloaded
object lands. The grammar of options is `s3bench.spec.transfer_options`'. The rules are aws-cli's own
(awscli/customizations/s3: fileformat.py, filters.py, subcommands.py).
"""

import posixpath
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from s3bench.errors import BadInput
from s3bench.spec.transfer_options import CommandLine, Option, split_command

_SCHEME = "s3://"
_STREAM = "-"


class Verb(StrEnum):
    """The transfer commands under `s3`."""

    CP = "cp"
    MV = "mv"
    SYNC = "sync"
    RM = "rm"


class TransferDirection(StrEnum):
    """Which way the bytes go."""

    UPLOAD = "upload"
    DOWNLOAD = "download"
    COPY = "copy"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """A path as the command gives it; `-` is standard input or output."""

    path: str

    @property
    def is_stream(self) -> bool:
        """Whether it is no file but a stream."""
        return self.path == _STREAM


@dataclass(frozen=True, slots=True, kw_only=True)
class S3:
    """A bucket and a key or prefix; the key is empty for the whole bucket."""

    bucket: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """`--include` or `--exclude` with its pattern; of all that match an object the last one decides."""

    include: bool
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """One transfer command.

    `recursive` says that whole directories or prefixes are meant; it is true for every `sync`. `destination` is `None`
    for `rm`. `options` are those not told by the other fields, as written. `obstacles` are what our own drivers cannot
    do, in words; without any, every client can run the command.
    """

    verb: Verb
    source: Local | S3
    destination: Local | S3 | None
    recursive: bool = False
    quiet: bool = False
    delete: bool = False
    filters: tuple[Filter, ...] = ()
    options: tuple[Option, ...] = ()
    obstacles: tuple[str, ...] = ()

    @property
    def direction(self) -> TransferDirection:
        """Upload, download, copy or delete."""
        if self.destination is None:
            return TransferDirection.DELETE
        if isinstance(self.source, Local):
            return TransferDirection.UPLOAD
        return TransferDirection.DOWNLOAD if isinstance(self.destination, Local) else TransferDirection.COPY

    @property
    def portable(self) -> bool:
        """Whether our own drivers can run it."""
        return not self.obstacles

    @property
    def reason(self) -> str:
        """The obstacles in words; empty when portable."""
        return ", ".join(self.obstacles)


# Options that change what is printed, not what is transferred, or that name the default.
_SILENT = frozenset({
    "--quiet", "--only-show-errors", "--no-progress", "--progress-frequency", "--progress-multiline", "--no-cli-pager",
    "--color", "--output",
})  # fmt: skip
_COPYING = _SILENT | {"--include", "--exclude", "--follow-symlinks"}
_PORTABLE = {
    Verb.CP: _COPYING | {"--recursive"},
    Verb.MV: _COPYING | {"--recursive"},
    Verb.SYNC: _COPYING | {"--delete"},
    Verb.RM: _SILENT | {"--include", "--exclude", "--recursive"},
}
_TOLD = frozenset({"--recursive", "--quiet", "--delete", "--include", "--exclude"})
_LOCATIONS = {Verb.CP: 2, Verb.MV: 2, Verb.SYNC: 2, Verb.RM: 1}


def parse_transfer(command: tuple[str, ...]) -> Transfer | None:
    """Return the transfer that `command` asks for; `None` when it is no `s3 cp|mv|sync|rm` (or asks for its help).

    Raises `BadInput` for a transfer that aws-cli itself would refuse: too few or too many locations, no S3 location.
    """
    line = split_command(command)
    if len(line.words) < 2 or line.words[0] != "s3" or line.words[1] not in list(Verb):  # noqa: PLR2004 (s3 and verb)
        return None
    verb = Verb(line.words[1])
    if line.words[2:] == ("help",):
        return None
    locations = [_location(text) for text in _location_words(verb, line)]
    given = {option.name for option in line.options}
    transfer = Transfer(
        verb=verb,
        source=locations[0],
        destination=locations[1] if len(locations) > 1 else None,
        recursive=verb is Verb.SYNC or "--recursive" in given,
        quiet="--quiet" in given,
        delete="--delete" in given,
        filters=tuple(
            Filter(include=option.name == "--include", pattern=option.values[0] if option.values else "")
            for option in line.options
            if option.name in {"--include", "--exclude"}
        ),
        options=tuple(option for option in line.options if option.name not in _TOLD),
        obstacles=_obstacles(verb, line, locations),
    )
    _check(transfer)
    return transfer


def _location_words(verb: Verb, line: CommandLine) -> tuple[str, ...]:
    wanted = _LOCATIONS[verb]
    words = line.words[2:]
    if len(words) < wanted:
        words = line.words_at_most[2:]
    if len(words) != wanted:
        needs = "one location, `s3://BUCKET/KEY`" if wanted == 1 else "a source and a destination"
        raise BadInput(f"`s3 {verb}` takes {needs}, and has {len(words)}", fix=f"write {needs}")
    return words


def _location(text: str) -> Local | S3:
    if not text.startswith(_SCHEME):
        return Local(path=text)
    bucket, _, key = text.removeprefix(_SCHEME).partition("/")
    if not bucket:
        raise BadInput(f"`{text}` names no bucket", fix="write `s3://BUCKET/KEY`")
    return S3(bucket=bucket, key=key)


def _obstacles(verb: Verb, line: CommandLine, locations: list[Local | S3]) -> tuple[str, ...]:
    options = [f"`{option.name}`" for option in line.options if option.name not in _PORTABLE[verb]]
    streams = ["`-` (standard input or output)" for location in locations if _is_stream(location)]
    arns = [
        "an access point ARN" for location in locations if isinstance(location, S3) and location.bucket[:4] == "arn:"
    ]
    return tuple(dict.fromkeys(options + streams + arns))


def _is_stream(location: Local | S3 | None) -> bool:
    return isinstance(location, Local) and location.is_stream


def _check(transfer: Transfer) -> None:
    verb = transfer.verb
    if transfer.destination is None and isinstance(transfer.source, Local):
        raise BadInput(f"`s3 rm` removes objects, and `{transfer.source.path}` is local", fix="write `s3://BUCKET/KEY`")
    if isinstance(transfer.source, Local) and isinstance(transfer.destination, Local):
        raise BadInput(
            f"`s3 {verb}` from local to local is none of aws-cli's", fix="write one side as `s3://BUCKET/KEY`"
        )
    streams = _is_stream(transfer.source) or _is_stream(transfer.destination)
    if streams and (verb is not Verb.CP or transfer.recursive):
        raise BadInput("`-` goes with `s3 cp` of a single object alone", fix="name a file or a directory")


def selects(transfer: Transfer, key: str) -> bool:
    """Whether the filters let the object `key` of the source through.

    As aws-cli, patterns begin at the source's prefix (of a single object, at its parent) and match the whole key, `*`
    standing for `/` too.
    """
    assert isinstance(transfer.source, S3), "objects are at the source"
    root = transfer.source.key
    if not transfer.recursive and not root.endswith("/"):
        root = posixpath.dirname(root)
    start = f"{transfer.source.bucket}/{root}"
    chosen = True
    for rule in transfer.filters:
        if fnmatchcase(f"{transfer.source.bucket}/{key}", posixpath.join(start, rule.pattern)):
            chosen = rule.include
    return chosen


def expected_local(transfer: Transfer, key: str, *, directories: Collection[str] = ()) -> str | None:
    """Where in the workspace the object `key` lands, as a plain relative path with `/`.

    `directories` are those that exist before the command runs: a single object whose destination is one of them goes
    inside, as it does into one that ends in `/` or `.`. `None` when the command does not download `key`, or downloads
    it to standard output or to a place outside the workspace.
    """
    source, destination = transfer.source, transfer.destination
    if not isinstance(source, S3) or not isinstance(destination, Local) or destination.is_stream:
        return None
    if not selects(transfer, key):
        return None
    if transfer.recursive:
        prefix = source.key if not source.key or source.key.endswith("/") else f"{source.key}/"
        # A key that ends in `/` is a folder made by hand; aws-cli makes no file of it.
        relative = key.removeprefix(prefix) if key.startswith(prefix) and not key.endswith("/") else ""
        if not relative or _leaves(relative):
            return None
        return _inside(posixpath.join(destination.path, f"./{relative}"))
    if key != source.key or not key:
        return None
    into = destination.path.endswith("/") or posixpath.basename(destination.path) == "."
    if into or posixpath.normpath(destination.path) in {posixpath.normpath(name) for name in directories}:
        return _inside(posixpath.join(destination.path, posixpath.basename(key)))
    return _inside(destination.path)


def _leaves(relative: str) -> bool:
    """Whether aws-cli skips the key because it would leave the destination."""
    return posixpath.normpath(f"./{relative}").startswith("../") or posixpath.normpath(f"./{relative}") == ".."


def _inside(path: str) -> str | None:
    plain = posixpath.normpath(path)
    return None if plain.startswith(("/", "../")) or plain in {"..", "."} else plain
