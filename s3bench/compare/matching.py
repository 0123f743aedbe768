"""Which results are held against which: the same benchmark in two groups.

Owns the groups of a comparison (one for each document, or one for each value of a dimension or client) and the
matches between them. What is said of a match is `s3bench.compare.difference`'s.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

import msgspec

from s3bench.errors import BadInput
from s3bench.results.document import Client, Document, Result
from s3bench.spec.reader import nearest, one_of

BY_CLIENT = "client"
"""What groups can be made by, beside the dimensions."""

TRANSFER_CLIENT = "S3TransferClient"
"""The dimension that `s3bench run` adds to tell Classic from CRT; between clients it makes no other benchmark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSource:
    """A document and the name that the user gave to it."""

    name: str
    document: Document


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResult:
    """A result in a group. `dimensions` lack what the groups differ by; `stem` is the client's name without that."""

    dimensions: tuple[tuple[str, str], ...]
    stem: str
    result: Result

    @property
    def benchmark(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """What has to be equal in both groups; the order of the dimensions means nothing."""
        return self.result.name, tuple(sorted(self.dimensions))

    @property
    def label(self) -> str:
        """The client's label with the stem in its name's place: `cli@2.38.5` for `cli-crt@2.38.5` among CRT's."""
        client = self.result.client
        return self.stem + client.label.removeprefix(client.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What is held against another group: the results of a document, or those of one value."""

    name: str
    cells: tuple[GroupResult, ...]

    @property
    def clients(self) -> tuple[Client, ...]:
        """Every client in it, in order of appearance."""
        return tuple(dict.fromkeys(cell.result.client for cell in self.cells))


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedBenchmark:
    """One benchmark in both groups."""

    baseline: GroupResult
    other: GroupResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """All matches in the baseline's order, and what has no partner in the other group."""

    matches: tuple[MatchedBenchmark, ...]
    only_baseline: tuple[GroupResult, ...]
    only_other: tuple[GroupResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """The groups, the baseline first. `notes` tell what was joined and what was left out."""

    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()


def group_by_document(sources: Sequence[DocumentSource]) -> Grouping:
    """One group for each document."""
    groups = (Group(name=source.name, cells=tuple(map(_cell, source.document.results))) for source in sources)
    return Grouping(groups=tuple(groups))


def group_by_value(sources: Sequence[DocumentSource], by: str, *, baseline: str | None = None) -> Grouping:
    """One group for each value of the dimension `by`, or for each client, over all documents together.

    Values stand in order of appearance, the one named `baseline` first. Raises `BadInput` for a dimension or value
    that is not there, or fewer than two values.
    """
    results, notes = _joined(sources)
    valued = _client_cells(results) if by == BY_CLIENT else _dimension_cells(results, by)
    if not valued:
        _refuse_dimension(results, by)
    lacking = len(results) - sum(map(len, valued.values()))
    if lacking:
        notes.append(f"{lacking} of {len(results)} results have no dimension {by} and were left out")
    names = list(valued)
    if baseline is not None and baseline not in valued:
        near = nearest(baseline, names)
        raise BadInput(
            f"--baseline {baseline}: {by} has no such value",
            fix=f"{f'did you mean `{near}`? ' if near else ''}The values are {one_of(names)}",
        )
    if len(names) < 2:  # noqa: PLR2004 (a baseline and another)
        raise BadInput(
            f"--by {by}: there is only the value {names[0]}",
            "a comparison needs two",
            "name another dimension, or a second document",
        )
    ordered = sorted(names, key=lambda name: name != baseline)  # sorting is stable
    return Grouping(
        groups=tuple(Group(name=f"{by}={name}", cells=tuple(valued[name])) for name in ordered), notes=tuple(notes)
    )


def match(baseline: Group, other: Group) -> Matching:
    """Pair the cells of equal benchmarks and clients.

    Clients match by name where each group has the name once for that benchmark, since two versions of one client are
    what people compare; otherwise by label.
    """
    partners: dict[tuple[object, ...], list[GroupResult]] = defaultdict(list)
    for cell in other.cells:
        partners[cell.benchmark, cell.stem].append(cell)
    rivals: dict[tuple[object, ...], int] = defaultdict(int)
    for cell in baseline.cells:
        rivals[cell.benchmark, cell.stem] += 1
    matches, alone, taken = [], [], set()
    for cell in baseline.cells:
        key = cell.benchmark, cell.stem
        found = partners.get(key, [])
        if rivals[key] > 1 or len(found) > 1:
            found = [candidate for candidate in found if candidate.label == cell.label]
        if found:
            taken.add(id(found[0]))
            matches.append(MatchedBenchmark(baseline=cell, other=found[0]))
        else:
            alone.append(cell)
    return Matching(
        matches=tuple(matches),
        only_baseline=tuple(alone),
        only_other=tuple(cell for cell in other.cells if id(cell) not in taken),
    )


def dimensions_of(result: Result) -> tuple[tuple[str, str], ...]:
    """The dimensions as names and values, in the definition's order."""
    return tuple(item for dimension in result.dimensions for item in dimension.items())


def _cell(result: Result) -> GroupResult:
    return GroupResult(dimensions=dimensions_of(result), stem=result.client.name, result=result)


def _joined(sources: Sequence[DocumentSource]) -> tuple[list[Result], list[str]]:
    """All results; those of one identity from several documents become one, since a run may be split into chunks."""
    joined: dict[tuple[object, ...], Result] = {}
    shared = 0
    for source in sources:
        for result in source.document.results:
            old = joined.get(result.identity)
            shared += old is not None
            joined[result.identity] = result if old is None else _together(old, result)
    notes = [f"results in several documents were joined: {shared}"] if shared else []
    return list(joined.values()), notes


def _together(first: Result, second: Result) -> Result:
    return msgspec.structs.replace(
        first,
        measurements=first.measurements + second.measurements,
        errors=first.errors + second.errors,
    )


def _dimension_cells(results: Iterable[Result], by: str) -> dict[str, list[GroupResult]]:
    """The cells of each value. A client named after the value (`cli-crt` of `CRT`) matches its sibling."""
    valued: dict[str, list[GroupResult]] = defaultdict(list)
    for result in results:
        dimensions = dimensions_of(result)
        value = dict(dimensions).get(by)
        if value is not None:
            rest = tuple(item for item in dimensions if item[0] != by)
            name = result.client.name
            stem = name[: -len(value) - 1] if name.casefold().endswith(f"-{value.casefold()}") else name
            valued[value].append(GroupResult(dimensions=rest, stem=stem, result=result))
    return valued


def _client_cells(results: Sequence[Result]) -> dict[str, list[GroupResult]]:
    """The cells of each client, by name or, where several have the name, by label."""
    labels: dict[str, set[str]] = defaultdict(set)
    for result in results:
        labels[result.client.name].add(result.client.label)
    valued: dict[str, list[GroupResult]] = defaultdict(list)
    for result in results:
        client = result.client
        value = client.name if len(labels[client.name]) == 1 else client.label
        dimensions = tuple(item for item in dimensions_of(result) if item[0] != TRANSFER_CLIENT)
        valued[value].append(GroupResult(dimensions=dimensions, stem="", result=result))
    return {value: _told_apart(cells) for value, cells in valued.items()}


def _told_apart(cells: Sequence[GroupResult]) -> list[GroupResult]:
    """Give the client's dimension back to cells of one client that nothing else tells apart."""
    counts: dict[object, int] = defaultdict(int)
    for cell in cells:
        counts[cell.benchmark] += 1
    return [
        cell
        if counts[cell.benchmark] == 1
        else GroupResult(dimensions=dimensions_of(cell.result), stem=cell.stem, result=cell.result)
        for cell in cells
    ]


def _refuse_dimension(results: Iterable[Result], by: str) -> NoReturn:
    names = [*dict.fromkeys(name for result in results for name, _ in dimensions_of(result)), BY_CLIENT]
    near = nearest(by, names)
    raise BadInput(
        f"--by {by}: no result has such a dimension",
        fix=f"{f'did you mean `{near}`? ' if near else ''}There is {one_of(names)}",
    )
