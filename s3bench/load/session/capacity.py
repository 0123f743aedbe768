"""Checks a profile against the limits of a machine: open files, local ports and memory.

Only a profile that can never work is an error, before anything is sent. A profile that is merely large runs, and its
result reports where it fell behind its plan.
"""

from pathlib import Path

import msgspec

from s3bench.errors import BadInput
from s3bench.load.engine.pool import POOL_BYTES_MAX
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import Phase, Profile
from s3bench.run.machine import MachineFacts
from s3bench.s3.emulator.settings import MEMORY_LIMIT_BYTES
from s3bench.s3.server.server import connections_of
from s3bench.system.descriptors import descriptor_limit
from s3bench.units import render_bytes

RATE_PER_WORKER_MAX = 1_000_000.0
"""Operations a second that one worker may be asked to start. A small GET costs a core about 10 us
(`benchmarks/load_cost.py`), so that a worker can send about a tenth of this."""

DESCRIPTORS_OWN = 32
"""Files that a worker opens beside its connections: standard streams, control channel, epoll set, trace, libraries."""

WORKER_BYTES = 40 * 1024**2
"""Resident memory of a worker that has nothing to do (VmHWM, measured with Python 3.11 and numpy 2)."""

_PREPARING_THREADS = 16  # write the data set, and calibrate
_READ = frozenset({OperationKind.GET, OperationKind.RANGE})


class Capacity(msgspec.Struct, frozen=True, kw_only=True):
    """What a machine has: open files that a process may raise its limit to, local ports, memory; `None` if unknown."""

    descriptors: int
    ports: int | None
    memory_bytes: int | None


def capacity_of(facts: MachineFacts, root: Path = Path("/")) -> Capacity:
    """The capacity of this machine, whose `facts` are known. `root` is where /proc is looked for."""
    limit = descriptor_limit()
    sizes = (facts.memory_total, facts.memory_limit)
    return Capacity(
        descriptors=2**31 - 1 if limit is None else limit,
        ports=_ports(root),
        memory_bytes=min((size for size in sizes if size), default=None),
    )


def check_capacity(
    profile: Profile, capacity: Capacity, *, workers: int, nodes: int = 1, emulated: bool = False, name: str = ""
) -> None:
    """Raise `BadInput` for a profile that `workers` on `nodes` machines can never do.

    `capacity` is that of one of these machines, `name` its name in messages. `emulated`: it also runs the S3 in memory.
    """
    name = name or "this machine"
    for phase in profile.phases:
        _check_rate(phase, workers)
        if emulated:
            _check_emulator(phase, capacity)
        _check_memory(phase, capacity, workers_here=-(-workers // nodes), name=name)
    threads = max(_threads(phase, workers) for phase in profile.phases)
    _check_descriptors(threads + DESCRIPTORS_OWN, threads, capacity, name)


def check_ports(profile: Profile, capacity: Capacity, *, workers: int, nodes: int = 1, addresses: int = 1) -> None:
    """Raise `BadInput` for more connections to an endpoint with `addresses` than a machine has local ports for."""
    threads = max(_threads(phase, workers) for phase in profile.phases) * -(-workers // nodes)
    if capacity.ports is not None and threads > capacity.ports * addresses:
        raise BadInput(
            f"{threads:,} connections from one machine need more local ports than it has",
            f"net.ipv4.ip_local_port_range leaves {capacity.ports:,} for each of the endpoint's addresses, which are "
            f"{addresses:,}",
            "use fewer --threads, repeat --endpoint-url for more addresses, add machines (--cluster), or widen the "
            "range with sysctl",
        )


def _threads(phase: Phase, workers: int) -> int:
    """The most connections that one worker makes."""
    threads = max(sum(job.threads for job in phase.jobs), _PREPARING_THREADS)
    return -(-threads // workers)


def _check_rate(phase: Phase, workers: int) -> None:
    for job in phase.jobs:
        planning = min(workers, job.threads)
        if job.rate is not None and job.rate.per_s_max > planning * RATE_PER_WORKER_MAX:
            raise BadInput(
                f"a rate of {job.rate.per_s_max:,.0f} operations a second can never be reached",
                f"a worker starts at most {RATE_PER_WORKER_MAX:,.0f} a second, and {planning:,} of them take part",
                f"plan {planning * RATE_PER_WORKER_MAX:,.0f} or less, or add --workers and --threads, or machines "
                "(--cluster)",
            )


def _check_emulator(phase: Phase, capacity: Capacity) -> None:
    connections = connections_of(capacity.descriptors)
    threads = max(_PREPARING_THREADS, sum(job.threads for job in phase.jobs))
    if threads > connections:
        most = connections_of(2**31 - 1)
        raise BadInput(
            f"{threads:,} threads need more connections than the S3 in memory can have",
            f"it can have {connections:,} here, where the hard limit on open files (ulimit -Hn) is "
            f"{capacity.descriptors:,}, and {most:,} at most",
            f"use fewer --threads, or raise the limit with `ulimit -n {2 * threads + DESCRIPTORS_OWN}`"
            if threads <= most
            else "use fewer --threads, or name an endpoint",
        )
    data_bytes = sum({job.sizes: (job.objects or 0) * job.sizes.mean_bytes for job in phase.jobs}.values())
    if data_bytes > MEMORY_LIMIT_BYTES:
        raise BadInput(
            f"{render_bytes(round(data_bytes))} of objects do not fit into the S3 in memory",
            f"it holds {render_bytes(MEMORY_LIMIT_BYTES)}",
            "use fewer or smaller objects (--objects, --size), or name an endpoint",
        )


def _check_memory(phase: Phase, capacity: Capacity, *, workers_here: int, name: str) -> None:
    """Each worker has a pool for each choice of sizes, and a byte for each object of a data set that it reads."""
    pools_bytes = len({job.sizes for job in phase.jobs}) * POOL_BYTES_MAX
    seen_bytes = sum({job.sizes: job.objects or 0 for job in phase.jobs if _READ & set(job.kinds)}.values())
    needed_bytes = workers_here * (WORKER_BYTES + pools_bytes + seen_bytes)
    if capacity.memory_bytes is not None and needed_bytes > capacity.memory_bytes:
        raise BadInput(
            f"{workers_here:,} workers need about {render_bytes(needed_bytes)} of memory, "
            f"and {name} has {render_bytes(capacity.memory_bytes)}",
            f"each needs {render_bytes(WORKER_BYTES + pools_bytes)}, and a byte for each object that it reads",
            "use fewer --objects or fewer --workers",
        )


def _check_descriptors(needed: int, threads: int, capacity: Capacity, name: str) -> None:
    if needed > capacity.descriptors:
        raise BadInput(
            f"{needed:,} open files are needed in each worker, and {name} allows {capacity.descriptors:,}",
            f"a worker has {threads:,} connections and {DESCRIPTORS_OWN} files of its own; the hard limit (ulimit -Hn) "
            "is below that",
            f"raise it with `ulimit -n {needed}` in the shell that starts s3bench (limits.conf where that is refused), "
            "use fewer --threads, or more --workers",
        )


def _ports(root: Path) -> int | None:
    try:
        first, last = map(int, (root / "proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return None
    return last - first + 1
