"""The buckets and objects that must exist in an emulator before a definition's command runs.

If there are responses, they define the objects, as for a live endpoint (`remote`). If not, every fixture is an object
in the bucket that the command reads from, with its name as the key.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from s3bench.spec.command import S3, TransferDirection, parse_transfer
from s3bench.spec.definition import Definition
from s3bench.spec.remote import fixture_names, remote_objects

_LOCATION = re.compile(r"s3://([^/]+)(?:/.*)?", re.DOTALL)
_MAKES_BUCKET = frozenset({("s3", "mb"), ("s3api", "create-bucket")})


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """An object `key` in `bucket` with the content of the fixture `file`."""

    bucket: str
    key: str
    file: str

    @property
    def path(self) -> str:
        """Its path-style path, as in the wire log."""
        return f"/{self.bucket}/{self.key}"


def buckets_of(definition: Definition) -> tuple[str, ...]:
    """The buckets in the command, in order, each once; none for a command that creates its bucket."""
    if definition.command[:2] in _MAKES_BUCKET:
        return ()
    return tuple(dict.fromkeys(_named_buckets(definition.command)))


def _named_buckets(command: tuple[str, ...]) -> Iterator[str]:
    for before, word in zip(("", *command), command, strict=False):
        found = _LOCATION.fullmatch(word)
        if found:
            yield found[1]
        elif before == "--bucket":
            yield word
        elif word.startswith("--bucket="):
            yield word.partition("=")[2]


def stored_objects(definition: Definition) -> tuple[StoredObject, ...]:
    """The objects that must exist, each once."""
    objects = _fixtures(definition) if definition.responses is None else _responded(definition)
    return tuple({item.path: item for item in objects}.values())


def _fixtures(definition: Definition) -> Iterator[StoredObject]:
    bucket = _read_from(definition)
    if bucket is not None:
        for name in fixture_names(definition.environment):
            yield StoredObject(bucket=bucket, key=name, file=name)


def _responded(definition: Definition) -> Iterator[StoredObject]:
    buckets = buckets_of(definition)
    for response in definition.responses or ():
        path = (response.match.path if response.match else None) or ""
        named = path.lstrip("/").partition("/")[0]
        bucket = named if named in buckets else _read_from(definition) or next(iter(buckets), None)
        for item in remote_objects(replace(definition, responses=(response,))):
            if bucket is not None:
                yield StoredObject(bucket=bucket, key=item.key, file=item.file)


def _read_from(definition: Definition) -> str | None:
    """The bucket that the command reads objects from; `None` for an upload."""
    transfer = parse_transfer(definition.command)
    if transfer is None:
        return next(iter(buckets_of(definition)), None)
    if transfer.direction is TransferDirection.UPLOAD:
        return None
    assert isinstance(transfer.source, S3)
    return transfer.source.bucket
