"""One point of a series over time: the median of one metric of one benchmark on one client in one document."""

from datetime import datetime

import msgspec

from s3bench.results.document import Status


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """The median `value` of `n` iterations, in the unit of `metric` (`s3bench.results.metrics`).

    `document` is the identity of its document, `at` the start of the run. `client_label` distinguishes two clients of
    one version. `machine` is a fingerprint. `commit` is that of the s3bench checkout, null for an installed s3bench.
    `doubtful` is the number of iterations with warnings (such as `stub-bound`); `status` is `failed` if other
    iterations of the result failed. `was_cut_short` is that of the document. `workload` has what a load run measured,
    and at which endpoint, as pairs of a property and its value (`s3bench.results.workload`); it is null if this is not
    the figure of a load run.
    """

    document: str
    benchmark: str
    dimensions: tuple[tuple[str, str], ...]
    client: str
    client_version: str
    client_label: str
    metric: str
    value: float
    n: int
    doubtful: int
    status: Status
    machine: str
    s3bench: str
    commit: str | None
    at: datetime
    was_cut_short: bool
    workload: tuple[tuple[str, str], ...] | None = None

    @property
    def family(self) -> tuple[object, ...]:
        """What series of different workloads may have in common, whatever the order of the dimensions."""
        return self.benchmark, tuple(sorted(self.dimensions)), self.client, self.metric, self.machine

    @property
    def series(self) -> tuple[object, ...]:
        """The key of the series that the point belongs to."""
        return *self.family, self.workload
