"""The live status of a load run after each second. `s3bench.cli.load.view` shows it; it is not stored."""

from dataclasses import dataclass

from s3bench.load.aggregation.nodes import NodeStatus

HISTORY_S = 60
"""The seconds that the history of a live status covers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindStatus:
    """One kind of operation in the last second.

    `operations` succeeded in it, with bodies of `size_bytes`, both ways; `rate` and `bytes_rate` are these over its
    true length. Percentiles are seconds, `None` where too few ended. `failures` are attempts.
    """

    kind: str
    operations: int
    size_bytes: int
    rate: float
    bytes_rate: float
    p50_s: float | None
    p99_s: float | None
    failures: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveStatus:
    """The last second of a phase, over all workers and jobs.

    `second` counts from 1: the seconds of the phase so far. `duration_s` and `operations_total` are `None` if the phase
    has no such end; `operations` are the successful ones so far. `failures` are this second's failed attempts by
    label (`503 SlowDown`). `in_flight` is the mean over the second, `pausing` the mean number of virtual users that
    paused after a failed connection, `waiting` the most planned operations that found no free one. `client_cpu_share`
    is the share of a core that the busiest worker used. `history` holds the bytes per second, or the operations per
    second if `history_is_bytes` is off, of up to `HISTORY_S` seconds, oldest first. `nodes` is empty for one machine.
    """

    phase: str
    second: int
    duration_s: float | None
    operations: int
    operations_total: int | None
    kinds: tuple[KindStatus, ...]
    failures: tuple[tuple[str, int], ...]
    in_flight: float
    pausing: float = 0.0
    waiting: int
    client_cpu_share: float
    history: tuple[float, ...]
    history_is_bytes: bool = True
    is_warmup: bool = False
    nodes: tuple[NodeStatus, ...] = ()
