"""The record of a profile: what is written is read again, also what former versions wrote."""

import pytest

from s3bench.errors import BadInput
from s3bench.profiling.explanation import ChangeInterval, Explanation
from s3bench.profiling.record import RECORD_VERSION, ProfileRecord, encode_profile, parse_profile

FIRST_VERSION = b"""{
    "profile_version": 1,
    "s3bench": "0.1.0",
    "started_at": "2026-01-01T00:00:00Z",
    "benchmark": "s3.ls",
    "profiler": "py-spy",
    "explanation": {"benchmark": "s3.ls", "metric": "total_time", "change": 0.041, "runs": 20}
}"""


def test_an_explanation_keeps_the_interval_of_its_change_and_whether_anything_was_compared() -> None:
    explanation = Explanation(
        benchmark="s3.ls",
        metric="total_time",
        change=0.01,
        interval=ChangeInterval(low=-0.02, high=0.04),
        is_compared=False,
    )
    record = ProfileRecord(s3bench="1", started_at="now", benchmark="s3.ls", profiler="py-spy", explanation=explanation)
    assert parse_profile(encode_profile(record), source="a") == record


def test_a_record_of_the_first_version_is_read_and_its_change_counts_as_detected() -> None:
    explanation = parse_profile(FIRST_VERSION, source="a").explanation
    assert explanation is not None
    assert explanation.is_change_detected
    assert explanation.is_compared


def test_a_record_of_a_newer_version_is_refused() -> None:
    newer = FIRST_VERSION.replace(b'"profile_version": 1', f'"profile_version": {RECORD_VERSION + 1}'.encode())
    with pytest.raises(BadInput, match="this s3bench reads versions up to"):
        parse_profile(newer, source="a")
