"""The results document: immutable, strict, and never with a figure that is not finite."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.errors import BadInput
from s3bench.results.document import Client, Document, Result, Status, encode_document, parse_document, render_time
from s3bench.results.foreign import read_any
from s3bench.results.measurement import Failure, UsageFacts, measure
from s3bench.results.timeline import Timeline, thinned
from tests.results.series import series, span
from tests.results.test_from_hyperfine import MEASURED

CRT = Client(name="cli-crt", version="2.38.5", label="cli-crt@2.38.5")
CLASSIC = Client(name="cli-classic", version="2.38.5", label="cli-classic@2.38.5")
EMPTY = Document(s3bench="0.1.0", started_at="2026-11-21T00:00:00.000Z")
MEASUREMENT = measure(iteration=0, total_s=1.5, usage=UsageFacts(user_cpu_s=1.0, system_cpu_s=0.25))
FAILURE = Failure(iteration=1, what="the client failed", exit_code=1, why="boom")


def result(name: str = "s3.cp.upload", client: Client = CRT, **dimensions: str) -> Result:
    return Result(name=name, client=client, dimensions=tuple({key: value} for key, value in dimensions.items()))


def test_a_document_survives_writing_and_reading() -> None:
    whole = (
        EMPTY.with_result(result(FileSize="32MB").with_measurement(MEASUREMENT).with_failure(FAILURE).completed())
        .with_warnings(["odd"])
        .ended(datetime(2026, 11, 21, tzinfo=UTC))
    )
    assert parse_document(encode_document(whole), source="x") == whole


def test_the_shape_is_that_of_the_reference() -> None:
    tree = msgspec.json.decode(encode_document(EMPTY.with_result(result(A="1", B="2").with_measurement(MEASUREMENT))))
    (entry,) = tree["results"]
    assert entry["name"] == "s3.cp.upload"
    assert entry["dimensions"] == [{"A": "1"}, {"B": "2"}]
    assert list(entry["measurements"][0])[1:9] == [
        "total_time",
        "max_memory",
        "max_cpu",
        "p50_memory",
        "p95_memory",
        "p50_cpu",
        "p95_cpu",
        "first_client_invocation_time",
    ]


def test_keys_come_in_the_same_order_every_time_with_two_spaces() -> None:
    text = encode_document(EMPTY.with_result(result())).decode()
    assert text.startswith('{\n  "schema_version": 7,\n  "s3bench": "0.1.0",\n  "started_at":')
    assert text.endswith("}\n")
    assert text == encode_document(parse_document(text.encode(), source="x")).decode()


def test_a_result_takes_the_place_of_the_one_it_continues() -> None:
    first, second = result(A="1"), result(A="2")
    document = EMPTY.with_result(first).with_result(second)
    grown = first.with_measurement(MEASUREMENT)
    assert document.with_result(grown).results == (grown, second)
    assert document.results == (first, second), "the old document does not change"


def test_results_differ_by_name_dimensions_and_client() -> None:
    results = (result(A="1"), result(A="2"), result(B="1"), result("other", A="1"), result(client=CLASSIC, A="1"))
    document = EMPTY
    for one in results:
        document = document.with_result(one)
    assert document.results == results


def test_a_result_with_an_error_fails_and_without_one_is_complete() -> None:
    assert result().status is Status.RUNNING
    assert result().with_measurement(MEASUREMENT).completed().status is Status.COMPLETE
    failed = result().with_failure(FAILURE).completed()
    assert failed.status is Status.FAILED
    assert EMPTY.with_result(failed).has_failures
    assert not EMPTY.with_result(result()).has_failures


def test_an_iteration_that_failed_twice_is_one_failed_iteration() -> None:
    twice = result().with_failure(FAILURE).with_failure(FAILURE)
    assert twice.failed_iterations == 1
    assert twice.with_failure(Failure(iteration=0, what="the client failed")).failed_iterations == 2
    assert result().failed_iterations == 0


def test_a_warm_up_that_failed_is_no_iteration() -> None:
    failed = result().with_failure(Failure(iteration=None, what="the client failed")).with_failure(FAILURE)
    assert (failed.failed_iterations, failed.failures_outside) == (1, 1)


def timed(*totals_s: float, requests: int = 2) -> Result:
    """A result with an iteration of each total time, all with memory and CPU over time and their requests."""
    samples = thinned(series([0.0, 1.0], [0.0, 0.5], [10.0, 20.0]))
    timeline = Timeline(series=samples, requests=(span(),) * requests, requests_left_out=3)
    return msgspec.structs.replace(
        result(),
        measurements=tuple(
            measure(iteration=number, total_s=total_s, timeline=timeline) for number, total_s in enumerate(totals_s)
        ),
    )


def test_requests_are_kept_of_the_iteration_of_median_time_alone() -> None:
    closed = timed(4.0, 1.0, 3.0, 2.0).completed()
    assert [len(each.requests) for each in closed.measurements] == [0, 0, 0, 2], "the lower of 2 s and 3 s"
    assert [each.requests_left_out for each in closed.measurements] == [0, 0, 0, 3]
    assert all(each.series is not None for each in closed.measurements)
    assert closed.median_iteration == closed.measurements[3]
    assert closed.completed() == closed


def test_while_a_result_is_running_the_median_so_far_has_its_requests() -> None:
    running = timed(3.0, 1.0, 2.0)
    assert [len(each.requests) for each in running.with_requests_of_one().measurements] == [0, 0, 2]
    assert running.with_requests_of_one().is_running
    assert timed().with_requests_of_one() == timed()
    assert timed().median_iteration is None


def test_a_document_with_timelines_survives_writing_and_reading() -> None:
    whole = EMPTY.with_result(timed(3.0, 1.0, 2.0).completed())
    assert parse_document(encode_document(whole), source="x") == whole


def test_numbers_of_one_array_stand_on_one_line() -> None:
    text = encode_document(EMPTY.with_result(timed(1.0))).decode()
    assert '"memory": [10, 20],\n' in text
    assert '"cores": [null, 0.5],\n' in text
    awkward = msgspec.structs.replace(
        EMPTY, command_line=("[\n  1,\n  2\n]", "[ 1 ]"), machine={"a": [[], [1.5e-9, -2]]}
    )
    assert parse_document(encode_document(awkward), source="x") == awkward


@pytest.mark.parametrize("version", [1, 2, 3])
def test_documents_without_timelines_still_read(version: int) -> None:
    tree = msgspec.json.decode(encode_document(EMPTY.with_result(result().with_measurement(MEASUREMENT))))
    tree["schema_version"] = version
    for key in ("series", "requests", "requests_left_out"):
        del tree["results"][0]["measurements"][0][key]
    read = parse_document(msgspec.json.encode(tree), source="old.json")
    assert read.schema_version == version
    assert read.results[0].measurements == (MEASUREMENT,)


def test_a_warning_is_kept_once() -> None:
    assert EMPTY.with_warnings(["a", "b"]).with_warnings(["b", "c"]).warnings == ("a", "b", "c")


def test_times_are_utc() -> None:
    at = datetime(2026, 11, 21, 1, 30, 0, 123456, tzinfo=timezone(timedelta(hours=2)))
    assert render_time(at) == "2026-11-20T23:30:00.123Z"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_figure_that_is_not_finite_is_never_written(value: float) -> None:
    bad = msgspec.structs.replace(MEASUREMENT, max_cpu=value)
    with pytest.raises(ValueError, match=r"\$\.results\[0\]\.measurements\[0\]\.max_cpu is not a finite number"):
        encode_document(EMPTY.with_result(result().with_measurement(bad)))
    with pytest.raises(ValueError, match=r"\$\.machine\.load is not"):
        encode_document(msgspec.structs.replace(EMPTY, machine={"load": value}))
    with pytest.raises(ValueError, match=r"\$\.machine\.loads\[1\] is not"):
        encode_document(msgspec.structs.replace(EMPTY, machine={"loads": [1.0, value]}))


GOOD = encode_document(EMPTY.with_result(result().with_measurement(MEASUREMENT)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "is not JSON"),
        (GOOD[:-3], "is not JSON"),
        (b"[]", "has no schema_version"),
        (b'{"results": []}', "has no schema_version"),
        (b'{"schema_version": "1"}', "has no schema_version"),
        (b'{"schema_version": true}', "has no schema_version"),
        (b'{"schema_version": 8}', "has schema_version 8; this s3bench reads versions up to 7"),
        (b'{"schema_version": 1}', "missing required field `s3bench`"),
        (GOOD.replace(b'"total_time": 1.5', b'"total_time": "1.5"'), "$.results[0].measurements[0].total_time"),
        (GOOD.replace(b'"total_time"', b'"totl_time"'), "$.results[0].measurements[0]"),
        (GOOD.replace(b'"status": "running"', b'"status": "fine"'), "$.results[0].status"),
        (b"\xff", "is not JSON"),
        (GOOD.replace(b"s3.cp.upload", b"s3.cp.\xff"), "is not JSON"),
    ],
)
def test_what_is_wrong_with_a_document_is_said_and_where(text: bytes, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_document(text, source="old.json")
    assert message in str(caught.value)
    assert "old.json" in caught.value.what
    assert parse_document(GOOD, source="old.json").results


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        (b'{"study_version": 2}\n{"number": 1}\n', "a study of `s3bench tune`", "s3bench tune --replay FILE"),
        (b'{"gate_version": 2, "s3bench": "0.1.0"}', "the record of a gate", "s3bench gate --replay FILE"),
        (b'{"bisect_version": 9}', "the record of a bisection", "s3bench report FILE -o page.html"),
        (b'{"profile_version": 1}', "the record of a profile", "s3bench report FILE -o page.html"),
        (b'{"self_test_version": 1}', "the record of a gate's self-test", "no command reads it"),
        (b'{"sizes_version": 1}', "a file of sizes from `s3bench describe`", "tune upload --like FILE"),
        (b'[{"name": "mine", "environment": {}}]', "a file of definitions", "s3bench run FILE -o results.json"),
    ],
)
@pytest.mark.parametrize("parse", [parse_document, read_any])
def test_another_file_of_ours_is_named_with_the_command_that_shows_it(
    parse: Callable[..., Document], text: bytes, what: str, fix: str
) -> None:
    with pytest.raises(BadInput) as caught:
        parse(text, source="mine")
    assert caught.value.what == f"mine is {what}, not a results document"
    assert fix in caught.value.fix


@given(
    st.binary() | st.integers(0, len(GOOD)).map(lambda at: GOOD[:at]) | st.integers(0, 255).map(lambda b: bytes([b]))
)
def test_garbage_is_bad_input_and_never_a_traceback(text: bytes) -> None:
    try:
        assert parse_document(text, source="x") == parse_document(GOOD, source="x")
    except BadInput:
        assert text.strip() != GOOD.strip()


def test_a_document_that_is_nested_too_deeply_is_no_crash() -> None:
    with pytest.raises(BadInput, match="nested too deeply"):
        parse_document(b'{"schema_version": 5, "machine": {"a": ' + b"[" * 100_000, source="deep.json")


def test_another_programs_list_of_named_things_is_not_taken_for_definitions() -> None:
    with pytest.raises(BadInput) as caught:
        parse_document(b'[{"name": "x", "unit": "s", "value": 1}]', source="benchmark.json")
    assert "definitions" not in str(caught.value)


def test_a_run_without_an_end_was_cut_short_and_a_file_of_another_tool_is_not() -> None:
    killed = msgspec.structs.replace(EMPTY, options={"warmup": 0})
    assert killed.was_cut_short
    assert not killed.ended(datetime(2026, 11, 21, tzinfo=UTC)).was_cut_short
    foreign = read_any(msgspec.json.encode(MEASURED), source="a.json")
    assert (foreign.started_at, foreign.ended_at) == ("2026-11-21T10:00:00.000Z", None)
    assert not foreign.was_cut_short


def test_a_load_run_of_which_nothing_was_measured_is_known_by_its_phases() -> None:
    refused = result("load.get").with_failure(FAILURE)
    of_load = msgspec.structs.replace(EMPTY, options={"phases": [{"name": "get"}]})
    assert of_load.is_of_load
    assert of_load.with_result(refused).is_of_load
    assert not of_load.with_result(result().with_measurement(MEASUREMENT)).is_of_load
    assert not EMPTY.with_result(refused).is_of_load
