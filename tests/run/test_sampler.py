from array import array
from collections.abc import Callable
from typing import Any, cast

import pytest

from s3bench.run import sampler as sampler_module
from s3bench.run.sample_loop import LoopSamples, SampleLoop
from s3bench.run.sampler import Sampler
from s3bench.run.tree import ProcTree

MS = 1_000_000


class Clock:
    """Wall and CPU time that pass only when told to."""

    def __init__(self) -> None:
        self.now = 1000 * MS
        self.used = 0

    def sleep_until(self, due_ns: int) -> None:
        self.now = max(self.now, due_ns)


class FakeTree(ProcTree):
    """A process tree whose figures are set by hand."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.process_count = 0
        self.adopted: list[int] = []
        self.born: list[int] = []
        self.used_when_adopted: dict[int, int] = {}
        self.rss = 10
        self.cpu = 0
        self.read_costs: list[int] = []
        self.on_read: Callable[[], None] = lambda: None

    def has_grown(self) -> bool:
        return True

    def unknown(self) -> list[int]:
        return [pid for pid in self.born if pid not in self.adopted]

    def adopt(self, pid: int) -> int:
        self.adopted.append(pid)
        self.process_count += 1
        used = self.used_when_adopted.get(pid, 0)
        self.cpu += used
        return used

    def read(self) -> tuple[int, int]:
        self.on_read()
        if self.read_costs:
            self.clock.now += self.read_costs.pop(0)
        return self.rss, self.cpu

    def close(self) -> None:
        pass


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tree(clock: Clock) -> FakeTree:
    return FakeTree(clock)


def make_sampler(tree: FakeTree, clock: Clock, *, interval_ns: int = MS, cost_ns: int = 0) -> Sampler:
    return Sampler(
        tree,
        1,
        interval_ns=interval_ns,
        cost_ns=cost_ns,
        started_ns=clock.now,
        now_ns=lambda: clock.now,
        used_ns=lambda: clock.used,
    )


def take(sampler: Sampler, clock: Clock, count: int, *, cost_ns: int = 0) -> None:
    for _ in range(count):
        clock.sleep_until(sampler.due_ns)
        clock.used += cost_ns
        sampler.sample()


def spacings(sampler: Sampler) -> list[int]:
    return [after - before for before, after in zip(sampler.at_ns, sampler.at_ns[1:], strict=False)]


def test_samples_are_one_interval_apart_when_they_cost_little(tree: FakeTree, clock: Clock) -> None:
    sampler = make_sampler(tree, clock)
    take(sampler, clock, 100, cost_ns=10_000)
    assert set(spacings(sampler)) == {MS}
    assert sampler.cpu_used_ns() == 100 * 10_000


def test_a_late_sample_is_followed_by_the_next_tick_and_not_by_a_burst(tree: FakeTree, clock: Clock) -> None:
    sampler = make_sampler(tree, clock)
    start = clock.now
    take(sampler, clock, 2)
    clock.now = start + 10 * MS + MS // 2
    sampler.sample()
    assert sampler.due_ns == start + 11 * MS


def test_dear_samples_stretch_the_interval_so_that_the_budget_holds(tree: FakeTree, clock: Clock) -> None:
    sampler = make_sampler(tree, clock)
    take(sampler, clock, 1000, cost_ns=40_000)
    assert 40_000 / spacings(sampler)[-1] <= 0.02
    assert spacings(sampler)[-1] < 2.5 * MS


def test_the_interval_is_stretched_tenfold_at_most(tree: FakeTree, clock: Clock) -> None:
    sampler = make_sampler(tree, clock)
    take(sampler, clock, 200, cost_ns=900_000)
    assert spacings(sampler)[-1] == 10 * MS


@pytest.mark.parametrize("interval_ns", [MS // 10, 50 * MS])
def test_the_budget_holds_for_short_and_long_intervals(tree: FakeTree, clock: Clock, interval_ns: int) -> None:
    sampler = make_sampler(tree, clock, interval_ns=interval_ns)
    cost_ns = max(40_000, interval_ns // 25)
    take(sampler, clock, 1000, cost_ns=cost_ns)
    assert 0.015 < cost_ns / spacings(sampler)[-1] <= 0.02


def test_the_cost_learnt_in_one_run_serves_the_next_from_its_first_sample(tree: FakeTree, clock: Clock) -> None:
    sampler = make_sampler(tree, clock, cost_ns=36_000)
    take(sampler, clock, 2)
    assert spacings(sampler) == [2 * MS]


def test_the_interval_returns_when_samples_get_cheap_again(tree: FakeTree, clock: Clock) -> None:
    sampler = make_sampler(tree, clock, cost_ns=60_000)
    take(sampler, clock, 500, cost_ns=5_000)
    assert spacings(sampler)[-1] == MS


def test_a_long_run_is_thinned_out_evenly_and_keeps_its_peak(
    tree: FakeTree, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampler_module, "SAMPLES_MAX", 64)
    sampler = make_sampler(tree, clock)
    tree.rss = 99
    take(sampler, clock, 1)
    tree.rss = 10
    take(sampler, clock, 63 + 31)
    assert len(sampler.at_ns) == len(sampler.rss_bytes) == len(sampler.cpu_ns) == 32 + 31
    assert set(spacings(sampler)) == {2 * MS}
    assert sampler.rss_bytes_max == sampler.rss_bytes[0] == 99
    assert (sampler.left_out, sampler.due_interval_ns) == (32, 2 * MS)


def test_a_child_is_taken_in_only_when_it_was_found_twice(tree: FakeTree, clock: Clock) -> None:
    sampler = make_sampler(tree, clock)
    tree.born = [2]
    take(sampler, clock, 1)
    assert tree.adopted == [1]
    take(sampler, clock, 10)
    assert tree.adopted == [1, 2]


def test_a_child_gone_before_it_was_found_twice_is_never_taken_in(tree: FakeTree, clock: Clock) -> None:
    sampler = make_sampler(tree, clock)
    tree.born = [2]
    take(sampler, clock, 1)
    tree.born = []
    take(sampler, clock, 10)
    assert tree.adopted == [1]


def test_cpu_time_used_before_a_child_was_found_is_spread_over_that_time(tree: FakeTree, clock: Clock) -> None:
    sampler = make_sampler(tree, clock)
    tree.born, tree.used_when_adopted = [2], {2: 4 * MS}
    take(sampler, clock, 8)
    assert tree.adopted == [1, 2]
    used = [after - before for before, after in zip(sampler.cpu_ns, sampler.cpu_ns[1:], strict=False)]
    assert max(used) <= MS
    assert sampler.cpu_ns[-1] == 4 * MS


def test_an_interrupted_read_is_done_again(tree: FakeTree, clock: Clock) -> None:
    sampler = make_sampler(tree, clock)
    reads: list[int] = []
    tree.on_read = lambda: reads.append(clock.now)
    tree.read_costs = [5 * MS]
    take(sampler, clock, 1)
    assert len(reads) == 2
    assert list(sampler.at_ns) == [reads[1]]


def test_looking_for_births_is_rationed_by_what_it_costs(tree: FakeTree, clock: Clock) -> None:
    sampler = make_sampler(tree, clock)
    looks: list[int] = []

    def unknown() -> list[int]:
        looks.append(clock.now)
        clock.now += MS // 2
        return []

    tree.unknown = unknown  # type: ignore[method-assign]
    take(sampler, clock, 250)
    assert looks[1] - looks[0] >= 100 * MS


class FakeLoop:
    """Takes all the samples that it may, of 7 bytes each, at `cost_ns` of CPU time, and then stops."""

    def __init__(self, clock: Clock, cost_ns: int) -> None:
        self.clock = clock
        self.cost_ns = cost_ns
        self.turns: list[int] = []

    def run(self, tree: FakeTree, *, due_ns: int, step_ns: int, samples_max: int, **_: Any) -> LoopSamples:
        self.turns.append(samples_max)
        self.clock.used += samples_max * self.cost_ns
        end_ns = due_ns + samples_max * step_ns
        return LoopSamples(
            at_ns=array("q", range(due_ns, end_ns, step_ns)),
            rss_bytes=array("q", [7] * samples_max),
            cpu_ns=array("q", [tree.cpu] * samples_max),
            due_ns=end_ns,
            quiet_ns=end_ns,
        )


def alternate(sampler: Sampler, clock: Clock, loop: FakeLoop, turns: int) -> None:
    for _ in range(turns):
        take(sampler, clock, 1, cost_ns=loop.cost_ns)
        sampler.run(cast("SampleLoop", loop), clock.now + 1000 * MS)


def test_what_a_loop_took_stands_between_the_samplers_own_samples(tree: FakeTree, clock: Clock) -> None:
    sampler = make_sampler(tree, clock)
    alternate(sampler, clock, FakeLoop(clock, 0), 2)
    assert len(sampler.at_ns) == len(sampler.rss_bytes) == len(sampler.cpu_ns) == 1 + 30 + 1 + 31
    assert set(spacings(sampler)) == {MS}
    assert list(sampler.rss_bytes[:3]) == [10, 7, 7]
    assert sampler.rss_bytes_max == 10


def test_the_cost_of_samples_in_a_loop_stretches_the_interval_too(tree: FakeTree, clock: Clock) -> None:
    sampler = make_sampler(tree, clock)
    alternate(sampler, clock, FakeLoop(clock, 40_000), 20)
    assert 40_000 / spacings(sampler)[-1] <= 0.02
    assert spacings(sampler)[-1] < 2.5 * MS


def test_a_child_that_was_found_once_is_not_left_to_a_loop(tree: FakeTree, clock: Clock) -> None:
    sampler, loop = make_sampler(tree, clock), FakeLoop(clock, 0)
    tree.born = [2]
    alternate(sampler, clock, loop, 3)
    assert loop.turns == []
