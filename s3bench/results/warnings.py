"""Gathers warnings: each kind once, with how often it occurs and where.

Two warnings are of one kind if they differ only in their numbers.
"""

import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from s3bench.results.document import Result

_NUMBER = re.compile(r"[0-9][0-9.]*")
_NAMED_MAX = 3

Place = TypeVar("Place")
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredWarning(Generic[Place]):
    """One kind of warning: its first text, how many there are, and the places that have it.

    It `varies` if the numbers in its text differ.
    """

    example: str
    varies: bool
    count: int
    places: tuple[Place, ...]

    @property
    def words(self) -> str:
        """The text, marked as an example if others have different numbers."""
        return f"for example: {self.example}" if self.varies else self.example


def warning_kind(warning: str) -> str:
    """What warnings that differ only in their numbers have in common."""
    return _NUMBER.sub("", warning)


@dataclass(slots=True)
class _Kind(Generic[Key]):
    texts: dict[str, None] = field(default_factory=dict)
    places: dict[Key, None] = field(default_factory=dict)
    count: int = 0


def gather(warned: Iterable[tuple[str, Key]]) -> tuple[GatheredWarning[Key], ...]:
    """Gather texts with their places, in the order in which each kind first occurs."""
    kinds: dict[str, _Kind[Key]] = {}
    for text, place in warned:
        kind = kinds.setdefault(warning_kind(text), _Kind())
        kind.texts[text] = None
        kind.places[place] = None
        kind.count += 1
    return tuple(
        GatheredWarning(
            example=next(iter(kind.texts)), varies=len(kind.texts) > 1, count=kind.count, places=tuple(kind.places)
        )
        for kind in kinds.values()
    )


def gather_warnings(results: Iterable[Result]) -> tuple[GatheredWarning[Result], ...]:
    """The warnings of all measurements; the places are results, and each iteration counts."""
    known = tuple(results)
    gathered = gather(
        (warning, number)
        for number, result in enumerate(known)
        for measurement in result.measurements
        for warning in measurement.warnings
    )
    return tuple(
        GatheredWarning(
            example=each.example,
            varies=each.varies,
            count=each.count,
            places=tuple(known[number] for number in each.places),
        )
        for each in gathered
    )


def places_text(names: Sequence[str], noun: str) -> str:
    """The names, or how many there are and the first: `5 results (first s3.rm on s5cmd)`."""
    distinct = tuple(dict.fromkeys(names))
    if len(distinct) > _NAMED_MAX:
        return f"{len(distinct):,} {noun}s (first {distinct[0]})"
    return ", ".join(distinct)


def unrepeated(warnings: Iterable[str], said: Collection[str]) -> Iterator[str]:
    """The warnings that were not `said` at the start of the command, then how many were."""
    known = tuple(warnings)
    yield from (text for text in known if text not in said)
    if count := sum(text in said for text in known):
        yield f"{count} more {'was' if count == 1 else 'were'} printed at the start"
