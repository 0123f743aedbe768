"""The arithmetic between the facts of an iteration and its figures."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.results.measurement import NetworkFigure, UsageFacts, Wire, WireFacts, figure, measure, percentile
from s3bench.results.metrics import METRICS
from s3bench.results.timeline import Timeline, thinned
from tests.results.series import series, span

FINITE = st.floats(min_value=-1e12, max_value=1e12)


def wire(**changes: object) -> WireFacts:
    counts = Wire(
        requests=3,
        retries=1,
        connections=2,
        requests_in_flight_max=2,
        bytes_received=1000,
        bytes_sent=500,
        part_size_max=900,
        checksums_verified=1,
    )
    values: dict[str, object] = {
        "counts": counts,
        "first_request_s": 0.25,
        "last_response_s": 0.75,
        "requests_by_kind": {"PUT": 2, "GET ranged": 1},
        "engine": "crt",
        "server_cpu_s": 0.1,
    }
    return WireFacts(**{**values, **changes})  # type: ignore[arg-type]


def test_what_was_not_measured_is_null() -> None:
    measurement = measure(iteration=0, total_s=1.5)
    known = {metric.name for metric in METRICS if figure(measurement, metric.name) is not None}
    assert known == {"total_time", "harness.samples"}
    assert measurement.engine == ""
    assert measurement.requests_by_kind == {}
    assert measurement.wire is None


def test_samples_that_were_merged_into_others_are_counted() -> None:
    samples = replace(series([0.0, 1.0, 2.0], [0.0, 0.5, 2.0]), left_out=3)
    assert measure(iteration=0, total_s=2.0, series=samples).harness.samples == 6


def test_all_that_was_measured_is_in_its_place() -> None:
    samples = series([0.0, 1.0, 2.0], [0.0, 0.5, 2.0], [10.0, 30.0, 20.0])
    measurement = measure(
        iteration=3,
        total_s=2.0,
        series=samples,
        usage=UsageFacts(
            user_cpu_s=1.5,
            system_cpu_s=0.5,
            peak_memory_bytes=25,
            minor_faults=7,
            major_faults=1,
            voluntary_context_switches=8,
            involuntary_context_switches=9,
        ),
        wire=wire(),
        milestones_s={"interpreter_start": 0.1, "exit": 1.9},
        first_client_invocation_s=0.2,
        sampler_cpu_s=0.01,
        turnaround_s=0.02,
        network=(NetworkFigure(name="time to first byte, p50", unit="s", asked=0.02, achieved=0.021, count=3),),
        timeline=Timeline(series=thinned(samples), requests=(span(),), requests_left_out=1),
        warnings=("odd",),
    )
    assert msgspec.json.decode(msgspec.json.encode(measurement)) == {
        "iteration": 3,
        "total_time": 2.0,
        "max_memory": 30.0,
        "max_cpu": 1.5,
        "p50_memory": 20.0,
        "p95_memory": pytest.approx(29.0),
        "p50_cpu": 1.0,
        "p95_cpu": pytest.approx(1.45),
        "first_client_invocation_time": 0.2,
        "user_cpu_time": 1.5,
        "system_cpu_time": 0.5,
        "cpu_time": 2.0,
        "peak_memory": 25,
        "minor_faults": 7,
        "major_faults": 1,
        "voluntary_context_switches": 8,
        "involuntary_context_switches": 9,
        "throughput": 750.0,
        "engine": "crt",
        "requests_by_kind": {"GET ranged": 1, "PUT": 2},
        "milestones": {
            "interpreter_start": 0.1,
            "imports_done": None,
            "plugins_loaded": None,
            "client_created": None,
            "first_request": 0.25,
            "last_response": 0.75,
            "exit": 1.9,
        },
        "wire": {
            "requests": 3,
            "retries": 1,
            "connections": 2,
            "requests_in_flight_max": 2,
            "bytes_received": 1000,
            "bytes_sent": 500,
            "part_size_max": 900,
            "checksums_verified": 1,
        },
        "harness": {"samples": 3, "turnaround_time": 0.02, "sampler_cpu_time": 0.01, "server_cpu_time": 0.1},
        "network": [{"name": "time to first byte, p50", "unit": "s", "asked": 0.02, "achieved": 0.021, "count": 3}],
        "load": None,
        "machine_speed": None,
        "runqueue_wait_time": None,
        "series": {"at": [0.0, 1.0, 2.0], "memory": [10, 30, 20], "cores": [None, 0.5, 1.5], "speed": []},
        "requests": [
            {
                "connection": 1,
                "kind": "PUT",
                "start": 0.25,
                "body_end": 0.5,
                "first_byte": 0.625,
                "end": 0.75,
                "bytes_up": 1000,
                "bytes_down": 0,
                "status": 200,
                "attempt": 1,
                "fault": "",
                "error": "",
            }
        ],
        "requests_left_out": 1,
        "warnings": ["odd"],
    }


def test_the_most_memory_is_the_kernels_figure_where_sampling_missed_the_peak() -> None:
    sampled, (above, below) = series([0.0], [0.0], [10.0]), (UsageFacts(peak_memory_bytes=size) for size in (12, 9))
    assert measure(iteration=0, total_s=1.0, series=sampled, usage=above).max_memory == 12
    assert measure(iteration=0, total_s=1.0, series=sampled, usage=below).max_memory == 10
    assert measure(iteration=0, total_s=1.0, usage=above).max_memory == 12


def test_the_first_call_is_the_first_request_where_no_probe_tells() -> None:
    assert measure(iteration=0, total_s=1.0, wire=wire()).first_client_invocation_time == 0.25
    with_probe = measure(iteration=0, total_s=1.0, wire=wire(), first_client_invocation_s=0.0)
    assert with_probe.first_client_invocation_time == 0.0


def test_a_milestone_that_nobody_knows_is_a_programmers_mistake() -> None:
    with pytest.raises(TypeError, match="tea_break"):
        measure(iteration=0, total_s=1.0, milestones_s={"tea_break": 1.0})


def test_an_iteration_that_waited_for_the_server_is_reported() -> None:
    assert measure(iteration=0, total_s=1.0, wire=wire(server_cpu_s=0.5)).warnings == ()
    (warning,) = measure(iteration=0, total_s=1.0, wire=wire(server_cpu_s=0.51)).warnings
    assert warning.startswith("stub-bound: the server was busy for 51% of the iteration")


def test_no_payload_means_no_throughput() -> None:
    counts = msgspec.structs.replace(wire().counts, bytes_received=0, bytes_sent=0)
    assert measure(iteration=0, total_s=1.0, wire=wire(counts=counts)).throughput is None
    assert measure(iteration=0, total_s=0.0, wire=wire()).throughput is None


@given(st.lists(FINITE, min_size=1, max_size=50), st.floats(0, 100))
def test_percentiles_are_numpys(values: list[float], percent: float) -> None:
    expected = float(np.percentile(values, percent))
    assert percentile(sorted(values), percent) == pytest.approx(expected, rel=1e-9, abs=1e-3)


def test_percentiles_of_nothing_are_null() -> None:
    assert percentile([], 50) is None
