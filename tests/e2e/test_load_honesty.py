"""The load generator's figures against a server that misbehaves on order and keeps the books."""

import contextlib
import itertools
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Self, TypeVar

import msgspec
import pytest

from s3bench.load.operation import AttemptFailure, OperationKind
from s3bench.load.profile.profile import Arrivals, Job, KeyDistribution, Manner, Rate, Share
from s3bench.load.profile.sizes import fixed
from s3bench.report.load.text import render_load
from s3bench.results.bins import suffices_for
from s3bench.results.document import Document, parse_document
from s3bench.results.histogram import Histogram
from s3bench.results.load import Latency, Load
from s3bench.s3.certificates import write_certificates
from s3bench.s3.emulator.settings import EmulatorSettings
from s3bench.s3.endpoint import EmulatorEndpoint
from s3bench.s3.network.model import parse_network
from tests.e2e.conftest import Emulators, Finished
from tests.load.faultyproxy import FaultyProxy
from tests.load.misbehaving import (
    NS,
    Cut,
    Delay,
    Exchange,
    Flip,
    Forward,
    Garble,
    HangUp,
    Ignore,
    Order,
    Plan,
    Refuse,
    Shorten,
    Stall,
    Swap,
    honest,
    sharing,
)
from tests.load.trial import BUCKET, Attempt, Trial, attempt, read_trace

KIB = 1024
GET = (Share(kind=OperationKind.GET),)
PUT = (Share(kind=OperationKind.PUT),)

REFUSALS = (
    (0.5, Refuse(status=500, code="InternalError")),
    (0.2, Refuse(status=503, code="SlowDown")),
    (0.1, Refuse(status=403, code="AccessDenied")),
    (0.1, Refuse(status=404, code="NoSuchKey")),
)
"""Nine of ten."""

SPOILERS: tuple[tuple[float, Order], ...] = (
    (0.05, Cut(share=0.5)),
    (0.05, Cut(share=0.0)),
    (0.05, Cut(share=0.999)),
    (0.05, Flip(share=0.0)),
    (0.05, Flip(share=0.4)),
    (0.05, Flip(share=1.0)),
    (0.05, Shorten(share=0.5)),
    (0.05, Swap()),
    (0.05, Garble()),
)
LABELS: dict[type[Order], str] = {
    Cut: AttemptFailure.TRUNCATED,
    Flip: AttemptFailure.CORRUPT,
    Swap: AttemptFailure.CORRUPT,
    Shorten: AttemptFailure.CORRUPT,
    Garble: AttemptFailure.PROTOCOL,
}


@pytest.fixture
def emulator(emulators: Emulators) -> Iterator[EmulatorEndpoint]:
    with emulators.armed(tls=False, settings=EmulatorSettings(buckets=(BUCKET,))) as emulator:
        yield emulator


@pytest.fixture
def proxy(emulator: EmulatorEndpoint) -> Iterator[FaultyProxy]:
    with FaultyProxy(emulator.host, emulator.port) as proxy:
        yield proxy


def reading(size_bytes: int, **changes: object) -> Job:
    settings = {"mix": GET, "sizes": fixed(size_bytes), "objects": 100, "threads": 8} | changes
    return msgspec.convert(settings, Job)


def counted(load: Load) -> dict[str, int]:
    return {each.label: each.count for each in load.failures}


class Books:
    """Makes a proxy obey a plan when the measurement begins, and holds its ledger."""

    def __init__(self, proxy: FaultyProxy, plan: Plan) -> None:
        self._proxy = proxy
        self._plan = plan
        self.ledger = proxy.ledger

    def __call__(self) -> None:
        self.ledger = self._proxy.obey(self._plan)


@pytest.fixture
def s3bench_load(
    s3bench: Callable[..., Finished], environment: dict[str, str], proxy: FaultyProxy
) -> Callable[..., Finished]:
    """Run `s3bench load` against the proxy; it gets its credentials as the AWS CLI would."""
    environment |= {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}

    def run(*arguments: str | Path) -> Finished:
        return s3bench("load", "--endpoint-url", proxy.url, "-b", BUCKET, "--json", *arguments)

    return run


def load_of(document: Document) -> Load:
    (result,) = document.results
    (measurement,) = result.measurements
    load = measurement.load
    assert load is not None
    assert measurement.throughput == (load.bytes_up + load.bytes_down) / measurement.total_time
    return load


def test_with_nine_of_ten_reads_refused_only_what_arrived_counts(
    s3bench_load: Callable[..., Finished], proxy: FaultyProxy
) -> None:
    ledger = proxy.obey(sharing(REFUSALS))
    finished = s3bench_load("--operation", "get", "-z", "64KiB", "--objects", "50", "-t", "8", "-d", "1s")
    assert finished.code == 1, finished.err
    document = parse_document(finished.out.encode(), source="stdout")
    load, asked, right = load_of(document), ledger.of("GET"), ledger.right("GET")
    assert len(right) < 0.11 * len(asked)
    assert load.unfinished is not None
    assert load.attempts + load.unfinished == len(asked)
    assert load.late is not None
    assert len(right) == load.operations + load.late
    assert load.bytes_down == load.operations * 64 * KIB
    assert load.error_rate == pytest.approx(0.9, abs=0.005)
    refused = Counter(label_of(each.order) for each in asked if not each.was_right)
    assert counted(load).keys() == refused.keys()
    assert all(refused[label] - 8 <= count <= refused[label] for label, count in counted(load).items())
    table = render_load(document, width=200, color=False)
    assert all(label in table for label in refused)


def test_whatever_goes_wrong_on_the_way_retries_bring_the_right_bytes(
    s3bench_load: Callable[..., Finished], proxy: FaultyProxy, tmp_path: Path
) -> None:
    spoilers = tuple((share / 3, order) for share, order in SPOILERS)
    ledger = proxy.obey(sharing([(0.1, Refuse()), (0.03, HangUp()), (0.03, Ignore()), *spoilers]))
    wanted = ("--operation", "get", "-z", "20KiB", "--objects", "300", "--operations", "300", "--keys", "sequential")
    finished = s3bench_load(*wanted, "-t", "16", "--workers", "2", "--retries", "10", "--trace", tmp_path / "trace")
    assert finished.code == 0, finished.err
    load, asked, right = (
        load_of(parse_document(finished.out.encode(), source="stdout")),
        ledger.of("GET"),
        ledger.right("GET"),
    )
    assert (load.operations, load.failed, load.bytes_down) == (300, 0, 300 * 20 * KIB)
    assert len(right) == 300
    unseen = load.attempts - len(asked)
    assert 0 <= unseen <= len(ledger.of("GET", HangUp))
    expected = Counter(label_of(each.order) for each in asked if not each.was_right and type(each.order) is not Ignore)
    found = counted(load)
    broken = found.pop(AttemptFailure.CLOSED, 0) + found.pop(AttemptFailure.RESET, 0)
    assert found == expected
    assert broken == len(ledger.of("GET", Ignore)) + unseen
    joined = tuple(read_trace(tmp_path / "trace", phase="get"))
    assert Counter(each.outcome for each in joined if not each.was_right) == counted(load)
    histogram = Histogram()
    histogram.add([each.ended_ns - each.started_ns for each in joined if each.was_right])
    assert histogram.bins() == load.bins


def test_retries_after_slow_down_are_counted_and_cost_the_time_they_took(proxy: FaultyProxy, tmp_path: Path) -> None:
    books = Books(proxy, sharing([(0.3, Refuse(status=503, code="SlowDown", delay_s=0.005))]))
    job = reading(4 * KIB, objects=400, operations=400, keys=KeyDistribution.SEQUENTIAL)
    manner = Manner(retries=3, backoff_s=0.02)
    trial = attempt(proxy.url, job, tmp_path, manner=manner, has_trace=True, before=books)
    load, asked, right = trial.result.whole, books.ledger.of("GET"), books.ledger.right("GET")
    (failures,) = load.failures
    assert (load.attempts, load.operations) == (len(asked), len(right))
    assert (failures.label, failures.count) == ("503 SlowDown", len(asked) - len(right))
    assert load.failed == 400 - len(right)
    assert (failures.retried, load.retried) == (failures.count - load.failed,) * 2
    assert failures.count > 120, "some were tried more than twice"
    assert failures.time_lost == pytest.approx(lost_by_trace_s(trial.attempts[0]), rel=1e-3)
    # The proxy sees each request a little after it was sent, the more so on a busy machine.
    assert abs(failures.time_lost - lost_by_ledger_s(asked)) < 0.01 * failures.time_lost + 0.004 * failures.count
    assert trial.result.contradiction == ""


def lost_by_trace_s(attempts: Iterable[Attempt]) -> float:
    """From the start of each failed attempt to the next one's, or to its end."""
    lost_ns = 0
    for tries in by(attempts, lambda each: each.number).values():
        tries.sort(key=lambda each: each.attempt)
        for failed, following in zip(tries, (*tries[1:], None), strict=True):
            if not failed.was_right:
                lost_ns += (following.started_ns if following else failed.ended_ns) - failed.started_ns
    return lost_ns / NS


def lost_by_ledger_s(exchanges: Iterable[Exchange]) -> float:
    """The same as the server saw it."""
    lost_ns = 0
    for tries in by(exchanges, lambda each: each.request.path).values():
        for failed, following in zip(tries, (*tries[1:], None), strict=True):
            if not failed.was_right:
                lost_ns += (following.arrived_ns if following else failed.answered_ns) - failed.arrived_ns
    return lost_ns / NS


_T = TypeVar("_T")


def by(each_of: Iterable[_T], key: Callable[[_T], object]) -> dict[object, list[_T]]:
    groups: dict[object, list[_T]] = {}
    for each in each_of:
        groups.setdefault(key(each), []).append(each)
    return groups


@pytest.mark.parametrize(
    ("tls", "kind", "size_bytes"),
    [
        (False, OperationKind.GET, 2 * KIB),
        (False, OperationKind.GET, 300 * KIB),
        (False, OperationKind.RANGE, 300 * KIB),
        pytest.param(True, OperationKind.GET, 2 * KIB, marks=pytest.mark.campaign),
        (True, OperationKind.GET, 300 * KIB),
    ],
)
def test_no_wrong_body_passes(
    emulator: EmulatorEndpoint, tmp_path: Path, tls: bool, kind: OperationKind, size_bytes: int
) -> None:
    certificate = write_certificates(tmp_path).server if tls else None
    ranged = {"mix": (Share(kind=kind),), "range_bytes": 100 * KIB} if kind is OperationKind.RANGE else {}
    with FaultyProxy(emulator.host, emulator.port, certificate=certificate) as proxy:
        books = Books(proxy, sharing(SPOILERS))
        trial = attempt(proxy.url, reading(size_bytes, operations=300, **ranged), tmp_path, before=books)
    load, asked, right = trial.result.whole, books.ledger.of("GET"), books.ledger.right("GET")
    assert {type(each.order) for each in asked} == {Forward, *LABELS}
    assert counted(load) == Counter(label_of(each.order) for each in asked if not each.was_right)
    assert (load.operations, load.attempts) == (len(right), len(asked))
    assert load.bytes_down == sum(each.bytes_down for each in right)
    assert trial.result.contradiction == ""


def label_of(order: Order) -> str:
    return f"{order.status} {order.code}" if isinstance(order, Refuse) else LABELS[type(order)]


def test_a_reset_in_the_middle_of_a_body_is_told_apart_from_its_end(proxy: FaultyProxy, tmp_path: Path) -> None:
    books = Books(proxy, sharing([(0.3, Cut(share=0.5, by_reset=True))]))
    load = attempt(proxy.url, reading(64 * KIB, operations=300), tmp_path, before=books).result.whole
    cut = books.ledger.of("GET", Cut)
    assert counted(load) == {AttemptFailure.RESET: len(cut)}
    assert load.bytes_down == sum(each.bytes_down for each in books.ledger.right("GET"))


def test_refused_writes_count_as_nothing_but_their_bytes_crossed(proxy: FaultyProxy, tmp_path: Path) -> None:
    books = Books(proxy, sharing([(0.3, Refuse())], method="PUT"))
    job = reading(20 * KIB, mix=PUT, operations=300)
    load = attempt(proxy.url, job, tmp_path, before=books).result.whole
    right = books.ledger.right("PUT")
    refused = books.ledger.of("PUT", Refuse)
    (failures,) = load.failures
    assert (failures.label, failures.count, load.operations) == ("503 SlowDown", len(refused), len(right))
    assert load.bytes_up == sum(each.bytes_up for each in right) == len(right) * 20 * KIB
    assert failures.body_bytes == sum(each.bytes_up + each.bytes_down for each in refused)


def test_an_error_inside_of_a_success_is_an_error(proxy: FaultyProxy, tmp_path: Path) -> None:
    books = Books(proxy, sharing([(0.3, Refuse(status=200, code="InternalError"))], method="PUT"))
    job = reading(4 * KIB, mix=(Share(kind=OperationKind.COPY),), operations=200)
    load = attempt(proxy.url, job, tmp_path, before=books).result.whole
    assert counted(load) == {"200 InternalError": len(books.ledger.of("PUT", Refuse))}
    assert load.operations == len(books.ledger.right("PUT"))


@pytest.mark.parametrize("order", [HangUp(), Ignore()])
def test_closed_connections_hide_no_request(proxy: FaultyProxy, tmp_path: Path, order: Order) -> None:
    books = Books(proxy, sharing([(0.3, order)]))
    load = attempt(proxy.url, reading(4 * KIB, operations=300), tmp_path, before=books).result.whole
    asked, right = books.ledger.of("GET"), books.ledger.right("GET")
    assert (load.operations, load.operations + load.failed) == (len(right), 300)
    assert load.attempts == 300 + load.retried
    # A request may have gone into a connection that was closed already: the server never saw it, and we count it.
    unseen = load.attempts - len(asked)
    assert set(counted(load)) <= {AttemptFailure.CLOSED, AttemptFailure.RESET}
    assert sum(counted(load).values()) == unseen + len(books.ledger.of("GET", Ignore))
    assert unseen == 0 if isinstance(order, Ignore) else 0 <= unseen <= len(books.ledger.of("GET", HangUp))
    assert load.connects == books.ledger.connections
    assert load.bytes_down == sum(each.bytes_down for each in right)


def test_what_is_in_flight_at_the_end_is_accounted_for(proxy: FaultyProxy, tmp_path: Path) -> None:
    books = Books(proxy, sharing([(1.0, Delay(delay_s=0.3))]))
    job = reading(4 * KIB, threads=4)
    trial = attempt(proxy.url, job, tmp_path, before=books, duration_s=0.75)
    load, asked = trial.result.whole, books.ledger.of("GET")
    assert (load.operations, load.unfinished, load.late) == (8, 4, 4)
    assert len(asked) == 12
    assert load.bytes_down == 8 * 4 * KIB
    assert trial.result.contradiction == ""


def test_a_server_that_does_not_answer_any_more_does_not_hold_up_the_end(proxy: FaultyProxy, tmp_path: Path) -> None:
    books = Books(proxy, sharing([(1.0, Delay(delay_s=0.8))]))
    job = reading(4 * KIB, threads=4)
    trial = attempt(proxy.url, job, tmp_path, manner=Manner(timeout_s=0.2), before=books, duration_s=0.7)
    load, (ended,) = trial.result.whole, trial.ended
    assert (load.operations, counted(load)) == (0, {AttemptFailure.TIMEOUT: 8})
    assert (load.unfinished, load.late, load.bytes_down) == (4, 0, 0)
    assert len(books.ledger.of("GET")) == 12
    assert ended.elapsed_ns == 0.7 * NS
    assert trial.result.contradiction == ""


def test_percentiles_and_merged_histograms_are_those_of_the_recorded_attempts(
    emulator: EmulatorEndpoint, tmp_path: Path
) -> None:
    emulator.arm(EmulatorSettings(buckets=(BUCKET,)), network=parse_network("ttfb=lognormal:2ms:6ms,seed=1"))
    job = reading(KIB, operations=4000, threads=32, rate=Rate(per_s=3500))
    trial = attempt(emulator.url, job, tmp_path, workers=2, has_trace=True)
    load, joined = trial.result.whole, tuple(itertools.chain(*trial.attempts))
    assert load.response is not None
    assert all(len(attempts) == 2000 for attempts in trial.attempts)
    for bins, latency, times_ns in (
        (load.bins, load.latency, [each.ended_ns - each.started_ns for each in joined]),
        (load.first_byte_bins, load.first_byte, [each.first_byte_ns - each.started_ns for each in joined]),
        (load.response_bins, load.response, [each.ended_ns - each.planned_ns for each in joined]),
    ):
        histogram = Histogram()
        histogram.add(times_ns)
        assert histogram.bins() == bins
        assert_percentiles(latency, times_ns)


def assert_percentiles(latency: Latency, times_ns: list[int]) -> None:
    """Within 0.5 % of the exact ones, by nearest rank; none is given that so few samples cannot carry."""
    ascending = sorted(times_ns)
    given = (latency.p25, latency.p50, latency.p75, latency.p90, latency.p99, latency.p999)
    for thousandths, value_s in zip((250, 500, 750, 900, 990, 999), given, strict=True):
        exact_ns = ascending[-(-len(ascending) * thousandths // 1000) - 1]
        expected = pytest.approx(exact_ns / NS, rel=0.005) if suffices_for(len(ascending), thousandths / 10) else None
        assert value_s == expected
    assert (latency.count, latency.min, latency.max) == (len(times_ns), min(times_ns) / NS, max(times_ns) / NS)


class Staller:
    """Stops a process for `length_s`, in a thread."""

    def __init__(self, pid: int, length_s: float) -> None:
        self._pid = pid
        self._length_s = length_s
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for thread in self._threads:
            thread.join()

    def begin(self) -> None:
        self._threads.append(threading.Thread(target=self._stall))
        self._threads[-1].start()

    def _stall(self) -> None:
        os.kill(self._pid, signal.SIGSTOP)
        try:
            time.sleep(self._length_s)  # the stall itself
        finally:
            os.kill(self._pid, signal.SIGCONT)


def stalled(emulator: EmulatorEndpoint, directory: Path, *, every_s: int, length_s: float, times: int) -> Trial:
    """Read from a server that stands still for `length_s` in every `every_s`, beginning a second after the start."""
    job = reading(KIB, threads=2, rate=Rate(per_s=150, arrivals=Arrivals.CONSTANT))
    with Staller(emulator.pid, length_s) as staller:
        return attempt(
            emulator.url,
            job,
            directory,
            duration_s=every_s * times,
            has_trace=True,
            meanwhile=lambda second: staller.begin() if second % every_s == 1 else None,
        )


def test_what_was_planned_and_never_begun_is_unfinished_too(emulator: EmulatorEndpoint, tmp_path: Path) -> None:
    job = reading(KIB, threads=4, rate=Rate(per_s=200, arrivals=Arrivals.CONSTANT))
    with Staller(emulator.pid, 1.5) as staller:
        trial = attempt(
            emulator.url, job, tmp_path, duration_s=2, meanwhile=lambda second: staller.begin() if second == 1 else None
        )
    load = trial.result.whole
    assert load.unfinished is not None
    assert load.operations + load.failed + load.unfinished == 400
    assert load.unfinished > 150
    assert any("planned operations had not started at the end" in warning for warning in trial.result.warnings)
    assert trial.result.contradiction == ""


def assert_stall_shows(trial: Trial, *, every_s: float, length_s: float, catching_up_s: float) -> None:
    """Starts are planned evenly: one planned in a stall waits for the rest of it, which is even from 0 to its length.

    So a share of (length - x) / every waits longer than x, and the percentile q is length - (1 - q) * every. While the
    server catches up afterwards others wait as well, and those of the stall longer, by no more than that takes.
    """
    load = trial.result.whole
    assert trial.result.contradiction == ""
    assert load.response is not None
    for found_s, expected_s in (
        (load.response.p90, length_s - 0.1 * every_s),
        (load.response.p99, length_s - 0.01 * every_s),
    ):
        assert found_s is not None
        assert 0.95 * expected_s <= found_s <= 1.05 * expected_s + catching_up_s
    assert load.latency.p99 is not None
    assert load.latency.p99 < 0.2 * length_s, "by service times alone, hardly anything has happened"


def catching_up_s(attempts: Iterable[Attempt], length_s: float) -> float:
    """How long after the stall the last of those ended that had been planned before the backlog was gone."""
    ordered = sorted(attempts, key=lambda each: each.started_ns)
    stall_end_ns = next(each.ended_ns for each in ordered if each.ended_ns - each.started_ns > 0.9 * length_s * NS)
    backlog = itertools.takewhile(
        lambda each: each.started_ns - each.planned_ns > NS // 1000,
        (each for each in ordered if each.started_ns >= stall_end_ns),
    )
    return (max((each.ended_ns for each in backlog), default=stall_end_ns) - stall_end_ns) / NS


def test_a_stall_shows_in_the_response_times_of_all_that_was_planned_in_it(
    emulator: EmulatorEndpoint, tmp_path: Path
) -> None:
    trial = stalled(emulator, tmp_path, every_s=3, length_s=0.6, times=1)
    (attempts,) = trial.attempts
    late_s = catching_up_s(attempts, 0.6)
    assert_stall_shows(trial, every_s=3, length_s=0.6, catching_up_s=late_s)
    assert sorted(each.planned_ns for each in attempts) == [round(number * NS / 150 - 0.5) for number in range(450)]
    assert trial.result.whole.response is not None
    assert_percentiles(trial.result.whole.response, [each.ended_ns - each.planned_ns for each in attempts])


def test_a_closed_loop_that_hangs_at_its_end_is_believed(emulator: EmulatorEndpoint, tmp_path: Path) -> None:
    with Staller(emulator.pid, 0.8) as staller:
        trial = attempt(
            emulator.url,
            reading(KIB, threads=4),
            tmp_path,
            duration_s=1.5,
            meanwhile=lambda second: staller.begin() if second == 1 else None,
        )
    load = trial.result.whole
    assert (trial.result.contradiction, load.unfinished, load.late) == ("", 4, 4)
    assert load.latency.max is not None
    assert load.latency.max < 0.4, "what hung is not among those that ended in time"


@pytest.mark.campaign
@pytest.mark.timeout(120)
def test_a_stall_of_two_seconds_in_every_ten(emulator: EmulatorEndpoint, tmp_path: Path) -> None:
    trial = stalled(emulator, tmp_path, every_s=10, length_s=2, times=3)
    assert_stall_shows(trial, every_s=10, length_s=2, catching_up_s=0)
    assert trial.result.whole.operations == 150 * 30
    assert len(trial.result.whole.stalls) >= 3, "seconds in which nothing ended are marked"


@pytest.mark.campaign
@pytest.mark.timeout(120)
def test_the_same_stall_by_the_command(s3bench_load: Callable[..., Finished], proxy: FaultyProxy) -> None:
    proxy.obey(honest, stall=Stall(every_s=10, length_s=2))
    wanted = ("--operation", "get", "-z", "1KiB", "--objects", "50", "--rate", "50", "--arrivals", "constant")
    finished = s3bench_load(*wanted, "-t", "2", "--workers", "1", "-d", "20s")
    assert finished.code == 0, finished.err
    load = load_of(parse_document(finished.out.encode(), source="stdout"))
    assert load.response is not None
    assert load.response.p90 == pytest.approx(1.0, rel=0.05)
    assert load.response.p99 == pytest.approx(1.9, rel=0.05)
    assert load.latency.p99 is not None
    assert load.latency.p99 < 0.2
    assert load.operations == 1000


def test_an_outage_shows_in_seconds_and_counts_and_the_run_ends_on_time(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    settings = EmulatorSettings(buckets=(BUCKET,))
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(EmulatorEndpoint(directory=tmp_path / "first"))
        first.arm(settings)

        def meanwhile(second: int) -> None:
            if second == 1:
                os.kill(first.pid, signal.SIGKILL)
            elif second == 2:
                again = stack.enter_context(EmulatorEndpoint(directory=tmp_path / "second", port=first.port))
                again.arm(settings)

        job = reading(4 * KIB, mix=PUT)
        trial = attempt(first.url, job, tmp_path, duration_s=4, meanwhile=meanwhile)
    load, (ended,) = trial.result.whole, trial.ended
    before, outage, *_, after = load.seconds[:4]
    assert ended.elapsed_ns == 4 * NS
    assert outage.operations < 0.3 * before.operations
    assert outage.failures > 0
    assert after.operations > 0
    assert AttemptFailure.REFUSED in counted(load)
    assert set(counted(load)) <= {
        AttemptFailure.REFUSED,
        AttemptFailure.RESET,
        AttemptFailure.CLOSED,
        AttemptFailure.TRUNCATED,
        "404 NoSuchBucket",
    }
    assert load.failed == sum(each.failures for each in load.seconds) - load.retried
    assert load.operations == sum(each.operations for each in load.seconds)
    assert trial.result.contradiction == ""
