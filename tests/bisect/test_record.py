"""The record of a search: read back whole, gone on with, and refused where it is none."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from s3bench.bisect.record import RECORD_VERSION, BisectRecord, encode_bisect, parse_bisect
from s3bench.bisect.search import Ending, SearchResult, VersionComparison, comparison_result
from s3bench.errors import BadInput
from s3bench.gate.policy import Policy
from tests.gate.evidence_maker import paired, ratios

RECORD = BisectRecord(
    s3bench="0.1.0",
    started_at="2026-11-22T00:00:00.000Z",
    client="cli-crt",
    versions=("2.34.0", "2.35.0", "2.36.0", "2.37.0"),
    benchmarks=("s3.cp.upload",),
    policy=Policy(metrics=("total_time",)),
    error=0.05,
    seed=1,
)


def done(count: int) -> BisectRecord:
    """A search among four versions, the third of which is slower, after `count` comparisons."""
    record = RECORD
    for _ in range(count):
        following = record.bisection.next(record.answers)
        assert isinstance(following, VersionComparison)
        worsening = 0.2 if following.older < 2 <= following.newer else 0.0
        cell = paired(ratios(worsening, 0.002), memories=[1] * 40)
        record = replace(record, answers=(*record.answers, comparison_result(following, (cell,))))
    return record


def test_a_record_is_read_back_as_it_was_and_concludes_the_same() -> None:
    record = replace(done(4), unfinished=(paired((1.0,), memories=[1]),)).concluded()
    assert record.found is not None
    assert (record.found.ending, record.found.first) == (Ending.FOUND, 2)
    assert parse_bisect(encode_bisect(record), source="here") == record
    assert parse_bisect(encode_bisect(record), source="here").concluded() == record


@pytest.mark.parametrize(("version", "is_drop"), [(2, False), (RECORD_VERSION, True)])
def test_a_record_keeps_the_limits_of_its_version(version: int, is_drop: bool) -> None:
    raw = json.loads(encode_bisect(done(1)))
    raw["bisect_version"] = version
    record = parse_bisect(json.dumps(raw).encode(), source="here")
    assert record.bisect_version == RECORD_VERSION
    for policy in (record.policy, *(each.comparison.policy for each in record.answers)):
        zone = policy.indifference_zone("throughput")
        assert zone is not None
        assert zone.is_drop is is_drop


def test_a_record_of_some_answers_comes_to_nothing_yet_and_asks_for_the_next() -> None:
    record = parse_bisect(encode_bisect(done(1)), source="here").concluded()
    assert record.found is None
    following = record.bisection.next(record.answers)
    assert isinstance(following, VersionComparison)
    assert following.newer == 2


def test_the_subject_names_what_has_the_versions() -> None:
    assert RECORD.subject == "cli-crt"
    other = replace(RECORD, client="boto3-classic", dependency="botocore", base="1.43.0")
    assert other.subject == "botocore under boto3-classic 1.43.0"


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda raw: raw.update(bisect_version=RECORD_VERSION + 1), "update s3bench"),
        (lambda raw: raw.update(versions=["1.0"]), "at least two versions"),
        (lambda raw: raw.update(error=2), "error"),
        (lambda raw: raw.update(surprise=1), "surprise"),
        (lambda raw: raw["policy"].update(metrics=["total_tme"]), "did you mean total_time?"),
        (lambda raw: raw["policy"]["looks"].update(pairs=[10, 10]), "ascend"),
        (lambda raw: raw["answers"][0]["comparison"].update(newer=4), "0 and 4 are not"),
        (lambda raw: raw["answers"][0]["comparison"].update(older=3), "3 and 3 are not"),
        (lambda raw: raw.update(versions=["2.34.0"] * 4), "listed twice"),
        (lambda raw: raw.update(seed=-1), "seed"),
        (lambda raw: raw["options"].update(timeout="abc"), "options.timeout"),
        (lambda raw: raw["options"].update(timeout=-1), "options.timeout"),
        (lambda raw: raw["options"].update(files=5), "options.files"),
        (lambda raw: raw["options"].update(suite="zz"), "options.suite"),
        (lambda raw: raw["options"].update(select=5), "options.select"),
        (lambda raw: raw["answers"][0].update(row=None), "answers[0].row: a change needs a row"),
        (lambda raw: raw["answers"][0]["row"].update(benchmark="other"), "'other' is not in $.benchmarks"),
        (lambda raw: raw["answers"][0]["row"].update(change=-1), "answers[0].row.change: -1 is not above -1"),
        (lambda raw: raw["found"].update(first=99), "found.first: there is no version 99"),
        (lambda raw: raw.clear(), "not a record of a bisection"),
    ],
)
def test_what_is_no_record_is_refused_in_words(spoil: Callable[[dict[str, Any]], None], said: str) -> None:
    raw = json.loads(encode_bisect(replace(done(1), found=SearchResult(ending=Ending.FOUND, error=0.05))))
    spoil(raw)
    with pytest.raises(BadInput) as caught:
        parse_bisect(json.dumps(raw).encode(), source="x.json")
    assert said in str(caught.value)
    assert "x.json" in str(caught.value)
