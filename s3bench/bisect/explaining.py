"""Explains what a search found: what the first changed version does differently from the one before it."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from s3bench.bench.runner import Bench, Settings
from s3bench.bisect.live import Provider, title_of
from s3bench.bisect.record import BisectRecord
from s3bench.bisect.search import Ending, SearchResult
from s3bench.clients.staging import stage
from s3bench.gate.explaining import Explain, reason_of
from s3bench.profiling.observed_change import ObservedChange, ProfiledSide
from s3bench.results.metrics import METRICS_BY_NAME
from s3bench.spec.definition import Definition


def may_be_explained(record: BisectRecord) -> bool:
    """Whether a search found one version, and its causes were not looked for yet."""
    return record.found is not None and record.found.ending is Ending.FOUND and record.explanation is None


def with_explanation(
    record: BisectRecord,
    bench: Bench,
    definitions: Sequence[Definition],
    provide: Provider,
    explain: Explain,
    settings: Settings,
    *,
    until_s: float,
) -> BisectRecord:
    """Add the explanation of what was found, until `until_s` on the clock of `explain`, or a warning why there is none.

    What goes wrong here does not change what was found.
    """
    found = record.found
    assert found is not None
    assert found.last is not None
    assert found.first is not None
    definition = next((each for each in definitions if title_of(each) == found.benchmark), None)
    if definition is None:  # the mean over all benchmarks changed
        programs = (f"--baseline {_client(record, found.last)}", f"--candidate {_client(record, found.first)}")
        how = f"profile a benchmark: s3bench profile {' '.join(programs)} -k ..."
        return _warned(record, f"a change over all benchmarks is not explained; {how}")
    place = Path(tempfile.mkdtemp(prefix="explain-", dir=bench.root))
    try:
        staged = [
            stage(provide(version), place / name).client
            for name, version in zip("ab", (found.last, found.first), strict=True)
        ]
        bench.reload_programs(staged)
        with bench.workspace(definition.environment) as runner_of:
            baseline, candidate = (ProfiledSide(runner=runner_of(definition, client)) for client in staged)
            change = ObservedChange(
                benchmark=title_of(definition),
                metric=found.metric,
                unit=METRICS_BY_NAME[found.metric].unit,
                change=_change(found),
                baseline=baseline,
                candidate=candidate,
                settings=settings,
                until_s=until_s,
            )
            return replace(record, explanation=explain(change))
    except Exception as error:  # noqa: BLE001 (whatever a profiler wrote, the version found stands)
        return _warned(record, f"the cause was not found: {reason_of(error)}")
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _change(found: SearchResult) -> float:
    """Newer minus older version, in the metric's unit; the baseline of a swapped comparison is the newer one."""
    row = found.size
    if row is None or row.change is None or row.baseline is None:
        return 0.0
    change = row.change * row.baseline
    return -change if found.is_better else change


def _client(record: BisectRecord, place: int) -> str:
    version = record.versions[place]
    return f"{record.client}@" + (f"{record.base}+{record.dependency}.{version}" if record.dependency else version)


def _warned(record: BisectRecord, words: str) -> BisectRecord:
    return replace(record, warnings=(*record.warnings, words))
