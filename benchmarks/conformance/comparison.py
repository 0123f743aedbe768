"""Where two servers' answers to the same calls differ.

Owns what counts as one difference: the status with its code, one header, or the body. Pure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.session import Answer, as_text

if TYPE_CHECKING:
    from conformance.verdicts import Verdict

_SHOWN = 110


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One aspect of one call's answer: `ours` is the emulator's, `theirs` the other server's."""

    call: str
    server: str
    aspect: str
    ours: str
    theirs: str

    def line(self, verdict: "Verdict | None") -> str:
        """Show it on a line of a terminal, and why it is so on another."""
        why = f"    {verdict.says} [{verdict.page}]" if verdict is not None else "    UNEXPLAINED"
        sides = f"emulator {_cut(self.ours)}  {self.server} {_cut(self.theirs)}"
        return f"{self.call} | {self.aspect} | {sides}\n{why}"


def differences(server: str, ours: Mapping[str, Answer], theirs: Mapping[str, Answer]) -> list[Difference]:
    """Compare all answers; a call that one server did not get is not compared (the other has more pages)."""
    return [
        Difference(call=call, server=server, aspect=aspect, ours=as_text(one), theirs=as_text(other))
        for call, answer in ours.items()
        if call in theirs
        for aspect, one, other in _aspects(answer, theirs[call])
    ]


def _aspects(one: Answer, other: Answer) -> Iterator[tuple[str, Any, Any]]:
    if (one.status, one.code) != (other.status, other.code):
        yield "status", f"{one.status} {one.code}".strip(), f"{other.status} {other.code}".strip()
        return
    for name in sorted({*one.headers, *other.headers}):
        mine, its = one.headers.get(name, "-"), other.headers.get(name, "-")
        if mine != its:
            yield name, mine, its
    yield from _unequal("body", one.body, other.body)


def _unequal(path: str, one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted({*one, *other}):
            yield from _unequal(f"{path}.{name}", one.get(name, "-"), other.get(name, "-"))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        seen = set()
        for mine, its in zip(one, other, strict=True):
            for aspect, left, right in _unequal(f"{path}[]", mine, its):
                if aspect not in seen:  # what all entries of a list lack is one difference
                    seen.add(aspect)
                    yield aspect, left, right
    elif one != other:
        yield path, one, other


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
