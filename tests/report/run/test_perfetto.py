"""An iteration as a trace: by the Trace Event Format's rules, and by Perfetto's trace processor where it is there."""

import csv
import json
import shutil
import subprocess
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from s3bench.errors import BadInput
from s3bench.report.run.perfetto import render_perfetto
from s3bench.results.document import Document
from s3bench.results.timeline import Timeline, UsageSeries
from tests.report.loads import document as of_loads
from tests.report.loads import load, second
from tests.report.loads import result as load_result
from tests.report.machine_samples import CRT, EMPTY, HOSTILE, hostile, measurement, result, run
from tests.results.series import span

_REQUIRED = {"X": {"name", "ts", "dur", "pid", "tid"}, "C": {"name", "ts", "pid", "args"}, "M": {"name", "pid", "args"}}


def events(document: Document) -> list[dict[str, Any]]:
    """The events; each must have what its phase requires, and slices of a track may not overlap."""
    tree = json.loads(render_perfetto(document))
    for event in tree["traceEvents"]:
        assert _REQUIRED[event["ph"]] <= event.keys()
        assert isinstance(event["args"], dict)
        if event["ph"] == "C":
            assert all(isinstance(value, int | float) for value in event["args"].values())
        if event["ph"] == "X":
            assert event["ts"] >= 0
            assert event["dur"] >= 0
    found: list[dict[str, Any]] = tree["traceEvents"]
    return found


def slices(found: Sequence[dict[str, Any]], pid: int, tid: int) -> list[tuple[str, float, float]]:
    return [
        (event["name"], event["ts"], event["dur"])
        for event in found
        if event["ph"] == "X" and (event["pid"], event["tid"]) == (pid, tid)
    ]


def test_steps_lie_between_the_milestones_that_were_seen_in_their_order() -> None:
    found = events(EMPTY.with_result(result("a", CRT, 1.0)))
    assert slices(found, 1, 1) == [("a", 0.0, 1_000_000.0)]
    assert slices(found, 1, 2) == [
        ("start the interpreter", 0.0, 20_000.0),
        ("import modules", 20_000.0, 180_000.0),
        ("prepare the first request", 200_000.0, 200_000.0),
        ("create the API client", 400_000.0, 100_000.0),
        ("requests and responses", 500_000.0, 400_000.0),
        ("finish", 900_000.0, 50_000.0),
        ("end the process", 950_000.0, 50_000.0),
    ]


def test_the_iteration_of_median_time_is_shown() -> None:
    one = EMPTY.with_result(result("a", CRT, 1.0, 3.0, 1.5))
    assert slices(events(one), 1, 1) == [("a", 0.0, 1_500_000.0)]


def test_every_result_is_a_process_with_a_name() -> None:
    named = [event["args"]["name"] for event in events(run()) if event["name"] == "process_name"]
    assert named == [
        "s3.cp.upload FileSize=32MB on cli-crt@2.38.5, iteration 2",
        "s3.cp.upload FileSize=32MB on cli-classic@2.38.5, iteration 0",
        "s3.mv on cli-crt@2.38.5, iteration 0",
    ]


def test_without_milestones_there_are_no_steps() -> None:
    bare = replace(measurement(1.0), milestones=type(measurement(1.0).milestones)())
    found = events(EMPTY.with_result(replace(result("a", CRT), measurements=(bare,))))
    assert slices(found, 1, 2) == []
    assert len(slices(found, 1, 1)) == 1


def test_facts_that_are_not_known_are_left_out() -> None:
    bare = measurement(1.0, wire=False)
    (process,) = (
        event
        for event in events(EMPTY.with_result(replace(result("a", CRT), measurements=(bare,))))
        if "dur" in event and event["tid"] == 1
    )
    assert process["args"] == {"total_time_s": 1.0, "cpu_time_s": 0.75, "peak_memory_bytes": 100_000_000}


def test_a_load_run_has_counters_of_each_second_and_its_stalls() -> None:
    seconds = (second(0), second(1, operations=0, stalled=True, p50=None, p99=None, max=None), second(2))
    found = events(of_loads(load_result("load.get", load(seconds=seconds))))
    rates = [(e["ts"], e["args"]["value"]) for e in found if e["name"] == "operations per second"]
    assert rates == [(0.0, 1000), (1_000_000.0, 0), (2_000_000.0, 1000)]
    slowest = [(e["ts"], e["args"]["value"]) for e in found if e["name"] == "response time p50 (ms)"]
    assert slowest == [(0.0, 1.0), (2_000_000.0, 1.0)]
    assert slices(found, 1, 1) == [("get", 0.0, 3_000_000.0), ("stalled", 1_000_000.0, 1_000_000.0)]


def with_timeline(timeline: Timeline) -> Document:
    """A run of one iteration of a second, which sent a PUT on each of two connections."""
    bare = measurement(1.0)
    seen = replace(bare, series=timeline.series, requests=timeline.requests)
    return EMPTY.with_result(replace(result("a", CRT), measurements=(seen,)))


def test_each_connection_is_a_track_of_its_requests() -> None:
    requests = (span(0.5, 0.6, connection=2), span(0.4, 0.5, connection=1), span(0.7, 0.9, connection=2))
    found = events(with_timeline(Timeline(requests=requests)))
    assert slices(found, 1, 3) == [("PUT", 400_000.0, 100_000.0)]
    assert slices(found, 1, 4) == [("PUT", 500_000.0, 100_000.0), ("PUT", 700_000.0, 200_000.0)]
    names = {event["tid"]: event["args"]["name"] for event in found if event["name"] == "thread_name"}
    assert (names[3], names[4]) == ("connection 1", "connection 2")
    assert next(event["args"] for event in found if event["ph"] == "X" and event["tid"] == 3) == {
        "status": 200,
        "attempt": 1,
        "bytes_up": 1000,
        "bytes_down": 0,
        "body_end_s": 0.45,
        "first_byte_s": 0.475,
    }


def test_requests_that_overlap_are_on_tracks_of_their_own() -> None:
    requests = tuple(span(start_s, start_s + 0.2, connection=None) for start_s in (0.3, 0.4, 0.5))
    found = events(with_timeline(Timeline(requests=requests)))
    assert slices(found, 1, 3) == [("PUT", 300_000.0, 200_000.0), ("PUT", 500_000.0, 200_000.0)]
    assert slices(found, 1, 4) == [("PUT", 400_000.0, 200_000.0)]
    named = [event["args"]["name"] for event in found if event["name"] == "thread_name" and event["tid"] > 2]
    assert named == ["requests without a connection"] * 2


def test_what_was_wrong_with_a_request_stands_beside_it() -> None:
    found = events(with_timeline(Timeline(requests=(span(error=HOSTILE),))))
    (facts,) = (event["args"] for event in found if event["ph"] == "X" and event["tid"] == 3)
    assert facts["fault"] == "reset"
    assert facts["error"].startswith("=1+1")


def test_memory_and_cores_are_counters_from_each_point_to_the_next() -> None:
    found = events(
        with_timeline(Timeline(series=UsageSeries(at=(0.1, 0.5, 0.9), memory=(10, 30, 20), cores=(None, 1.5, None))))
    )
    counted = [(event["name"], event["ts"], event["args"]["value"]) for event in found if event["ph"] == "C"]
    assert counted == [
        ("memory (bytes)", 100_000.0, 30),
        ("cores in use", 100_000.0, 1.5),
        ("memory (bytes)", 500_000.0, 20),
    ]


def test_hostile_names_are_ascii_json() -> None:
    text = render_perfetto(hostile())
    assert text.isascii()
    assert len(text) < 100_000
    assert len(events(hostile())) > 0


@settings(max_examples=30)
@given(st.text(), st.lists(st.floats(min_value=1e-6, max_value=1e6), min_size=1, max_size=4))
def test_any_run_is_a_trace(name: str, totals_s: list[float]) -> None:
    events(EMPTY.with_result(result(name, CRT, *totals_s)))


@pytest.mark.campaign
def test_perfettos_trace_processor_reads_it(tmp_path: Path) -> None:
    program = shutil.which("trace_processor_shell") or shutil.which("trace_processor")
    if program is None:
        pytest.skip("trace_processor_shell is not in PATH: fetch it from https://get.perfetto.dev/trace_processor")
    trace = tmp_path / "trace.json"
    trace.write_text(render_perfetto(replace(run(), results=(*run().results, result(HOSTILE, CRT, 1.0)))))
    query = tmp_path / "query.sql"
    query.write_text("select name, ts, dur from slice where name = 'import modules' order by ts;")
    told = subprocess.run([program, "-q", query, trace], capture_output=True, text=True, check=True, timeout=200)
    rows = list(csv.DictReader(StringIO(told.stdout)))
    assert len(rows) == 4
    assert {row["dur"] for row in rows} == {"180000000"}


def test_a_document_without_a_measurement_is_refused() -> None:
    with pytest.raises(BadInput, match="nothing to write as perfetto"):
        render_perfetto(EMPTY.with_result(result("a", CRT)))
