"""The warnings inside measurements, gathered: each kind once, whoever shares it.

Owns what makes two warnings one kind: their words. Their figures differ from iteration to iteration.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from s3bench.results.document import Result

_NUMBER = re.compile(r"[0-9][0-9.]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementWarning:
    """One kind of warning: the first of them as an `example`, in how many iterations, and of which results.

    It `varies` where others have other figures.
    """

    example: str
    varies: bool
    iterations: int
    results: tuple[Result, ...]

    @property
    def words(self) -> str:
        """The example, and that it is one."""
        return f"such as: {self.example}" if self.varies else self.example


def gather_doubts(results: Iterable[Result]) -> tuple[MeasurementWarning, ...]:
    """Gather the warnings of all measurements, in the order in which each kind first came."""
    counts: dict[str, int] = {}
    texts: dict[str, dict[str, None]] = {}
    where: dict[str, dict[int, Result]] = {}
    for result in results:
        for warning in (warning for measurement in result.measurements for warning in measurement.warnings):
            kind = _NUMBER.sub("", warning)
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
