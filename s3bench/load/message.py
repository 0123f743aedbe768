"""What the coordinator and its workers say to each other, over the framing of `s3bench.s3.control`.

Owns the messages. Secrets travel here and nowhere else.
"""

import msgspec

from s3bench.load.profile import DataSet, Manner, Phase
from s3bench.load.tally import Tally


class Keys(msgspec.Struct, frozen=True, kw_only=True):
    """What requests are signed with; anonymous without an access key."""

    access_key: str = ""
    secret_key: str = ""
    token: str | None = None
    region: str = "us-east-1"


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Where requests go. `addresses` are (IP address, port), looked up already; workers take them in turn.

    `hosts` are the Host fields that belong to them, without the bucket; their names are what a certificate must be good
    for. With `virtual_hosts` the bucket is part of the host name.
    """

    addresses: tuple[tuple[str, int], ...]
    hosts: tuple[str, ...]
    tls: bool = False
    tls_verify: bool = True
    ca_bundle: str | None = None
    virtual_hosts: bool = False
    bucket: str
    keys: Keys = Keys()


class Prepare(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Get ready: who this worker is among how many, and all that stays the same over the phases."""

    worker: int
    workers: int
    target: Target
    manner: Manner
    data: DataSet
    trace: str | None = None


class Begin(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Do the worker's share of a phase; second 0 begins at `start_ns` of the machine's monotonic clock.

    `first_number` is the first object number that is free for new objects: numbers below belong to the data set.
    `loop` makes draws differ from loop to loop.
    """

    phase: Phase
    start_ns: int
    first_number: int
    loop: int = 0


class Stop(msgspec.Struct, frozen=True, tag=True):
    """Start nothing any more; what is in flight may end."""


class Prepared(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Ready. `pid` is the worker's process."""

    pid: int


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The phase is over for this worker, after its last tally.

    `elapsed_ns`: from `start_ns` to the last start or the end of `duration_s`. `unfinished` operations were in flight
    then: `late` of them ended well afterwards, the others were given up.
    `next_number` is the first object number not used.
    """

    worker: int
    elapsed_ns: int
    unfinished: int
    late: int
    next_number: int


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The worker cannot go on."""

    what: str
    why: str = ""
    fix: str = ""


Order = Prepare | Begin | Stop
Report = Prepared | Tally | Ended | Failed
