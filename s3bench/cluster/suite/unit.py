"""Splits a suite into units for nodes: one definition with all its clients each.

The split is that of `--num-chunks` with as many chunks as definitions, so that a unit can be repeated by hand with its
chunk's number.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from s3bench.clients.plan import Cell
from s3bench.spec.definition import Definition


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteUnit:
    """One definition on all its clients; `chunk` is its number, from 0, of as many chunks as there are definitions."""

    chunk: int
    cells: tuple[Cell, ...]

    @property
    def definition(self) -> Definition:
        """The definition of all its cells."""
        return self.cells[0].definition

    @property
    def words(self) -> str:
        """The definition's name with the values of its dimensions."""
        return " ".join((self.definition.name, *(value for _, value in self.definition.dimensions)))


def split_suite(cells: Iterable[Cell]) -> tuple[SuiteUnit, ...]:
    """The units of a plan without chunks, in its order."""
    of_definition: dict[Definition, list[Cell]] = {}
    for cell in cells:
        of_definition.setdefault(cell.definition, []).append(cell)
    return tuple(SuiteUnit(chunk=chunk, cells=tuple(own)) for chunk, own in enumerate(of_definition.values()))
