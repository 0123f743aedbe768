"""Groups the results of a comparison and matches the same benchmark in two groups.

There is one group for each document, or one for each value of a dimension or client.
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
"""The value of --by that groups by client instead of by a dimension."""

TRANSFER_CLIENT = "S3TransferClient"
"""The dimension that `s3bench run` adds for Classic or CRT; it does not distinguish benchmarks between clients."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSource:
    """A document and its name as the user gave it."""

    name: str
    document: Document


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResult:
    """A result in a group, without what the groups differ by in its `dimensions` and in the client name (`stem`)."""

    dimensions: tuple[tuple[str, str], ...]
    stem: str
    result: Result

    @property
    def dimension_objects(self) -> tuple[dict[str, str], ...]:
        """The dimensions as objects of one key each."""
        return tuple({name: value} for name, value in self.dimensions)

    @property
    def benchmark(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """The key that must be equal in both groups, whatever the order of the dimensions."""
        return self.result.name, tuple(sorted(self.dimensions))

    @property
    def label(self) -> str:
        """The client's label with the stem in place of the name: `cli@2.38.5` for `cli-crt@2.38.5` in the group CRT."""
        client = self.result.client
        return self.stem + client.label.removeprefix(client.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The results of one document, or of one value of the dimension."""

    name: str
    cells: tuple[GroupResult, ...]

    @property
    def clients(self) -> tuple[Client, ...]:
        """All clients of the group, in order of appearance."""
        return tuple(dict.fromkeys(cell.result.client for cell in self.cells))


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedBenchmark:
    """One benchmark in both groups."""

    baseline: GroupResult
    other: GroupResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """All matches in the baseline's order, and the results without counterpart."""

    matches: tuple[MatchedBenchmark, ...]
    only_baseline: tuple[GroupResult, ...]
    only_other: tuple[GroupResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """The groups, the baseline first. `notes` report what was joined and what was left out."""

    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()


def group_by_document(sources: Sequence[DocumentSource]) -> Grouping:
    """One group for each document."""
    groups = (Group(name=source.name, cells=tuple(map(_cell, source.document.results))) for source in sources)
    return Grouping(groups=tuple(groups))


def group_by_value(sources: Sequence[DocumentSource], by: str, *, baseline: str | None = None) -> Grouping:
    """One group for each value of the dimension `by`, or for each client, over all documents together.

    Values are in order of appearance, the one named `baseline` first. Raises `BadInput` for an unknown dimension or
    value, or fewer than two values.
    """
    results, notes = _joined(sources)
    by_value = _client_cells(results) if by == BY_CLIENT else _dimension_cells(results, by)
    if not by_value:
        _raise_unknown_dimension(results, by)
    without_dimension = len(results) - sum(map(len, by_value.values()))
    if without_dimension:
        notes.append(f"{without_dimension} of {len(results)} results have no dimension {by} and were left out")
    names = list(by_value)
    if baseline is not None and baseline not in by_value:
        near = nearest(baseline, names)
        raise BadInput(
            f"--baseline {baseline}: {by} has no such value",
            fix=f"{f'did you mean `{near}`? ' if near else ''}{by} has the values {one_of(names)}",
        )
    if len(names) < 2:  # noqa: PLR2004 (a baseline and another)
        raise BadInput(
            f"--by {by}: its only value is {names[0]}",
            "a comparison needs at least two values",
            "choose another dimension, or add a second document",
        )
    ordered = sorted(names, key=lambda name: name != baseline)  # sorting is stable
    return Grouping(
        groups=tuple(Group(name=f"{by}={name}", cells=tuple(by_value[name])) for name in ordered), notes=tuple(notes)
    )


def match(baseline: Group, other: Group) -> Matching:
    """Pair the cells of equal benchmarks and clients.

    Clients match by name if each group has the name once for that benchmark, because people compare two versions of one
    client; otherwise by label.
    """
    partners: dict[tuple[object, ...], list[GroupResult]] = defaultdict(list)
    for cell in other.cells:
        partners[cell.benchmark, cell.stem].append(cell)
    same_name: dict[tuple[object, ...], int] = defaultdict(int)
    for cell in baseline.cells:
        same_name[cell.benchmark, cell.stem] += 1
    matches, only_baseline, taken = [], [], set()
    for cell in baseline.cells:
        key = cell.benchmark, cell.stem
        found = partners.get(key, [])
        if same_name[key] > 1 or len(found) > 1:
            found = [candidate for candidate in found if candidate.label == cell.label]
        if found:
            taken.add(id(found[0]))
            matches.append(MatchedBenchmark(baseline=cell, other=found[0]))
        else:
            only_baseline.append(cell)
    return Matching(
        matches=tuple(matches),
        only_baseline=tuple(only_baseline),
        only_other=tuple(cell for cell in other.cells if id(cell) not in taken),
    )


def _cell(result: Result) -> GroupResult:
    return GroupResult(dimensions=result.dimension_pairs, stem=result.client.name, result=result)


def _joined(sources: Sequence[DocumentSource]) -> tuple[list[Result], list[str]]:
    """All results; equal identities from several documents are merged, since a run may be split into chunks."""
    joined: dict[tuple[object, ...], Result] = {}
    shared = 0
    for source in sources:
        for result in source.document.results:
            old = joined.get(result.identity)
            shared += old is not None
            joined[result.identity] = result if old is None else _merged(old, result)
    notes = [f"results in several documents were joined: {shared}"] if shared else []
    return list(joined.values()), notes


def _merged(first: Result, second: Result) -> Result:
    return msgspec.structs.replace(
        first,
        measurements=first.measurements + second.measurements,
        errors=first.errors + second.errors,
    )


def _dimension_cells(results: Iterable[Result], by: str) -> dict[str, list[GroupResult]]:
    """The cells of each value. The value is cut from the end of a client name (`cli-crt` for `CRT`)."""
    by_value: dict[str, list[GroupResult]] = defaultdict(list)
    for result in results:
        dimensions = result.dimension_pairs
        value = dict(dimensions).get(by)
        if value is not None:
            rest = tuple(item for item in dimensions if item[0] != by)
            name = result.client.name
            stem = name[: -len(value) - 1] if name.casefold().endswith(f"-{value.casefold()}") else name
            by_value[value].append(GroupResult(dimensions=rest, stem=stem, result=result))
    return by_value


def _client_cells(results: Sequence[Result]) -> dict[str, list[GroupResult]]:
    """The cells of each client, by name or, where several have the name, by label."""
    labels: dict[str, set[str]] = defaultdict(set)
    for result in results:
        labels[result.client.name].add(result.client.label)
    by_value: dict[str, list[GroupResult]] = defaultdict(list)
    for result in results:
        client = result.client
        value = client.name if len(labels[client.name]) == 1 else client.label
        dimensions = tuple(item for item in result.dimension_pairs if item[0] != TRANSFER_CLIENT)
        by_value[value].append(GroupResult(dimensions=dimensions, stem="", result=result))
    return {value: _distinguished(cells) for value, cells in by_value.items()}


def _distinguished(cells: Sequence[GroupResult]) -> list[GroupResult]:
    """Restore the transfer-client dimension where it alone distinguishes two cells of one client."""
    counts: dict[object, int] = defaultdict(int)
    for cell in cells:
        counts[cell.benchmark] += 1
    return [
        cell
        if counts[cell.benchmark] == 1
        else GroupResult(dimensions=cell.result.dimension_pairs, stem=cell.stem, result=cell.result)
        for cell in cells
    ]


def _raise_unknown_dimension(results: Iterable[Result], by: str) -> NoReturn:
    names = [*dict.fromkeys(name for result in results for name, _ in result.dimension_pairs), BY_CLIENT]
    near = nearest(by, names)
    raise BadInput(
        f"--by {by}: no result has this dimension",
        fix=f"{f'did you mean `{near}`? ' if near else ''}The documents have {one_of(names)}",
    )
