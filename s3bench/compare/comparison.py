"""Compares results documents with a baseline: the first document, or the first value of a dimension.

Defines the versioned JSON form (`docs/compare.md` describes each key), the default metrics, the order of the rows and
the one-line summary.

History of the format (`schema_version`):
1: the first.
2: `rows[].doubts` are now `rows[].warnings`.
3: `rows[].change` of a share is null, and `rows[].difference` is there; rows with a figure of 0 have a difference too.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

import msgspec

import s3bench
from s3bench.compare.difference import (
    CONFIDENCE,
    ChangeOutcome,
    ComparisonRow,
    compare_metric,
    is_measured,
    with_outcomes,
)
from s3bench.compare.document_warnings import document_warnings
from s3bench.compare.machine_speed import speed_warnings
from s3bench.compare.matching import (
    BY_CLIENT,
    DocumentSource,
    Group,
    Grouping,
    GroupResult,
    MatchedBenchmark,
    Matching,
    group_by_document,
    group_by_value,
    match,
)
from s3bench.compare.metrics import DEFAULT_METRICS, REQUESTS_BY_KIND, choose_metrics
from s3bench.compare.sample import MetricFigures, figures_of, request_figures, request_kinds
from s3bench.compare.sample_warning import SampleWarning, sample_warnings
from s3bench.compare.similarity import differences_between
from s3bench.errors import BadInput
from s3bench.results.document import NODE, Client, Result
from s3bench.results.metrics import METRICS_BY_NAME
from s3bench.spec.reader import one_of

SCHEMA_VERSION = 3
ORDER_WARNING = (
    "measured one after the other: a change in the speed of the machine in between looks like a difference; "
    "`s3bench gate` avoids such false alarms by running the two sides in alternation"
)
NODES_WARNING = (
    "the nodes are different machines, measured at the same time: a difference between them may come from a machine or "
    "its network"
)

_SUMMARY = {  # singular and plural
    ChangeOutcome.DIFFERS: ("{} count differs", "{} counts differ"),
    ChangeOutcome.NO_DETECTABLE_DIFFERENCE: ("{} without detectable difference",) * 2,
    ChangeOutcome.TOO_FEW: ("{} with too few runs",) * 2,
    ChangeOutcome.VARIES: ("{} count varies from run to run", "{} counts vary from run to run"),
    ChangeOutcome.NOT_JUDGED: ("{} not judged",) * 2,
    ChangeOutcome.NO_DIFFERENCE: ("{} without difference",) * 2,
    ChangeOutcome.EQUAL: ("{} count equal", "{} counts equal"),
}


class Origin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A document that was compared: its name as given, when its run started and ended, and the s3bench version."""

    name: str
    started_at: str
    ended_at: str | None
    s3bench: str
    measurements: int


class MissingResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A result without counterpart: the group named `missing_in` lacks it."""

    benchmark: str
    dimensions: tuple[dict[str, str], ...]
    client: str
    missing_in: str


class Baseline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The group that the others are compared with: its name and its clients."""

    name: str
    clients: tuple[Client, ...]


class Against(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The comparison of one other group with the baseline.

    `summary` counts the outcomes in words, `counts` by name. `same_measurements`: both groups hold identical
    measurements. `rows` are sorted by importance.
    """

    name: str
    clients: tuple[Client, ...]
    summary: str
    counts: dict[str, int]
    same_measurements: bool
    rows: tuple[ComparisonRow, ...]
    missing: tuple[MissingResult, ...]


class Comparison(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole comparison.

    `by` is the dimension that forms the groups, null if whole documents are compared; `s3bench` is the version that
    compared them.
    """

    schema_version: int = SCHEMA_VERSION
    s3bench: str
    by: str | None
    metrics: tuple[str, ...]
    confidence: float = CONFIDENCE
    sources: tuple[Origin, ...]
    baseline: Baseline
    others: tuple[Against, ...]
    warnings: tuple[str, ...]


def compare(
    sources: Sequence[DocumentSource],
    *,
    metrics: Sequence[str] = DEFAULT_METRICS,
    by: str | None = None,
    baseline: str | None = None,
) -> Comparison:
    """Compare documents with the first one, or, with `by`, groups within them with the first group or with `baseline`.

    Results of single cluster nodes are compared only with `by="node"`. Raises `BadInput` if nothing can be compared.
    """
    chosen = choose_metrics(metrics)
    if by != NODE:
        sources = [replace(source, document=source.document.without_parts()) for source in sources]
    grouping = _grouping(sources, by=by, baseline=baseline)
    first, *others = grouping.groups
    matchings = [match(first, other) for other in others]
    if not any(matching.matches for matching in matchings):
        _raise_nothing_in_common(first, others)
    rows = _Rows(chosen, grouping.groups)
    drafts = [[draft for each in matching.matches for draft in rows.of(each)] for matching in matchings]
    assessed = iter(with_outcomes([draft for section in drafts for draft in section]))
    against = tuple(
        _against(first, other, matching, tuple(next(assessed) for _ in section))
        for other, matching, section in zip(others, matchings, drafts, strict=True)
    )
    return Comparison(
        s3bench=s3bench.__version__,
        by=by,
        metrics=chosen,
        sources=tuple(_origin(source) for source in sources),
        baseline=Baseline(name=first.name, clients=first.clients),
        others=against,
        warnings=tuple(_warnings(sources, grouping, matchings, against, by=by)),
    )


class _Rows:
    """Builds the rows of matched benchmarks; the figures of each result are gathered only once."""

    def __init__(self, metrics: Sequence[str], groups: Sequence[Group]) -> None:
        self._metrics = metrics
        self._names = {id(cell): group.name for group in groups for cell in group.cells}
        self._figures: dict[tuple[int, str], tuple[MetricFigures, tuple[SampleWarning, ...]]] = {}

    def of(self, each: MatchedBenchmark) -> Iterator[ComparisonRow]:
        """All rows of one matched benchmark; a metric that neither side has is left out."""
        for name in self._metrics:
            if name == REQUESTS_BY_KIND:
                yield from _request_rows(each)
                continue
            (first, first_warnings), (second, second_warnings) = (
                self._of(each.baseline, name),
                self._of(each.other, name),
            )
            if first.values or second.values:
                row = compare_metric(each, METRICS_BY_NAME[name], first, second)
                yield msgspec.structs.replace(row, warnings=first_warnings + second_warnings)

    def _of(self, cell: GroupResult, name: str) -> tuple[MetricFigures, tuple[SampleWarning, ...]]:
        key = id(cell), name
        if key not in self._figures:
            metric, figures = METRICS_BY_NAME[name], figures_of(cell.result, name)
            group, client = self._names[id(cell)], cell.result.client.label
            warnings = sample_warnings(group, client, figures, metric.unit) if is_measured(metric) else ()
            self._figures[key] = figures, warnings
        return self._figures[key]


def _request_rows(each: MatchedBenchmark) -> Iterator[ComparisonRow]:
    baseline, other = each.baseline.result, each.other.result
    kinds = request_kinds(baseline) | request_kinds(other)
    before, after = request_figures(baseline, kinds), request_figures(other, kinds)
    for kind in kinds:
        yield compare_metric(each, METRICS_BY_NAME["wire.requests"], before[kind], after[kind], kind=kind)


def _grouping(sources: Sequence[DocumentSource], *, by: str | None, baseline: str | None) -> Grouping:
    if by is not None:
        return group_by_value(sources, by, baseline=baseline)
    if baseline is not None:
        raise BadInput(
            "--baseline needs --by",
            "without --by the first document is the baseline",
            "put that document first, or add --by DIMENSION",
        )
    if len(sources) < 2:  # noqa: PLR2004 (a baseline and another)
        raise BadInput(
            "compare needs two results documents",
            fix="add a second one, or add --by DIMENSION to compare within this one, for example --by client",
        )
    return group_by_document(sources)


def _raise_nothing_in_common(first: Group, others: Sequence[Group]) -> NoReturn:
    before = {cell.benchmark[0] for cell in first.cells}
    after = {cell.benchmark[0] for other in others for cell in other.cells}
    if not before or not after:
        empty = first if not before else others[0]
        raise BadInput(f"{empty.name} has no results", "nothing was measured", "pass a document with measurements")
    if before & after:
        raise BadInput(
            "the documents have no result in common",
            f"the same benchmarks ran on other clients or with other dimensions: {_clients(first)} in {first.name}, "
            f"{_clients(others[0])} in {others[0].name}",
            f"to compare clients with each other, add --by {BY_CLIENT}",
        )
    raise BadInput(
        "the documents have no benchmark in common",
        f"{first.name} has {one_of(sorted(before)[:3])}, {others[0].name} has {one_of(sorted(after)[:3])}",
    )


def _clients(group: Group) -> str:
    return ", ".join(client.label for client in group.clients)


def _against(first: Group, other: Group, matching: Matching, rows: tuple[ComparisonRow, ...]) -> Against:
    missing = [(other.name, cell) for cell in matching.only_baseline]
    missing += [(first.name, cell) for cell in matching.only_other]
    same = not missing and all(
        each.baseline.result.measurements == each.other.result.measurements for each in matching.matches
    )
    return Against(
        name=other.name,
        clients=other.clients,
        summary="no difference: the same measurements on both sides" if same else summary(rows),
        counts={outcome.value: count for outcome, count in _outcomes(rows).items()},
        same_measurements=same,
        rows=tuple(sorted(rows, key=lambda row: row.importance)),
        missing=tuple(
            MissingResult(
                benchmark=cell.result.name,
                dimensions=cell.dimension_objects,
                client=cell.result.client.label,
                missing_in=name,
            )
            for name, cell in missing
        ),
    )


def _outcomes(rows: Sequence[ComparisonRow]) -> Counter[ChangeOutcome]:
    found = Counter(row.outcome for row in rows)
    return Counter({outcome: found[outcome] for outcome in ChangeOutcome if found[outcome]})


def summary(rows: Sequence[ComparisonRow]) -> str:
    """One line with the number of rows of each outcome, the most important first."""
    counts = _outcomes(rows)
    phrases = [
        f"{count} {'' if word in {'slower', 'faster'} else 'with '}{word}"
        for outcome in (ChangeOutcome.WORSE, ChangeOutcome.BETTER)
        for word, count in Counter(row.word for row in rows if row.outcome is outcome).most_common()
    ]
    phrases += [
        forms[counts[outcome] > 1].format(counts[outcome]) for outcome, forms in _SUMMARY.items() if counts[outcome]
    ]
    return ", ".join(phrases) or "no metric was measured on both sides"


def _origin(source: DocumentSource) -> Origin:
    document = source.document
    return Origin(
        name=source.name,
        started_at=document.started_at,
        ended_at=document.ended_at,
        s3bench=document.s3bench,
        measurements=sum(len(result.measurements) for result in document.results),
    )


def _warnings(
    sources: Sequence[DocumentSource],
    grouping: Grouping,
    matchings: Sequence[Matching],
    against: Sequence[Against],
    *,
    by: str | None,
) -> Iterator[str]:
    if not all(other.same_measurements for other in against):
        yield NODES_WARNING if _are_nodes(sources, by) else ORDER_WARNING
    yield from differences_between(sources)
    if by is None:
        for source, matching in zip(sources[1:], matchings, strict=True):
            yield from speed_warnings(sources[0], source, matching.matches)
    yield from grouping.notes
    for other, matching in zip(grouping.groups[1:], matchings, strict=True):
        yield from _engines(grouping.groups[0].name, other.name, matching.matches)
    yield from document_warnings([source for index, source in enumerate(sources) if source not in sources[:index]])


def _are_nodes(sources: Sequence[DocumentSource], by: str | None) -> bool:
    """Whether the groups are the nodes of clusters."""
    return by == NODE and all(isinstance(source.document.options.get("cluster"), Mapping) for source in sources)


def _engines(baseline: str, other: str, matches: Sequence[MatchedBenchmark]) -> Iterator[str]:
    """Report clients whose transfer engine differs between the two groups."""
    changed: dict[tuple[str, str], list[Result]] = {}
    for each in matches:
        before, after = _engine(each.baseline.result), _engine(each.other.result)
        if before and after and before != after and each.baseline.result.client.name == each.other.result.client.name:
            changed.setdefault((before, after), []).append(each.other.result)
    for (before, after), results in changed.items():
        more = f" and {len(results) - 1} more" if len(results) > 1 else ""
        yield f"different transfer engines: {before} in {baseline}, {after} in {other}, for {results[0].label}{more}"


def _engine(result: Result) -> str:
    return "/".join(sorted({each.engine for each in result.measurements if each.engine}))
