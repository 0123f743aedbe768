"""Results documents made by hand, for tests of comparisons."""

from collections.abc import Mapping, Sequence

from s3bench.compare.matching import DocumentSource
from s3bench.results.document import Client, Document, Result, Status
from s3bench.results.measurement import Measurement, UsageFacts, Wire, WireFacts, measure

MACHINE = {"cpu_model": "Model 1", "cores_logical": 2, "memory_total": 8 << 30, "kernel": "Linux 6.1", "python": "3.11"}
OPTIONS = {"num_iterations": 6, "data_interval": 0.001, "endpoint": "stub server", "network": None, "tls": False}
BASE = (0.500, 0.510, 0.520, 0.530, 0.540, 0.550)
KINDS = {"HEAD": 1, "GET ranged": 4}


def client(name: str = "cli-crt", version: str = "2.38.5") -> Client:
    return Client(name=name, version=version, label=f"{name}@{version}")


def measurement(
    iteration: int,
    total_s: float,
    *,
    peak: int = 80 << 20,
    kinds: Mapping[str, int] | None = None,
    sent: int = 32 << 20,
    engine: str = "crt",
    warnings: tuple[str, ...] = (),
) -> Measurement:
    kinds = KINDS if kinds is None else kinds
    wire = WireFacts(
        counts=Wire(
            requests=sum(kinds.values()),
            retries=0,
            connections=2,
            requests_in_flight_max=2,
            bytes_received=0,
            bytes_sent=sent,
            part_size_max=8 << 20,
            checksums_verified=0,
        ),
        first_request_s=0.1,
        last_response_s=0.2,
        requests_by_kind=kinds,
        engine=engine,
        server_cpu_s=0.01,
    )
    usage = UsageFacts(user_cpu_s=total_s * 0.8, system_cpu_s=0.01, peak_memory_bytes=peak, major_faults=0)
    return measure(iteration=iteration, total_s=total_s, usage=usage, wire=wire, warnings=warnings)


def result(
    times_s: Sequence[float] = BASE,
    *,
    name: str = "s3.cp.download",
    dimensions: Mapping[str, str] | None = None,
    of: Client | None = None,
    **known: object,
) -> Result:
    return Result(
        name=name,
        dimensions=tuple({key: value} for key, value in (dimensions or {}).items()),
        client=of or client(),
        status=Status.COMPLETE,
        measurements=tuple(
            measurement(number, total_s, **known)  # type: ignore[arg-type]  # (checked where it is called)
            for number, total_s in enumerate(times_s)
        ),
    )


def document(*results: Result, machine: Mapping[str, object] | None = None, **options: object) -> Document:
    return Document(
        s3bench="0.1.0",
        started_at="2026-11-21T00:00:00.000Z",
        ended_at="2026-11-21T00:10:00.000Z",
        machine={**MACHINE, **(machine or {})},
        options={**OPTIONS, **options},
        clients=tuple(dict.fromkeys(each.client for each in results)),
        results=results,
    )


def source(name: str, *results: Result) -> DocumentSource:
    return DocumentSource(name=name, document=document(*results))


def slower(times_s: Sequence[float], factor: float) -> tuple[float, ...]:
    return tuple(time_s * factor for time_s in times_s)
