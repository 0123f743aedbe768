"""How `s3bench load` ends: exit codes, what `-q` still prints, and what is printed when the clean-up is interrupted."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import pytest

from s3bench.cli.main import main
from s3bench.cli.stop import StopSignal
from s3bench.errors import MachineError
from s3bench.load.aggregation.phase_result import PhaseResult
from s3bench.load.aggregation.slo import SloOutcome, SloVerdict
from s3bench.load.engine.message import RequestTarget
from s3bench.load.operation import OperationKind
from s3bench.load.profile.placement import Placement
from s3bench.load.profile.profile import Job, Phase, Share
from s3bench.load.profile.sizes import fixed
from s3bench.load.session.bucket import CleanUpResult, LiveBucket
from s3bench.load.session.session import Event, Measured, Terms
from s3bench.load.session.site import Site
from s3bench.load.session.slo_search import HighestRate
from s3bench.report.run.junit import render_junit
from s3bench.report.run.openmetrics import render_openmetrics
from s3bench.results.document import Document, parse_document
from tests.load.fakepool import Named
from tests.report.loads import load as figures

RUN = "0123456789ab"
FORMER = "ba9876543210"


class FakeSession:
    """Has the `happens` of its class as events, without any process; its clean-up raises `fault` if there is one."""

    happens: tuple[Event, ...] = ()
    unanswered = 0
    fault: BaseException | None = None

    def __init__(self, _site: Site, _profile: object, terms: Terms, **_: object) -> None:
        self.terms = terms

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def events(self) -> Iterator[Event]:
        yield from self.happens

    def clean_up(self) -> CleanUpResult:
        if self.fault is not None:
            raise self.fault
        return CleanUpResult(objects=3)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> type[FakeSession]:
    """What the command runs instead of a session."""
    made = type("Session", (FakeSession,), {})
    target = RequestTarget(addresses=(("127.0.0.1", 9),), hosts=("127.0.0.1:9",), bucket="data")
    site = Site(urls=("http://127.0.0.1:9",), target=target, bucket=LiveBucket(None, "data"))
    monkeypatch.setattr("s3bench.cli.load.action.Session", made)
    monkeypatch.setattr("s3bench.cli.load.action._site", lambda *_: site)
    monkeypatch.setattr("s3bench.cli.load.action.new_run", lambda: RUN)
    monkeypatch.chdir(tmp_path)
    return made


Load = Callable[..., tuple[int, str]]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Load:
    """Runs the command; gives its exit code and what it printed to stderr."""

    def run(*arguments: str) -> tuple[int, str]:
        live = ("--endpoint-url", "http://127.0.0.1:9", "--bucket", "data")
        monkeypatch.setattr("sys.argv", ["s3bench", "load", *live, *arguments, "-o", "results.json"])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capfd.readouterr()
        assert shown.out == ""
        return int(ended.value.code or 0), shown.err

    return run


def measured(*, contradiction: str = "", losses: tuple[str, ...] = (), **changes: Any) -> Measured:
    job = Job(mix=(Share(kind=OperationKind.PUT),), sizes=fixed(1))
    return Measured(
        phase=Phase(name="put", jobs=(job,)),
        loop=0,
        started_at=datetime(2026, 11, 28, tzinfo=UTC),
        result=PhaseResult(
            whole=figures("put", **changes), parts=(), window_s=10.0, cpu_s=1.0, contradiction=contradiction,
            losses=losses,
        ),
        memory_bytes_max=None,
    )  # fmt: skip


def written(path: str) -> Document:
    return parse_document(Path(path).read_bytes(), source=path)


def warnings_of(path: str) -> tuple[str, ...]:
    return written(path).warnings


def found(rate_per_s: float | None, words: str, *, is_undecided: bool = False) -> HighestRate:
    return HighestRate(rate_per_s=rate_per_s, is_limit=False, is_undecided=is_undecided, words=words)


def test_without_progress_a_run_that_ends_well_prints_nothing(session: type[FakeSession], load: Load) -> None:
    session.happens = (measured(),)
    assert load("--operation", "put", "-q") == (0, "")


@pytest.mark.parametrize(
    ("event", "code", "line"),
    [
        (measured(error_rate=0.05), 1, "s3bench: put: 5.00% of the operations failed, more than the 0.10% of "),
        (measured(contradiction="latencies and rate contradict each other"), 4, "s3bench: put: latencies and rate "),
        (measured(losses=("node-1 was lost",)), 4, "s3bench: put: node-1 was lost"),
    ],
)
@pytest.mark.parametrize("options", [(), ("-q",)])
def test_a_failure_is_explained_whether_progress_is_shown_or_not(
    session: type[FakeSession], load: Load, event: Event, code: int, line: str, options: tuple[str, ...]
) -> None:
    session.happens = (event,)
    exit_code, stderr = load("--operation", "put", *options)
    assert exit_code == code
    assert stderr.count(line) == 1


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (found(573.3, "573.3/s held; at 598.7/s p99 was 187 ms"), 0),
        (found(None, "no rate held: at 1.0/s p99 was 2 s"), 1),
        (found(None, "undecided: at 44.0/s p99 needs 368 operations", is_undecided=True), 3),
    ],
)
@pytest.mark.parametrize("options", [(), ("-q",)])
def test_the_highest_rate_is_printed_and_an_undecided_search_has_an_exit_code_of_its_own(
    session: type[FakeSession], load: Load, event: HighestRate, code: int, options: tuple[str, ...]
) -> None:
    session.happens = (event,)
    exit_code, stderr = load("--slo", "p99<50ms", *options)
    assert exit_code == code
    assert stderr.count(f"s3bench: {event.words}\n") == 1


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (SloOutcome.HOLDS, 0),
        (SloOutcome.BROKEN, 1),
        (SloOutcome.UNRESOLVED, 3),
        (SloOutcome.NO_EVIDENCE, 3),
    ],
)
@pytest.mark.parametrize("options", [(), ("-q",)])
def test_the_verdict_on_a_rate_is_printed_stored_and_the_exit_code(
    session: type[FakeSession], load: Load, outcome: SloOutcome, code: int, options: tuple[str, ...]
) -> None:
    verdict = SloVerdict(outcome=outcome, clause="p99<50ms", words="p99 was 187 ms")
    session.happens = (measured(error_rate=0.05), verdict)
    exit_code, stderr = load("--operation", "put", "--rate", "500", "--slo", "p99<50ms,errors<10%", *options)
    assert exit_code == code
    assert stderr.count(f"s3bench: {verdict.sentence}\n") == 1
    stored = parse_document(Path("results.json").read_bytes(), source="results.json").options
    assert stored["found"] == {"outcome": str(outcome), "clause": "p99<50ms", "words": verdict.sentence}
    assert stored["slo"] == "p99<50ms,errors<10%"


@pytest.mark.parametrize("options", [(), ("-q",)])
def test_an_interrupted_clean_up_says_which_objects_remain_and_how_to_delete_them(
    session: type[FakeSession], load: Load, options: tuple[str, ...]
) -> None:
    session.fault = KeyboardInterrupt()
    exit_code, stderr = load("--operation", "put", *options)
    assert exit_code == 130
    assert f"s3bench: objects of run {RUN} remain: s3bench load ... --clean-up {RUN} deletes them\n" in stderr


def test_a_run_that_reuses_another_writes_and_leaves_objects_of_its_own(session: type[FakeSession], load: Load) -> None:
    session.fault = KeyboardInterrupt()
    _, stderr = load("--mix", "get=1,put=1", "--reuse", FORMER)
    assert f"run {RUN} reads the objects of run {FORMER}, and writes under s3bench/{RUN}/ in bucket data\n" in stderr
    assert f"objects of run {RUN} remain: s3bench load ... --clean-up {RUN} deletes them\n" in stderr


def test_new_objects_that_are_kept_beside_a_reused_run_are_no_data_set(session: type[FakeSession], load: Load) -> None:
    session.happens = (measured(),)
    _, stderr = load("--mix", "get=1,put=1", "--reuse", FORMER, "--keep")
    assert f"s3bench: what run {RUN} wrote is kept: --clean-up {RUN} deletes it\n" in stderr


def test_a_server_that_answers_nothing_fails_the_run(session: type[FakeSession], load: Load) -> None:
    session.happens = (measured(operations=0, error_rate=None, unfinished=4),)
    code, stderr = load("--operation", "put", "-q")
    assert code == 1
    assert stderr == (
        "s3bench: put: no operation ended in the 10.0 s that were measured; 4 were still unfinished: check the "
        "endpoint, or pass a longer --duration\n"
    )


def test_a_phase_in_which_no_operation_was_begun_is_inconclusive(session: type[FakeSession], load: Load) -> None:
    session.happens = (measured(operations=0, error_rate=None, unfinished=0),)
    code, stderr = load("--operation", "put", "-q")
    assert code == 3
    assert stderr == (
        "s3bench: put: no operation ended in the 10.0 s that were measured; none was begun: pass a longer --duration, "
        "or a higher rate\n"
    )


def test_a_phase_that_failed_counts_more_than_one_in_which_none_was_begun(
    session: type[FakeSession], load: Load
) -> None:
    hanging = measured(operations=0, error_rate=None, unfinished=4)
    session.happens = (hanging, measured(operations=0, error_rate=None, unfinished=0))
    assert load("--operation", "put", "-q")[0] == 1


@pytest.mark.parametrize(
    ("count", "what", "them"),
    [
        (1, "1 write had no response, and its object may appear later", "it"),
        (1200, "1,200 writes had no response, and their objects may appear later", "them"),
    ],
)
def test_writes_that_had_no_response_are_told_with_what_deletes_them(
    session: type[FakeSession], load: Load, count: int, what: str, them: str
) -> None:
    session.happens, session.unanswered = (measured(),), count
    words = f"{what}: s3bench load ... --clean-up {RUN} deletes {them}"
    code, stderr = load("--operation", "put")
    assert (code, stderr.count(f"s3bench: {words}\n"), warnings_of("results.json")[-1]) == (0, 1, words)


@pytest.mark.parametrize(("options", "keeps"), [((), False), (("--csv", "seconds.csv"), True)])
def test_seconds_are_kept_only_for_csv(
    session: type[FakeSession], load: Load, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], keeps: bool
) -> None:
    asked: list[bool] = []

    def events(self: FakeSession) -> Iterator[Event]:
        asked.append(self.terms.keeps_rows)
        yield measured()

    monkeypatch.setattr(session, "events", events)
    load("--operation", "put", *options)
    assert asked == [keeps]


class Interrupted(StopSignal):
    """A stop that was asked for before anything ran."""

    def wait(self, limit_s: float) -> bool:  # noqa: ARG002 (it never waits)
        return True


def test_an_interrupted_search_is_recorded_although_some_rate_was_found(
    session: type[FakeSession], load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("s3bench.cli.load.action.StopSignal", Interrupted)
    session.happens = (measured(), found(10.0, "at least 10.0/s held; nothing higher was tried"))
    code, _ = load("--slo", "p99<50ms")
    assert code == 130
    assert warnings_of("results.json")[-1] == (
        "interrupted: the search for the highest rate ended early, without the rate that was being tried"
    )
    assert written("results.json").was_cut_short


def test_an_interrupted_run_at_a_rate_is_recorded_as_a_phase_and_not_as_a_search(
    session: type[FakeSession], load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("s3bench.cli.load.action.StopSignal", Interrupted)
    session.happens = (measured(),)
    code, _ = load("--slo", "p99<50ms", "--rate", "500")
    assert code == 130
    assert warnings_of("results.json")[-1] == (
        "interrupted: the phase that was running ended early, and those after it did not run"
    )
    assert written("results.json").was_cut_short
    assert 'errors="1"' in render_junit(written("results.json"))
    assert "\ns3bench_run_complete 0\n" in render_openmetrics(written("results.json"))


def test_an_error_is_recorded_in_a_document_that_has_results_already(
    session: type[FakeSession], load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    def events(_: FakeSession) -> Iterator[Event]:
        yield measured()
        raise MachineError("the objects to be read could not be written")

    monkeypatch.setattr(session, "events", events)
    code, _ = load("--operation", "put", "--loops", "4")
    assert code == 4
    assert warnings_of("results.json")[-1] == (
        "the run ended early, with 1 of 4 phases complete: the objects to be read could not be written"
    )
    assert written("results.json").was_cut_short


def test_a_loss_is_recorded_with_what_did_not_run(session: type[FakeSession], load: Load) -> None:
    session.happens = (measured(), measured(losses=("the phase ended early: load worker 1 ended",)))
    code, _ = load("--operation", "put", "--loops", "4")
    assert code == 4
    assert warnings_of("results.json")[-1] == (
        "the run ended early, with 1 of 4 phases complete: put: the phase ended early: load worker 1 ended"
    )
    assert written("results.json").was_cut_short


def test_a_clean_up_that_fails_after_the_last_phase_makes_no_early_end(session: type[FakeSession], load: Load) -> None:
    session.happens, session.fault = (measured(),), OSError("the server is gone")
    code, _ = load("--operation", "put")
    assert code == 4
    assert not any("ended early" in warning for warning in warnings_of("results.json"))
    assert not written("results.json").was_cut_short


@pytest.mark.parametrize("happens", [(), (measured(contradiction="nothing was measured"),)])
def test_where_nothing_was_measured_the_former_document_stays(
    session: type[FakeSession], load: Load, happens: tuple[Event, ...]
) -> None:
    Path("results.json").write_text("former", encoding="utf-8")
    session.happens = happens
    _, stderr = load("--operation", "put", "--force")
    assert Path("results.json").read_text(encoding="utf-8") == "former"
    assert "s3bench: nothing was measured, so results.json was not changed\n" in stderr


def test_a_former_document_is_replaced_by_the_first_measurement(session: type[FakeSession], load: Load) -> None:
    Path("results.json").write_text("former", encoding="utf-8")
    session.happens = (measured(),)
    assert load("--operation", "put", "--force", "-q") == (0, "")
    assert Path("results.json").read_text(encoding="utf-8").startswith("{")


def test_a_clean_up_needs_the_first_endpoint_alone(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    opened: list[tuple[str, ...]] = []

    def live_site(placement: Placement, _: object) -> Named:
        opened.append(placement.endpoint_urls)
        return Named(bucket=Named(remove_run=lambda run: f"removed all of {run}"))

    monkeypatch.setattr("s3bench.cli.load.action.live_site", live_site)
    urls = ("--endpoint-url", "http://127.0.0.1:9", "--endpoint-url", "http://127.0.0.1:10")
    monkeypatch.setattr("sys.argv", ["s3bench", "load", *urls, "-b", "data", "--clean-up", RUN])
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, opened) == (0, [("http://127.0.0.1:9",)])
    assert capfd.readouterr().out == f"s3bench: removed all of {RUN}\n"


def test_a_clean_up_that_finds_nothing_says_so_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    bucket = Named(name="data", remove_run=lambda _: CleanUpResult())
    monkeypatch.setattr("s3bench.cli.load.action.live_site", lambda *_: Named(bucket=bucket))
    live = ("--endpoint-url", "http://127.0.0.1:9", "-b", "data")
    monkeypatch.setattr("sys.argv", ["s3bench", "load", *live, "--clean-up", RUN])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert capfd.readouterr() == ("", f"s3bench: nothing under s3bench/{RUN}/ in bucket data: check the run ID\n")
