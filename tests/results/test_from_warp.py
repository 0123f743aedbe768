"""warp's JSON of both formats: windows, rates and latencies, and nothing that warp does not tell."""

import copy
import json
from typing import Any

import pytest

from s3bench.compare.comparison import compare
from s3bench.compare.matching import DocumentSource
from s3bench.errors import BadInput
from s3bench.results.document import Document, encode_document
from s3bench.results.foreign import read_any
from s3bench.results.load import Load
from s3bench.results.measurement import figure


def requests(count: int, **changes: Any) -> dict[str, Any]:
    """`SingleSizedRequests` of pkg/aggregate/requests.go."""
    return {
        "requests": count,
        "obj_size": 4096,
        "dur_avg_millis": 2.0,
        "dur_median_millis": 1.5,
        "dur_90_millis": 4.0,
        "dur_99_millis": 8.0,
        "fastest_millis": 0.5,
        "slowest_millis": 20.0,
        "std_dev_millis": 1.0,
        "first_byte": {
            "average_millis": 1.0,
            "fastest_millis": 0.25,
            "p25_millis": 0.75,
            "median_millis": 1.0,
            "p75_millis": 1.25,
            "p90_millis": 2.0,
            "p99_millis": 4.0,
            "slowest_millis": 16.0,
        },
        "merged_entries": 1,
    } | changes


def stretch(**single: Any) -> dict[str, Any]:
    return {
        "start_time": "2026-11-21T10:00:00Z",
        "end_time": "2026-11-21T10:00:10Z",
        "single_sized_requests": requests(**({"count": 1000} | single)),
    }


def aggregate(*stretches: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """`LiveAggregate` of pkg/aggregate/live.go, without what is of no use here."""
    return {
        "Title": "Operation: GET (Final)",
        "total_requests": 1100,
        "total_objects": 1100,
        "total_errors": 12,
        "total_bytes": 4505600,
        "concurrency": 16,
        "start_time": "2026-11-21T11:00:00.123456789+01:00",
        "end_time": "2026-11-21T11:00:14.5+01:00",
        "first_errors": ["connection refused"],
        "hosts": ["127.0.0.1:9000"],
        "clients": None,
        "throughput": {
            "start_time": "2026-11-21T11:00:02+01:00",
            "end_time": "2026-11-21T11:00:12+01:00",
            "errors": 10,
            "measure_duration_millis": 10_000,
            "bytes": 4096000,
            "objects": 1000,
            "ops": 1010,
        },
        "requests_by_client": {"client": list(stretches)},
    } | changes


def results(**by_op_type: Any) -> dict[str, Any]:
    return {
        "v": 2,
        "commandline": "warp get --host=127.0.0.1:9000 --access-key=AKID --secret-key=verysecret",
        "final": True,
        "warp_version": "1.3.0",
        "total": aggregate(),
        "by_op_type": by_op_type,
    }


# `Aggregated` of pkg/aggregate/aggregate.go, as earlier versions print it.
ANALYSIS: dict[str, Any] = {
    "type": "mixed",
    "mixed": True,
    "operations": [
        {
            "type": "PUT",
            "skipped": False,
            "start_time": "2026-11-21T10:00:00Z",
            "end_time": "2026-11-21T10:00:12Z",
            "objects_per_operation": 1,
            "concurrency": 8,
            "hosts": 1,
            "errors": 0,
            "first_errors": None,
            "throughput": {"errors": 0, "measure_duration_millis": 10_000, "average_bps": 2e6, "average_ops": 50.0},
            "single_sized_requests": requests(500, dur_median_millis=0),
        },
        {
            "type": "DELETE",
            "skipped": False,
            "objects_per_operation": 100,
            "concurrency": 8,
            "errors": 0,
            "throughput": {"errors": 0, "measure_duration_millis": 10_000, "average_bps": 0, "average_ops": 500.0},
        },
        {
            "type": "STAT",
            "skipped": True,
            "concurrency": 0,
            "throughput": {"errors": 0, "measure_duration_millis": 0, "average_bps": 0, "average_ops": 0},
        },
    ],
}


def read(tree: dict[str, Any]) -> Document:
    return read_any(json.dumps(tree).encode(), source="warp.json")


def load_of(document: Document, number: int = 0) -> Load:
    found = document.results[number].measurements[0].load
    assert found is not None
    return found


def test_a_kind_of_operation_is_a_phase_with_its_size_and_threads() -> None:
    document = read(results(GET=aggregate(stretch())))
    (result,) = document.results
    assert (result.name, result.dimensions) == ("load.get", ({"size": "4KiB"}, {"threads": "16"}))
    assert (result.client.label, result.client.version) == ("warp", "1.3.0")
    assert document.is_of_load
    assert (document.started_at, document.ended_at) == ("2026-11-21T10:00:00.123Z", "2026-11-21T10:00:14.500Z")


def test_only_what_succeeded_within_the_window_counts() -> None:
    document = read(results(GET=aggregate(stretch())))
    (measured,) = document.results[0].measurements
    load = load_of(document)
    assert (measured.total_time, measured.throughput) == (10.0, 409_600.0)
    assert (load.operations, load.failed, load.operations_rate) == (1000, 10, 100.0)
    assert load.error_rate == pytest.approx(10 / 1010)
    assert (load.bytes_up, load.bytes_down) == (0, 4_096_000)


def test_without_an_operation_that_ended_there_is_no_share_of_errors() -> None:
    failed = aggregate(stretch())
    failed["throughput"] |= {"errors": 0, "bytes": 0, "objects": 0, "ops": 0}
    load = load_of(read(results(GET=failed)))
    assert (load.operations, load.failed, load.error_rate) == (0, 0, None)


def test_what_warp_does_not_tell_is_null() -> None:
    load = load_of(read(results(GET=aggregate(stretch()))))
    unknown = ("attempts", "retried", "repeated", "client_cpu_share", "in_flight", "response", "waiting_max", "ceiling")
    assert {name: getattr(load, name) for name in unknown} == dict.fromkeys(unknown)
    assert load.latency.p999 is None
    assert load.in_flight_by_littles_law == pytest.approx(0.2)


def test_latencies_of_a_single_stretch_are_seconds() -> None:
    load = load_of(read(results(GET=aggregate(stretch()))))
    assert (load.latency.count, load.latency.mean, load.latency.p50, load.latency.p99) == (1000, 0.002, 0.0015, 0.008)
    assert (load.latency.min, load.latency.max) == (0.0005, 0.02)
    assert (load.first_byte.p25, load.first_byte.p50, load.first_byte.max) == (0.00075, 0.001, 0.016)


def test_a_percentile_that_so_few_do_not_carry_is_null() -> None:
    load = load_of(read(results(GET=aggregate(stretch(count=100)))))
    assert load.latency.p90 == 0.004
    assert load.latency.p99 is None


def test_percentiles_are_not_made_from_percentiles() -> None:
    document = read(results(GET=aggregate(stretch(), stretch(count=3000, dur_avg_millis=4.0, slowest_millis=50.0))))
    load = load_of(document)
    assert (load.latency.count, load.latency.p50, load.latency.p99) == (4000, None, None)
    assert load.latency.mean == pytest.approx((1000 * 2 + 3000 * 4) / 4000 / 1e3)
    assert (load.latency.min, load.latency.max) == (0.0005, 0.05)
    assert any("only per ten seconds" in warning for warning in document.warnings)


def test_histograms_of_stretches_are_joined() -> None:
    quick = [{"idx": 1, "millis": 1.0, "n": 900}, {"idx": 2, "millis": 2.0, "n": 100}]
    slow = [{"idx": 2, "millis": 2.0, "n": 800}, {"idx": 9, "millis": 9.0, "n": 200}]
    document = read(results(GET=aggregate(stretch(dur_hist=quick), stretch(dur_hist=slow))))
    latency = load_of(document).latency
    assert (latency.p25, latency.p50, latency.p90, latency.p99) == (0.001, 0.002, 0.002, 0.009)
    assert any("upper ends of warp's buckets" in warning for warning in document.warnings)


def test_stretches_that_were_skipped_or_of_several_sizes_tell_nothing() -> None:
    multi = {"start_time": "", "end_time": "", "multi_sized_requests": {"requests": 5}}
    document = read(results(PUT=aggregate(stretch(skipped=True), multi)))
    assert document.results[0].dimensions == ({"threads": "16"},)
    assert load_of(document).latency.count == 0
    assert load_of(document).latency.mean is None
    assert load_of(document).bytes_up == 4_096_000


def test_the_earlier_analysis_has_rates_of_objects() -> None:
    document = read(ANALYSIS)
    assert [result.name for result in document.results] == ["load.put", "load.delete"]
    put, delete = (load_of(document, number) for number in range(2))
    assert (put.operations_rate, put.operations, put.bytes_up) == (50.0, 500, 20_000_000)
    assert (delete.operations_rate, delete.operations) == (5.0, 50)
    assert put.latency.p99 == 0.008


def test_a_time_that_was_rounded_to_nothing_is_null() -> None:
    assert load_of(read(ANALYSIS)).latency.p50 is None


def test_secrets_of_the_command_line_are_taken_out() -> None:
    document = read(results(GET=aggregate(stretch())))
    assert document.command_line[:3] == ("warp", "get", "--host=127.0.0.1:9000")
    assert "verysecret" not in str(document)
    assert "AKID" not in str(document)


def test_errors_are_reported() -> None:
    warnings = read(results(GET=aggregate(stretch(), first_errors=["x" * 10_000]))).warnings
    (reported,) = (warning for warning in warnings if "10 operations failed" in warning)
    assert len(reported) < 300


def test_what_ran_too_short_is_left_out_and_reported() -> None:
    short = aggregate(throughput={"measure_duration_millis": 0, "bytes": 0, "objects": 0, "ops": 0, "errors": 0})
    document = read(results(GET=aggregate(stretch()), STAT=short))
    assert [result.name for result in document.results] == ["load.get"]
    assert "stat was left out" in " ".join(document.warnings)
    with pytest.raises(BadInput, match="long enough"):
        read(results(STAT=short))


def test_two_runs_can_be_compared() -> None:
    slower = aggregate(stretch(dur_median_millis=3.0))
    sources = [
        DocumentSource(name=name, document=read(results(GET=each)))
        for name, each in (("before", aggregate(stretch())), ("after", slower))
    ]
    rows = {row.metric: row for row in compare(tuple(sources)).others[0].rows}
    assert rows["load.latency.p50"].change == pytest.approx(1.0)
    assert rows["load.operations_rate"].change == pytest.approx(0.0)
    assert "total_time" not in rows or rows["total_time"].baseline.n == 0
    assert figure(sources[0].document.results[0].measurements[0], "load.client_cpu_share") is None


def test_a_document_of_warp_survives_writing_and_reading() -> None:
    document = read(results(GET=aggregate(stretch())))
    assert read_any(encode_document(document), source="again.json") == document


def _without_throughput() -> dict[str, Any]:
    tree = copy.deepcopy(results(GET=aggregate(stretch())))
    del tree["by_op_type"]["GET"]["throughput"]["ops"]
    return tree


@pytest.mark.parametrize(
    ("tree", "reported"),
    [
        (results(GET=aggregate()) | {"v": 3}, "it is 3, but only versions up to 2 can be read - at `$.v`"),
        (results(GET=aggregate()) | {"final": False}, "the run had not ended - at `$.final`"),
        (_without_throughput(), "missing required field `ops` - at `$.by_op_type[...].throughput`"),
        (results(GET=aggregate(concurrency=-1)), "at `$.by_op_type[...].concurrency`"),
        (results(GET=aggregate(stretch(dur_avg_millis="1"))), "dur_avg_millis"),
        (results(), "at `$.by_op_type`"),
        (ANALYSIS | {"operations": None}, "at `$.operations`"),
        (ANALYSIS | {"operations": [{}]}, "at `$.operations[0]`"),
    ],
)
def test_what_is_wrong_is_reported_with_its_path(tree: dict[str, Any], reported: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(tree)
    assert reported in str(caught.value)
    assert "warp.json" in str(caught.value)
