"""How a run stands after one more second: what the live view shows, and nothing that is kept.

Owns the nouns; `findings` makes them from the workers' tallies, `s3bench.cli.load.view` shows them.
"""

from dataclasses import dataclass

from s3bench.load.aggregation.nodes import NodeStatus

HISTORY_S = 60
"""How many seconds a history reaches back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindStatus:
    """One kind of operation in the last second.

    `operations` ended well in it, with bodies of `size_bytes`, both ways; `rate` and `bytes_rate` are these over its
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

    `second` counts from 1: seconds of the phase that are behind. `duration_s` and `operations_total` are `None` where
    the phase has no such end; `operations` are those that ended well so far. `failures` are this second's attempts by
    label (`503 SlowDown`). `in_flight` is the mean over the second, `pausing` the mean number of threads that paused
    after a failed connection, `waiting` the most planned operations that found no
    free thread. `client_cpu_share` is how busy the busiest worker was, 1 being a whole core. `history` holds bytes a
    second, or operations a second with `history_is_bytes` off, of the last `HISTORY_S` seconds at most, oldest first.
    `nodes` are the machines that the workers are on, empty of a single one.
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
