"""Prepares definitions for a live S3: the objects that their responses imply, and commands moved under a prefix.

So a definition written for the stub runs against a live S3 without touching other objects.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from s3bench.spec.definition import Definition, Environment, FileBody, ListingBody

_LOCATION = re.compile(r"s3://[^/]+/?(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteObject:
    """An object `key` with the content of the fixture `file`."""

    key: str
    file: str


def moved_under(definition: Definition, *, bucket: str, prefix: str) -> Definition:
    """`definition` with every `s3://ANY/KEY` of its command turned into `s3://BUCKET/PREFIX/KEY`."""
    command = tuple(
        f"s3://{bucket}/{prefix}/{found[1]}" if (found := _LOCATION.fullmatch(word)) else word
        for word in definition.command
    )
    return replace(definition, command=command)


def remote_objects(definition: Definition) -> tuple[RemoteObject, ...]:
    """The objects that must exist before the command runs: those of GET responses, and those of listings."""
    objects: dict[str, RemoteObject] = {}
    for response in definition.responses or ():
        match, body = response.match, response.body
        if isinstance(body, ListingBody):
            items = _listed(body, definition.environment)
        elif match and match.path and match.method == "GET" and isinstance(body, FileBody):
            items = _served(match.path.lstrip("/").partition("/")[2], body.file, definition.environment)
        else:
            continue
        for item in items:
            objects.setdefault(item.key, item)
    return tuple(objects.values())


def _listed(listing: ListingBody, environment: Environment) -> Iterator[RemoteObject]:
    directory = environment.directory(listing.directory)
    assert directory is not None, "a definition is valid"
    for name, _ in directory.files():
        yield RemoteObject(key=f"{listing.prefix}{name}", file=f"{directory.name.rstrip('/')}/{name}")


def _served(key: str, file: str, environment: Environment) -> Iterator[RemoteObject]:
    for stands_for in _stand_ins(key, file, environment):
        yield RemoteObject(key=key.replace("*", stands_for), file=file.replace("*", stands_for))


def _stand_ins(key: str, file: str, environment: Environment) -> Iterator[str]:
    """What `*` stands for, from every fixture that the file pattern matches; nothing if only the key has a pattern."""
    if "*" not in key:
        yield ""
    elif "*" in file:
        before, _, after = file.partition("*")
        for name in fixture_names(environment):
            if name.startswith(before) and name.endswith(after) and len(name) >= len(before) + len(after):
                yield name[len(before) : len(name) - len(after)]


def fixture_names(environment: Environment) -> Iterator[str]:
    """The names of all fixtures, including those in directories."""
    for file in environment.files:
        yield file.name
    for literal in environment.file_literals:
        yield literal.name
    for directory in environment.directories:
        for name, _ in directory.files():
            yield f"{directory.name.rstrip('/')}/{name}"
