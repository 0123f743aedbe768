"""Documents of load runs held against each other: rates, errors and latencies, never the time that was chosen."""

from collections.abc import Sequence

import msgspec
import pytest

from s3bench.compare.comparison import Against, compare
from s3bench.compare.difference import ChangeOutcome, ComparisonRow
from s3bench.gate.indifference_zone import default_indifference_zone, parse_indifference_zone
from s3bench.results.document import Client, Result, Status
from s3bench.results.load import Latency, Load, LoadMeasurement
from s3bench.results.measurement import Measurement
from s3bench.results.metrics import METRICS_BY_NAME
from tests.compare.documents import document, source

CLIENT = Client(name="s3bench", version="0.1.0", label="s3bench@0.1.0")
P50S = (0.0100, 0.0101, 0.0102, 0.0103, 0.0104, 0.0105)


def latency(p50: float) -> Latency:
    return Latency(
        count=9999, mean=p50, min=p50 / 2, p25=p50, p50=p50, p75=p50, p90=p50 * 2, p99=p50 * 4, p999=p50 * 5, max=1.0
    )


def measurement(number: int, p50: float, *, error_rate: float, total_s: float) -> Measurement:
    load = Load(
        kind="get",
        operations=9999,
        attempts=9999,
        failed=0,
        retried=0,
        repeated=0,
        error_rate=error_rate,
        operations_rate=16 / p50,
        bytes_up=0,
        bytes_down=0,
        latency=latency(p50),
        first_byte=latency(p50 / 2),
        in_flight=16.0,
        in_flight_by_littles_law=16.0,
        client_cpu_share=0.3,
    )
    return LoadMeasurement(
        iteration=number,
        total_time=total_s,
        cpu_time=total_s,
        peak_memory=None,
        throughput=None,
        engine="",
        load=load,
        warnings=(),
    )


def result(p50s: Sequence[float] = P50S, *, error_rate: float = 0.0, total_s: float = 20.0) -> Result:
    return Result(
        name="load.get",
        dimensions=({"threads": "16"},),
        client=CLIENT,
        status=Status.COMPLETE,
        measurements=tuple(
            measurement(number, p50, error_rate=error_rate, total_s=total_s) for number, p50 in enumerate(p50s)
        ),
    )


def held(before: Result, after: Result) -> Against:
    (other,) = compare([source("before", before), source("after", after)]).others
    return other


def rows(before: Result, after: Result) -> dict[str, ComparisonRow]:
    return {row.metric: row for row in held(before, after).rows}


def test_a_slower_endpoint_is_reported_by_its_rate_and_its_latencies() -> None:
    found = rows(result(), result([p50 * 1.3 for p50 in P50S]))
    assert {name: row.word for name, row in found.items()} == {
        "load.operations_rate": "fewer operations",
        "load.error_rate": "no difference",
        "load.latency.p50": "slower",
        "load.latency.p99": "slower",
        "load.first_byte.p50": "slower",
    }
    assert found["load.latency.p50"].outcome is ChangeOutcome.WORSE
    assert found["load.latency.p50"].change == pytest.approx(0.3, abs=1e-6)


def test_more_operations_are_better() -> None:
    row = rows(result(), result([p50 / 1.3 for p50 in P50S]))["load.operations_rate"]
    assert (row.outcome, row.word) == (ChangeOutcome.BETTER, "more operations")


def test_errors_are_reported() -> None:
    few, many = (
        msgspec.structs.replace(
            result(),
            measurements=tuple(
                measurement(number, p50, error_rate=rate * (1 + number / 100), total_s=20.0)
                for number, p50 in enumerate(P50S)
            ),
        )
        for rate in (0.01, 0.05)
    )
    assert rows(few, many)["load.error_rate"].word == "more errors"
    assert rows(many, few)["load.error_rate"].word == "fewer errors"


def test_errors_after_a_run_without_any_are_the_first_row_and_in_the_summary() -> None:
    other = held(result(P50S[:4]), result([p50 / 1.3 for p50 in P50S[:4]], error_rate=0.3))
    assert (other.rows[0].metric, other.rows[0].difference) == ("load.error_rate", pytest.approx(0.3))
    assert other.summary.startswith("1 with more errors, ")


def test_a_longer_run_is_no_slower_one() -> None:
    twice = result(total_s=40.0)
    assert {row.word for row in rows(result(), twice).values()} == {"no difference"}
    everything = compare([source("before", result()), source("after", twice)], metrics=("all",)).others[0]
    assert not {"total_time", "cpu_time"} & {row.metric for row in everything.rows}


def test_a_document_of_a_load_run_shows_no_difference_to_itself() -> None:
    other = held(result(), result())
    assert other.same_measurements
    assert other.summary == "no difference: the same measurements on both sides"
    assert {row.outcome for row in other.rows} == {ChangeOutcome.NO_DIFFERENCE}


def test_one_loop_each_is_too_few_to_tell_but_shows_what_changed() -> None:
    row = rows(result(P50S[:1]), result((0.02,)))["load.latency.p50"]
    assert row.outcome is ChangeOutcome.TOO_FEW
    assert row.change == pytest.approx(1.0)
    assert "4 on each side are enough" in row.detail


def test_load_runs_and_clients_stand_in_one_document_without_touching_each_other() -> None:
    both = document(result(), msgspec.structs.replace(result(), name="load.put"))
    assert [each.name for each in both.results] == ["load.get", "load.put"]
    assert len(held(result(), result()).missing) == 0


def test_latencies_and_rates_have_indifference_zones_without_a_floor() -> None:
    for name in ("load.latency.p50", "load.first_byte.p99", "load.response.p99", "load.operations_rate"):
        zone = default_indifference_zone(METRICS_BY_NAME[name])
        assert zone is not None
        assert zone.floor == 0.0
    for name in ("load.error_rate", "load.in_flight", "load.client_cpu_share"):
        assert default_indifference_zone(METRICS_BY_NAME[name]) is None
    assert parse_indifference_zone("load.latency.p99=5%,10%,100us")[1].floor == pytest.approx(1e-4)
