"""Two documents as a gate: whether they are of one program, and what that leaves of the verdict."""

import datetime as dt

import pytest
from msgspec.structs import replace

from s3bench.gate.policy import Policy
from s3bench.gate.record import GateRecord, ProgramIdentity
from s3bench.gate.row import Verdict
from s3bench.gate.unpaired import NOT_INTERLEAVED, unpaired_record
from s3bench.results.document import Client, Document
from tests.compare.documents import document, result

NOBODY = ProgramIdentity(label="", name="", version="")
BARE = GateRecord(
    s3bench="0.1.0",
    started_at="2026-11-21T00:00:00.000Z",
    policy=Policy(metrics=("total_time",)),
    baseline=NOBODY,
    candidate=NOBODY,
    today=dt.date(2026, 11, 21),
)
NAMES = ("base.json", "cand.json")
WORDS = {6: "about 1 ms and 250 faults of s3bench are in them", 7: "of the client alone"}
TIMES_S = tuple(0.5 + 0.001 * number for number in range(20))
NAMED = Client(name="cli-crt", version="2.38.5", label="cli-crt@2.38.5")
BUILT = Client(name="cli-crt", version="2.38.5", label="cli-crt@./build/aws")


def run_of(client: Client, *, digest: str = "", factor: float = 1.0, endpoint: str = "stub server") -> Document:
    times_s = [time_s * factor for time_s in TIMES_S]
    return document(result(times_s, of=replace(client, digest=digest)), endpoint=endpoint)


def with_faults(known: Document, *, more: int = 0) -> Document:
    results = (
        replace(each, measurements=tuple(replace(run, minor_faults=1000 + more) for run in each.runs))
        for each in known.results
    )
    return replace(known, results=tuple(results))


def gate_of(baseline: Document, candidate: Document, *, exact: tuple[str, ...] = BARE.policy.exact) -> GateRecord:
    bare = replace(BARE, policy=replace(BARE.policy, exact=exact))
    sides = zip(NAMES, (baseline, candidate), strict=True)
    return unpaired_record(bare, *sides, are_metrics_declared=True).concluded()


def verdict_of(record: GateRecord) -> Verdict:
    assert record.conclusion is not None
    return record.conclusion.verdict


@pytest.mark.parametrize(("factor", "verdict"), [(1.5, Verdict.FAIL), (1.0, Verdict.PASS)])
def test_two_builds_at_one_path_are_two_programs(factor: float, verdict: Verdict) -> None:
    record = gate_of(run_of(BUILT, digest="aa"), run_of(BUILT, digest="bb", factor=factor))
    assert verdict_of(record) is verdict
    assert (record.baseline.digest, record.candidate.digest) == ("aa", "bb")
    assert not any("digest" in warning for warning in record.warnings)


@pytest.mark.parametrize(("factor", "verdict"), [(1.5, Verdict.INVALID), (1.0, Verdict.INCONCLUSIVE)])
def test_one_digest_is_one_program_wherever_it_is(factor: float, verdict: Verdict) -> None:
    record = gate_of(run_of(BUILT, digest="aa"), run_of(NAMED, digest="aa", factor=factor))
    assert verdict_of(record) is verdict


def test_one_digest_with_two_versions_is_a_program_that_starts_another() -> None:
    record = gate_of(run_of(BUILT, digest="aa"), run_of(replace(BUILT, version="2.38.6"), digest="aa", factor=1.5))
    assert verdict_of(record) is Verdict.FAIL


@pytest.mark.parametrize("versions", [(6, 6), (6, 7), (7, 6), (7, 7)])
def test_page_faults_that_were_counted_otherwise_decide_nothing(versions: tuple[int, int]) -> None:
    before, after = (
        replace(with_faults(run_of(replace(NAMED, version=f"2.{version}"))), schema_version=version)
        for version in versions
    )
    record = gate_of(before, replace(after, results=with_faults(after, more=1000).results), exact=("minor_faults",))
    assert record.conclusion is not None
    counted = [row.verdict for row in record.conclusion.rows if row.metric == "minor_faults"]
    assert counted == ([] if versions[0] != versions[1] else [Verdict.FAIL])
    assert [warning for warning in record.warnings if "faults" in warning] == (
        []
        if counted
        else [
            "different counting of CPU times and page faults: "
            + ", ".join(f"{WORDS[version]} in {name}" for version, name in zip(versions, NAMES, strict=True)),
            "minor_faults decides nothing: the two documents do not count the same page faults",
        ]
    )


def test_a_path_without_digests_may_be_two_builds_and_that_is_said() -> None:
    record = gate_of(run_of(BUILT), run_of(BUILT, digest="bb", factor=1.5))
    assert verdict_of(record) is Verdict.FAIL
    assert any(
        warning.startswith("both documents name cli-crt@./build/aws, and do not both have a digest")
        for warning in record.warnings
    )


def test_a_version_that_is_named_is_one_program_without_digests_too() -> None:
    assert verdict_of(gate_of(run_of(NAMED), run_of(NAMED))) is Verdict.INCONCLUSIVE
    assert verdict_of(gate_of(run_of(NAMED), run_of(replace(NAMED, version="2", label="cli-crt@2")))) is Verdict.PASS


@pytest.mark.parametrize("endpoints", [("stub server", "emulator"), ("live", "live")])
def test_one_program_at_two_endpoints_is_a_comparison_of_the_endpoints(endpoints: tuple[str, str]) -> None:
    before, after = (run_of(NAMED, digest="aa", endpoint=endpoint) for endpoint in endpoints)
    assert verdict_of(gate_of(before, after)) is Verdict.PASS


def test_several_clients_have_a_digest_together_if_each_has_one() -> None:
    other = Client(name="s5cmd", version="2", label="s5cmd@2", digest="cc")
    both = document(result(TIMES_S, of=replace(NAMED, digest="aa")), result(TIMES_S, of=other))
    assert gate_of(both, both).baseline.digest == "aa, cc"
    half = document(result(TIMES_S, of=NAMED), result(TIMES_S, of=other))
    assert gate_of(half, both).baseline.digest == ""


def test_that_the_documents_were_not_interleaved_is_said_once() -> None:
    assert gate_of(run_of(NAMED), run_of(BUILT)).warnings.count(NOT_INTERLEAVED) == 1
