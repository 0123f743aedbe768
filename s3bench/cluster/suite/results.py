"""Combines the results of a suite's units in the order of the plan, as one run on one machine would have them."""

from collections.abc import Mapping

from s3bench.bench.suite import new_result
from s3bench.clients.client import ClientSpec
from s3bench.clients.plan import Cell
from s3bench.cluster.suite.message import FoundHere
from s3bench.cluster.suite.unit import SuiteUnit
from s3bench.results.document import Client, Document, Result
from s3bench.results.measurement import Failure


class SuiteResults:
    """The results of `units`, by definition and client in the plan's order, whichever unit ends first."""

    def __init__(self, units: tuple[SuiteUnit, ...], clients: Mapping[ClientSpec, FoundHere]) -> None:
        self._clients = clients
        self._results: dict[int, tuple[Result, ...]] = {unit.chunk: () for unit in units}

    def add(self, unit: SuiteUnit, document: Document | None, failure: Failure | None) -> tuple[Result, ...]:
        """Add the results of a unit; with a `failure`, its incomplete results get that as an error."""
        there = {result.identity: result for result in document.results} if document else {}
        if failure is not None:
            expected = {result.identity: result for result in map(self._unmeasured, unit.cells)}
            there = {
                identity: _failed(result, failure) if result.is_running else result
                for identity, result in (expected | there).items()
            }
        self._results[unit.chunk] = tuple(there.values())
        return self._results[unit.chunk]

    @property
    def results(self) -> tuple[Result, ...]:
        """All results so far."""
        return tuple(result for results in self._results.values() for result in results)

    def _unmeasured(self, cell: Cell) -> Result:
        found = self._clients[cell.client]
        client = Client(name=found.kind, version=found.version, label=found.label, digest=found.digest)
        return new_result(cell, client)


def _failed(result: Result, failure: Failure) -> Result:
    return result.with_failure(failure).completed()
