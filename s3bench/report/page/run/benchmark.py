"""Benchmarks of a run for the page: all clients of one benchmark together, each by a unique name.

Results of load runs are left out.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from s3bench.compare.matching import TRANSFER_CLIENT
from s3bench.report.label import client_text, clipped, unique
from s3bench.results.document import Client, Document, Result

TITLE_MAX = 100
CLIENT_MAX = 40
"""The most characters of a name in a chart; what is longer ends in a checksum of the whole."""

_NOT_OF_A_NAME = re.compile(r"[^a-z0-9]+")
_SLUG_MAX = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientResults:
    """One client on a benchmark. `client` is its name, which no other client of the document has."""

    client: str
    result: Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One benchmark with its dimensions on all of its clients; `name` is made as those of sections are."""

    name: str
    title: str
    rows: tuple[ClientResults, ...]

    @property
    def clients(self) -> list[str]:
        """The clients' names, in the document's order."""
        return [row.client for row in self.rows]


def benchmarks_of(document: Document) -> tuple[Benchmark, ...]:
    """The benchmarks in the document's order; results of load are none."""
    grouped: dict[tuple[object, ...], list[Result]] = {}
    for result in document.results:
        if not result.loops:
            grouped.setdefault((result.name, *_dimensions(result)), []).append(result)
    titles = tuple(unique(_title(results[0]) for results in grouped.values()))
    slugs = unique((_slug(title) for title in titles), "{}-{}".format)
    names = _client_names(document)
    return tuple(
        Benchmark(name=slug, title=title, rows=tuple(_rows(results, names)))
        for slug, title, results in zip(slugs, titles, grouped.values(), strict=True)
    )


def clients_of(benchmarks: Iterable[Benchmark]) -> list[str]:
    """The names of all clients, in order of appearance: the same colour and shape everywhere."""
    return list(dict.fromkeys(client for benchmark in benchmarks for client in benchmark.clients))


def _dimensions(result: Result) -> tuple[tuple[str, str], ...]:
    return tuple(pair for pair in result.dimension_pairs if pair[0] != TRANSFER_CLIENT)


def _title(result: Result) -> str:
    words = " ".join((result.name, *(f"{name}={value}" for name, value in _dimensions(result))))
    return clipped(words, most=TITLE_MAX).strip()


def _slug(title: str) -> str:
    return _NOT_OF_A_NAME.sub("-", title.lower())[:_SLUG_MAX].strip("-") or "benchmark"


def _client_names(document: Document) -> dict[Client, str]:
    first = {result.client: result for result in reversed(document.results)}
    ordered = {result.client: first[result.client] for result in document.results}
    names = (clipped(client_text(document, result), most=CLIENT_MAX).strip() for result in ordered.values())
    return dict(zip(ordered, unique(names), strict=True))


def _rows(results: Sequence[Result], names: dict[Client, str]) -> Iterable[ClientResults]:
    """A row for each result; one client with Classic and with CRT has either behind its name."""
    clients = [result.client for result in results]
    for result, name in zip(results, unique(_told_apart(result, clients, names) for result in results), strict=True):
        yield ClientResults(client=name, result=result)


def _told_apart(result: Result, clients: Sequence[Client], names: dict[Client, str]) -> str:
    name = names[result.client]
    if clients.count(result.client) == 1:
        return name
    values = (value for key, value in result.dimension_pairs if key == TRANSFER_CLIENT)
    return clipped(" ".join((name, *values)), most=CLIENT_MAX)
