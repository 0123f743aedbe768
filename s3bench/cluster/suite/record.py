"""What the results keep of a suite's cluster: engine, nodes, and which of them did what.

Owns the form, which goes into the `options` of a results document as `cluster`. Pure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from s3bench.cluster.suite.driver import Task
from s3bench.cluster.suite.preflight import SuitePreflight
from s3bench.cluster.suite.unit import SuiteUnit
from s3bench.load.aggregation.nodes import node_name
from s3bench.results.redaction import redact


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRecord:
    """A unit that `node` had, from when to when by that node's clock; `None` where it did not tell."""

    unit: SuiteUnit
    node: int
    started_at: str | None = None
    ended_at: str | None = None


def recorded(
    engine: Mapping[str, object],
    muster: SuitePreflight,
    task: Task,
    *,
    units: Iterable[UnitRecord],
    lost: Mapping[int, str],
) -> dict[str, object]:
    """All of it. A unit is repeated by hand with `command` and its `--chunk-id`."""
    return {
        **engine,
        "nodes": [
            {
                "node": node_name(node),
                "takes_part": node in muster.nodes,
                "left_out": muster.left_out.get(node),
                "lost": lost.get(node),
                "python": facts.python,
                "cores": facts.cores,
                "machine": facts.machine,
            }
            for node, facts in enumerate(muster.facts)
        ],
        "command": ("s3bench", *redact(task.arguments)),
        "units": [_unit(each) for each in units],
    }


def _unit(record: UnitRecord) -> dict[str, object]:
    definition = record.unit.definition
    return {
        "name": definition.name,
        "dimensions": [{name: value} for name, value in definition.dimensions],
        "chunk_id": record.unit.chunk,
        "node": node_name(record.node),
        "started_at": record.started_at,
        "ended_at": record.ended_at,
    }
