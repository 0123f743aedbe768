"""A session's order of events: data sets, phases, loops, calibration, the search for a search, and the end."""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from s3bench.errors import BadInput, MachineError
from s3bench.load.aggregation.phase_aggregation import PhaseAggregation
from s3bench.load.aggregation.slo import SloVerdict, parse_slo
from s3bench.load.engine.message import BeginPhase, PhaseEnded, RequestTarget, WorkerLost
from s3bench.load.engine.objects import FAR
from s3bench.load.operation import OperationKind
from s3bench.load.profile.profile import Job, Phase, Profile, Rate, Share
from s3bench.load.profile.sizes import fixed
from s3bench.load.session.bucket import CleanUpResult, LiveBucket
from s3bench.load.session.session import Beginning, Event, Measured, Session, Terms
from s3bench.load.session.site import Site
from s3bench.load.session.slo_search import HighestRate
from tests.load.fakepool import FakePool, Told, doing
from tests.load.simulated import NS, Operation, endings, records

RUN = "0123456789ab"
FORMER = "ba9876543210"
TARGET = RequestTarget(addresses=(("127.0.0.1", 9),), hosts=("127.0.0.1:9",), bucket="data")
SIZES = fixed(1000)


class FakeBucket:
    """A bucket that has `there` objects wherever one looks."""

    name = "data"

    def __init__(self, there: int = 0) -> None:
        self.there = there
        self.removed: list[str] = []

    def gapless(self, root: str) -> int:
        assert root.startswith((f"s3bench/{RUN}/", f"s3bench/{FORMER}/"))
        return self.there

    def write_key_file(self, prefix: str, path: Path, *, keys_max: int) -> int:
        assert self.there <= keys_max
        path.write_text("".join(f"{prefix}{number}\t1000\n" for number in range(self.there)), encoding="utf-8")
        return self.there

    def remove_run(self, run: str) -> CleanUpResult:
        self.removed.append(run)
        return CleanUpResult(objects=3)


@pytest.fixture
def pools(monkeypatch: pytest.MonkeyPatch) -> list[FakePool]:
    """The pools that sessions and calibrations started."""
    started: list[FakePool] = []

    def start(workers: int, *, directory: Path) -> FakePool:
        started.append(FakePool(workers, directory=directory))
        return started[-1]

    monkeypatch.setattr("s3bench.load.session.session.WorkerPool", start)
    monkeypatch.setattr("s3bench.load.session.calibration.WorkerPool", start)
    return started


def job(*kinds: OperationKind, **more: object) -> Job:
    mix = tuple(Share(kind=kind) for kind in kinds)
    return msgspec.structs.replace(Job(mix=mix, sizes=SIZES, operations=10, objects=20), **more)


def phase(name: str, *kinds: OperationKind, **more: object) -> Phase:
    return Phase(name=name, jobs=(job(*kinds, **more),))


def session_of(
    directory: Path, *phases: Phase, bucket: FakeBucket | None = None, loops: int = 1, **terms: Any
) -> Session:
    site = Site(
        urls=("http://127.0.0.1:9",), target=TARGET, bucket=cast("LiveBucket", bucket or FakeBucket()), is_emulated=True
    )
    profile = Profile(phases=phases, loops=loops)
    return Session(site, profile, Terms(workers=1, run=RUN, **terms), directory=directory)


def told(events: Iterable[Event]) -> Iterator[str]:
    """The events in words, the seconds left out."""
    for event in events:
        match event:
            case Beginning():
                yield f"{event.number}/{event.count}: {event.name}" if event.number else event.name
            case Measured():
                yield f"measured {event.phase.name} in loop {event.loop}"
            case HighestRate():
                yield "found"
            case SloVerdict():
                yield event.sentence


def test_the_data_set_is_written_once_and_every_loop_has_every_phase(pools: list[FakePool], tmp_path: Path) -> None:
    phases = (phase("read", OperationKind.GET), phase("", OperationKind.HEAD, OperationKind.GET))
    with session_of(tmp_path, *phases, loops=2) as session:
        assert list(told(session.events())) == [
            "writing 20 objects of 1000B",
            "1/4: read",
            "measured read in loop 0",
            "2/4: mixed",
            "measured mixed in loop 0",
            "3/4: read",
            "measured read in loop 1",
            "4/4: mixed",
            "measured mixed in loop 1",
        ]
        [pool] = pools
        assert pool.is_open
        assert pool.directory == tmp_path / "pool"
    assert not pool.is_open


def test_phases_that_nothing_else_tells_apart_have_their_names_as_dimension(
    pools: list[FakePool], tmp_path: Path
) -> None:
    phases = (
        phase("one", OperationKind.PUT),
        msgspec.structs.replace(phase("two", OperationKind.PUT), dimensions=({"size": "1 KiB"},)),
    )
    with session_of(tmp_path, *phases) as session:
        measured = [event.phase.dimensions for event in session.events() if isinstance(event, Measured)]
    assert measured == [({"phase": "one"},), ({"size": "1 KiB"},)]
    (tmp_path / "alone").mkdir()
    with session_of(tmp_path / "alone", phase("one", OperationKind.PUT)) as session:
        assert [event.phase.dimensions for event in session.events() if isinstance(event, Measured)] == [()]
    assert len(pools) == 2


def test_what_the_user_ends_ends_with_what_was_measured(pools: list[FakePool], tmp_path: Path) -> None:
    asked = iter([*[False] * 4, *[True] * 99])
    phases = (phase("one", OperationKind.PUT), phase("two", OperationKind.PUT))
    with session_of(tmp_path, *phases, is_over=lambda: next(asked)) as session:
        assert list(told(session.events())) == ["1/2: one", "measured one in loop 0"]
    assert pools[0].names == ["one"]


def test_an_end_while_the_data_set_is_written_begins_no_phase(pools: list[FakePool], tmp_path: Path) -> None:
    asked = iter([False, *[True] * 99])
    with session_of(tmp_path, phase("read", OperationKind.GET), is_over=lambda: next(asked)) as session:
        assert list(told(session.events())) == ["writing 20 objects of 1000B"]
    assert pools[0].stops == 1


def losing(order: BeginPhase) -> Iterator[Told]:
    """Does its part, and is lost before it says how it ended."""
    *seconds, _ = doing(order)
    yield from seconds
    yield WorkerLost(node=0, why="its machine burnt")


def test_a_loss_ends_the_run_with_what_was_measured_and_what_was_written_is_removed(
    pools: list[FakePool], tmp_path: Path
) -> None:
    bucket = FakeBucket()
    phases = (phase("one", OperationKind.PUT), phase("two", OperationKind.PUT))
    with session_of(tmp_path, *phases, bucket=bucket, loops=2) as session:
        pools[0].answer = losing
        events = list(session.events())
    assert list(told(events)) == ["1/4: one", "measured one in loop 0"]
    [measured] = [event for event in events if isinstance(event, Measured)]
    assert measured.result.losses == (
        "node-1 was lost: its machine burnt; from second 1 on the figures are without it",
    )
    assert measured.result.whole.operations == 10
    session.clean_up()
    assert bucket.removed == [RUN]


def failing_after(order: BeginPhase, *, records: int) -> Iterator[Told]:
    """Does its part for so many records, and then its worker dies."""
    yield from itertools.islice(doing(order, seconds=2), records)
    raise MachineError("load worker 0 ended with exit code -9", "it wrote nothing to stderr", "run again")


def test_a_worker_that_dies_ends_the_run_with_what_was_measured(pools: list[FakePool], tmp_path: Path) -> None:
    phases = (phase("one", OperationKind.PUT), phase("two", OperationKind.PUT))
    with session_of(tmp_path, *phases, loops=2) as session:
        pools[0].answer = lambda order: doing(order) if len(pools[0].begun) == 1 else failing_after(order, records=1)
        events = list(session.events())
    assert list(told(events)) == ["1/4: one", "measured one in loop 0", "2/4: two", "measured two in loop 0"]
    whole, cut = [event.result for event in events if isinstance(event, Measured)]
    assert (whole.losses, whole.whole.operations) == ((), 10)
    assert cut.losses == (
        "the phase ended early: load worker 0 ended with exit code -9; it wrote nothing to stderr; run again",
    )
    assert (cut.whole.operations, cut.window_s) == (5, 1.0)


def test_a_worker_that_dies_before_anything_was_measured_is_an_error(pools: list[FakePool], tmp_path: Path) -> None:
    with session_of(tmp_path, phase("one", OperationKind.PUT)) as session:
        pools[0].answer = functools.partial(failing_after, records=0)
        with pytest.raises(MachineError, match="load worker 0 ended with exit code -9"):
            list(session.events())


def test_a_loss_ends_the_search_without_an_answer(pools: list[FakePool], tmp_path: Path) -> None:
    putting = msgspec.structs.replace(phase("write", OperationKind.PUT, operations=None), duration_s=2.0)
    closed = serving(1e12)
    with session_of(tmp_path, putting, slo=parse_slo("errors<1%")) as session:
        pools[0].answer = lambda order: losing(order) if order.phase.jobs[0].rate else closed(order)
        assert list(told(session.events())) == [
            "a closed loop, to find the first rate",
            "1/None: 100.0 operations/s",
            "measured 100.0 operations/s in loop 0",
        ]


def test_a_loss_while_the_data_set_is_written_ends_the_run(pools: list[FakePool], tmp_path: Path) -> None:
    with session_of(tmp_path, phase("read", OperationKind.GET)) as session:
        pools[0].answer = losing
        with pytest.raises(MachineError, match="the objects to be read could not be written") as raised:
            list(session.events())
    assert "its machine burnt" in raised.value.why


def test_the_site_has_its_turn_every_second_and_a_phase_knows_when_it_began(
    pools: list[FakePool], tmp_path: Path
) -> None:
    turns: list[int] = []
    site = Site(
        urls=(), target=TARGET, bucket=cast("LiveBucket", FakeBucket()), every_second=lambda: turns.append(len(turns))
    )
    noon = datetime(2026, 11, 24, 12, tzinfo=UTC)
    with Session(
        site,
        Profile(phases=(phase("w", OperationKind.PUT),)),
        Terms(workers=1, run=RUN),
        directory=tmp_path,
        now=lambda: noon,
    ) as session:
        pools[0].answer = lambda order: doing(order, seconds=3)
        events = list(session.events())
    assert sum(isinstance(event, PhaseAggregation) for event in events) == 3
    assert turns == [0, 1, 2]
    assert [event.started_at for event in events if isinstance(event, Measured)] == [noon]


# Objects that are there.


def test_a_run_that_is_used_again_is_read_and_only_what_is_new_removed(pools: list[FakePool], tmp_path: Path) -> None:
    bucket = FakeBucket(there=20)
    with session_of(
        tmp_path, phase("write", OperationKind.GET, OperationKind.PUT), bucket=bucket, reused=FORMER
    ) as session:
        assert list(told(session.events())) == ["1/1: write", "measured write in loop 0"]
    assert pools[0].names == ["write"]
    [prepared] = pools[0].prepared
    assert (prepared.data.run, prepared.data.root) == (FORMER, f"s3bench/{FORMER}/")
    assert prepared.new_root == f"s3bench/{RUN}/"
    assert str(session.clean_up()) == "removed 3 objects"
    assert bucket.removed == [RUN]


@pytest.mark.usefixtures("pools")
def test_a_run_of_our_own_is_removed_whole(tmp_path: Path) -> None:
    bucket = FakeBucket()
    with session_of(tmp_path, phase("read", OperationKind.GET), bucket=bucket) as session:
        list(session.events())
    session.clean_up()
    assert bucket.removed == [RUN]


@pytest.mark.usefixtures("pools")
def test_where_nothing_was_written_the_server_is_not_asked_to_remove_anything(tmp_path: Path) -> None:
    bucket = FakeBucket(there=20)
    with session_of(tmp_path, phase("read", OperationKind.GET), bucket=bucket, reused=FORMER) as session:
        list(session.events())
    assert str(session.clean_up()) == "removed 0 objects"
    assert bucket.removed == []


def test_a_run_without_such_objects_cannot_be_used_again(pools: list[FakePool], tmp_path: Path) -> None:
    complaint = f"run {FORMER} has no objects of these sizes in bucket 'data'"
    with pytest.raises(BadInput, match=complaint):  # noqa: SIM117 (the raising)
        with session_of(tmp_path, phase("read", OperationKind.GET), reused=FORMER):
            pass
    assert not pools[0].is_open


def test_what_is_no_name_of_a_run_is_refused_before_workers_start(pools: list[FakePool], tmp_path: Path) -> None:
    site = Site(urls=(), target=TARGET, bucket=cast("LiveBucket", FakeBucket()))
    terms = Terms(workers=1, run=RUN, reused="../..")
    with pytest.raises(BadInput, match="is not a run ID"):
        Session(site, Profile(phases=()), terms, directory=tmp_path).__enter__()
    assert pools == []


def test_listed_objects_are_read_instead_of_our_own(pools: list[FakePool], tmp_path: Path) -> None:
    listed = phase("read", OperationKind.GET, objects=None)
    with session_of(tmp_path, listed, bucket=FakeBucket(there=7), existing="data/") as session:
        assert list(told(session.events())) == ["1/1: read", "measured read in loop 0"]
    [prepared] = pools[0].prepared
    assert prepared.data.key_file == str(tmp_path / "keys")
    assert pools[0].begun[0].phase.jobs[0].objects == 7
    (tmp_path / "none").mkdir()
    with pytest.raises(BadInput, match="there are no objects under 'data/'"):
        session_of(tmp_path / "none", listed, existing="data/").__enter__()


def test_a_key_file_is_read_instead_of_our_own(pools: list[FakePool], tmp_path: Path) -> None:
    keys = tmp_path / "named"
    keys.write_text("a\nb\nc\n", encoding="utf-8")
    with session_of(tmp_path, phase("read", OperationKind.GET, objects=None), key_file=keys) as session:
        list(session.events())
    assert pools[0].prepared[0].data.key_file == str(keys)
    assert pools[0].begun[0].phase.jobs[0].objects == 3


# Calibration, and the search for a search.


def test_what_calibrating_writes_is_no_data_set_and_is_removed(pools: list[FakePool], tmp_path: Path) -> None:
    bucket = FakeBucket()
    phases = (phase("write", OperationKind.PUT), phase("read", OperationKind.GET, objects=None))
    with session_of(tmp_path, *phases, bucket=bucket, calibrates=True) as session:
        list(itertools.takewhile(lambda event: not isinstance(event, Measured), session.events()))
        alone, written = pools[0].begun
        session.clean_up()
    assert (alone.phase.jobs[0].threads, alone.first_numbers[0] >= FAR) == (1, True)
    assert (written.phase.name, written.first_numbers) == ("write", (0,))
    assert bucket.removed == [RUN]


def test_several_jobs_are_calibrated_against_the_null_server_alone(pools: list[FakePool], tmp_path: Path) -> None:
    both = Phase(name="both", jobs=(job(OperationKind.GET), job(OperationKind.PUT)), duration_s=1.0)
    with session_of(tmp_path, both, calibrates=True) as session:
        assert list(told(session.events())) == [
            "calibrating: this machine against a server that does nothing",
            "writing 20 objects of 1000B",
            "1/1: both",
            "measured both in loop 0",
        ]
    assert len(pools) == 2


def test_a_phase_is_calibrated_once_however_often_it_runs(pools: list[FakePool], tmp_path: Path) -> None:
    with session_of(tmp_path, phase("read", OperationKind.GET), loops=2, calibrates=True) as session:
        events = list(session.events())
    assert list(told(events)) == [
        "calibrating: this machine against a server that does nothing",
        "writing 20 objects of 1000B",
        "calibrating: one request at a time",
        "1/2: read",
        "measured read in loop 0",
        "2/2: read",
        "measured read in loop 1",
    ]
    measured = [event for event in events if isinstance(event, Measured)]
    assert all(event.result.whole.ceiling for event in measured)
    assert len(pools) == 2
    assert not any(pool.is_open for pool in pools)


def serving(limit_per_s: float, *, closed_per_s: float = 400.0) -> Callable[[BeginPhase], Iterable[Told]]:
    """Does what is planned, up to a rate beyond which half of it fails; `closed_per_s` in closed loop."""

    def answer(order: BeginPhase) -> Iterable[Told]:
        [job] = order.phase.jobs
        rate = job.rate.per_s if job.rate else closed_per_s
        seconds = order.phase.duration_s or 1.0
        count = round(rate * seconds)
        planned = msgspec.structs.replace(job, operations=count)
        failing = count // 2 if job.rate and rate > limit_per_s else 0
        return doing(
            msgspec.structs.replace(order, phase=msgspec.structs.replace(order.phase, jobs=(planned,))),
            seconds=seconds,
            failing=failing,
        )

    return answer


def test_the_search_does_not_go_beyond_what_the_workers_can_start(
    pools: list[FakePool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("s3bench.load.session.session.RATE_PER_WORKER_MAX", 900.0)
    reading = msgspec.structs.replace(phase("read", OperationKind.GET, operations=None), duration_s=2.0)
    with session_of(tmp_path, reading, slo=parse_slo("errors<1%")) as session:
        pools[0].answer = serving(1e12)
        found = list(session.events())[-1]
    assert isinstance(found, HighestRate)
    assert found.rate_per_s == 900.0


def test_the_search_begins_below_what_a_closed_loop_reaches_and_ends_at_the_limit(
    pools: list[FakePool], tmp_path: Path
) -> None:
    reading = msgspec.structs.replace(phase("read", OperationKind.GET, operations=None), duration_s=2.0)
    with session_of(tmp_path, reading, slo=parse_slo("errors<1%")) as session:
        pools[0].answer = serving(300.0)
        events = list(session.events())
    words = list(told(events))
    assert words[:3] == [
        "writing 20 objects of 1000B",
        "a closed loop, to find the first rate",
        "1/None: 100.0 operations/s",
    ]
    assert [each.phase.dimensions[0]["step"] for each in events if isinstance(each, Measured)][:2] == ["1", "2"]
    found = events[-1]
    assert isinstance(found, HighestRate)
    assert found.rate_per_s == pytest.approx(300.0, rel=0.06)
    assert found.is_limit


def test_a_rate_of_the_search_is_measured_after_its_ramp_and_the_closed_loop_has_none(
    pools: list[FakePool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("s3bench.load.session.session.RATE_PER_WORKER_MAX", 300.0)
    reading = msgspec.structs.replace(phase("read", OperationKind.GET, operations=None), duration_s=6.0, ramp_s=1.5)
    with session_of(tmp_path, reading, slo=parse_slo("errors<1%")) as session:
        pools[0].answer = serving(1e12)
        events = list(session.events())
    _, guess, *steps = (order.phase for order in pools[0].begun)
    assert (guess.name, guess.ramp_s, guess.warmup_s) == ("closed loop", 0.0, 0.0)
    assert {(step.ramp_s, step.warmup_s) for step in steps} == {(1.5, 1.5)}
    planned = [event.result.whole.rate_planned for event in events if isinstance(event, Measured)]
    assert planned == [100.0, 200.0, 300.0]
    found = events[-1]
    assert isinstance(found, HighestRate)
    assert found.rate_per_s == 300.0


def test_a_search_without_enough_operations_goes_up_and_ends_undecided(
    pools: list[FakePool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("s3bench.load.session.session.RATE_PER_WORKER_MAX", 8.0)
    reading = msgspec.structs.replace(phase("read", OperationKind.GET, operations=None), duration_s=2.0)
    with session_of(tmp_path, reading, slo=parse_slo("p50<10s,errors<0.1%")) as session:
        pools[0].answer = serving(1e12, closed_per_s=8.0)
        events = list(session.events())
    rates = [order.phase.jobs[0].rate.per_s for order in pools[0].begun if order.phase.jobs[0].rate]
    assert rates == [2.0, 4.0, 8.0]
    found = events[-1]
    assert isinstance(found, HighestRate)
    assert (found.rate_per_s, found.is_undecided) == (None, True)
    assert "errors<0.1% needs 3,000 operations" in found.words


def test_a_search_against_a_server_that_answers_nothing_tries_no_higher_rate(
    pools: list[FakePool], tmp_path: Path
) -> None:
    def hanging(order: BeginPhase) -> Iterator[Told]:
        end_ns = 2 * NS
        begun = [Operation(start_ns=number, end_ns=2 * end_ns, kind=OperationKind.PUT) for number in range(4)]
        yield from records(begun, end_ns=end_ns)
        yield from endings(begun, end_ns=end_ns)

    putting = msgspec.structs.replace(phase("write", OperationKind.PUT, operations=None), duration_s=2.0)
    closed = serving(1e12, closed_per_s=64.0)
    with session_of(tmp_path, putting, slo=parse_slo("p50<10s")) as session:
        pools[0].answer = lambda order: hanging(order) if order.phase.jobs[0].rate else closed(order)
        events = list(session.events())
    rates = [order.phase.jobs[0].rate.per_s for order in pools[0].begun if order.phase.jobs[0].rate]
    assert rates[:3] == [16.0, 8.0, 4.0]
    assert max(rates) == 16.0
    found = events[-1]
    assert isinstance(found, HighestRate)
    assert (found.rate_per_s, found.is_undecided) == (None, False)


def rated(pools: list[FakePool], directory: Path, answer: Callable[[BeginPhase], Iterable[Told]]) -> list[str]:
    """What is told of one run of 2 s at 2,000 operations a second with limits."""
    putting = msgspec.structs.replace(
        phase("write", OperationKind.PUT, operations=None, rate=Rate(per_s=2000.0)), duration_s=2.0
    )
    with session_of(directory, putting, slo=parse_slo("p99<1s,errors<1%")) as session:
        pools[0].answer = answer
        return list(told(session.events()))


@pytest.mark.parametrize(
    ("limit_per_s", "verdict"),
    [
        (2000.0, "p99<1s,errors<1% held"),
        (1999.0, "errors<1% did not hold: 2,000 of 4,000 operations failed"),
    ],
)
def test_a_rate_of_the_users_is_run_once_and_has_a_verdict(
    pools: list[FakePool], tmp_path: Path, limit_per_s: float, verdict: str
) -> None:
    assert rated(pools, tmp_path, serving(limit_per_s)) == ["1/1: write", "measured write in loop 0", verdict]


def test_a_rate_of_which_a_part_is_lost_has_no_verdict(pools: list[FakePool], tmp_path: Path) -> None:
    assert rated(pools, tmp_path, losing) == ["1/1: write", "measured write in loop 0"]


def test_a_rate_that_was_interrupted_has_no_verdict(pools: list[FakePool], tmp_path: Path) -> None:
    over: list[bool] = []

    def answer(order: BeginPhase) -> Iterable[Told]:
        over.append(True)
        return serving(2000.0)(order)

    putting = msgspec.structs.replace(
        phase("write", OperationKind.PUT, operations=None, rate=Rate(per_s=2000.0)), duration_s=2.0
    )
    with session_of(tmp_path, putting, slo=parse_slo("p99<1s,errors<1%"), is_over=lambda: bool(over)) as session:
        pools[0].answer = answer
        assert list(told(session.events())) == ["1/1: write", "measured write in loop 0"]


def interrupted_search(pools: list[FakePool], directory: Path, *, at: str) -> list[Event]:
    """A search up to 300 operations a second, without a rate to begin with, interrupted while `at` runs."""
    over: list[bool] = []

    def answer(order: BeginPhase) -> Iterable[Told]:
        if order.phase.name.startswith(at):
            over.append(True)
        return serving(300.0)(order)

    reading = msgspec.structs.replace(phase("read", OperationKind.GET, operations=None), duration_s=2.0)
    with session_of(directory, reading, slo=parse_slo("errors<1%"), is_over=lambda: bool(over)) as session:
        pools[0].answer = answer
        return list(session.events())


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ("writing", ["writing 20 objects of 1000B"]),
        ("closed loop", ["writing 20 objects of 1000B", "a closed loop, to find the first rate", "found"]),
    ],
)
def test_an_interrupted_search_begins_nothing_more(
    pools: list[FakePool], tmp_path: Path, at: str, words: list[str]
) -> None:
    assert list(told(interrupted_search(pools, tmp_path, at=at))) == words


def test_the_rate_at_which_a_search_was_interrupted_has_no_verdict(pools: list[FakePool], tmp_path: Path) -> None:
    events = interrupted_search(pools, tmp_path, at="400.0")
    assert [each.phase.name for each in events if isinstance(each, Measured)][-1] == "400.0 operations/s"
    found = events[-1]
    assert isinstance(found, HighestRate)
    assert (found.rate_per_s, found.is_limit) == (200.0, False)
    assert found.words.startswith("at least 200.0/s held; nothing higher was tried")


def test_writes_without_a_response_are_counted_over_the_whole_run(pools: list[FakePool], tmp_path: Path) -> None:
    def answer(order: BeginPhase) -> Iterator[Told]:
        for each in doing(order):
            yield msgspec.structs.replace(each, unanswered=2) if isinstance(each, PhaseEnded) else each

    with session_of(tmp_path, phase("read", OperationKind.GET, OperationKind.PUT), loops=2) as session:
        pools[0].answer = answer
        assert session.unanswered == 0
        list(session.events())
        assert session.unanswered == 6


def test_the_prefix_of_listed_objects_is_what_a_list_lists(pools: list[FakePool], tmp_path: Path) -> None:
    listed = phase("list", OperationKind.LIST, objects=None)
    with session_of(tmp_path, listed, bucket=FakeBucket(there=7), existing="data/") as session:
        list(session.events())
    assert pools[0].prepared[0].data.existing == "data/"


def test_seconds_are_kept_only_where_they_are_wanted(pools: list[FakePool], tmp_path: Path) -> None:
    def rows(*, keeps_rows: bool) -> list[int]:
        directory = tmp_path / str(keeps_rows)
        directory.mkdir()
        kept: list[int] = []
        with session_of(directory, phase("write", OperationKind.PUT), keeps_rows=keeps_rows) as session:
            pools[-1].answer = lambda order: doing(order, seconds=2)
            for event in session.events():
                if isinstance(event, PhaseAggregation):
                    kept.extend(second.second for _, second in event.take_rows())
        return kept

    assert rows(keeps_rows=True) == [0, 1]
    assert rows(keeps_rows=False) == []
