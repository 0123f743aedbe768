"""One document as a list of the history shows it, and what a list may be asked for."""

from dataclasses import dataclass
from datetime import datetime

import msgspec

from s3bench.history.machine import Machine


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A document that is kept. Times are UTC; `ended_at` is null for a run that was killed, or was going on.

    `identity` is the SHA-256 of its content, `machine` the fingerprint of `machine_facts`, `commit` that of the s3bench
    checkout. `results`, `measurements` and `failures` are counts; `size_bytes` is the length of what was added.
    """

    identity: str
    started_at: datetime
    ended_at: datetime | None
    added_at: datetime
    s3bench: str
    commit: str | None
    machine: str
    machine_facts: Machine
    clients: tuple[str, ...]
    results: int
    measurements: int
    failures: int
    size_bytes: int


class Added(msgspec.Struct, frozen=True, kw_only=True):
    """What adding a document did: nothing, unless it `is_new`."""

    is_new: bool
    identity: str


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """The documents that were removed, or, unless it `is_done`, would be."""

    is_done: bool
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which documents: all that meet every one of these that is given.

    `benchmarks` is an expression of `s3bench.spec.selection` over names, values of dimensions, tags and clients' names;
    one result that fits is enough. `client` is a name or a label, `machine` the beginning of a fingerprint. `since` is
    the first moment of starts that are in, `until` the first that is out.
    """

    benchmarks: str = ""
    client: str = ""
    machine: str = ""
    since: datetime | None = None
    until: datetime | None = None
