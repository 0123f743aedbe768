"""Parses S3 transfer commands (`s3 cp|mv|sync|rm`), so that other clients can do the same transfer.

Interprets locations, filters and options, decides whether s3bench's own drivers can run the command, and computes the
path of a downloaded object. The rules are those of aws-cli (awscli/customizations/s3: fileformat.py, filters.py,
subcommands.py).
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
    """The direction of a transfer."""

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
        """Whether it is a stream instead of a file."""
        return self.path == _STREAM


@dataclass(frozen=True, slots=True, kw_only=True)
class S3:
    """A bucket and a key or prefix; the key is empty for the whole bucket."""

    bucket: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """`--include` or `--exclude` with its pattern; the last one that matches an object decides."""

    include: bool
    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """One transfer command.

    `recursive`: whole directories or prefixes are transferred, as by every `sync`. `destination` is `None` for `rm`.
    `options` are those not represented by other fields, as written. `obstacles` are what s3bench's own drivers cannot
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
    def is_dry_run(self) -> bool:
        """Whether it only shows what it would transfer."""
        return any(option.name == "--dryrun" for option in self.options)

    @property
    def may_leave_out(self) -> bool:
        """Whether an option may leave out files that it would otherwise transfer; filters are not counted."""
        given = {option.name: option.values for option in self.options}
        return self.is_dry_run or "--no-overwrite" in given or given.get("--case-conflict") == ("skip",)

    @property
    def portable(self) -> bool:
        """Whether s3bench's own drivers can run it."""
        return not self.obstacles

    @property
    def reason(self) -> str:
        """The obstacles in words; empty if portable."""
        return ", ".join(self.obstacles)


# Options that change what is printed, not what is transferred, or that name the default.
_OUTPUT_ONLY = frozenset({
    "--quiet", "--only-show-errors", "--no-progress", "--progress-frequency", "--progress-multiline", "--no-cli-pager",
    "--color", "--output",
})  # fmt: skip
_COPYING = _OUTPUT_ONLY | {"--include", "--exclude", "--follow-symlinks"}
_PORTABLE = {
    Verb.CP: _COPYING | {"--recursive"},
    Verb.MV: _COPYING | {"--recursive"},
    Verb.SYNC: _COPYING | {"--delete"},
    Verb.RM: _OUTPUT_ONLY | {"--include", "--exclude", "--recursive"},
}
_OWN_FIELDS = frozenset({"--recursive", "--quiet", "--delete", "--include", "--exclude"})
_LOCATIONS = {Verb.CP: 2, Verb.MV: 2, Verb.SYNC: 2, Verb.RM: 1}


def parse_transfer(command: tuple[str, ...]) -> Transfer | None:
    """Parse a transfer; `None` if `command` is not `s3 cp|mv|sync|rm` (or prints its help).

    Raises `BadInput` for a transfer that aws-cli itself would reject: too few or too many locations, no S3 location.
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
        options=tuple(option for option in line.options if option.name not in _OWN_FIELDS),
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
        raise BadInput(f"`s3 {verb}` needs {needs}, but has {len(words)}", fix=f"write {needs}")
    return words


def _location(text: str) -> Local | S3:
    if not text.startswith(_SCHEME):
        return Local(path=text)
    bucket, _, key = text.removeprefix(_SCHEME).partition("/")
    if not bucket:
        raise BadInput(f"`{text}` has no bucket", fix="write `s3://BUCKET/KEY`")
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
        raise BadInput(f"`s3 rm` removes objects, but `{transfer.source.path}` is local", fix="write `s3://BUCKET/KEY`")
    if isinstance(transfer.source, Local) and isinstance(transfer.destination, Local):
        raise BadInput(f"`s3 {verb}` needs at least one `s3://` path", fix="write one side as `s3://BUCKET/KEY`")
    streams = _is_stream(transfer.source) or _is_stream(transfer.destination)
    if streams and (verb is not Verb.CP or transfer.recursive):
        raise BadInput("`-` works only with `s3 cp` of a single object", fix="use a file or a directory")


def selects(transfer: Transfer, key: str) -> bool:
    """Whether the filters include the object `key` of the source.

    As in aws-cli, patterns are relative to the source's prefix (for a single object, to its parent) and match the whole
    key; `*` matches `/` too.
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
    """The path in the workspace to which the object `key` is downloaded, as a plain relative path with `/`.

    `directories` are those that exist before the command runs: a single object is written into a destination that is
    one of them or ends in `/` or `.`. `None` if the command does not download `key`, or downloads it to standard output
    or outside of the workspace.
    """
    source, destination = transfer.source, transfer.destination
    if not isinstance(source, S3) or not isinstance(destination, Local) or destination.is_stream:
        return None
    if not selects(transfer, key):
        return None
    if transfer.recursive:
        prefix = source.key if not source.key or source.key.endswith("/") else f"{source.key}/"
        # A key that ends in `/` is a folder marker, for which aws-cli creates no file.
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
