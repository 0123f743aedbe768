"""`cp`, `mv`, `sync` and `rm` with the meaning that aws-cli gives them, on any backend.

Selects the objects and files and what is done to each; the backend moves the bytes. A command is a dictionary
with `verb`, `direction` (`upload`, `download`, `copy`, `delete`), `recursive`, `delete`, `filters` (pairs of include?
and pattern) and `source` and `destination`: `{"path": ...}` or `{"bucket": ..., "key": ...}`.

A backend has `list(bucket, prefix)`, which yields objects, and `upload(path, bucket, key)`,
`download(bucket, object, path)`, `copy(source, bucket, key)`, `delete(bucket, key)`, each of which starts and
returns something with `result()`; `with` ends it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Any, NamedTuple


class Object(NamedTuple):
    """An object or a file: its name below the source, its full key or path, and what a listing told of it."""

    name: str
    where: str
    size_bytes: int | None
    modified_s: float | None
    etag: str | None = None


def run(command: dict[str, Any], backend: Any) -> None:
    """Run one command to its end; raises what the backend raises."""
    with backend:
        if command["direction"] == "delete":
            _finish(
                (backend.delete(command["source"]["bucket"], item.where), None) for item in _sources(command, backend)
            )
            return
        wanted = list(_sources(command, backend))
        if command["verb"] == "sync":
            wanted, surplus = _outdated(command, wanted, backend)
        else:
            surplus = []
        _finish((_start(command, item, backend), _after(command, item)) for item in wanted)
        if command["verb"] == "mv":
            _remove(command["source"], wanted, backend)
        if command["delete"]:
            _remove(command["destination"], surplus, backend)


def _finish(started: Iterator[tuple[Any, Callable[[], None] | None]]) -> None:
    """Start all, then wait for each, and do what is to be done after it."""
    for future, after in list(started):
        future.result()
        if after:
            after()


def _start(command: dict[str, Any], item: Object, backend: Any) -> Any:
    target = command["destination"]
    if command["direction"] == "upload":
        return backend.upload(item.where, target["bucket"], _target_key(command, item))
    if command["direction"] == "copy":
        source = {"Bucket": command["source"]["bucket"], "Key": item.where}
        return backend.copy(source, target["bucket"], _target_key(command, item))
    path = _target_path(command, item)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    return backend.download(command["source"]["bucket"], item, path)


def _after(command: dict[str, Any], item: Object) -> Callable[[], None] | None:
    """Give a downloaded file the object's time of change, which a later sync compares."""
    modified_s = item.modified_s
    if command["direction"] != "download" or modified_s is None:
        return None
    path = _target_path(command, item)
    return lambda: os.utime(path, (modified_s, modified_s))


def _remove(place: dict[str, Any], items: list[Object], backend: Any) -> None:
    if "bucket" in place:
        _finish((backend.delete(place["bucket"], item.where), None) for item in items)
        return
    for item in items:
        os.unlink(item.where)


def _sources(command: dict[str, Any], backend: Any) -> Iterator[Object]:
    source = command["source"]
    if not command["recursive"]:
        where = source["key"] if "bucket" in source else source["path"]
        found: Iterator[Object] = iter([Object(os.path.basename(where), where, None, None)])
    else:
        found = _walk(source, backend)
    for item in found:
        # aws-cli skips a key that would be downloaded to outside of the destination.
        if _chosen(item.name, command["filters"]) and not (command["direction"] == "download" and _leaves(item.name)):
            yield item


def _walk(place: dict[str, Any], backend: Any) -> Iterator[Object]:
    """All that is below a prefix or a directory, in the order of names."""
    if "bucket" in place:
        prefix = _as_folder(place["key"])
        for item in backend.list(place["bucket"], prefix):
            if not item.where.startswith(prefix):  # or `rm` and `mv` would delete what belongs to others
                raise ValueError(f"the server was asked for keys that begin with {prefix!r} and lists {item.where!r}")
            # A key that ends in "/" is a folder made by hand; aws-cli makes no file of it.
            if not item.where.endswith("/"):
                yield item._replace(name=item.where[len(prefix) :])
        return
    root = place["path"]
    for folder, subfolders, files in os.walk(root, followlinks=True):
        subfolders.sort()
        for file in sorted(files):
            path = os.path.join(folder, file)
            facts = os.stat(path)
            yield Object(os.path.relpath(path, root), path, facts.st_size, facts.st_mtime)


def _leaves(name: str) -> bool:
    path = os.path.normpath("./" + name)
    return path == ".." or path.startswith("../")


def _chosen(name: str, filters: list[tuple[bool, str]]) -> bool:
    chosen = True
    for include, pattern in filters:
        if fnmatchcase(name, pattern):
            chosen = include
    return chosen


def _outdated(command: dict[str, Any], wanted: list[Object], backend: Any) -> tuple[list[Object], list[Object]]:
    """Find what differs at the destination, by aws-cli's rule of size and time; and what only the destination has."""
    there = {
        item.name: item for item in _walk(command["destination"], backend) if _chosen(item.name, command["filters"])
    }
    missing = [item for item in wanted if not _same(command["direction"], item, there.pop(item.name, None))]
    return missing, list(there.values())


def _same(direction: str, source: Object, target: Object | None) -> bool:
    if target is None or source.size_bytes != target.size_bytes:
        return False
    newer_s = (target.modified_s or 0.0) - (source.modified_s or 0.0)
    # An upload is up to date when the object is no older than the file; a download, since files get their object's
    # time, when the file is no newer than the object.
    return newer_s <= 0 if direction == "download" else newer_s >= 0


def _target_key(command: dict[str, Any], item: Object) -> str:
    key: str = command["destination"]["key"]
    if command["recursive"]:
        return _as_folder(key) + item.name
    return key + item.name if not key or key.endswith("/") else key


def _target_path(command: dict[str, Any], item: Object) -> str:
    path: str = command["destination"]["path"]
    if command["recursive"] or path.endswith("/") or os.path.isdir(path):
        return os.path.join(path, item.name.lstrip("/"))
    return path


def _as_folder(key: str) -> str:
    return key if not key or key.endswith("/") else key + "/"
