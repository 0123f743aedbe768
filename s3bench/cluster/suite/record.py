"""The record of a suite's cluster, stored as `cluster` in the `options` of a results document.

It has the engine, the nodes, and which node ran which unit.
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
    """A unit with its node and its times by that node's clock; `None` if it did not report them."""

    unit: SuiteUnit
    node: int
    started_at: str | None = None
    ended_at: str | None = None


def suite_record(
    engine: Mapping[str, object],
    preflight: SuitePreflight,
    task: Task,
    *,
    units: Iterable[UnitRecord],
    lost: Mapping[int, str],
) -> dict[str, object]:
    """The whole record as JSON types. A unit can be repeated by hand with `command` and its `--chunk-id`."""
    return {
        **engine,
        "nodes": [
            {
                "node": node_name(node),
                "takes_part": node in preflight.nodes,
                "left_out": preflight.left_out.get(node),
                "lost": lost.get(node),
                "python": facts.python,
                "cores": facts.cores,
                "machine": facts.machine,
            }
            for node, facts in enumerate(preflight.facts)
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
