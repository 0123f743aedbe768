"""Runs of one workload as one: what is added, what stays apart, and what is refused."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s3bench.errors import BadInput
from s3bench.load.aggregation.measurements import client, recorded, results
from s3bench.load.aggregation.merge import RunPart, merge_runs
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import Phase
from s3bench.results.document import NODE, Document, Result, Status, encode_document, parse_document, render_time
from s3bench.results.load import Failures, LoadMeasurement
from s3bench.results.measurement import Failure
from tests.load.aggregations import aggregation, job, phase
from tests.load.simulated import NS, Operation, closed_loop

MS = 1_000_000
NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)
THREADS = {"phases": [{"jobs": [{"threads": 4}]}]}
NAMES = (f"run-{number}" for number in count())
GETS_AND_PUTS = phase(job(OperationKind.GET, OperationKind.PUT))


def run(
    operations: Sequence[Operation],
    *,
    of: Phase = GETS_AND_PUTS,
    at: datetime = NOON,
    seconds: float = 4.0,
    workers: int = 1,
    options: Mapping[str, Any] = THREADS,
    warnings: tuple[str, ...] = (),
    loops: int = 1,
) -> Document:
    """A document of `loops` loops, which begin a second after the run and follow each other by a minute."""
    document = Document(
        s3bench="0.1.0",
        started_at=render_time(at - timedelta(seconds=1)),
        ended_at=render_time(at + timedelta(seconds=60 * (loops - 1) + seconds + 1)),
        machine={"cpu_model": "one", "load_1min": at.timestamp()},
        clients=(client("0.1.0"),),
        options={"endpoint_url": ["http://s3"], "run": next(NAMES), **options},
        warnings=warnings,
    )
    for loop in range(loops):
        measured = aggregation(operations, of, end_ns=round(seconds * NS), workers=workers).measure()
        began = at + timedelta(seconds=60 * loop)
        made = results(measured, of, iteration=loop, version="0.1.0", started_at=began, peak_memory_bytes=1000)
        document = recorded(document, made)
    return document


def merged(*documents: Document) -> Document:
    parts = [RunPart(name=f"{number}.json", document=document) for number, document in enumerate(documents, 1)]
    return merge_runs(parts, command_line=("s3bench", "load", "merge"))


def refusal(*documents: Document) -> BadInput:
    with pytest.raises(BadInput) as raised:
        merged(*documents)
    return raised.value


def loop_of(document: Document, name: str = "load.all", number: int = 0) -> LoadMeasurement:
    (result,) = (result for result in document.results if result.name == name)
    return result.loops[number]


def on_worker(operations: Sequence[Operation], worker: int) -> list[Operation]:
    """The operations of one worker, as of a run that has only this worker."""
    return [replace(each, worker=0) for each in operations if each.worker == worker]


def mixed(worker: int = 0, *, length_ns: int = 10 * MS) -> list[Operation]:
    gets = closed_loop(length_ns=length_ns, end_ns=4 * NS, threads=2)
    puts = closed_loop(length_ns=3 * length_ns, end_ns=4 * NS, threads=2, kind=OperationKind.PUT)
    return [replace(each, worker=worker) for each in (*gets, *puts)]


# Runs at the same time.


@st.composite
def loads(draw: st.DrawFn) -> list[Operation]:
    """Operations of two workers."""
    operation = st.builds(
        lambda start, length, worker, kind, label, planned: Operation(
            start_ns=start,
            end_ns=start + length,
            worker=worker,
            kind=kind,
            label=label,
            planned_ns=max(0, start - planned),
        ),
        st.integers(0, 3 * NS),
        st.integers(1, NS),
        st.integers(0, 1),
        st.sampled_from((OperationKind.GET, OperationKind.PUT)),
        st.sampled_from(("", "", "", "503 SlowDown", "reset")),
        st.integers(0, NS // 4),
    )
    return draw(st.lists(operation, max_size=8))


_UNDETERMINED = ("seconds", "stalls", "waiting_max", "without_service")


@settings(max_examples=30)
@given(loads())
def test_the_parts_of_a_run_are_the_whole_run_when_merged(more: list[Operation]) -> None:
    operations = [*mixed(0, length_ns=50 * MS), *mixed(1, length_ns=80 * MS), *more]  # some of each kind
    whole = run(operations, workers=2)
    parts = merged(run(on_worker(operations, 0)), run(on_worker(operations, 1)))
    assert [result.label for result in parts.results] == [result.label for result in whole.results]
    for result, expected in zip(parts.results, whole.results, strict=True):
        (loop,), (known,) = result.loops, expected.loops
        assert (loop.total_time, loop.throughput, loop.cpu_time) == (
            known.total_time,
            known.throughput,
            known.cpu_time,
        )
        for name in set(known.load.__struct_fields__) - {*_UNDETERMINED, "failures"}:
            assert getattr(loop.load, name) == pytest.approx(getattr(known.load, name)), name
        assert [msgspec.structs.replace(each, time_lost=0.0) for each in loop.load.failures] == [
            msgspec.structs.replace(each, time_lost=0.0) for each in known.load.failures
        ]
        assert [each.time_lost for each in loop.load.failures] == pytest.approx(
            [each.time_lost for each in known.load.failures]
        )
        assert loop.load.bins == known.load.bins
    assert parse_document(encode_document(parts), source="merged.json") == parts


def test_the_seconds_of_the_parts_add() -> None:
    operations = [*mixed(0), *mixed(1)]
    whole = loop_of(run(operations, workers=2)).load
    parts = loop_of(merged(run(on_worker(operations, 0)), run(on_worker(operations, 1)))).load
    assert [(each.second, each.operations, each.bytes, each.max) for each in parts.seconds] == [
        (each.second, each.operations, each.bytes, each.max) for each in whole.seconds
    ]
    assert [each.in_flight for each in parts.seconds] == pytest.approx([each.in_flight for each in whole.seconds])
    assert {each.p50 for each in parts.seconds} == {None}


def test_seconds_are_put_to_the_second_in_which_they_were() -> None:
    both = merged(
        run(mixed(), seconds=20.0), run(mixed(), seconds=20.0, at=NOON + timedelta(seconds=1.2), warnings=("late",))
    )
    loop = loop_of(both)
    alone = loop_of(run(mixed(), seconds=20.0)).load.seconds
    assert [each.second for each in loop.load.seconds] == list(range(21))
    assert [each.operations for each in loop.load.seconds[:2]] == [
        alone[0].operations,
        alone[0].operations + alone[1].operations,
    ]
    assert loop.load.seconds[0].p50 == alone[0].p50
    assert loop.total_time == 20.0
    assert loop.started_at == "2026-11-24T12:00:00.000Z"
    assert "all 2 runs were measured together for 94.0% of the longest window" in loop.warnings


def test_a_second_is_stalled_if_no_run_had_an_operation_in_it() -> None:
    silent = [
        *closed_loop(length_ns=10 * MS, end_ns=NS, threads=2),
        Operation(start_ns=NS, end_ns=3 * NS + MS, label="timed out"),
        *[Operation(start_ns=3 * NS + MS, end_ns=3 * NS + 100 * MS)],
    ]
    gets = phase(job(OperationKind.GET))
    both = loop_of(merged(run(silent, of=gets), run(silent, of=gets)), "load.get").load
    assert both.stalls == loop_of(run(silent, of=gets), "load.get").load.stalls != ()
    busy = closed_loop(length_ns=10 * MS, end_ns=4 * NS, threads=2)
    assert loop_of(merged(run(silent, of=gets), run(busy, of=gets)), "load.get").load.stalls == ()


def test_rates_are_counts_over_the_longest_window() -> None:
    short, long = run(mixed(), seconds=3.8), run(mixed())
    both = loop_of(merged(short, long))
    assert both.total_time == 4.0
    counted = loop_of(short).load.operations + loop_of(long).load.operations
    assert both.load.operations_rate == counted / 4.0


def test_what_was_in_flight_on_average_counts_for_as_long_as_it_was_measured() -> None:
    short, long = run(mixed(), seconds=3.8), run(mixed())
    both = loop_of(merged(short, long)).load
    of_short, of_long = loop_of(short).load, loop_of(long).load
    for name in ("in_flight", "in_flight_by_littles_law"):
        expected = (getattr(of_short, name) * 3.8 + getattr(of_long, name) * 4.0) / 4.0
        assert getattr(both, name) == pytest.approx(expected)


def test_of_operations_of_which_none_ended_in_any_run_no_share_failed() -> None:
    failed = [Operation(start_ns=0, end_ns=NS, label="503 SlowDown")]
    assert loop_of(merged(run([]), run([]))).load.error_rate is None
    assert loop_of(merged(run([]), run(failed))).load.error_rate == 1.0


def with_figures(**figures: Any) -> Document:
    document = run(mixed())
    whole = document.results[0]
    loop = msgspec.structs.replace(whole.loops[0], load=msgspec.structs.replace(whole.loops[0].load, **figures))
    return document.with_result(msgspec.structs.replace(whole, measurements=(loop,)))


def test_what_single_runs_do_not_determine_is_null_with_a_warning() -> None:
    both = loop_of(
        merged(with_figures(waiting_max=3, ceiling=9.0, without_service=1.0, bottleneck="server"), run(mixed()))
    )
    assert (both.load.waiting_max, both.load.ceiling, both.load.without_service, both.load.bottleneck) == (
        None,
        None,
        None,
        "",
    )
    assert both.warnings == (
        (
            "null, since the results of single runs do not determine it: the most planned operations that waited, "
            "what the machines can reach, the time without service"
        ),
        "the runs do not name the same bottleneck: server, none",
    )
    calm = loop_of(merged(run(mixed()), run(mixed())))
    assert (calm.load.waiting_max, calm.load.without_service, calm.warnings) == (0, 0.0, ())


def test_the_busiest_worker_of_all_runs_and_the_one_that_waited_longest_for_a_core_are_told() -> None:
    busy = with_figures(client_cpu_share=0.6, client_run_delay_share=0.1)
    waiting = with_figures(client_cpu_share=0.2, client_run_delay_share=0.4)
    both = loop_of(merged(busy, waiting)).load
    assert (both.client_cpu_share, both.client_run_delay_share) == (0.6, 0.4)


def test_the_oldest_operation_and_the_oldest_attempt_of_all_runs_are_told() -> None:
    both = loop_of(merged(with_figures(oldest=9.0, oldest_attempt=1.0), with_figures(oldest=3.0, oldest_attempt=2.0)))
    assert (both.load.oldest, both.load.oldest_attempt) == (9.0, 2.0)


def test_whether_cores_were_kept_awake_is_told_if_the_runs_agree() -> None:
    same = loop_of(merged(with_figures(cores_awake=True), with_figures(cores_awake=True)))
    assert (same.load.cores_awake, same.warnings) == (True, ())
    different = loop_of(merged(with_figures(cores_awake=True), with_figures(cores_awake=False)))
    assert different.load.cores_awake is None
    assert "idle states" in different.warnings[0]


def test_merged_figures_that_violate_littles_law_are_an_error() -> None:
    document = run(mixed())
    whole = document.results[0]
    load = msgspec.structs.replace(whole.loops[0].load, in_flight=100.0)
    wrong = document.with_result(
        msgspec.structs.replace(whole, measurements=(msgspec.structs.replace(whole.loops[0], load=load),))
    )
    both = merged(wrong, run(mixed()))
    assert [result.status for result in both.results] == [Status.FAILED] * 3
    assert all(not result.loops and "Little's law" in result.errors[0].why for result in both.results)


@pytest.mark.parametrize("label", ["", "timed out"])
def test_operations_that_were_in_flight_when_the_windows_opened_are_no_contradiction(label: str) -> None:
    """They bring time of before the windows with them, whether they succeed or fail."""
    gets = msgspec.structs.replace(phase(job(OperationKind.GET)), warmup_s=1.0)
    long = [Operation(start_ns=0, end_ns=2 * NS, label=label) for _ in range(4)]
    operations = [*long, *[Operation(start_ns=2 * NS, end_ns=2 * NS + 100 * MS) for _ in range(4)]]
    both = merged(run(operations, of=gets), run(operations, of=gets))
    assert (
        loop_of(both, "load.get").load.operations == 2 * loop_of(run(operations, of=gets), "load.get").load.operations
    )


def test_operations_that_hung_when_the_windows_closed_are_no_contradiction() -> None:
    gets = phase(job(OperationKind.GET))
    hung = [Operation(start_ns=NS, end_ns=60 * NS) for _ in range(4)]
    before = [each for each in closed_loop(length_ns=10 * MS, end_ns=NS) if each.end_ns < NS]
    both = merged(run([*before, *hung], of=gets), run([*before, *hung], of=gets))
    assert loop_of(both, "load.get").load.unfinished == 8


def test_how_long_attempts_hung_bounds_what_was_in_flight_and_not_how_long_they_had_waited() -> None:
    """Little's law counts attempts from their start: what waited for a thread before excuses nothing."""
    gets = phase(job(OperationKind.GET, rate=100.0))
    hung = Operation(planned_ns=0, start_ns=3_900 * MS, end_ns=60 * NS)
    document = run([*closed_loop(length_ns=10 * MS, end_ns=3 * NS), hung], of=gets)
    whole = document.results[0]
    load = whole.loops[0].load
    assert (load.oldest, load.oldest_attempt) == (4.0, 0.1)
    lost = msgspec.structs.replace(load, in_flight_by_littles_law=load.in_flight_by_littles_law - 0.7)
    wrong = msgspec.structs.replace(whole, measurements=(msgspec.structs.replace(whole.loops[0], load=lost),))
    (result, *_) = merged(document.with_result(wrong), run([], of=gets)).results
    assert "Little's law" in result.errors[0].why


def test_a_run_with_failures_leaves_the_time_without_service_open() -> None:
    """Two runs that fail in turn are never without service together, and one after the other might be for long."""
    failing = [*mixed(), Operation(start_ns=NS, end_ns=NS + MS, label="503 SlowDown")]
    assert loop_of(run(failing)).load.without_service == 0.0
    both = loop_of(merged(run(failing), run(mixed())))
    assert both.load.without_service is None
    assert both.warnings == ("null, since the results of single runs do not determine it: the time without service",)


def test_each_warning_is_kept_once_with_the_number_of_runs_that_have_it() -> None:
    both = merged(
        run(mixed(), warnings=("load 1.5 on 2 cores", "on battery")),
        run(mixed(), warnings=("load 2.5 on 2 cores",), options=THREADS | {"endpoint_url": ["http://other"]}),
    )
    assert both.warnings == (
        "2 of 2 runs: load 1.5 on 2 cores",
        "1 of 2 runs: on battery",
        'the runs name different endpoints: ["http://s3"], ["http://other"]',
    )


def test_warnings_of_documents_that_are_merged_already_are_counted_by_run() -> None:
    busy, other = run(mixed(), warnings=("load 1.5 on 2 cores",)), run(mixed(), warnings=("on battery",))
    again = run(mixed(), warnings=("load 2.5 on 2 cores",))
    once = merged(merged(busy, again), other)
    assert once.warnings == ("2 of 3 runs: load 1.5 on 2 cores", "1 of 3 runs: on battery")
    third = run(mixed(), warnings=("on battery",))
    assert merged(once, third).warnings == ("2 of 4 runs: load 1.5 on 2 cores", "2 of 4 runs: on battery")


def test_warnings_of_measurements_that_are_merged_already_are_counted_by_run() -> None:
    def warned() -> Document:
        document = run(mixed())
        loop = msgspec.structs.replace(loop_of(document, document.results[0].name), warnings=("core 3 was busy",))
        return document.with_result(msgspec.structs.replace(document.results[0], measurements=(loop,)))

    both = merged(merged(warned(), run(mixed())), warned())
    assert "2 of 3 runs: core 3 was busy" in both.results[0].loops[0].warnings


def test_the_machine_and_the_options_of_each_run_are_kept() -> None:
    other = msgspec.structs.replace(run(mixed(), options=THREADS | {"seed": 2}), machine={"cpu_model": "two"})
    both = merged(run(mixed(), options=THREADS | {"seed": 1}), other)
    assert both.machine == {}
    assert both.options["phases"] == THREADS["phases"]
    origin = both.options["merged"]
    assert origin["arrangement"] == "simultaneous"
    assert [(each["file"], each["machine"]["cpu_model"], each["options"]["seed"]) for each in origin["runs"]] == [
        ("1.json", "one", 1),
        ("2.json", "two", 2),
    ]
    assert "the machines differ: cpu_model" in both.warnings


def test_a_loop_that_a_run_has_no_figures_of_is_an_error_of_the_whole() -> None:
    failure = Failure(iteration=0, what="node-1 was lost")
    document = run(mixed())
    for result in document.results:
        document = document.with_result(msgspec.structs.replace(result, measurements=(), errors=(failure,)).completed())
    assert refusal(document, run(mixed())).what == "1.json has no figures of a load run"
    lost = run(mixed(), loops=2)
    for result in lost.results:
        first = result.loops[:1]
        lost = lost.with_result(msgspec.structs.replace(result, measurements=first))
    both = merged(lost, run(mixed(), loops=2))
    assert [[loop.iteration for loop in result.loops] for result in both.results] == [[0]] * 3
    assert [[(each.iteration, each.what) for each in result.errors] for result in both.results] == [
        [(1, "1.json has no figures of this loop")]
    ] * 3


def test_figures_of_single_nodes_are_left_out() -> None:
    document = run(mixed(), options=THREADS | {"cluster": {}})
    whole = document.results[0]
    node = msgspec.structs.replace(whole, dimensions=({NODE: "node-1"},))
    both = merged(document.with_result(node), run(mixed()))
    assert [result.name for result in both.results] == ["load.all", "load.get", "load.put"]
    assert "figures of single cluster nodes are left out" in both.warnings


# Runs one after the other.


def test_what_is_merged_from_a_run_that_was_killed_is_not_complete() -> None:
    first, second = run(mixed()), run(mixed())
    assert merged(first, msgspec.structs.replace(second, ended_at=None)).was_cut_short
    assert not merged(first, second).was_cut_short


def test_runs_one_after_the_other_are_loops_and_nothing_is_added() -> None:
    first, second = run(mixed(), loops=2), run(mixed(length_ns=20 * MS), at=NOON + timedelta(days=1))
    both = merged(second, first)
    assert both.options["merged"]["arrangement"] == "sequential"
    expected = [loop_of(first).load, loop_of(first, number=1).load, loop_of(second).load]
    (whole, *_) = both.results
    assert [loop.load for loop in whole.loops] == expected
    assert [loop.iteration for loop in whole.loops] == [0, 1, 2]
    assert (both.started_at, both.ended_at) == (first.started_at, second.ended_at)


def test_errors_of_runs_one_after_the_other_keep_to_their_loops() -> None:
    def with_error(document: Document, iteration: int | None) -> Document:
        failure = Failure(iteration=iteration, what="node-1 was lost")
        return document.with_result(msgspec.structs.replace(document.results[0], errors=(failure,)))

    first = with_error(run(mixed(), loops=2), 1)
    second = with_error(run(mixed(), at=NOON + timedelta(days=1)), 0)
    third = with_error(run(mixed(), at=NOON + timedelta(days=2)), None)
    (whole, *_) = merged(first, second, third).results
    assert [each.iteration for each in whole.errors] == [1, 2, None]


def test_documents_without_times_of_phases_can_follow_each_other_but_not_overlap() -> None:
    def former(document: Document) -> Document:
        kept = [
            msgspec.structs.replace(
                result, measurements=tuple(msgspec.structs.replace(loop, started_at=None) for loop in result.loops)
            )
            for result in document.results
        ]
        return msgspec.structs.replace(document, results=tuple(kept))

    first, later = former(run(mixed())), former(run(mixed(), at=NOON + timedelta(hours=1)))
    assert [len(result.loops) for result in merged(first, later).results] == [2, 2, 2]
    assert refusal(first, run(mixed())).what == "1.json does not record when its phases began"
    killed = msgspec.structs.replace(first, ended_at=None)
    assert refusal(killed, later).what == "1.json does not record when its run ended"


def test_merged_documents_follow_each_other_if_as_many_runs_made_their_load() -> None:
    tomorrow = NOON + timedelta(days=1)
    today, later = merged(run(mixed()), run(mixed())), merged(run(mixed(), at=tomorrow), run(mixed(), at=tomorrow))
    both = merged(today, later)
    assert (both.options["merged"]["arrangement"], both.options["merged"]["simultaneous"]) == ("sequential", 2)
    assert merged(today, run(mixed())).options["merged"]["simultaneous"] == 3
    error = refusal(today, run(mixed(), at=tomorrow))
    assert error.why == "different numbers of runs made it at the same time (1.json: 2; 2.json: 1)"


# What is refused.


def test_runs_that_overlapped_in_part_are_refused() -> None:
    error = refusal(run(mixed()), run(mixed(), at=NOON + timedelta(seconds=2)))
    assert error.what == "the runs overlapped in part"
    assert "for 50% of a phase" in error.why


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"phases": [{"jobs": [{"threads": 8}]}]}, "threads 4 -> 8"),
        ({"phases": [{"jobs": [{"threads": 4, "rate": 5.0}]}]}, "rate none (closed loop) -> 5/s"),
        ({"phases": [{"jobs": [{"threads": 4}] * 2}]}, "jobs 1 -> 2"),
        ({"phases": [{"jobs": [{"threads": 4}], "duration": 5.0}]}, "duration none -> 5 s"),
        ({"phases": [{"jobs": [{"threads": 4, "operations": 9}]}]}, "operations none -> 9"),
        (THREADS | {"timeout": 9.0}, "timeout none -> 9"),
    ],
)
def test_runs_of_different_workloads_are_refused_and_the_difference_is_named(other: dict[str, Any], why: str) -> None:
    error = refusal(run(mixed()), run(mixed(), options=other))
    assert (error.what, error.why) == ("1.json and 2.json are not of the same workload", why)


def test_runs_with_different_results_are_refused() -> None:
    gets = run(closed_loop(length_ns=10 * MS, end_ns=4 * NS), of=phase(job(OperationKind.GET)))
    assert "only one of them has load.all on s3bench@0.1.0" in refusal(run(mixed()), gets).why


def test_a_run_is_not_merged_with_itself_or_alone_or_with_clients() -> None:
    document = run(mixed())
    assert refusal(document, document).what == "1.json and 2.json are the same run"
    assert refusal(document).what == "one document cannot be merged"
    empty = msgspec.structs.replace(document, results=(Result(name="s3.cp", client=client("1")),))
    assert refusal(document, empty).what == "2.json has no figures of a load run"


def test_a_run_that_a_merged_document_has_already_is_not_merged_with_it_again() -> None:
    first, second, third, fourth = (run(mixed(), at=NOON + timedelta(minutes=minute)) for minute in range(4))
    both = merged(first, second)
    assert refusal(both, third, second).what == "3.json is in 1.json already"
    assert refusal(first, both).what == "1.json is in 2.json already"
    assert refusal(second, merged(both, third)).what == "1.json is in 2.json already"
    assert refusal(both, merged(second, third)).what == "1.json and 2.json have runs in common"
    assert merged(both, merged(third, fourth)).results


def test_runs_that_read_the_objects_of_one_run_are_different_runs() -> None:
    options = THREADS | {"run": "kept"}
    first, second, third = (run(mixed(), at=NOON + timedelta(minutes=minute), options=options) for minute in range(3))
    assert merged(merged(first, second), third).results


def test_failures_of_the_same_kind_add() -> None:
    failing = [*mixed(), Operation(start_ns=NS, end_ns=NS + MS, label="503 SlowDown", retried=True)]
    both = loop_of(merged(run(failing), run(failing))).load
    assert both.failures == (Failures(label="503 SlowDown", count=2, retried=2, time_lost=0.002, body_bytes=2000),)
