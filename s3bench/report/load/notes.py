"""Notes beneath the figures of a phase of a load run: failures, stalls and warnings.

Failures are summed over the loops of a phase; events of one loop name the loop. Warnings about figures, such as a
violation of Little's law, are in the measurements already.
"""

from collections.abc import Iterator, Mapping

from s3bench.report.load.cells import (
    LoadPhase,
    LoadRow,
    count_text,
    operations_rate_of,
    ranges_text,
    rate_text,
    seconds_text,
)
from s3bench.report.run.problems import run_warnings
from s3bench.results.document import Document
from s3bench.results.load import Load, failures_together
from s3bench.results.warnings import gather_warnings
from s3bench.units import render_bytes

_BOTTLENECKS = {
    "client": "the client: these figures are what s3bench could send, not what the server can do",
    "other programs": "other programs on the load generator's machine: stop them, or use fewer --workers than cores",
    "connections": "the connections: every thread waited for answers as fast as a lone one's; more threads give more",
    "network": "the network",
    "server": "the server: the client had CPU time to spare",
}

NODES = "nodes"
"""The kind of the note that tells how evenly the nodes took part."""

Note = tuple[str, str]


def phase_notes(phase: LoadPhase) -> Iterator[Note]:
    """The notes of a phase: the kind of each (`failed`, `no service`, `stalled`, `nodes`, ...), and the sentence."""
    for row in phase.kinds:
        yield from _failure_notes(row)
    whole = [row for row in phase.rows if row.is_whole]
    for row in whole:
        yield from _stall_notes(row)
    for row in whole:
        yield from _window_notes(row)
        yield from _node_notes(row)
    for row in phase.kinds:
        if repeated := row.total(lambda load: load.repeated or 0):
            cold = row.total(lambda load: load.operations) - repeated
            yield "reads", f"{row.label}: {count_text(cold)} cold, {count_text(repeated)} of what had been read before"
    yield from dict.fromkeys(note for row in whole for load in row.loops for note in _bottleneck_notes(load))


def slo_words(document: Document) -> str | None:
    """What the search of `--slo` found, or how the chosen rate did, behind the limits; `None` where none was asked."""
    found, limits = document.options.get("found"), document.options.get("slo")
    if not isinstance(found, Mapping) or not isinstance(words := found.get("words"), str):
        return None
    return f"{limits}: {words}" if limits else words


def document_notes(document: Document) -> Iterator[Note]:
    """Warnings, those inside measurements once of each kind, and the errors that left a loop without figures."""
    yield from (("warning", words) for words in run_warnings(document))
    results = document.without_parts().results
    for warning in gather_warnings(results):
        where = warning.places[0].benchmark if len(warning.places) == 1 else f"{len(warning.places)} results"
        yield "warning", f"{where}: {warning.words}"
    for result in results:
        for failure in result.errors:
            why = f": {' '.join(failure.why.split())}" if failure.why else ""
            loop = "" if failure.iteration is None else f", loop {failure.iteration + 1}"
            yield "error", f"{result.benchmark}{loop}: {failure.what}{why}"


def _failure_notes(row: LoadRow) -> Iterator[Note]:
    operations = row.total(lambda load: load.operations)
    if failed := row.total(lambda load: load.failed):
        ended = operations + failed
        yield (
            "failed",
            f"{row.label}: {count_text(failed)} of {count_text(ended)} operations ({failed / ended * 100:.3g} %)",
        )
    for each in failures_together(row.loops):
        words = f"{row.label}: {each.label}: {_plural(each.count, 'attempt')}"
        words += f", {count_text(each.retried)} tried again" * bool(each.retried)
        words += f", {seconds_text(each.time_lost)} lost"
        words += f", {render_bytes(each.body_bytes)} wasted" * bool(each.body_bytes)
        yield "failure", words


def _stall_notes(row: LoadRow) -> Iterator[Note]:
    for number, measurement in enumerate(row.result.loops, 1):
        load = measurement.load
        if load.without_service:
            passed = f"{load.without_service:.1f} s of {measurement.total_time:.1f} s"
            yield "no service", f"{row.label}{_loop(row, number)}: no operation succeeded for {passed}"
        if load.stalls:
            where = f"{row.label}{_loop(row, number)}"
            seconds = "second" if len(load.stalls) == 1 else "seconds"
            yield "stalled", f"{where}: no operation succeeded in {seconds} {ranges_text(load.stalls)}"


def _window_notes(row: LoadRow) -> Iterator[Note]:
    """What counts in no figure of a loop, or in its response times alone."""
    for number, load in enumerate(row.loops, 1):
        where = f"{row.label}{_loop(row, number)}"
        if load.waiting_max:
            yield "waited", f"{where}: up to {_plural(load.waiting_max, 'planned operation')} found no free thread"
        if load.unfinished:
            state = "in flight or waiting" if load.waiting_max else "in flight"
            words = f"{where}: {_plural(load.unfinished, 'operation')} {state} at the end"
            words += f", the oldest for {seconds_text(load.oldest)}" * bool(load.oldest)
            yield "unfinished", f"{words}, {count_text(load.late or 0)} of them succeeded afterwards; not counted"


def _node_notes(row: LoadRow) -> Iterator[Note]:
    """How evenly the nodes of a cluster took part: the slowest and the fastest of them."""
    rates = sorted((rate, node.node) for node in row.nodes if (rate := node.median(operations_rate_of)) is not None)
    if rates:
        (slowest, last), (fastest, first) = rates[0], rates[-1]
        spread = f"{rate_text(slowest)}/s ({last}) to {rate_text(fastest)}/s ({first})"
        yield NODES, f"{row.label}: {len(rates)} of them, {spread}"


def _bottleneck_notes(load: Load) -> Iterator[Note]:
    if not load.bottleneck:
        return
    words = _BOTTLENECKS.get(load.bottleneck, load.bottleneck)
    signs = []
    if load.client_cpu_share is not None:
        signs.append(f"busiest worker: {load.client_cpu_share:.0%} of a core")
    if load.client_run_delay_share is not None and load.bottleneck in {"client", "other programs"}:
        signs.append(f"ready and without a core: {load.client_run_delay_share:.0%} of the time")
    if load.ceiling:
        signs.append(f"{rate_text(load.ceiling)}/s against a server that does nothing")
    yield "bottleneck", f"{words} ({'; '.join(signs)})" if signs else words


def _loop(row: LoadRow, number: int) -> str:
    return f", loop {number}" if len(row.loops) > 1 else ""


def _plural(count: int, noun: str) -> str:
    return f"{count_text(count)} {noun}" + "s" * (count != 1)
