"""Entries of the history (one per document), and the filters for listing them."""

from dataclasses import dataclass
from datetime import datetime

import msgspec

from s3bench.history.machine import Machine


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A stored document. Times are UTC; `ended_at` is null for a run that ended early, or was still running.

    `identity` is the SHA-256 of its content, `machine` the fingerprint of `machine_facts`, `commit` that of the s3bench
    checkout. `results`, `measurements` and `failures` are counts; `size_bytes` is the length of the document.
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
    """The outcome of adding a document: nothing was changed unless it `is_new`."""

    is_new: bool
    identity: str


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """The documents that were removed, or would be removed unless `is_done`."""

    is_done: bool
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Filters for documents; all given ones must match.

    `benchmarks` is an expression of `s3bench.spec.selection` over names, values of dimensions, tags and client names;
    one matching result is enough. `client` is a name or a label, `machine` the start of a fingerprint. Runs match if
    they started at `since` or later and before `until`.
    """

    benchmarks: str = ""
    client: str = ""
    machine: str = ""
    since: datetime | None = None
    until: datetime | None = None
