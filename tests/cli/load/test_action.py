"""How `s3bench load` ends: exit codes, what `-q` still prints, and what is printed when the clean-up is interrupted."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import pytest

from s3bench.cli.main import main
from s3bench.load.aggregation.phase_result import PhaseResult
from s3bench.load.engine.message import RequestTarget
from s3bench.load.operation import OperationKind
from s3bench.load.profile.placement import Placement
from s3bench.load.profile.profile import Job, Phase, Share
from s3bench.load.profile.sizes import fixed
from s3bench.load.session.bucket import CleanUpResult, LiveBucket
from s3bench.load.session.session import Event, Measured, Terms
from s3bench.load.session.site import Site
from s3bench.load.session.slo_search import HighestRate
from tests.load.fakepool import Named
from tests.report.loads import load as figures

RUN = "0123456789ab"


class FakeSession:
    """Has the `happens` of its class as events, without any process; its clean-up raises `fault` if there is one."""

    happens: tuple[Event, ...] = ()
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


@pytest.mark.parametrize("options", [(), ("-q",)])
def test_an_interrupted_clean_up_says_which_objects_remain_and_how_to_delete_them(
    session: type[FakeSession], load: Load, options: tuple[str, ...]
) -> None:
    session.fault = KeyboardInterrupt()
    exit_code, stderr = load("--operation", "put", *options)
    assert exit_code == 130
    assert f"s3bench: objects of run {RUN} remain: s3bench load ... --clean-up {RUN} deletes them\n" in stderr


def test_what_remains_of_a_reused_run_is_not_all_to_be_deleted(session: type[FakeSession], load: Load) -> None:
    session.fault = KeyboardInterrupt()
    _, stderr = load("--mix", "get=1,put=1", "--reuse", RUN)
    assert f"--clean-up {RUN} deletes them and the data set" in stderr


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
