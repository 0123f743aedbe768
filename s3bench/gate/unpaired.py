"""Makes a gate's record from two results documents: unpaired evidence, with a warning.

Documents are measured one after the other, so that any change of the machine in between looks like a change of the
client.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from s3bench.compare.document_warnings import document_warnings
from s3bench.compare.matching import DocumentSource, Group, GroupResult, group_by_document, match
from s3bench.compare.similarity import counts_from_exec, differences_between
from s3bench.errors import BadInput
from s3bench.gate.evidence import CellEvidence, unpaired_cell
from s3bench.gate.policy import LOAD_GATING_METRICS
from s3bench.gate.record import GateRecord, ProgramIdentity
from s3bench.results.document import Document
from s3bench.results.workload import workload_differences

NOT_INTERLEAVED = (
    "the documents were measured one after the other: a change in the speed of the machine in between looks like a "
    "change of the client; `s3bench gate --baseline ... --candidate ...` runs both in alternation"
)

_FAULTS = "minor_faults"
_NAMED_MAX = 5
_ENDPOINT_THAT_MAY_CHANGE = "live"
"""What documents of runs against a URL name as their endpoint, whatever the URL."""


def unpaired_record(
    record: GateRecord, baseline: tuple[str, Document], candidate: tuple[str, Document], *, are_metrics_declared: bool
) -> GateRecord:
    """Add the evidence of two documents to `record`, each given with its name.

    Of two load runs it is the endpoint that may have changed: metrics of the load decide unless others are declared.
    Raises `BadInput` if they measured different workloads.
    """
    _check_workload(baseline, candidate)
    before, after = program_of(baseline[1]), program_of(candidate[1])
    are_of_load = baseline[1].is_of_load and candidate[1].is_of_load
    policy, warnings = record.policy, unpaired_warnings(baseline, candidate)
    if are_of_load and not are_metrics_declared:
        policy = replace(policy, metrics=LOAD_GATING_METRICS)
    if _FAULTS in policy.exact and counts_from_exec(baseline[1]) is not counts_from_exec(candidate[1]):
        policy = replace(policy, exact=tuple(name for name in policy.exact if name != _FAULTS))
        warnings = (*warnings, f"{_FAULTS} decides nothing: the two documents do not count the same page faults")
    return replace(
        record,
        policy=policy,
        is_paired=False,
        machine=candidate[1].machine,
        baseline=before,
        candidate=after,
        same_program=not are_of_load and _is_same_program(baseline[1], candidate[1]),
        warnings=(*warnings, *_unknown_programs(before, after)),
        cells=unpaired_cells(baseline[1], candidate[1]),
    )


def _is_same_program(baseline: Document, candidate: Document) -> bool:
    """Whether both documents are of one program at one endpoint, so that there is nothing to compare.

    A digest is not enough: a program may start another whose files are not its own. Without digests, which documents
    before version 7 and scripts in other languages than Python do not have, a version that is named tells; a path does
    not.
    """
    if _ENDPOINT_THAT_MAY_CHANGE in (ends := [each.options.get("endpoint") for each in (baseline, candidate)]):
        return False
    before, after = program_of(baseline), program_of(candidate)
    if ends[0] != ends[1] or (before.name, before.version) != (after.name, after.version):
        return False
    if before.digest and after.digest:
        return before.digest == after.digest
    return before.label == after.label and not _is_path(before)


def _unknown_programs(before: ProgramIdentity, after: ProgramIdentity) -> Iterator[str]:
    is_one_name = (before.label, before.version) == (after.label, after.version)
    if is_one_name and _is_path(before) and not (before.digest and after.digest):
        yield (
            f"both documents name {before.label}, and do not both have a digest of its files: whether it was the same "
            "build is not known; run those of an older s3bench again, and name a program instead of a script that "
            "starts it"
        )


def _is_path(program: ProgramIdentity) -> bool:
    """Whether any client of the label is named by a path, as in `cli-crt@./build/aws`."""
    places = (label.partition("@")[2] for label in program.label.split(", "))
    return any("/" in place or place.startswith(("~", ".")) for place in places)


def _check_workload(baseline: tuple[str, Document], candidate: tuple[str, Document]) -> None:
    found = workload_differences(baseline[1], candidate[1])
    if found:
        more = f" and {len(found) - _NAMED_MAX} more" if len(found) > _NAMED_MAX else ""
        raise BadInput(
            f"{baseline[0]} and {candidate[0]} measured different workloads: "
            f"{', '.join(map(str, found[:_NAMED_MAX]))}{more}",
            "a gate decides whether an endpoint got slower, which takes the same workload on both sides",
            "run `s3bench load` for both with the same options; `s3bench compare` shows the two side by side",
        )


def unpaired_cells(baseline: Document, candidate: Document) -> tuple[CellEvidence, ...]:
    """Match the results of two documents; a result of only one of them becomes a cell with one side."""
    groups = group_by_document(
        (DocumentSource(name="baseline", document=baseline), DocumentSource(name="candidate", document=candidate))
    )
    first, second = groups.groups
    several = len({cell.stem for group in groups.groups for cell in group.cells}) > 1
    return tuple(_cells(first, second, names_client=several))


def _cells(first: Group, second: Group, *, names_client: bool) -> Iterator[CellEvidence]:
    matching = match(first, second)
    sides: list[tuple[GroupResult | None, GroupResult | None]] = [
        (each.baseline, each.other) for each in matching.matches
    ]
    sides += [(cell, None) for cell in matching.only_baseline]
    sides += [(None, cell) for cell in matching.only_other]
    for before, after in sides:
        known = before or after
        assert known is not None
        client = ({"client": known.stem},) if names_client else ()
        yield unpaired_cell(before.result if before else None, after.result if after else None, dimensions=client)


def program_of(document: Document) -> ProgramIdentity:
    """The clients of a document as one side of a gate; with a digest if all of them have one."""
    clients = {result.client.label: result.client for result in document.results}
    digests = [client.digest for client in clients.values()]
    return ProgramIdentity(
        label=", ".join(clients) or "no client",
        name=", ".join(dict.fromkeys(client.name for client in clients.values())),
        version=", ".join(dict.fromkeys(client.version for client in clients.values())),
        digest=", ".join(digests) if all(digests) else "",
    )


def unpaired_warnings(baseline: tuple[str, Document], candidate: tuple[str, Document]) -> tuple[str, ...]:
    """The warnings about comparing these documents, each given with its name."""
    sources = [DocumentSource(name=name, document=document) for name, document in (baseline, candidate)]
    return (NOT_INTERLEAVED, *differences_between(sources), *document_warnings(sources))
