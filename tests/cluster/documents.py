"""Documents as `s3bench load --cluster` writes them, of simulated nodes."""

from collections.abc import Iterator

import msgspec

from s3bench.load.aggregation.measurements import recorded, results
from s3bench.results.document import Document, Result
from tests.cluster.node_groups import Clock
from tests.cluster.test_worker_pool import PHASE, fleet_of, load, pool_of, run_on
from tests.load.aggregation.test_measurements import BLANK


def clustered(*, loops: int = 1, slow: int | None = None, seed: int = 1) -> Document:
    """A phase of GETs on three nodes, of which `slow` takes five times as long for each."""
    document = BLANK
    for loop in range(loops):
        clock = Clock()
        pool = pool_of(fleet_of(load(seed + loop, slow=slow), clock), clock)
        phase_result = run_on(pool).measure()
        document = recorded(document, results(phase_result, PHASE, iteration=loop, version="0.1.0"))
        document = msgspec.structs.replace(document, options={**document.options, "cluster": pool.facts})
    return msgspec.structs.replace(document, ended_at="2026-11-21T00:01:00.000Z")


def whole_of(document: Document) -> Result:
    """The result of all nodes together."""
    (whole,) = (each for each in document.results if not each.dimensions)
    return whole


def parts_of(document: Document) -> Iterator[Result]:
    """The results of single nodes."""
    return (each for each in document.results if each.dimensions)
