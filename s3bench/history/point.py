"""One figure in time: the median of one metric of one benchmark on one client, in one document."""

from datetime import datetime

import msgspec

from s3bench.results.document import Status


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """The median `value` of `n` iterations, in the unit of `metric` (`s3bench.results.metrics`).

    `document` is the identity of the document that holds it, `at` the start of its run. `client_label` tells two
    clients of one version apart. `machine` is a fingerprint. `commit` is that of the s3bench checkout that measured,
    null where it was installed. `doubtful` of the iterations have warnings (`stub-bound`, say); `status` is `failed`
    when other iterations of the result failed.
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

    @property
    def series(self) -> tuple[object, ...]:
        """What has to be equal for two points to lie on one line; the order of dimensions means nothing."""
        return self.benchmark, tuple(sorted(self.dimensions)), self.client, self.metric, self.machine
