"""A plan on a scripted bench: which runs are made, in which order, and what the document holds at any moment."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from s3bench.bench.runner import RunnerFactory, Settings
from s3bench.bench.suite import FAILURES_MAX, NO_HOOKS, Hooks, ReadyCell, SuiteStatus, run_suite
from s3bench.clients.client import ClientSpec, FoundClient
from s3bench.clients.plan import Cell, Plan
from s3bench.errors import ClientNotFound, MachineError, S3BenchError, ShellCommandFailed
from s3bench.results.document import Document, Result, Status
from s3bench.results.measurement import Failure, Measurement
from s3bench.results.timeline import RequestSpan
from s3bench.spec.definition import Definition, Environment
from tests.bench.scripted_bench import Run, ScriptedBench, client, failed, measured, until_stopped

SETTINGS = Settings(interval_s=0.01, keeps_timeline=True)
DOCUMENT = Document(s3bench="0", started_at="now")
UPLOAD = Definition(name="upload", command=("s3", "cp", "a", "s3://bucket/a"), dimensions=(("FileSize", "4KB"),))
LIST = Definition(name="list", command=("s3api", "list-buckets"))


@pytest.fixture
def bench(tmp_path: Path) -> ScriptedBench:
    return ScriptedBench(root=tmp_path)


def ready(found: FoundClient | S3BenchError, *definitions: Definition) -> tuple[ReadyCell, ...]:
    spec = ClientSpec(kind=found.kind if isinstance(found, FoundClient) else "s5cmd", version="9")
    return tuple(ReadyCell(cell=Cell(definition=each, client=spec), client=found) for each in definitions)


def suite(
    bench: ScriptedBench,
    *cells: ReadyCell,
    iterations: int = 1,
    warmup: int = 0,
    audit: bool = False,
    document: Document = DOCUMENT,
    hooks: Hooks = NO_HOOKS,
) -> Iterator[SuiteStatus]:
    plan = Plan(cells=tuple(each.cell for each in cells), iterations=iterations, warmup=warmup, skipped=())
    return run_suite(bench, cells, SETTINGS, plan, document, audit=audit, hooks=hooks)


def last(statuses: Iterator[SuiteStatus]) -> Document:
    return list(statuses)[-1].document


def sole(statuses: Iterator[SuiteStatus]) -> Result:
    (result,) = last(statuses).results
    return result


def times(result: Result) -> list[float]:
    return [each.total_time for each in result.measurements]


def in_turn(*outcomes: Measurement | Failure | BaseException) -> Callable[[Run], Measurement | Failure]:
    """A script of one outcome after the other."""
    coming = iter(outcomes)

    def script(_run: Run) -> Measurement | Failure:
        outcome = next(coming)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    return script


def test_cells_run_in_turn_each_warmed_up_first_and_only_the_iterations_count(
    bench: ScriptedBench, tmp_path: Path
) -> None:
    first, second = client(tmp_path, "1"), client(tmp_path, "2")
    bench.script = lambda run: measured(run.at_s + 1)
    document = last(suite(bench, *ready(first, UPLOAD, LIST), *ready(second, UPLOAD), iterations=2, warmup=1))
    assert [(run.definition.name, run.client.version, run.iteration) for run in bench.runs] == [
        (name, version, iteration)
        for name, version in (("upload", "1"), ("list", "1"), ("upload", "2"))
        for iteration in (0, 0, 1)
    ]
    assert [(result.name, result.client.label) for result in document.results] == [
        ("upload", "s5cmd@1"),
        ("list", "s5cmd@1"),
        ("upload", "s5cmd@2"),
    ]
    starts = [run.at_s + 1 for run in bench.runs]
    assert [times(result) for result in document.results] == [starts[1:3], starts[4:6], starts[7:9]]
    assert {result.status for result in document.results} == {Status.COMPLETE}
    assert (bench.workspaces, bench.workspaces_open) == (3, 0)


def test_the_document_grows_with_every_run_and_closes_each_result(bench: ScriptedBench, tmp_path: Path) -> None:
    statuses = list(suite(bench, *ready(client(tmp_path), UPLOAD, LIST), iterations=2))
    assert [(each.result.name, each.result.status, len(each.result.measurements)) for each in statuses] == [
        (name, *step)
        for name in ("upload", "list")
        for step in ((Status.RUNNING, 1), (Status.RUNNING, 2), (Status.COMPLETE, 2))
    ]
    assert [(each.done, each.total) for each in statuses] == [(1, 4), (2, 4), (2, 4), (3, 4), (4, 4), (4, 4)]
    assert all(each.result in each.document.results for each in statuses)
    assert statuses[0].document.started_at == "now"


def test_an_audit_pairs_every_iteration_with_an_unobserved_twin_in_abba_order(
    bench: ScriptedBench, tmp_path: Path
) -> None:
    bench.script = lambda run: measured(1.1 if run.settings.probes else 1.0)
    statuses = list(suite(bench, *ready(client(tmp_path), UPLOAD), iterations=4, warmup=1, audit=True))
    assert [run.settings.probes for run in bench.runs] == [True, *(True, False, False, True) * 2]
    assert {run.settings for run in bench.runs} == {SETTINGS, SETTINGS.unobserved()}
    assert statuses[-1].total == statuses[-1].done == 9
    result = statuses[-1].result
    assert times(result) == [1.1] * 4
    assert result.audit is not None
    assert (result.audit.pairs, result.audit.total_time.median) == (4, pytest.approx(1.1))
    assert statuses[-2].result.audit is None


def test_a_run_that_fails_in_the_middle_is_an_error_and_the_others_go_on(bench: ScriptedBench, tmp_path: Path) -> None:
    bench.script = in_turn(measured(1), failed("exited 7"), measured(3))
    result = sole(suite(bench, *ready(client(tmp_path), UPLOAD), iterations=3))
    assert [each.iteration for each in result.measurements] == [0, 2]
    assert [(error.iteration, error.what) for error in result.errors] == [(1, "exited 7")]
    assert result.status is Status.FAILED


def test_a_warm_up_that_fails_is_an_error_too(bench: ScriptedBench, tmp_path: Path) -> None:
    bench.script = in_turn(failed("exited 7"), measured(2))
    result = sole(suite(bench, *ready(client(tmp_path), UPLOAD), warmup=1))
    assert ([error.iteration for error in result.errors], times(result)) == ([None], [2])


def test_a_client_that_never_succeeds_is_given_up_and_the_next_one_runs(bench: ScriptedBench, tmp_path: Path) -> None:
    bench.script = lambda run: failed() if run.definition is UPLOAD else measured()
    statuses = list(suite(bench, *ready(client(tmp_path), UPLOAD, LIST), iterations=20))
    assert [run.definition.name for run in bench.runs] == ["upload"] * FAILURES_MAX + ["list"] * 20
    assert [len(result.errors) for result in statuses[-1].document.results] == [FAILURES_MAX, 0]


def test_a_client_that_succeeded_once_is_not_given_up(bench: ScriptedBench, tmp_path: Path) -> None:
    bench.script = in_turn(measured(), *[failed()] * 9)
    result = sole(suite(bench, *ready(client(tmp_path), UPLOAD), iterations=10))
    assert (len(result.measurements), len(result.errors)) == (1, 9)


def test_a_client_that_is_not_here_is_an_error_of_its_result_alone(bench: ScriptedBench, tmp_path: Path) -> None:
    missing = ClientNotFound("no s5cmd 9 here", "it is not installed", "s3bench clients install s5cmd")
    document = last(suite(bench, *ready(missing, UPLOAD), *ready(client(tmp_path), LIST)))
    absent, present = document.results
    assert (absent.status, absent.client.label, absent.errors) == (
        Status.FAILED,
        "s5cmd@9",
        (Failure(iteration=None, what="no s5cmd 9 here", why="it is not installed s3bench clients install s5cmd"),),
    )
    assert present.status is Status.COMPLETE


def test_a_machine_that_fails_ends_the_cell_and_keeps_what_it_had(bench: ScriptedBench, tmp_path: Path) -> None:
    died = MachineError("the helper has died", "no memory.", "Stop other programs.")
    bench.script = in_turn(measured(1), died, measured(2), measured(3))
    first, second = last(suite(bench, *ready(client(tmp_path), UPLOAD, LIST), iterations=2)).results
    assert (times(first), first.errors[0].why, first.status) == ([1], "no memory. Stop other programs.", Status.FAILED)
    assert first.errors[0].iteration == 1
    assert (times(second), second.status) == ([2, 3], Status.COMPLETE)


def test_a_workspace_that_cannot_be_made_is_an_error_of_its_cell_alone(tmp_path: Path) -> None:
    class FullDisk(ScriptedBench):
        @contextmanager
        def workspace(self, environment: Environment) -> Iterator[RunnerFactory]:
            if environment.config == "large":
                raise MachineError("not enough disk space")
            with super().workspace(environment) as runner_of:
                yield runner_of

    bench = FullDisk(root=tmp_path)
    large = Definition(name="large", command=LIST.command, environment=Environment(config="large"))
    document = last(suite(bench, *ready(client(tmp_path), large, LIST)))
    assert [(result.status, len(result.errors)) for result in document.results] == [
        (Status.FAILED, 1),
        (Status.COMPLETE, 0),
    ]


def test_ctrl_c_leaves_everything_measured_by_then_in_the_last_document(bench: ScriptedBench, tmp_path: Path) -> None:
    bench.script = in_turn(measured(1), measured(2), measured(3), KeyboardInterrupt())
    seen = until_stopped(suite(bench, *ready(client(tmp_path), UPLOAD, LIST), iterations=2))
    assert [(result.status, times(result)) for result in seen[-1].document.results] == [
        (Status.COMPLETE, [1, 2]),
        (Status.RUNNING, [3]),
    ]
    assert bench.workspaces_open == 0


def test_requests_are_kept_of_the_iteration_of_median_time(bench: ScriptedBench, tmp_path: Path) -> None:
    span = RequestSpan(
        connection=1,
        kind="PUT",
        start=0.0,
        body_end=0.0,
        first_byte=0.0,
        end=0.1,
        bytes_up=1,
        bytes_down=0,
        status=200,
        attempt=1,
        fault="",
        error="",
    )
    bench.script = in_turn(*(measured(total_s, requests=(span,)) for total_s in (3.0, 1.0, 2.0)))
    statuses = list(suite(bench, *ready(client(tmp_path), UPLOAD), iterations=3))
    kept = [[each.total_time for each in status.result.measurements if each.requests] for status in statuses]
    assert kept[0] == [3.0]
    assert kept[-1] == [2.0] == kept[-2]


def test_prepare_comes_before_every_run_and_cleanup_once_after_the_last_one_of_a_cell(
    bench: ScriptedBench, tmp_path: Path
) -> None:
    order: list[str] = []

    def script(run: Run) -> Measurement | Failure:
        order.append(f"{run.definition.name} {run.iteration}")
        return failed() if run.definition is LIST else measured()

    bench.script = script
    hooks = Hooks(prepare=lambda: order.append("prepare"), cleanup=lambda: order.append("cleanup"))
    missing = ready(ClientNotFound("not here"), UPLOAD)
    last(suite(bench, *ready(client(tmp_path), UPLOAD, LIST), *missing, warmup=1, iterations=2, hooks=hooks))
    runs = ("upload 0", "upload 0", "upload 1"), ("list 0", "list 0", "list 1")
    assert order == [
        step for cell in runs for step in (*(each for run in cell for each in ("prepare", run)), "cleanup")
    ]


def test_a_prepare_that_fails_ends_its_cell_and_the_next_one_runs(bench: ScriptedBench, tmp_path: Path) -> None:
    calls = iter((None, ShellCommandFailed("--prepare `false` exited 1", "no such disk"), None, None))
    cleaned: list[int] = []

    def prepare() -> None:
        if (error := next(calls)) is not None:
            raise error

    hooks = Hooks(prepare=prepare, cleanup=lambda: cleaned.append(len(bench.runs)))
    first, second = last(suite(bench, *ready(client(tmp_path), UPLOAD, LIST), iterations=2, hooks=hooks)).results
    assert [(each.what, each.why) for each in first.errors] == [("--prepare `false` exited 1", "no such disk")]
    assert first.errors[0].iteration == 1
    assert (len(first.measurements), first.status) == (1, Status.FAILED)
    assert (len(second.measurements), second.status) == (2, Status.COMPLETE)
    assert cleaned == [1, 3]


def test_a_cleanup_that_fails_is_an_error_and_what_was_measured_stays(bench: ScriptedBench, tmp_path: Path) -> None:
    def cleanup() -> None:
        raise ShellCommandFailed("--cleanup `false` exited 1")

    results = last(suite(bench, *ready(client(tmp_path), UPLOAD, LIST), hooks=Hooks(cleanup=cleanup))).results
    assert [(len(each.measurements), len(each.errors), each.status) for each in results] == [(1, 1, Status.FAILED)] * 2
    assert {error.iteration for each in results for error in each.errors} == {None}


@pytest.mark.parametrize(
    ("kind", "definition", "engine"),
    [
        ("boto3-classic", UPLOAD, "Classic"),
        ("cli-crt", UPLOAD, "CRT"),
        ("s5cmd", UPLOAD, None),
        ("cli-crt", LIST, None),
        (
            "cli-crt",
            Definition(name="own", command=UPLOAD.command, dimensions=(("S3TransferClient", "mine"),)),
            "mine",
        ),
    ],
)
def test_a_transfer_has_its_transfer_client_as_dimension(
    bench: ScriptedBench, tmp_path: Path, kind: str, definition: Definition, engine: str | None
) -> None:
    result = sole(suite(bench, *ready(client(tmp_path, kind=kind), definition)))
    named = [dimension["S3TransferClient"] for dimension in result.dimensions if "S3TransferClient" in dimension]
    assert named == ([] if engine is None else [engine])


def test_names_of_debug_directories_are_distinct_and_stay_below_theirs(bench: ScriptedBench, tmp_path: Path) -> None:
    odd = Definition(name="../a b/c", command=LIST.command)
    list(suite(bench, *ready(client(tmp_path), odd, odd)))
    names = [run.debug_name for run in bench.runs]
    assert names == ["000-.._a_b_c-s5cmd_1/0", "001-.._a_b_c-s5cmd_1/0"]


def test_warm_ups_and_runs_of_an_audit_have_debug_directories_of_their_own(
    bench: ScriptedBench, tmp_path: Path
) -> None:
    list(suite(bench, *ready(client(tmp_path), LIST), iterations=2, warmup=2, audit=True))
    cells, runs = zip(*(run.debug_name.split("/") for run in bench.runs), strict=True)
    assert set(cells) == {"000-list-s5cmd_1"}
    assert runs == ("warmup-0", "warmup-1", "0", "0-unobserved", "1-unobserved", "1")


@pytest.mark.parametrize("letter", ["n", "é", "語"])
def test_a_long_name_gives_a_debug_directory_that_can_be_made(
    bench: ScriptedBench, tmp_path: Path, letter: str
) -> None:
    long = Definition(name=letter * 250, command=LIST.command)
    list(suite(bench, *ready(client(tmp_path), long, long)))
    first, second = (run.debug_name for run in bench.runs)
    assert first.startswith(f"000-{letter * 40}")
    assert first != second
    for name in (first, second):
        (tmp_path / name).mkdir(parents=True)


def test_runs_of_one_cell_follow_each_other_without_a_gap(bench: ScriptedBench, tmp_path: Path) -> None:
    list(suite(bench, *ready(client(tmp_path), UPLOAD), iterations=3))
    assert [after.at_s - before.at_s for before, after in pairwise(bench.runs)] == [1.0, 1.0]
