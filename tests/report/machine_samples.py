"""Runs for the tests of the formats that machines read: round figures, everything, and names that would do harm."""

from msgspec.structs import replace

from s3bench.results.document import Client, Document, Result, Status
from s3bench.results.measurement import Failure, Measurement, UsageFacts, Wire, WireFacts, measure

HOSTILE = (
    '=1+1 a|b "c" \'d\' \\ {e="f"} <script>g</script>\n# EOF\r\x1b[31m \u202ei \x00]]> &amp; ü😀 \ud800 , ; : % \t'
)
LONG = "x" * 1_000_000
CRT = Client(name="cli-crt", version="2.38.5", label="cli-crt@2.38.5")
CLASSIC = Client(name="cli-classic", version="2.38.5", label="cli-classic@2.38.5")
EMPTY = Document(s3bench="0.1.0", started_at="2026-11-21T10:00:00.000Z", ended_at="2026-11-21T10:05:00.000Z")


def upload_facts(
    *,
    requests: int = 4,
    first_request_s: float | None = None,
    last_response_s: float | None = None,
    engine: str = "crt",
    server_cpu_s: float | None = None,
) -> WireFacts:
    """What the server saw of an upload of 32 MiB in so many requests."""
    return WireFacts(
        counts=Wire(
            requests=requests,
            retries=0,
            connections=2,
            requests_in_flight_max=2,
            bytes_received=32 << 20,
            bytes_sent=0,
            part_size_max=8 << 20,
            checksums_verified=4,
        ),
        first_request_s=first_request_s,
        last_response_s=last_response_s,
        requests_by_kind={"PUT": requests},
        engine=engine,
        server_cpu_s=server_cpu_s,
    )


def measurement(total_s: float, *, iteration: int = 0, wire: bool = True) -> Measurement:
    """An iteration with a peak memory of 100 MB, and the milestones of a probe."""
    return measure(
        iteration=iteration,
        total_s=total_s,
        usage=UsageFacts(user_cpu_s=0.5, system_cpu_s=0.25, peak_memory_bytes=100_000_000),
        wire=upload_facts(first_request_s=0.4, last_response_s=0.9) if wire else None,
        milestones_s={"interpreter_start": 0.02, "imports_done": 0.2, "client_created": 0.5, "exit": 0.95},
        warnings=("stub-bound: the server was busy",),
    )


def result(name: str = "s3.cp.upload", client: Client = CRT, *totals_s: float, **dimensions: str) -> Result:
    """A complete result with an iteration for each total time."""
    return Result(
        name=name,
        dimensions=tuple({key: value} for key, value in dimensions.items()),
        client=client,
        status=Status.COMPLETE,
        measurements=tuple(measurement(total_s, iteration=number) for number, total_s in enumerate(totals_s)),
    )


def run() -> Document:
    """Two clients on one benchmark, a benchmark that failed, and one of which iterations are missing."""
    failure = Failure(iteration=1, what="the client failed", exit_code=255, why="no such\nbucket", request="PUT /b/k")
    failed = replace(result("s3.mv", CRT, 2.0), errors=(failure,), status=Status.FAILED)
    running = replace(result("s3.rm", CRT), status=Status.RUNNING)
    return replace(
        EMPTY.with_warnings(["the machine was busy"]),
        results=(
            result("s3.cp.upload", CRT, 1.0, 3.0, 1.5, FileSize="32MB"),
            result("s3.cp.upload", CLASSIC, 2.0, FileSize="32MB"),
            failed,
            running,
        ),
    )


def hostile() -> Document:
    """A run in which whatever comes from outside is hostile, twice, so that names have to be kept apart."""
    client = Client(name=HOSTILE, version=HOSTILE, label=HOSTILE)
    failure = Failure(iteration=1, what=HOSTILE, exit_code=1, why=HOSTILE + LONG, request=HOSTILE)
    first = Result(
        name=HOSTILE,
        dimensions=({HOSTILE: HOSTILE}, {"": ""}, {LONG: LONG}, {":Client": " "}, {"Client": "="}),
        client=client,
        status=Status.FAILED,
        measurements=(replace(measurement(1.0), warnings=(HOSTILE, LONG), engine=HOSTILE),),
        errors=(failure,),
    )
    second = replace(first, dimensions=({f"{HOSTILE}!": HOSTILE},))
    third = replace(second, dimensions=({f"{HOSTILE}?": HOSTILE},))
    return replace(EMPTY, s3bench=HOSTILE, warnings=(HOSTILE, LONG), results=(first, second, third))
