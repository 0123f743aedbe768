"""What a driver costs when many nodes tell it of every second: CPU time and memory, on simulated nodes.

The driver is the real one: its questions, its decoding, the aggregation of every second, histograms merged for each
node and for the whole, the line of the live view, and the results at the end. The nodes are simulated in the same
process: each has a record a second of two kinds of operations, encoded as on the wire; what that costs is measured
apart and
taken off. Ray's part, a remote call a question, is not in it (docs/scale.md has it, measured on a cluster).

    python benchmarks/cluster_scale.py [NODES ...] [--seconds S] [--samples N]
"""

import argparse
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from bars import met_or_missed

import s3bench
from s3bench.cli.load.view import status_line
from s3bench.cluster.message import PROTOCOL
from s3bench.cluster.preflight import run_preflight
from s3bench.cluster.worker_pool import ClusterWorkerPool
from s3bench.load.aggregation.measurements import results
from s3bench.load.aggregation.phase_aggregation import PhaseAggregation
from s3bench.load.engine.interval_record import Stream
from s3bench.load.engine.message import PhaseEnded, PhasePrepared, PhaseReady, RequestTarget
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import DataSet, Job, Manner, Phase, Share
from s3bench.load.profile.sizes import fixed
from s3bench.load.session.inventory import Inventory
from s3bench.load.session.running import LoadRun, RunRules
from s3bench.results.histogram import Histogram

CORES_MAX = 0.5
MEMORY_BYTES_MAX = 500e6
NS = 10**9

_SHAPES = 16
_RUN = "0123456789ab"


class SimulatedRecord(msgspec.Struct, frozen=True, tag="IntervalRecord"):
    """An `IntervalRecord` whose streams are encoded already."""

    worker: int
    second: int
    length_ns: int
    streams: msgspec.Raw
    in_flight_ns: int
    in_flight_max: int
    waiting_max: int
    cpu_ns: int
    wait_ns: int
    connects: int = 0
    cut: int = 0


class SimulatedReports(msgspec.Struct, frozen=True):
    """`Reports`, in their fields' order."""

    reports: tuple[SimulatedRecord | PhaseEnded | PhasePrepared | PhaseReady, ...]
    dropped: int = 0


class Fleet:
    """Nodes of one worker each, all of which tell in time."""

    def __init__(self, nodes: int, *, seconds: int, samples: int) -> None:
        self.nodes = nodes
        self.facts: Mapping[str, object] = {"engine": "simulated"}
        self.cpu_s = 0.0
        self._seconds = seconds
        generator = np.random.default_rng(1)
        self._streams = [_streams(generator, samples) for _ in range(_SHAPES)]
        self.record_bytes = len(self._streams[0])
        self._start_ns: int | None = None

    def call(self, method: str, arguments: Mapping[int, tuple[Any, ...]], *, limit_s: float) -> dict[int, Any]:
        """Answer at once."""
        del limit_s
        begun_s = time.thread_time()
        if method == "start":
            self._start_ns = min(words[1] for words in arguments.values())
        answers = {node: self._answer(method, node, words) for node, words in arguments.items()}
        self.cpu_s += time.thread_time() - begun_s
        return answers

    def _answer(self, question: str, node: int, words: tuple[Any, ...]) -> Any:
        match question:
            case "facts":
                programs = {"protocol": PROTOCOL, "s3bench": s3bench.__version__, "python": "3"}
                capacity = {"descriptors": 20_000, "ports": None, "memory_bytes": None}
                return {**programs, "cores": 1, "machine": {}, "capacity": capacity, "niceness": 0, "warnings": ()}
            case "clock":
                return time.monotonic_ns(), time.time_ns()
            case "reports":
                return msgspec.msgpack.encode(SimulatedReports(reports=self._since(node, words[0])))
        return None

    def _since(self, node: int, number: int) -> tuple[SimulatedRecord | PhaseEnded | PhasePrepared | PhaseReady, ...]:
        if number == 0:
            return (PhasePrepared(pid=1),)
        if number == 1:
            return (PhaseReady(worker=0),)
        if self._start_ns is None:
            return ()
        passed = min(self._seconds, (time.monotonic_ns() - self._start_ns) // NS)
        records = tuple(self._record(node, second) for second in range(number - 2, passed))
        is_over = passed == self._seconds and number - 2 <= passed
        return (*records, _ended(node, passed)) if is_over else records

    def _record(self, node: int, second: int) -> SimulatedRecord:
        return SimulatedRecord(
            worker=node,
            second=second,
            length_ns=NS,
            streams=self._streams[(node + second) % _SHAPES],
            in_flight_ns=NS,
            in_flight_max=1,
            waiting_max=0,
            cpu_ns=NS // 4,
            wait_ns=NS // 2,
        )


def _streams(generator: np.random.Generator, samples: int) -> msgspec.Raw:
    """A second of GETs and PUTs with log-normal latencies, whose sigma of 0.5 is usual of object stores."""
    streams = []
    for kind in (OperationKind.GET, OperationKind.PUT):
        histogram = Histogram()
        histogram.add((generator.lognormal(math.log(10e6), 0.5, samples // 2)).astype(np.int64))
        bins = histogram.bins()
        streams.append(Stream(job=0, kind=kind, operations=samples // 2, service=bins, first_byte=bins, response=bins))
    return msgspec.Raw(msgspec.msgpack.encode(tuple(streams)))


def _ended(node: int, seconds: int) -> PhaseEnded:
    return PhaseEnded(worker=node, elapsed_ns=seconds * NS, unfinished=0, late=0, open_ns=0, written=(0,))


def memory_bytes(name: str) -> int:
    """VmRSS or VmHWM of this process (proc_pid_status(5))."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def measure(nodes: int, *, seconds: int, samples: int) -> bool:
    """Run a phase on so many nodes, print a line, and tell whether it is within the bars."""
    fleet = Fleet(nodes, seconds=seconds, samples=samples)
    pool = ClusterWorkerPool(fleet, run_preflight(fleet, workers_per_node=1, threads=nodes))
    mix = (Share(kind=OperationKind.GET), Share(kind=OperationKind.PUT))
    phase = Phase(name="mixed", jobs=(Job(mix=mix, sizes=fixed(4096), threads=nodes, objects=1),), duration_s=seconds)
    rules = RunRules(manner=Manner(), data=DataSet(run=_RUN, root=f"s3bench/{_RUN}/"))
    target = RequestTarget(addresses=(("127.0.0.1", 9),), hosts=("127.0.0.1:9",), bucket="data")
    load = LoadRun(pool, target, rules, Inventory({fixed(4096): 1}))
    fleet.cpu_s, begun_cpu_s, begun_s = 0.0, time.process_time(), time.monotonic()
    aggregation: PhaseAggregation | None = None
    for aggregation in load.measure(phase):
        status_line(aggregation.status())
    assert aggregation is not None
    passed_s, phase_cpu_s = time.monotonic() - begun_s, time.process_time() - begun_cpu_s - fleet.cpu_s
    begun_cpu_s = time.process_time()
    phase_result = aggregation.measure()
    results(phase_result, phase, iteration=0, version="0")
    end_cpu_s = time.process_time() - begun_cpu_s
    assert (
        phase_result.whole.operations
        == sum(each.load.operations for each in phase_result.nodes)
        == nodes * seconds * samples
    )
    cores, most = phase_cpu_s / passed_s, memory_bytes("VmHWM")
    print(
        f"{nodes:6,} {fleet.record_bytes / 1024:10.1f} {cores:8.3f} {phase_cpu_s / nodes / seconds * 1e6:14.0f} "
        f"{end_cpu_s:8.2f} {most / 1e6:8.0f}",
        flush=True,
    )
    return cores <= CORES_MAX and most <= MEMORY_BYTES_MAX


def main() -> None:
    """Measure each number of nodes in turn; exits with 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nodes", nargs="*", type=int, default=[10, 100, 1000])
    parser.add_argument("--seconds", type=int, default=20, help="of the phase (default 20)")
    parser.add_argument("--samples", type=int, default=1000, help="operations a node and second")
    options = parser.parse_args()
    print(f"two kinds, {options.samples:,} operations a node and second, {options.seconds} s; memory at the start: "
          f"{memory_bytes('VmRSS') / 1e6:.0f} MB")  # fmt: skip
    print(" nodes  record KiB    cores  us node-second  end s   peak MB")
    within = [measure(nodes, seconds=options.seconds, samples=options.samples) for nodes in options.nodes]
    print(f"bar: {CORES_MAX:g} core and {MEMORY_BYTES_MAX / 1e6:.0f} MB: {met_or_missed(all(within))}")
    raise SystemExit(not all(within))


if __name__ == "__main__":
    main()
