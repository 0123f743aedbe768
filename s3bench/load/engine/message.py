"""The messages between the coordinator and its workers, over the framing of `s3bench.s3.control`.

Secrets are sent in these messages and nowhere else.
"""

import msgspec

from s3bench.load.engine.interval_record import IntervalRecord
from s3bench.load.profile.profile import DataSet, Manner, Phase


class Keys(msgspec.Struct, frozen=True, kw_only=True):
    """The keys that requests are signed with; anonymous without an access key."""

    access_key: str = ""
    secret_key: str = ""
    token: str | None = None
    region: str = "us-east-1"


class RequestTarget(msgspec.Struct, frozen=True, kw_only=True):
    """The target of requests. `addresses` are (IP address, port), already resolved; workers use them in turn.

    `hosts` are the Host fields that belong to them, without the bucket; their names are what a certificate must be good
    for. With `virtual_hosts` the bucket is part of the host name. With `express` it is a directory bucket: its requests
    are signed with the keys of a session, which begins with `keys`.
    """

    addresses: tuple[tuple[str, int], ...]
    hosts: tuple[str, ...]
    tls: bool = False
    tls_verify: bool = True
    ca_bundle: str | None = None
    virtual_hosts: bool = False
    bucket: str
    keys: Keys = Keys()
    express: bool = False

    def certificate_name(self, host: str) -> str:
        """Give the name that the certificate of `host`, one of `hosts`, must be good for."""
        name = host.removeprefix("[").partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        return f"{self.bucket}.{name}" if self.virtual_hosts else name


class PreparePhase(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Prepare: the number of this worker, and everything that stays the same over the phases.

    The keys of new objects beside the data set begin with `new_root`, by default with the root of `data`. Random
    choices follow from `seed`. Attempts are written to the file `trace`.
    """

    worker: int
    workers: int
    target: RequestTarget
    manner: Manner
    data: DataSet
    new_root: str | None = None
    seed: int = 0
    trace: str | None = None


class BeginPhase(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Prepare the worker's share of a phase.

    `first_numbers` hold for each job the first object number that is free for its new objects; the data set's numbers
    go from 0 to the job's `objects`. `turn` makes random choices differ from phase to phase. Operations are retried at
    least `retries_min` times.
    """

    phase: Phase
    first_numbers: tuple[int, ...]
    turn: int = 0
    retries_min: int = 0


class StartPhase(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Start the phase; second 0 begins at `start_ns` of the machine's monotonic clock."""

    start_ns: int


class StopPhase(msgspec.Struct, frozen=True, tag=True):
    """Start no more operations; those in flight may end."""


class PhasePrepared(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Ready. `pid` is the worker's process."""

    pid: int


class PhaseReady(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """All objects of the phase are prepared: it can start."""

    worker: int


class PhaseEnded(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The phase is over for this worker, after its last record.

    `begun_ns` after `start_ns` it really began. `elapsed_ns`: from `start_ns` to the last start or the end of
    `duration_s`. `unfinished` operations were in flight then: `late` of them succeeded afterwards, the others were
    given up. `open_ns` is for how long they had been in flight, added up. `waiting` more were planned and not begun.
    `oldest_ns` is the age of the oldest of all these, from its plan or its first attempt, `oldest_attempt_ns` that of
    the oldest attempt. `unanswered` attempts to write were sent and had no response, from the start of the phase on:
    the server may still carry them out. For `run_delay_ns` of the phase the worker was ready to run and had no core;
    `None` if the kernel does not report it. `cores_awake`: whether all cores were kept out of idle states, `None` in
    closed loop. `session_error`: why a session with a directory bucket could not be renewed, empty if none failed.
    `written` is for each job how many new objects there are from the worker's first on without gap. Connections were
    made to the addresses in `reached`, and none to those in `unreached`, although they were tried.
    """

    worker: int
    elapsed_ns: int
    unfinished: int
    late: int
    open_ns: int
    written: tuple[int, ...]
    unanswered: int = 0
    waiting: int = 0
    begun_ns: int = 0
    oldest_ns: int = 0
    oldest_attempt_ns: int = 0
    run_delay_ns: int | None = None
    cores_awake: bool | None = None
    session_error: str = ""
    reached: tuple[str, ...] = ()
    unreached: tuple[str, ...] = ()


class WorkerFailed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The worker cannot go on."""

    what: str
    why: str = ""
    fix: str = ""


class WorkerLost(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A node is gone in the middle of a phase, with its workers: `why` in words."""

    node: int
    why: str


Order = PreparePhase | BeginPhase | StartPhase | StopPhase
Report = PhasePrepared | PhaseReady | IntervalRecord | PhaseEnded | WorkerFailed
