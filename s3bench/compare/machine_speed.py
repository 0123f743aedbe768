"""Warns when the machine was faster or slower in one of two documents.

Rates of the speed probe are compared between equal machines and versions of s3bench alone.
"""

import math
from collections.abc import Iterator, Sequence
from statistics import median

from s3bench.compare.matching import DocumentSource, MatchedBenchmark
from s3bench.compare.similarity import same_machine
from s3bench.results.document import Document, Result

SHIFT_MIN = 0.02
"""A smaller change of speed causes no warning: d0 of a gate's times is as large."""

_RUNS_MIN = 3


def speed_warnings(first: DocumentSource, other: DocumentSource, matches: Sequence[MatchedBenchmark]) -> Iterator[str]:
    """A sentence if the machine's speed in `other` differs from that in `first`, over the benchmarks of both."""
    if not _are_comparable(first.document, other.document):
        return
    shifts = [
        math.log(after / before)
        for each in matches
        if (before := _usual_rate(each.baseline.result)) and (after := _usual_rate(each.other.result))
    ]
    if not shifts:
        return
    change = math.expm1(median(shifts))
    if abs(change) >= SHIFT_MIN:
        way, effect = ("slower", "longer") if change < 0 else ("faster", "shorter")
        yield (
            f"the machine was {abs(change):.0%} {way} in {other.name} than in {first.name}: CPU times there are about "
            f"as much {effect} for that reason"
        )


def _are_comparable(first: Document, second: Document) -> bool:
    return first.s3bench == second.s3bench and same_machine(first, second)


def _usual_rate(result: Result) -> float | None:
    """The median rate of at least three runs."""
    rates = [run.machine_speed.rate for run in result.runs if run.machine_speed is not None]
    return median(rates) if len(rates) >= _RUNS_MIN else None
