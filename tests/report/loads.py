"""Load results with round figures, for the reports' tests."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from s3bench.results.bins import suffices_for
from s3bench.results.document import Client, Document, Result, Status
from s3bench.results.load import Failures, Latency, Load, LoadMeasurement, Second
from s3bench.results.measurement import Failure

EMPTY = Document(s3bench="0.1.0", started_at="2026-11-21T00:00:00.000Z")
S3BENCH = Client(name="s3bench", version="0.1.0", label="s3bench@0.1.0")


def latency(p50_s: float, *, count: int = 10_000) -> Latency:
    """Latencies around `p50_s`; percentiles that so few operations do not carry are null."""

    def at(percent: float, factor: float) -> float | None:
        return p50_s * factor if suffices_for(count, percent) else None

    return Latency(
        count=count,
        mean=p50_s * 1.1 if count else None,
        min=p50_s * 0.5 if count else None,
        p25=at(25, 0.8),
        p50=at(50, 1.0),
        p75=at(75, 1.25),
        p90=at(90, 1.5),
        p99=at(99, 2.0),
        p999=at(99.9, 4.0),
        max=p50_s * 10 if count else None,
    )


def load(
    kind: str = "get",
    *,
    operations: int = 10_000,
    window_s: float = 10.0,
    size: int = 4096,
    p50_s: float = 1e-3,
    **changes: Any,
) -> Load:
    """A load of `operations` of `size` bytes in `window_s` seconds."""
    figures: dict[str, Any] = {
        "kind": kind,
        "operations": operations,
        "attempts": operations,
        "failed": 0,
        "retried": 0,
        "repeated": 0,
        "error_rate": 0.0,
        "operations_rate": operations / window_s,
        "bytes_up": operations * size if kind == "put" else 0,
        "bytes_down": operations * size if kind == "get" else 0,
        "latency": latency(p50_s, count=operations),
        "first_byte": latency(p50_s / 2, count=operations),
        "in_flight": 16.0,
        "in_flight_by_littles_law": 16.1,
        "client_cpu_share": 0.42,
    }
    return Load(**(figures | changes))


def result(
    name: str, *loops: Load, dimensions: Sequence[dict[str, str]] = (), warnings: Sequence[str] = (), **changes: Any
) -> Result:
    """A complete result with a measurement for each loop."""
    whole = Result(
        name=name,
        dimensions=tuple(dimensions),
        client=S3BENCH,
        status=Status.COMPLETE,
        measurements=tuple(loop(each, iteration=number, warnings=warnings) for number, each in enumerate(loops)),
    )
    return replace(whole, **changes)


def loop(load: Load, *, iteration: int = 0, warnings: Sequence[str] = ()) -> LoadMeasurement:
    """A loop of ten seconds."""
    return LoadMeasurement(
        iteration=iteration,
        total_time=10.0,
        cpu_time=None,
        peak_memory=None,
        throughput=None,
        engine="",
        load=load,
        warnings=tuple(warnings),
    )


def document(*results: Result) -> Document:
    """A document of these results."""
    whole = EMPTY
    for each in results:
        whole = whole.with_result(each)
    return whole


def failures(label: str, count: int, *, retried: int = 0, body_bytes: int = 0) -> Failures:
    """Attempts that failed and took a tenth of a second each."""
    return Failures(label=label, count=count, retried=retried, time_lost=count / 10, body_bytes=body_bytes)


def second(number: int, *, operations: int = 1000, **changes: Any) -> Second:
    """A second of operations of 4 KiB."""
    figures: dict[str, Any] = {
        "second": number,
        "operations": operations,
        "failures": 0,
        "bytes": operations * 4096,
        "p50": 1e-3,
        "p99": 2e-3,
        "max": 0.0123456789,
        "in_flight": 15.9,
        "stalled": False,
    }
    return Second(**(figures | changes))


def everything() -> Document:
    """A document in which every note has its reason."""
    closed = [{"threads": "16"}]
    planned = [{"rate": "1000/s"}]
    of_one: dict[str, Any] = {"in_flight": None, "unfinished": None, "late": None, "waiting_max": None}
    gets = load(
        **of_one,
        operations=1_234_567,
        window_s=20.0,
        repeated=1_230_000,
        failed=12,
        failures=(
            failures("503 SlowDown", 120, retried=110, body_bytes=40_000),
            failures("timeout", 2),
            failures("<x>\x1b[31m\nred", 1),
        ),
    )
    puts = load("put", **of_one, operations=2000, window_s=20.0, size=8 << 20, p50_s=0.09)
    both = load(
        "all",
        operations=1_236_567,
        failed=12,
        window_s=20.0,
        bytes_down=gets.bytes_down,
        bytes_up=puts.bytes_up,
        stalls=(7, 8, 9, 15),
        unfinished=16,
        late=15,
        bottleneck="client",
        client_cpu_share=0.97,
        ceiling=75_000.0,
    )
    late = load(
        operations=9000,
        rate_planned=1000.0,
        waiting_max=120,
        response=latency(0.5, count=9000),
        bottleneck="server",
    )
    loops = [load("delete", operations=count, window_s=3.0, p50_s=0.002) for count in (300, 330, 3000)]
    broken = Failure(iteration=3, what="a worker ended", why="killed\nby signal 9")
    return document(
        result("load.all", both, dimensions=closed, warnings=["the clock jumped"]),
        result("load.get", gets, dimensions=closed),
        result("load.put", puts, dimensions=closed),
        result("load.get", late, dimensions=planned),
        result("load.delete", *loops, errors=(broken,), status=Status.RUNNING),
    ).with_warnings(["the machine is busy"])
