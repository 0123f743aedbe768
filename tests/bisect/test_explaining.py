"""What a search found is explained: the two versions, in their order, and what goes wrong is a warning."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from s3bench.bench.runner import Settings
from s3bench.bisect.explaining import may_be_explained, with_explanation
from s3bench.bisect.record import BisectRecord
from s3bench.bisect.search import Ending, SearchResult
from s3bench.clients.client import FoundClient
from s3bench.errors import ClientNotFound, MachineError
from s3bench.gate.policy import Policy
from s3bench.gate.row import GateRow, RowKind, Verdict
from s3bench.profiling.explanation import Explanation
from s3bench.profiling.observed_change import ObservedChange
from s3bench.spec.definition import Definition
from tests.bench.scripted_bench import ScriptedBench, client, measured

UPLOAD = Definition(name="s3.cp.upload", dimensions=(("FileSize", "4KB"),), command=("s3", "cp"))
TITLE = "s3.cp.upload FileSize=4KB"
ROW = GateRow(
    benchmark=TITLE,
    metric="total_time",
    kind=RowKind.SIZE,
    verdict=Verdict.FAIL,
    change=0.25,
    baseline=0.8,
)
FOUND = SearchResult(
    ending=Ending.FOUND, benchmark=TITLE, metric="total_time", last=1, first=2, size=ROW, sized_from=1, error=0.05
)


@pytest.fixture
def record() -> BisectRecord:
    return BisectRecord(
        s3bench="0",
        started_at="",
        client="boto3-classic",
        versions=("1.0", "1.1", "1.2"),
        benchmarks=(TITLE,),
        policy=Policy(metrics=("total_time",)),
        error=0.05,
        seed=1,
        found=FOUND,
    )


@pytest.fixture
def bench(tmp_path: Path) -> ScriptedBench:
    (tmp_path / "root").mkdir()
    return ScriptedBench(root=tmp_path / "root", script=lambda _: measured())


Add = Callable[..., BisectRecord]


@pytest.fixture
def add(bench: ScriptedBench, tmp_path: Path) -> Add:
    def call(record: BisectRecord, explain: Callable[[ObservedChange], Explanation]) -> BisectRecord:
        def provide(place: int) -> FoundClient:
            return client(tmp_path, record.versions[place])

        return with_explanation(record, bench, (UPLOAD,), provide, explain, Settings(), until_s=9.0)

    return call


def explanation(change: ObservedChange) -> Explanation:
    return Explanation(benchmark=change.benchmark, metric=change.metric, change=change.change or 0.0)


def test_the_version_found_is_explained_beside_the_one_before(
    add: Add, record: BisectRecord, bench: ScriptedBench
) -> None:
    seen: list[ObservedChange] = []

    def explain(change: ObservedChange) -> Explanation:
        seen.append(change)
        assert change.candidate.runner.client.executable.is_file()
        return explanation(change)

    explained = add(record, explain)
    [change] = seen
    assert (change.baseline.runner.client.version, change.candidate.runner.client.version) == ("1.1", "1.2")
    assert (change.change, change.until_s) == (pytest.approx(0.2), 9.0)
    assert explained.explanation is not None
    assert not may_be_explained(explained)
    assert list(bench.root.iterdir()) == []


def test_a_change_for_the_better_is_negative(add: Add, record: BisectRecord) -> None:
    explained = add(replace(record, found=replace(FOUND, is_better=True)), explanation)
    assert explained.explanation is not None
    assert explained.explanation.change == pytest.approx(-0.2)


@pytest.mark.parametrize("error", [MachineError("py-spy failed", "no reason"), ClientNotFound("gone"), ValueError("x")])
def test_what_goes_wrong_is_a_warning(error: Exception, add: Add, record: BisectRecord) -> None:
    def explain(change: ObservedChange) -> Explanation:
        raise error

    explained = add(record, explain)
    assert explained.found == FOUND
    assert explained.explanation is None
    assert explained.warnings[0].startswith("the cause was not found: ")


def test_a_change_over_all_benchmarks_says_how_to_profile_one(add: Add, record: BisectRecord) -> None:
    explained = add(replace(record, found=replace(FOUND, benchmark="")), explanation)
    assert "--baseline boto3-classic@1.1 --candidate boto3-classic@1.2" in explained.warnings[0]


@pytest.mark.parametrize("ending", [Ending.SUSPECTS, Ending.NO_CHANGE, Ending.UNSETTLED, Ending.FAILED])
def test_only_one_version_is_explained(ending: Ending, record: BisectRecord) -> None:
    assert may_be_explained(record)
    assert not may_be_explained(replace(record, found=replace(FOUND, ending=ending)))
