"""The way from a comparison to a gate, on gates that are made up: seeds, failures, interruptions, both sides."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace as changed
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import s3bench.bisect.live
from s3bench.bench.runner import PLAIN, Bench, Settings
from s3bench.bisect.live import (
    BisectStatus,
    VersionFailed,
    measurer,
    run_bisection,
    title_of,
)
from s3bench.bisect.search import (
    Bisection,
    ComparisonOutcome,
    ComparisonPurpose,
    Ending,
    SearchResult,
    VersionComparison,
)
from s3bench.clients.client import FoundClient
from s3bench.errors import ClientNotFound
from s3bench.gate.evidence import CellEvidence, Side
from s3bench.gate.live import GateRules, GateStatus
from s3bench.gate.policy import Policy
from s3bench.spec.definition import ClientKind, Definition
from tests.gate.evidence_maker import paired, ratios

BISECTION = Bisection(
    versions=tuple(f"1.{place}" for place in range(16)), policy=Policy(metrics=("total_time",)), error=0.05
)
CLEAN, SLOW = paired(ratios(0.0, 0.002)), paired(ratios(0.2, 0.002))
SMALL = Definition(name="s3.cp.upload", dimensions=(("FileSize", "4KB"),), command=("s3", "cp"))
LARGE = changed(SMALL, dimensions=(("FileSize", "32MB"),))


def standing(*cells: CellEvidence, is_out_of_time: bool = False) -> GateStatus:
    return GateStatus(
        cells=cells, look=1, goal=10, undecided=0, pairs_planned=1, pairs_done=1, is_out_of_time=is_out_of_time
    )


class Gates:
    """Makes up a gate for each comparison; each takes a second of its clock."""

    def __init__(self, first: int = 6) -> None:
        self.first = first
        self.ran: list[tuple[int, int, int]] = []
        self.now_s = 0.0
        self.lost: tuple[int, ...] = ()
        self.gates_max = 99

    def __call__(self, comparison: VersionComparison, seed: int) -> Iterator[GateStatus]:
        self.ran.append((comparison.older, comparison.newer, seed))
        self.now_s += 1.0
        if comparison.newer in self.lost:
            raise VersionFailed(comparison.newer, ClientNotFound("it is gone", "yanked"))
        cell = SLOW if comparison.older < self.first <= comparison.newer else CLEAN
        yield standing(cell)
        yield standing(cell, is_out_of_time=len(self.ran) > self.gates_max)

    def steps(self, answers: Any = (), *, seed: int = 1) -> Iterator[BisectStatus]:
        return run_bisection(BISECTION, answers, self, seed=seed, now=lambda: self.now_s)


def outcome(steps: Sequence[BisectStatus]) -> SearchResult:
    found = BISECTION.next([step.answer for step in steps if step.answer])
    assert isinstance(found, SearchResult)
    return found


def test_it_goes_on_until_the_change_is_found() -> None:
    steps = list(Gates().steps())
    assert (outcome(steps).ending, outcome(steps).first) == (Ending.FOUND, 6)
    first = [(step.gate is not None, step.answer is not None) for step in steps[:4]]
    assert first == [(False, False), (True, False), (True, False), (False, True)]
    assert steps[3].answer is not None
    assert steps[3].answer.took_s == 1.0
    assert steps[3].answer.cells == (SLOW,)


def test_a_version_that_is_gone_is_skipped_with_its_reason() -> None:
    gates = Gates()
    gates.lost = (8, 6)
    steps = list(gates.steps())
    assert (outcome(steps).ending, outcome(steps).last, outcome(steps).first) == (Ending.SUSPECTS, 5, 7)
    answers = [step.answer for step in steps if step.answer and step.answer.outcome is ComparisonOutcome.FAILED]
    assert answers[0].reasons == ("it is gone; yanked",)


def test_every_comparison_has_a_seed_of_its_own_and_the_same_when_made_again() -> None:
    whole, part, rest = Gates(), Gates(), Gates()
    answers = [step.answer for step in whole.steps() if step.answer]
    part.gates_max = 2
    made = [step.answer for step in part.steps() if step.answer]
    assert made == answers[:2]
    list(rest.steps(made))
    assert part.ran[:2] + rest.ran == whole.ran
    assert len({seed for *_, seed in whole.ran}) == len(whole.ran)


def test_a_comparison_that_was_out_of_time_has_no_answer() -> None:
    gates = Gates()
    gates.gates_max = 2
    steps = list(gates.steps())
    assert [bool(step.answer) for step in steps][-3:] == [False, False, False]
    assert len(gates.ran) == 3


def test_an_interruption_comes_through_at_once() -> None:
    def interrupted(_comparison: VersionComparison, _seed: int) -> Iterator[GateStatus]:
        yield standing(CLEAN)
        raise KeyboardInterrupt

    steps = run_bisection(BISECTION, (), interrupted, seed=1, now=lambda: 0.0)
    next(steps)
    next(steps)
    with pytest.raises(KeyboardInterrupt):
        next(steps)


@pytest.fixture
def gated(monkeypatch: pytest.MonkeyPatch) -> list[SimpleNamespace]:
    """The gates that would have run."""
    seen: list[SimpleNamespace] = []

    def gate(
        _bench: Bench,
        definitions: Sequence[Definition],
        clients: Mapping[Side, FoundClient],
        rules: GateRules,
        inspector: object,
        *,
        now: Callable[[], float],
    ) -> Iterator[GateStatus]:
        del now
        places = {side: clients[side].executable for side in Side}
        content = {side: places[side].read_text() for side in Side}
        seen.append(
            SimpleNamespace(definitions=definitions, places=places, content=content, rules=rules, inspector=inspector)
        )
        yield standing(CLEAN)

    monkeypatch.setattr(s3bench.bisect.live, "run_gate", gate)
    return seen


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "root").mkdir()
    return cast("Bench", SimpleNamespace(root=tmp_path / "root"))


@pytest.fixture
def provide(tmp_path: Path) -> Callable[[int], FoundClient]:
    def make(place: int) -> FoundClient:
        if place == 13:
            raise ClientNotFound("thirteen is not to be had")
        program = tmp_path / str(place) / "s5cmd"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"program {place}")
        return FoundClient(kind=ClientKind.S5CMD, version=f"1.{place}", executable=program)

    return make


def comparison(**changes: Any) -> VersionComparison:
    asked = BISECTION.next(())
    assert isinstance(asked, VersionComparison)
    fields = {name: getattr(asked, name) for name in asked.__struct_fields__}
    return VersionComparison(**{**fields, **changes})


def test_both_versions_run_from_paths_of_equal_length_that_are_removed_again(
    bench: Bench, provide: Callable[[int], FoundClient], gated: list[SimpleNamespace]
) -> None:
    measure = measurer(bench, (SMALL, LARGE), provide, Settings(interval_s=None), now=lambda: 0.0, deadline_s=9.0)
    list(measure(comparison(), 7))
    [gate] = gated
    assert gate.content == {Side.BASELINE: "program 0", Side.CANDIDATE: "program 15"}
    assert len({len(str(place)) for place in gate.places.values()}) == 1
    assert (gate.rules.seed, gate.rules.deadline_s, gate.inspector) == (7, 9.0, None)
    assert (gate.rules.planted, gate.rules.sham) == ({}, {})
    assert list(bench.root.iterdir()) == []


def test_a_search_for_what_is_better_changes_the_sides_over(
    bench: Bench, provide: Callable[[int], FoundClient], gated: list[SimpleNamespace]
) -> None:
    measure = measurer(bench, (SMALL,), provide, Settings(interval_s=None), now=lambda: 0.0)
    list(measure(comparison(is_swapped=True), 7))
    assert gated[0].content == {Side.BASELINE: "program 15", Side.CANDIDATE: "program 0"}


def test_only_the_benchmark_that_changed_is_run_again(
    bench: Bench, provide: Callable[[int], FoundClient], gated: list[SimpleNamespace]
) -> None:
    measure = measurer(bench, (SMALL, LARGE), provide, Settings(interval_s=None), now=lambda: 0.0)
    for benchmark in (None, "", title_of(LARGE)):
        list(measure(comparison(benchmark=benchmark), 7))
    assert [gate.definitions for gate in gated] == [[SMALL, LARGE], [SMALL, LARGE], [LARGE]]
    assert title_of(LARGE) == "s3.cp.upload FileSize=32MB"


def test_the_steps_between_the_ends_and_the_confirmation_have_no_controls_of_their_own(
    bench: Bench, provide: Callable[[int], FoundClient], gated: list[SimpleNamespace]
) -> None:
    measure = measurer(bench, (SMALL,), provide, Settings(interval_s=None), now=lambda: 0.0)
    for purpose in ComparisonPurpose:
        list(measure(comparison(purpose=purpose), 7))
    controlled = {purpose: gate.rules.has_controls for purpose, gate in zip(ComparisonPurpose, gated, strict=True)}
    assert controlled == {
        ComparisonPurpose.ENDS: True,
        ComparisonPurpose.STEP: False,
        ComparisonPurpose.CONFIRMATION: True,
    }


def test_each_pretended_version_runs_under_its_own_conditions(
    bench: Bench, provide: Callable[[int], FoundClient], gated: list[SimpleNamespace]
) -> None:
    faulty = changed(PLAIN, env={"FAULT": "1"})
    measure = measurer(
        bench,
        (SMALL,),
        provide,
        Settings(interval_s=None),
        now=lambda: 0.0,
        conditions=lambda place: faulty if place >= 6 else PLAIN,
    )
    list(measure(comparison(), 7))
    assert (gated[0].rules.sham, gated[0].rules.planted) == ({SMALL: PLAIN}, {SMALL: faulty})


def test_a_version_that_cannot_be_had_is_named_by_its_place(
    bench: Bench, provide: Callable[[int], FoundClient], gated: list[SimpleNamespace]
) -> None:
    measure = measurer(bench, (SMALL,), provide, Settings(interval_s=None), now=lambda: 0.0)
    with pytest.raises(VersionFailed) as caught:
        list(measure(comparison(newer=13), 7))
    assert caught.value.place == 13
    assert gated == []
