"""What happened within runs: requests, memory and CPU over time, the steps of start-up."""

from msgspec.structs import replace

from s3bench.report.page.run.benchmark import ClientResults
from s3bench.report.page.run.memory import sampled_runs
from s3bench.report.page.run.section import run_sections
from s3bench.report.page.run.wire import wire_runs
from tests.report.page.run_documents import SPAN, classic_beside_crt, figure_of, labels, timed


def test_each_request_tells_its_times_and_bytes() -> None:
    figure = figure_of(run_sections(classic_beside_crt()), "requests")
    said = labels(figure)
    assert (
        "cli-crt GET ranged on connection 1: 400 ms to 450 ms, took 50.0 ms, first byte after 20.0 ms, 8.00 MiB down, "
        "status 206"
    ) in said
    assert sum(label.endswith("status 503, attempt 2, slow down") for label in said) == 4  # a bar and a triangle each
    assert figure.table is not None
    assert len(figure.table.rows) == 4


def test_memory_and_cpu_tell_their_peaks() -> None:
    said = labels(figure_of(run_sections(classic_beside_crt()), "memory-cpu-over-time"))
    assert "cli-crt run 0: at most 80.0 MiB, by 100 ms" in said
    assert "cli-crt run 0: at most 1.25 cores over a step, by 100 ms" in said


def test_the_steps_of_start_up_lie_between_milestones() -> None:
    said = labels(figure_of(run_sections(classic_beside_crt()), "start-up"))
    assert "cli-crt, import modules: 260 ms, from 40.0 ms to 300 ms (medians of 6 runs)" in said
    assert "cli-crt, end the process: 65.0 ms, from 460 ms to 525 ms (medians of 6 runs)" in said


def test_of_many_samples_the_median_run_is_drawn_and_the_rest_is_told() -> None:
    row = ClientResults(client="cli-crt", result=timed())
    drawn = sampled_runs((row,), runs_max=3)
    assert len(drawn) == 3
    assert [run.is_median for run in drawn] == [False, False, True]


def test_requests_without_sockets_lie_on_rows_of_their_own() -> None:
    spans = tuple(replace(SPAN, connection=None, start=start, end=start + 0.1) for start in (0.4, 0.45, 0.52))
    made = timed()
    one = replace(made, measurements=(replace(made.measurements[0], requests=spans),))
    run = wire_runs((ClientResults(client="cli-crt", result=one),), requests_max=2)[0]
    assert [each.lane for each in run.requests] == [0, 1]
    assert run.left_out == 1
    run = wire_runs((ClientResults(client="cli-crt", result=one),), requests_max=3)[0]
    assert [each.lane for each in run.requests] == [0, 1, 0]
