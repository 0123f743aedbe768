"""The counts of one worker in one second, which it sends to the coordinator: all later figures derive from them."""

import msgspec

from s3bench.load.operation import OperationKind
from s3bench.results.bins import Bins


class Loss(msgspec.Struct, frozen=True, array_like=True):
    """Attempts that failed in one way: `label` is an HTTP status with S3's code (`503 SlowDown`) or a `Fault`.

    `retried` of the `count` were tried again. `lost_ns` is the time from their starts to the next attempt's start, or
    to their ends. `body_bytes` crossed the wire in them, either way. `paused_ns` is how long virtual users of a
    closed loop waited after them before they began another operation.
    """

    label: str
    count: int = 0
    retried: int = 0
    lost_ns: int = 0
    body_bytes: int = 0
    paused_ns: int = 0


class Stream(msgspec.Struct, frozen=True, array_like=True):
    """The operations of one kind of one job.

    `operations` succeeded, less those counted in an earlier second that turned out to have failed; with those in
    `losses` they are all attempts. `bytes_up` and `bytes_down` are the bodies of those that succeeded and were
    verified. `service` counts from an attempt's start to its last byte, `first_byte` to the first byte of its response,
    `response` from the planned start of the operation (open loop) or its first attempt to the last byte. `repeated` of
    the operations read an object that this worker had read before.
    """

    job: int
    kind: OperationKind
    operations: int = 0
    repeated: int = 0
    bytes_up: int = 0
    bytes_down: int = 0
    service: Bins = Bins()
    first_byte: Bins = Bins()
    response: Bins = Bins()
    losses: tuple[Loss, ...] = ()


class IntervalRecord(msgspec.Struct, frozen=True, tag=True):
    """One second of one worker; `second` counts from the phase's start, and holds what ended in it.

    `in_flight_ns` is the integral of the operations in flight over the time (count times nanoseconds), measured apart
    from the latencies, which makes Little's law a check. `in_flight_max` is the most there were. `waiting_max` is the
    most planned operations that found no free virtual user. `cpu_ns` is the worker's CPU time, `wait_ns` the part of
    the second in which it had nothing to do. `connects` are new connections, `cut` those that the other side closed.
    `paused_ns` is the integral of the virtual users that pause after a failed connection. `served`, `failed` and
    `wanted` have a bit for each tenth of the second, the first in bit 0: whether a request succeeded in it, whether an
    attempt failed, and whether an operation was wanted.
    """

    worker: int
    second: int
    length_ns: int
    streams: tuple[Stream, ...] = ()
    in_flight_ns: int = 0
    in_flight_max: int = 0
    waiting_max: int = 0
    cpu_ns: int = 0
    wait_ns: int = 0
    connects: int = 0
    cut: int = 0
    paused_ns: int = 0
    served: int = 0
    failed: int = 0
    wanted: int = 0
