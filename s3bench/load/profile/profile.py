"""What a load run is to do: jobs that run side by side in phases that run one after the other.

Owns the nouns; plain values, since they cross a channel to the workers and are kept in the results document. What
people write is read by `profilefile`, `stress` (s4's files) and the command line.
"""

import hashlib
from enum import StrEnum

import msgspec

from s3bench.load.operation import READING, WRITING, OperationKind
from s3bench.load.profile.sizes import Sizes

ZIPF_OBJECTS_MAX = (1 << 31) - 1
"""Objects that Zipf's law can rank here: a rank times a step has to fit into 63 bits."""


class KeyChoice(StrEnum):
    """Which object the next operation takes: any with equal chance, one after the other, or few of them often."""

    UNIFORM = "uniform"
    SEQUENTIAL = "sequential"
    ZIPF = "zipf"


class Arrivals(StrEnum):
    """How planned starts follow each other in open loop."""

    CONSTANT = "constant"
    POISSON = "poisson"


class Layout(StrEnum):
    """Where a run's objects lie below its prefix: together, or in a prefix for each worker."""

    SHARED = "shared"
    WORKER = "worker"


class PayloadKind(StrEnum):
    """What objects consist of."""

    RANDOM = "random"
    ZERO = "zero"


class Rate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Open loop: operations planned per second by all workers together, whether answers come or not."""

    per_s: float
    arrivals: Arrivals = Arrivals.POISSON


class Share(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of operation of a mix, and its weight among the others."""

    kind: OperationKind
    weight: float = 1.0


class Job(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Threads that do the same work. A thread is one request at a time, on one connection.

    Closed loop keeps all `threads` busy. In open loop, with a `rate`, they are the most that is in flight; what is
    planned while all are busy waits for as long as a request may take (`Manner.patience_s`), and its response time
    counts from its plan. `objects` is how many objects of the data set are read, by default those that phases before
    have written, or else 1,000. `operations` ends the job after as many, over all its threads. A range starts at a
    random multiple of `range_bytes`; a multipart upload has parts of `part_bytes`; a list returns at most `list_keys`.
    With `overwrite` PUT takes keys of the data set as `keys` chooses, else new ones. `reads_bodies` off stops reading
    at the end of a response's head and closes the connection (s4's `read_sparse`).
    """

    name: str = ""
    mix: tuple[Share, ...]
    sizes: Sizes
    threads: int = 1
    rate: Rate | None = None
    operations: int | None = None
    objects: int | None = None
    keys: KeyChoice = KeyChoice.UNIFORM
    zipf_exponent: float = 1.0
    range_bytes: int | None = None
    part_bytes: int = 8 * 1024**2
    list_keys: int = 1000
    overwrite: bool = False
    reads_bodies: bool = True

    @property
    def kinds(self) -> tuple[OperationKind, ...]:
        """The kinds of operations in the mix."""
        return tuple(share.kind for share in self.mix)

    @property
    def needs_objects(self) -> bool:
        """Whether the data set must be there before."""
        deletes_only = self.kinds == (OperationKind.DELETE,)
        return deletes_only or self.overwrite or OperationKind.LIST in self.kinds or bool(READING & set(self.kinds))

    @property
    def leaves_objects(self) -> bool:
        """Whether there are new objects behind it."""
        return bool(WRITING & set(self.kinds))


class Phase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Jobs that start together. It ends when all have done their `operations`, or after `duration_s`.

    What ends in the first `warmup_s` is not measured. During `ramp_s` threads begin one after the other. With `stable`
    it ends as soon as the throughput has settled, at `duration_s` at the latest. `dimensions` tell its results from
    those of other phases.
    """

    name: str = ""
    jobs: tuple[Job, ...]
    duration_s: float | None = None
    warmup_s: float = 0.0
    ramp_s: float = 0.0
    stable: bool = False
    dimensions: tuple[dict[str, str], ...] = ()


class Payload(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What objects hold. `compressible` is the factor by which random data shrinks; 1 does not."""

    kind: PayloadKind = PayloadKind.RANDOM
    compressible: float = 1.0


class DataSet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The objects of one run: keys and contents follow from `run` and an object's number alone.

    `root` is what every key begins with, `s3bench/RUN/`. Objects that are not ours are read by their names in
    `key_file`.
    """

    run: str
    root: str
    payload: Payload = Payload()
    layout: Layout = Layout.SHARED
    key_file: str | None = None

    def of(self, sizes: Sizes) -> "DataSet":
        """The part with objects of these sizes, in a directory of its own: an object's number must tell its size."""
        tag = hashlib.blake2b(repr(sizes.slots).encode(), digest_size=4).hexdigest()
        return msgspec.structs.replace(self, root=f"{self.root}{tag}/")


class Manner(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How requests are made.

    `signs_payload` hashes bodies into the signature, else UNSIGNED-PAYLOAD is signed. With `checksum` a PUT carries
    x-amz-checksum-crc32. With `verify` bodies that are read are held against what was written. `retries` is how often a
    failed operation is tried again, after `backoff_s` and then twice as long each time. `timeout_s` bounds an attempt
    as a whole, from its start to the last byte of its answer; `idle_timeout_s` bounds the time without any progress of
    it, which connecting has `connect_timeout_s` for.
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
        """The least of the limits of a request: how long nothing may come of an operation."""
        return self.idle_timeout_s if self.timeout_s is None else min(self.timeout_s, self.idle_timeout_s)


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole run: its phases, `loops` times over, in one manner."""

    phases: tuple[Phase, ...]
    manner: Manner = Manner()
    payload: Payload = Payload()
    layout: Layout = Layout.SHARED
    loops: int = 1
    max_error_rate: float = 0.001
