"""Load profiles: jobs that run side by side, in phases that run one after the other.

They are plain values, since they are sent to the workers and stored in the results document.
"""

import hashlib
import math
from enum import StrEnum

import msgspec

from s3bench.load.operation import READING, WRITING, OperationKind
from s3bench.load.profile.sizes import Sizes

ZIPF_OBJECTS_MAX = (1 << 31) - 1
"""Most objects with Zipf's distribution: a rank times a step has to fit into 63 bits."""


class KeyDistribution(StrEnum):
    """Which object is next: any with equal chance, one after the other, or few of them often."""

    UNIFORM = "uniform"
    SEQUENTIAL = "sequential"
    ZIPF = "zipf"


class Arrivals(StrEnum):
    """How planned starts follow each other in open loop."""

    CONSTANT = "constant"
    POISSON = "poisson"


class Layout(StrEnum):
    """Where the objects of a run are under its prefix: together, or in a prefix for each worker."""

    SHARED = "shared"
    WORKER = "worker"


class PayloadKind(StrEnum):
    """Contents of objects."""

    RANDOM = "random"
    ZERO = "zero"


class RateChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From `after_s` on, counted from the start of the phase, `per_s` operations are planned per second."""

    after_s: float
    per_s: float


class Rate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Open loop: operations planned per second by all workers together, whether or not earlier ones have ended.

    The rate is `per_s` until the first of the `changes`, which are in the order of their times.
    """

    per_s: float
    arrivals: Arrivals = Arrivals.POISSON
    changes: tuple[RateChange, ...] = ()

    @property
    def per_s_max(self) -> float:
        """The highest rate."""
        return max(self.per_s, *(change.per_s for change in self.changes)) if self.changes else self.per_s

    def mean_per_s(self, since_s: float, until_s: float, *, ramp_s: float = 0.0) -> float:
        """The mean rate between two times of the phase; the rate at `since_s` where no time is between them.

        Over `ramp_s`, which cannot be combined with changes, the rate rises linearly from nothing.
        """
        levels = (RateChange(after_s=0.0, per_s=self.per_s), *self.changes)
        ends_s = (*(change.after_s for change in self.changes), math.inf)
        planned = sum(
            level.per_s * max(0.0, min(end_s, until_s) - max(level.after_s, since_s))
            for level, end_s in zip(levels, ends_s, strict=True)
        )
        if until_s > since_s:
            return planned * _ramp_share(since_s, until_s, ramp_s) / (until_s - since_s)
        level = next(level for level, end_s in zip(levels, ends_s, strict=True) if since_s < end_s)
        return level.per_s * (min(1.0, since_s / ramp_s) if ramp_s else 1.0)


def _ramp_share(since_s: float, until_s: float, ramp_s: float) -> float:
    """The operations that are planned between two times with a ramp, as a share of those without one."""
    if not ramp_s:
        return 1.0
    left_s, left_after_s = max(0.0, ramp_s - since_s), max(0.0, ramp_s - until_s)
    missing_s = (left_s**2 - left_after_s**2) / (2 * ramp_s)  # the integral of 1 - t / ramp_s
    return 1.0 - missing_s / (until_s - since_s)


class Replay(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Operations of an access log instead of a mix: the `part` of a plan that is in `directory`, a file for each share.

    Each of `shares` workers has the operations on its keys. They are started as planned if it `is_paced`, else one
    after the other.
    """

    directory: str
    part: str
    shares: int
    is_paced: bool = True


class Share(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One operation of a mix, and its weight among the others."""

    kind: OperationKind
    weight: float = 1.0


class Job(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Virtual users that do the same work; `threads` is their number, each with one request at a time.

    Closed loop keeps all of them busy. In open loop, with a `rate`, they are the most requests in flight; an operation
    planned while all are busy waits as long as a request may take (`Manner.patience_s`), and its response time counts
    from its planned start. `objects` is how many objects of the data set are read, by default those written by earlier
    phases, or else 1,000. `operations` ends the job after that many, over all virtual users. A range starts at a random
    multiple of `range_bytes`; a multipart upload has parts of `part_bytes`; a list returns at most `list_keys`.
    `popular_sizes` are those of the most popular objects of Zipf's distribution, as nearly as the data set has them.
    With `overwrite` PUT writes to keys of the data set that `keys` chooses, else to new ones. Without `reads_bodies`
    the connection is closed after the head of a response (s4's `read_sparse`). With `replay` the mix only says of which
    kinds the operations are, and how often.
    """

    name: str = ""
    mix: tuple[Share, ...]
    sizes: Sizes
    threads: int = 1
    rate: Rate | None = None
    operations: int | None = None
    objects: int | None = None
    keys: KeyDistribution = KeyDistribution.UNIFORM
    zipf_exponent: float = 1.0
    popular_sizes: tuple[int, ...] = ()
    range_bytes: int | None = None
    part_bytes: int = 8 * 1024**2
    list_keys: int = 1000
    overwrite: bool = False
    reads_bodies: bool = True
    replay: Replay | None = None

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        """The operations of the mix."""
        return tuple(share.kind for share in self.mix)

    @property
    def needs_objects(self) -> bool:
        """Whether the data set must exist before; a replay has objects of its own."""
        if self.replay is not None:
            return False
        deletes_only = self.kinds == (OperationKind.DELETE,)
        return deletes_only or self.overwrite or OperationKind.LIST in self.kinds or bool(READING & set(self.kinds))

    @property
    def leaves_objects(self) -> bool:
        """Whether it writes new objects."""
        return bool(WRITING & set(self.kinds))


class Phase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Jobs that start together. It ends when all have done their `operations`, or after `duration_s`.

    Operations that end in the first `warmup_s` are not measured. During `ramp_s` virtual users start one after the
    other. With `stable` it ends as soon as the throughput has settled, after `duration_s` at the latest. `dimensions`
    distinguish its results from those of other phases.
    """

    name: str = ""
    jobs: tuple[Job, ...]
    duration_s: float | None = None
    warmup_s: float = 0.0
    ramp_s: float = 0.0
    stable: bool = False
    dimensions: tuple[dict[str, str], ...] = ()


class Payload(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Contents of objects. `compressible` is the factor by which random data shrinks; 1 is incompressible."""

    kind: PayloadKind = PayloadKind.RANDOM
    compressible: float = 1.0


class DataSet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The objects of one run: keys and contents derive from `run` and the object number.

    Every key begins with `root`, `s3bench/RUN/`. Objects of others are read by their names in `key_file`. They are
    listed by the prefix `existing`.
    """

    run: str
    root: str
    payload: Payload = Payload()
    layout: Layout = Layout.SHARED
    key_file: str | None = None
    existing: str = ""

    def of(self, sizes: Sizes) -> "DataSet":
        """The part with objects of these sizes, under a prefix of its own: an object number must determine a size."""
        tag = hashlib.blake2b(repr(sizes.slots).encode(), digest_size=4).hexdigest()
        return msgspec.structs.replace(self, root=f"{self.root}{tag}/")


class Manner(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How requests are made.

    `signs_payload` includes the hash of a body in its signature, else UNSIGNED-PAYLOAD is signed. With `checksum` a PUT
    carries x-amz-checksum-crc32. With `verify` bodies that are read are compared with what was written. `retries` is
    how often a failed operation is retried, after `backoff_s` and then twice as long each time. `timeout_s` limits a
    whole attempt, from its start to the last byte of its response; `idle_timeout_s` limits the time without progress,
    and `connect_timeout_s` that of connecting.
    """

    keep_alive: bool = True
    signs_payload: bool = False
    verify: bool = True
    checksum: bool = False
    retries: int = 0
    backoff_s: float = 0.05
    connect_timeout_s: float = 10.0
    idle_timeout_s: float = 30.0
    timeout_s: float | None = None

    @property
    def patience_s(self) -> float:
        """The shortest limit of a request: how long an operation may wait for a virtual user."""
        return self.idle_timeout_s if self.timeout_s is None else min(self.timeout_s, self.idle_timeout_s)


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole run: its phases, `loops` times over, all with the same manner of requests."""

    phases: tuple[Phase, ...]
    manner: Manner = Manner()
    payload: Payload = Payload()
    layout: Layout = Layout.SHARED
    loops: int = 1
    max_error_rate: float = 0.001
