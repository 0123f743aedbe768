"""Measures the ceiling of this machine: the rate that the same workers reach against a null server.

Near the ceiling, the load generator is the bottleneck and not the endpoint (`s3bench.load.aggregation.bottleneck`).
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec

from s3bench.load.aggregation.phase_aggregation import PhaseAggregation
from s3bench.load.engine.message import Keys, RequestTarget
from s3bench.load.operation import READING, OperationKind
from s3bench.load.profile.profile import Phase
from s3bench.load.session.inventory import Inventory
from s3bench.load.session.running import LoadRun, RunRules
from s3bench.load.session.worker_pool import WorkerPool
from s3bench.s3.endpoint import StubEndpoint
from s3bench.spec.definition import FileBody, RequestMatch, Response

CALIBRATION_S = 2.0
WARMUP_S = 1.0

_THREADS_MIN = 16  # fewer would wait for round trips, and show those instead of what the machine can do
_READS_MIN = 10  # enough for a median
_READ_EACH = 10  # one object of so many
_BODY = "body"
_BUCKET = "null"
_UPLOAD = "<InitiateMultipartUploadResult><UploadId>null</UploadId></InitiateMultipartUploadResult>"
_COPIED = "<CopyObjectResult><ETag>null</ETag></CopyObjectResult>"
_LISTED = "<ListBucketResult><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>"
_COMPLETED = "<CompleteMultipartUploadResult><ETag>null</ETag></CompleteMultipartUploadResult>"


def calibrated(phase: Phase) -> Phase | None:
    """The phase as it is run against the null server: closed loop and short; `None` where that would say nothing."""
    if any(job.kinds == (OperationKind.DELETE,) for job in phase.jobs):
        return None  # there is nothing to be deleted, and deleting costs a client no more than a HEAD
    jobs = tuple(
        msgspec.structs.replace(job, rate=None, operations=None, threads=max(job.threads, _THREADS_MIN))
        for job in phase.jobs
    )
    return msgspec.structs.replace(
        phase, jobs=jobs, duration_s=CALIBRATION_S + WARMUP_S, warmup_s=WARMUP_S, ramp_s=0.0, stable=False
    )


def lone(phase: Phase) -> Phase | None:
    """The phase of `calibrated` with one request at a time, which shows latencies without any queue.

    `None` for several jobs: what is compared is the median of all operations, and their shares would be others. The job
    says how many `objects` there are; few of them are read, since a cache may have these afterwards.
    """
    if len(phase.jobs) > 1:
        return None
    (job,) = phase.jobs
    operations = max(_READS_MIN, (job.objects or 0) // _READ_EACH) if READING & set(job.kinds) else None
    alone = msgspec.structs.replace(job, threads=1, operations=operations)
    return msgspec.structs.replace(phase, jobs=(alone,), warmup_s=0.0)


def calibrate(
    phase: Phase, rules: RunRules, *, tls: bool, workers: int, directory: Path
) -> Generator[PhaseAggregation, None, PhaseAggregation]:
    """Run a phase of `calibrated` against the null server; gives its aggregation every second, and returns it.

    `directory` is private and empty. Bodies are not verified: the null server has one for all objects.
    """
    with null_server(phase, directory, tls=tls) as target, WorkerPool(workers, directory=directory) as pool:
        unverified = replace(rules, manner=msgspec.structs.replace(rules.manner, verify=False), trace=None)
        inventory = Inventory({job.sizes: job.objects or 1 for job in phase.jobs if job.needs_objects})
        return (yield from LoadRun(pool, target, unverified, inventory).measure(phase))


@contextmanager
def null_server(phase: Phase, directory: Path, *, tls: bool) -> Iterator[RequestTarget]:
    """A server that answers every request of a phase alike; reads get a body of the mean size."""
    mean_bytes = round(sum(job.sizes.mean_bytes for job in phase.jobs) / len(phase.jobs))
    with (directory / _BODY).open("wb") as file:
        file.truncate(mean_bytes)
    with StubEndpoint(directory=directory, tls=tls) as stub:
        stub.arm(_answers(), workspace=directory, verify=False)
        yield RequestTarget(
            addresses=((stub.host, stub.port),),
            hosts=(f"{stub.host}:{stub.port}",),
            tls=tls,
            ca_bundle=None if stub.ca_bundle is None else str(stub.ca_bundle),
            bucket=_BUCKET,
            keys=_KEYS,
        )


_KEYS = Keys(access_key="null", secret_key="null")  # noqa: S106 (signs for a server that does not look)


def _answers() -> tuple[Response, ...]:
    below = f"/{_BUCKET}/*"
    return (
        _answer(RequestMatch(method="GET", path=f"/{_BUCKET}*", query=(("list-type", "2"),)), body=_LISTED),
        _answer(RequestMatch(method="GET", path=below), body=FileBody(file=_BODY)),
        _answer(RequestMatch(method="HEAD", path=below), body=FileBody(file=_BODY)),
        _answer(RequestMatch(method="POST", path=below, query=(("uploads", ""),)), body=_UPLOAD),
        _answer(RequestMatch(method="POST", path=below, query=(("uploadId", ""),)), body=_COMPLETED),
        _answer(RequestMatch(method="PUT", path=below), body=_COPIED),
        Response(match=RequestMatch(method="DELETE", path=below), status_code=204, instances=None),
    )


def _answer(match: RequestMatch, *, body: str | FileBody) -> Response:
    return Response(match=match, headers=(("ETag", '"null"'),), body=body, instances=None)
