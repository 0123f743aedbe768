"""Requests of logs as the tests want them."""

from collections.abc import Iterable

from s3bench.load.access_log.logged_request import LoggedRequest
from s3bench.load.fitting.fitted_workload import FittedWorkload
from s3bench.load.fitting.log_observer import LogObserver
from s3bench.load.fitting.workload_fitting import fit_workload
from s3bench.load.operation import OperationKind

EPOCH_S = 1_772_323_200.0


def request(
    kind: OperationKind | None,
    at_s: float = 0.0,
    *,
    key: str = "key",
    size: int | None = 4096,
    body: int | None = None,
    status: int = 200,
    operation: str = "",
    elapsed_s: float | None = None,
) -> LoggedRequest:
    """One request; `at_s` counts from the start of the log."""
    return LoggedRequest(
        at_s=EPOCH_S + at_s,
        kind=kind,
        operation=operation or str(kind),
        bucket="secret-bucket",
        key=key,
        object_bytes=size,
        body_bytes=size if body is None else body,
        status=status,
        elapsed_s=elapsed_s,
    )


def many(kind: OperationKind, count: int, *, keys: int = 100, size: int = 4096) -> list[LoggedRequest]:
    """Requests of one kind, one in each second, for keys in turn."""
    return [request(kind, float(n), key=f"secret-{n % keys}", size=size) for n in range(count)]


def fitted(requests: Iterable[LoggedRequest]) -> FittedWorkload:
    """The workload that is fitted to them."""
    observer = LogObserver()
    for each in requests:
        observer.observe(each)
    return fit_workload(observer)
