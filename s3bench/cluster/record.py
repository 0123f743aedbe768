"""The record of a load run's cluster, stored as `cluster` in the `options` of a results document.

It has the engine, the nodes and their clocks, and how the workers of each phase started and overlapped.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from s3bench.cluster.clock import ClockOffset
from s3bench.cluster.preflight import Preflight
from s3bench.load.aggregation.nodes import node_name
from s3bench.load.engine.message import PhaseEnded

_NS = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseRecord:
    """A phase: the clock offsets at its start, how the workers ended, and the nodes lost in it."""

    phase: str
    clocks: tuple[ClockOffset, ...]
    ended: tuple[PhaseEnded, ...]
    lost: Mapping[int, str]

    def begun_ns(self, node: int) -> int | None:
        """The delay of the last worker of a node after the planned start; `None` if none of them ended."""
        return max((each.begun_ns for each in self._of(node)), default=None)

    def skew_ns(self) -> int | None:
        """The time from the first worker's start to the last one's, each by its node's clock; `None` without any."""
        begun = [each.begun_ns for each in self.ended]
        return max(begun) - min(begun) if begun else None

    def overlap_ns(self) -> int | None:
        """The time in which all workers that finished made load simultaneously."""
        if not self.ended:
            return None
        return max(0, min(each.elapsed_ns for each in self.ended) - max(each.begun_ns for each in self.ended))

    def span_ns(self) -> int | None:
        """The time from the first worker's start to the last one's end."""
        if not self.ended:
            return None
        return max(each.elapsed_ns for each in self.ended) - min(each.begun_ns for each in self.ended)

    def _of(self, node: int) -> Iterable[PhaseEnded]:
        return (each for each in self.ended if each.worker % len(self.clocks) == node)


def cluster_record(
    engine: Mapping[str, object], preflight: Preflight, phases: Sequence[PhaseRecord]
) -> dict[str, object]:
    """The whole record as JSON types, in seconds."""
    return {
        **engine,
        "workers_per_node": preflight.workers_per_node,
        "nodes": [
            {
                "node": node_name(node),
                "python": facts.python,
                "cores": facts.cores,
                "clock": _clock(preflight.clocks[node]),
                "machine": facts.machine,
            }
            for node, facts in enumerate(preflight.nodes)
        ],
        "phases": [_phase(phase) for phase in phases],
    }


def _phase(phase: PhaseRecord) -> dict[str, object]:
    return {
        "phase": phase.phase,
        "start_skew": _seconds(phase.skew_ns()),
        "start_skew_uncertainty": 2 * max(clock.uncertainty_ns for clock in phase.clocks) / _NS,
        "overlap": _seconds(phase.overlap_ns()),
        "span": _seconds(phase.span_ns()),
        "nodes": [
            {
                "node": node_name(node),
                "begun": _seconds(phase.begun_ns(node)),
                "lost": phase.lost.get(node),
                **_clock(clock),
            }
            for node, clock in enumerate(phase.clocks)
        ],
    }


def _clock(clock: ClockOffset) -> dict[str, float]:
    return {
        "clock_offset": clock.offset_ns / _NS,
        "clock_uncertainty": clock.uncertainty_ns / _NS,
        "wall_clock_offset": clock.wall_offset_s,
    }


def _seconds(value_ns: int | None) -> float | None:
    return None if value_ns is None else value_ns / _NS
