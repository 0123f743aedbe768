"""The ceiling of this machine: which phase is run against the null server, and what that answers."""

import http.client
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from s3bench.load.aggregation.phase_result import PhaseResult
from s3bench.load.engine.message import RequestTarget
from s3bench.load.operation import MIXABLE, OperationKind
from s3bench.load.profile.profile import DataSet, Job, Manner, Phase, Rate, Share
from s3bench.load.profile.sizes import fixed, parse_sizes
from s3bench.load.session.calibration import CALIBRATION_S, WARMUP_S, calibrate, calibrated, lone, null_server
from s3bench.load.session.running import RunRules

RUN = "0123456789ab"


def job(*kinds: OperationKind, **more: object) -> Job:
    mix = tuple(Share(kind=kind) for kind in kinds)
    return msgspec.structs.replace(Job(mix=mix, sizes=fixed(1000), threads=4), **more)


def test_a_phase_is_calibrated_in_a_short_closed_loop() -> None:
    phase = Phase(
        jobs=(job(OperationKind.GET, rate=Rate(per_s=5.0), operations=3), job(OperationKind.PUT, threads=40)),
        duration_s=600.0,
        ramp_s=60.0,
        stable=True,
    )
    short = calibrated(phase)
    assert short is not None
    assert [(each.rate, each.operations, each.threads) for each in short.jobs] == [(None, None, 16), (None, None, 40)]
    assert (short.duration_s, short.warmup_s) == (CALIBRATION_S + WARMUP_S, WARMUP_S)
    assert (short.ramp_s, short.stable) == (0.0, False)


@pytest.mark.parametrize(
    ("kinds", "objects", "operations"),
    [
        ((OperationKind.GET,), 1000, 100),
        ((OperationKind.PUT, OperationKind.RANGE), 20, 10),
        ((OperationKind.PUT,), 0, None),
        ((OperationKind.LIST,), 1000, None),
    ],
)
def test_one_request_at_a_time_reads_few_objects_which_may_be_in_a_cache_afterwards(
    kinds: tuple[OperationKind, ...], objects: int, operations: int | None
) -> None:
    short = calibrated(Phase(jobs=(job(*kinds, objects=objects),)))
    assert short is not None
    one = lone(short)
    assert one is not None
    [single] = one.jobs
    assert (single.kinds, single.threads, single.operations, one.warmup_s) == (kinds, 1, operations, 0.0)


def test_there_is_no_latency_of_several_jobs_together_with_one_request_at_a_time() -> None:
    short = calibrated(Phase(jobs=(job(OperationKind.GET), job(OperationKind.PUT))))
    assert short is not None
    assert lone(short) is None


def test_deleting_alone_says_nothing_against_a_server_without_objects() -> None:
    assert calibrated(Phase(jobs=(job(OperationKind.DELETE),))) is None
    assert calibrated(Phase(jobs=(job(OperationKind.GET), job(OperationKind.DELETE)))) is None
    assert calibrated(Phase(jobs=(job(OperationKind.PUT, OperationKind.DELETE),))) is not None


@pytest.fixture(scope="module")
def null(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RequestTarget]:
    phase = Phase(
        jobs=(job(OperationKind.GET, sizes=fixed(1000)), job(OperationKind.GET, sizes=parse_sizes("1000:1,5000:1")))
    )
    with null_server(phase, tmp_path_factory.mktemp("null"), tls=False) as target:
        yield target


@pytest.mark.parametrize(
    ("method", "path", "status", "length"),
    [
        ("GET", "/key", 200, 2000),
        ("HEAD", "/key", 200, 0),
        ("PUT", "/a/b/key", 200, None),
        ("DELETE", "/key", 204, 0),
        ("GET", "?list-type=2&prefix=a", 200, None),
        ("POST", "/key?uploads", 200, None),
        ("PUT", "/key?partNumber=1&uploadId=null", 200, None),
        ("POST", "/key?uploadId=null", 200, None),
    ],
)
def test_the_null_server_answers_every_request_alike(
    null: RequestTarget, method: str, path: str, status: int, length: int | None
) -> None:
    (address,) = null.addresses
    connection = http.client.HTTPConnection(*address, timeout=60)
    try:
        for _ in range(3):
            connection.request(method, f"/{null.bucket}{path}")
            response = connection.getresponse()
            body = response.read()
            assert response.status == status
            assert len(body) == length if length is not None else len(body) > 0
    finally:
        connection.close()


@pytest.mark.parametrize("tls", [False, True])
def test_every_kind_of_operation_reaches_a_ceiling_without_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, tls: bool
) -> None:
    monkeypatch.setattr("s3bench.load.session.calibration.CALIBRATION_S", 0.3)
    monkeypatch.setattr("s3bench.load.session.calibration.WARMUP_S", 0.0)
    mixed = calibrated(Phase(jobs=(job(*MIXABLE, range_bytes=100, objects=10, name="all"),)))
    assert mixed is not None
    rules = RunRules(manner=Manner(), data=DataSet(run=RUN, root=f"s3bench/{RUN}/"))
    calibration = calibrate(mixed, rules, tls=tls, workers=1, directory=tmp_path)
    phase_result: PhaseResult | None = None
    while phase_result is None:
        try:
            next(calibration)
        except StopIteration as end:
            phase_result = end.value.measure()
    assert phase_result.whole.failures == ()
    assert phase_result.whole.operations_rate > 50
    assert {each.kind for each in phase_result.parts} >= set(map(str, MIXABLE))
