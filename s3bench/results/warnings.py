"""Gathers the warnings of measurements: each kind once, with the results that have it.

Two warnings are of one kind if they differ only in their numbers.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from s3bench.results.document import Result

_NUMBER = re.compile(r"[0-9][0-9.]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementWarning:
    """One kind of warning: its first text, the number of iterations that have it, and their results.

    It `varies` if the numbers in its text differ between iterations.
    """

    example: str
    varies: bool
    iterations: int
    results: tuple[Result, ...]

    @property
    def words(self) -> str:
        """The text, marked as an example if others have different numbers."""
        return f"for example: {self.example}" if self.varies else self.example


def warning_kind(warning: str) -> str:
    """What warnings that differ only in their numbers have in common."""
    return _NUMBER.sub("", warning)


def gather_warnings(results: Iterable[Result]) -> tuple[MeasurementWarning, ...]:
    """The warnings of all measurements, in the order in which each kind first occurs."""
    counts: dict[str, int] = {}
    texts: dict[str, dict[str, None]] = {}
    where: dict[str, dict[int, Result]] = {}
    for result in results:
        for warning in (warning for measurement in result.measurements for warning in measurement.warnings):
            kind = warning_kind(warning)
            counts[kind] = counts.get(kind, 0) + 1
            texts.setdefault(kind, {})[warning] = None
            where.setdefault(kind, {})[id(result)] = result
    return tuple(
        MeasurementWarning(
            example=next(iter(texts[kind])),
            varies=len(texts[kind]) > 1,
            iterations=count,
            results=tuple(where[kind].values()),
        )
        for kind, count in counts.items()
    )
