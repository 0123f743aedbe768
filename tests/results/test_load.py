"""The figures of load runs in the results document."""

import msgspec
import pytest
from msgspec.structs import replace

from s3bench.errors import BadInput
from s3bench.results.document import Client, Document, Result, Status, encode_document, parse_document
from s3bench.results.histogram import Histogram
from s3bench.results.load import Failures, Latency, Load, LoadMeasurement, Second
from s3bench.results.measurement import UsageFacts, figure, measure
from s3bench.results.metrics import METRICS, Unit, render_figure

LATENCY = Latency(count=6, mean=0.02, min=0.01, p25=0.015, p50=0.02, p75=0.03, p90=None, p99=None, p999=None, max=0.04)

RESULT = Result(
    name="load.get",
    client=Client(name="s3bench", version="0.1.0", label="s3bench@0.1.0"),
    status=Status.COMPLETE,
)


def load() -> Load:
    histogram = Histogram()
    histogram.add([10_000_000, 20_000_000])
    return Load(
        kind="get",
        operations=6,
        attempts=8,
        failed=1,
        retried=1,
        repeated=2,
        error_rate=1 / 7,
        operations_rate=3.0,
        bytes_up=0,
        bytes_down=6000,
        latency=LATENCY,
        first_byte=LATENCY,
        in_flight=1.5,
        in_flight_by_littles_law=1.5,
        client_cpu_share=0.25,
        failures=(Failures(label="503 SlowDown", count=2, retried=1, time_lost=0.5, body_bytes=200),),
        seconds=(
            Second(
                second=0,
                operations=6,
                failures=2,
                bytes=6000,
                p50=0.02,
                p99=None,
                max=0.04,
                in_flight=1.5,
                stalled=False,
            ),
        ),
        bins=histogram.bins(),
    )


def document(*, version: int = 2) -> Document:
    measurement = LoadMeasurement(
        iteration=0,
        total_time=2.0,
        cpu_time=0.5,
        peak_memory=None,
        throughput=3000.0,
        engine="s3bench",
        load=load(),
        warnings=(),
    )
    result = replace(RESULT, measurements=(measurement,))
    return Document(schema_version=version, s3bench="0.1.0", started_at="2026-11-21T00:00:00.000Z", results=(result,))


def test_a_document_of_a_load_run_reads_as_it_was_written() -> None:
    assert parse_document(encode_document(document()), source="load.json") == document()


def test_a_document_of_version_1_still_reads() -> None:
    run = measure(iteration=0, total_s=2.0)
    tree = msgspec.json.decode(
        encode_document(replace(document(version=1), results=(replace(RESULT, measurements=(run,)),)))
    )
    del tree["results"][0]["measurements"][0]["load"]  # version 1 did not know it
    read = parse_document(msgspec.json.encode(tree), source="old.json")
    assert read.schema_version == 1
    assert read.results[0].measurements == (run,)


def test_keys_of_a_client_that_former_load_measurements_had_are_dropped() -> None:
    tree = msgspec.json.decode(encode_document(document(version=4)))
    of_client = msgspec.to_builtins(measure(iteration=0, total_s=2.0))
    del of_client["machine_speed"], of_client["runqueue_wait_time"]  # which came after them
    tree["results"][0]["measurements"][0] = of_client | tree["results"][0]["measurements"][0]
    assert parse_document(msgspec.json.encode(tree), source="old.json") == document(version=4)


def test_an_error_in_a_load_measurement_is_named_with_its_path() -> None:
    tree = msgspec.json.decode(encode_document(document()))
    tree["results"][0]["measurements"][0]["load"]["operations"] = "many"
    with pytest.raises(BadInput) as refused:
        parse_document(msgspec.json.encode(tree), source="wrong.json")
    assert "$.results[0].measurements[0].load.operations" in refused.value.why


def test_a_load_without_the_figures_of_outages_still_reads() -> None:
    """Versions before they were measured wrote none."""
    tree = msgspec.json.decode(encode_document(document()))
    load = tree["results"][0]["measurements"][0]["load"]
    for key in ("pausing", "without_service", "oldest", "oldest_attempt"):
        del load[key]
    del load["seconds"][0]["pausing"]
    assert parse_document(msgspec.json.encode(tree), source="old.json") == document()


def test_the_figures_of_a_load_run_are_reached_by_their_names() -> None:
    measurement = document().results[0].measurements[0]
    known = {metric.name: figure(measurement, metric.name) for metric in METRICS}
    assert {name: value for name, value in known.items() if value is not None and name.startswith("load.")} == {
        "load.operations_rate": 3.0,
        "load.error_rate": 1 / 7,
        "load.latency.mean": 0.02,
        "load.latency.p50": 0.02,
        "load.latency.max": 0.04,
        "load.first_byte.p50": 0.02,
        "load.in_flight": 1.5,
        "load.client_cpu_share": 0.25,
    }


def test_how_long_a_load_run_took_is_no_figure_since_it_was_chosen() -> None:
    of_load = document().results[0].measurements[0]
    of_client = measure(iteration=0, total_s=2.0, usage=UsageFacts(user_cpu_s=0.5, system_cpu_s=0.0))
    for name in ("total_time", "cpu_time"):
        assert figure(of_load, name) is None
        assert figure(of_client, name) is not None


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (12_345.6, Unit.PER_SECOND, "12,346/s"),
        (1.234, Unit.PER_SECOND, "1.23/s"),
        (0.0, Unit.PER_SECOND, "0/s"),
        (0.001, Unit.SHARE, "0.1 %"),
        (0.956, Unit.SHARE, "95.6 %"),
    ],
)
def test_rates_and_shares_are_written_to_three_digits(value: float, unit: Unit, text: str) -> None:
    assert render_figure(value, unit) == text
