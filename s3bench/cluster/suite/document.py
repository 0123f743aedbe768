"""The results document of a suite on a cluster, built from events, with a progress line for each.

The document looks like one run on one machine, since all nodes are equal machines.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

import s3bench
from s3bench.cluster.suite.driver import Abandoned, Event, NodeRemoved, Task, UnitBegun, UnitEnded
from s3bench.cluster.suite.preflight import SuitePreflight
from s3bench.cluster.suite.record import UnitRecord, suite_record
from s3bench.cluster.suite.results import SuiteResults
from s3bench.cluster.suite.unit import SuiteUnit
from s3bench.load.aggregation.nodes import node_name
from s3bench.report.label import clipped
from s3bench.report.run.text import result_line
from s3bench.results.document import Client, Document
from s3bench.results.measurement import Failure
from s3bench.run.machine import MachineFacts, machine_warnings

_NODES_SHOWN = 4
_WORDS_MAX = 60


class SuiteDocument:
    """Collects the events of `units`; `done` of them have ended. `head` has the parts that do not depend on events."""

    def __init__(
        self,
        head: Document,
        units: tuple[SuiteUnit, ...],
        preflight: SuitePreflight,
        task: Task,
        *,
        engine: Mapping[str, object],
    ) -> None:
        self.done = 0
        self._head = head
        self._preflight = preflight
        self._task = task
        self._engine = engine
        self._results = SuiteResults(units, preflight.clients)
        self._records: dict[int, UnitRecord] = {}
        self._doing: dict[int, SuiteUnit] = {}
        self._lost: dict[int, str] = {}
        self._warnings = dict.fromkeys(preflight.warnings)

    def take(self, event: Event, *, is_stopped: bool) -> Iterator[str]:
        """Add an event; yields progress lines. Once the run was stopped, interrupted units are no errors."""
        match event:
            case UnitBegun(node=node, unit=unit):
                self._doing[node] = unit
                self._records[unit.chunk] = UnitRecord(unit=unit, node=node)
            case UnitEnded(node=node, unit=unit, document=document, failure=failure):
                del self._doing[node]
                if document is not None:
                    self._records[unit.chunk] = UnitRecord(
                        unit=unit, node=node, started_at=document.started_at, ended_at=document.ended_at
                    )
                    yield from self._warn(node, document)
                for line in self._add(unit, document, None if is_stopped else failure):
                    yield f"{node_name(node)}: {line}"
            case NodeRemoved(node=node, unit=unit, why=why):
                self._lost[node] = why
                self._doing.pop(node, None)
                yield _loss(node, why)
                if unit is not None and not is_stopped:
                    failure = Failure(iteration=None, what=f"{node_name(node)} was lost", why=why)
                    yield from self._add(unit, None, failure)
            case Abandoned(unit=unit):
                failure = Failure(iteration=None, what="no node was left to run it", why="; ".join(self._losses))
                yield from self._add(unit, None, failure)

    @property
    def doing(self) -> str:
        """What the first few busy nodes are doing, for the progress display."""
        words = [
            f"{node_name(node)} {clipped(unit.words, most=_WORDS_MAX)}" for node, unit in sorted(self._doing.items())
        ]
        more = [f"{len(words) - _NODES_SHOWN} more nodes"] * (len(words) > _NODES_SHOWN)
        return ", ".join(words[:_NODES_SHOWN] + more)

    @property
    def document(self) -> Document:
        """The document so far."""
        clients = {client.label: client for client in self._preflight.clients.values()}
        cluster = suite_record(
            self._engine,
            self._preflight,
            self._task,
            units=(self._records[chunk] for chunk in sorted(self._records)),
            lost=self._lost,
        )
        return Document(
            s3bench=s3bench.__version__,
            started_at=self._head.started_at,
            command_line=self._head.command_line,
            machine=self._preflight.facts[self._preflight.nodes[0]].machine,
            clients=tuple(
                Client(name=each.kind, version=each.version, label=each.label, digest=each.digest)
                for each in clients.values()
            ),
            options={**self._head.options, "cluster": cluster},
            warnings=(*self._warnings, *self._losses),
            results=self._results.results,
        )

    def _add(self, unit: SuiteUnit, document: Document | None, failure: Failure | None) -> Iterable[str]:
        self.done += 1
        return map(result_line, self._results.add(unit, document, failure))

    def _warn(self, node: int, document: Document) -> Iterator[str]:
        """Add the warnings of a unit's document, each once; yields the new ones.

        Not those about its machine, which was judged before the run: by now, its load is that of the unit before.
        """
        known = machine_warnings(msgspec.convert(document.machine, MachineFacts))
        for warning in document.warnings:
            text = f"{node_name(node)}: {warning}"
            if warning not in known and text not in self._warnings:
                self._warnings[text] = None
                yield f"warning: {text}"

    @property
    def _losses(self) -> tuple[str, ...]:
        return tuple(_loss(node, why) for node, why in self._lost.items())


def _loss(node: int, why: str) -> str:
    return f"{node_name(node)} was removed: {why}"
