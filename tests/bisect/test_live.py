"""From a comparison to a gate: seeds, failures, interruptions, both sides; and whole searches without processes."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

import msgspec
import pytest

from s3bench.bench.runner import PLAIN, Conditions, Settings
from s3bench.bisect.live import BisectStatus, Provider, VersionFailed, measurer, recorded, run_bisection, title_of
from s3bench.bisect.record import BisectRecord
from s3bench.bisect.search import (
    Bisection,
    ComparisonOutcome,
    ComparisonPurpose,
    ComparisonResult,
    Ending,
    SearchResult,
    VersionComparison,
)
from s3bench.clients.client import FoundClient
from s3bench.errors import ClientNotFound
from s3bench.gate.evidence import ClientCellEvidence
from s3bench.gate.live import GateStatus
from s3bench.gate.policy import Policy
from s3bench.results.measurement import Failure, Measurement
from s3bench.spec.definition import Definition
from tests.bench.scripted_bench import Run, ScriptedBench, client, failed, measured, until_stopped
from tests.gate.evidence_maker import paired, ratios

BISECTION = Bisection(
    versions=tuple(f"1.{place}" for place in range(16)), policy=Policy(metrics=("total_time",)), error=0.05
)
CLEAN, SLOW = paired(ratios(0.0, 0.002)), paired(ratios(0.2, 0.002))
SETTINGS = Settings(interval_s=None)
SMALL = Definition(name="s3.cp.upload", dimensions=(("FileSize", "4KB"),), command=("s3", "cp"))
LARGE = changed(SMALL, dimensions=(("FileSize", "32MB"),))


def standing(*cells: ClientCellEvidence, is_out_of_time: bool = False) -> GateStatus:
    return GateStatus(
        cells=cells, look=1, goal=10, undecided=0, pairs_planned=1, pairs_done=1, is_out_of_time=is_out_of_time
    )


Search = Callable[..., list[BisectStatus]]


def versions(*, first: int) -> Callable[[Run], Measurement | Failure]:
    """Versions from the one at the place `first` on are slower by a fifth, on a quiet machine."""
    spread = itertools.cycle((0.0, 0.004, -0.003, 0.001, -0.001, 0.002, -0.004, 0.003, 0.0005))

    def script(run: Run) -> Measurement:
        place = int(run.client.version.partition(".")[2])
        return measured(1.0 + next(spread) + (0.2 if place >= first else 0.0))

    return script


def comparison(**changes: Any) -> VersionComparison:
    asked = BISECTION.next(())
    assert isinstance(asked, VersionComparison)
    return msgspec.structs.replace(asked, **changes)


def new_record() -> BisectRecord:
    return BisectRecord(
        s3bench="0",
        started_at="",
        client="s5cmd",
        versions=BISECTION.versions,
        benchmarks=(),
        policy=BISECTION.policy,
        error=BISECTION.error,
        seed=1,
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


class TestMeasuring:
    """Comparisons as gates on a scripted bench."""

    @pytest.fixture
    def bench(self, tmp_path: Path) -> ScriptedBench:
        (tmp_path / "root").mkdir()
        return ScriptedBench(root=tmp_path / "root", script=versions(first=6))

    @pytest.fixture
    def provide(self, tmp_path: Path) -> Provider:
        def make(place: int) -> FoundClient:
            if place == 13:
                raise ClientNotFound("thirteen is gone", "it was yanked")
            return client(tmp_path, f"1.{place}")

        return make

    def test_both_versions_run_from_paths_of_equal_length_that_are_removed_again(
        self, bench: ScriptedBench, provide: Provider
    ) -> None:
        programs: dict[str, Path] = {}
        usual = bench.script

        def script(run: Run) -> Measurement | Failure:
            assert run.client.executable.is_file()
            programs[run.client.version] = run.client.executable
            return usual(run)

        bench.script = script
        list(measurer(bench, (SMALL,), provide, SETTINGS, now=bench.now)(comparison(), 7))
        assert set(programs) == {"1.0", "1.15"}
        assert len({len(str(program)) for program in programs.values()}) == 1
        assert not any(program.exists() for program in programs.values())
        assert [path.name for path in bench.root.iterdir()] == []

    def test_what_was_staged_is_removed_after_ctrl_c_too(self, bench: ScriptedBench, provide: Provider) -> None:
        def script(run: Run) -> Measurement:
            raise KeyboardInterrupt

        bench.script = script
        with pytest.raises(KeyboardInterrupt):
            list(measurer(bench, (SMALL,), provide, SETTINGS, now=bench.now)(comparison(), 7))
        assert list(bench.root.iterdir()) == []

    def test_a_search_for_what_is_better_changes_the_sides_over(self, bench: ScriptedBench, provide: Provider) -> None:
        for is_swapped, first in ((False, "1.0"), (True, "1.15")):
            bench.runs.clear()
            list(measurer(bench, (SMALL,), provide, SETTINGS, now=bench.now)(comparison(is_swapped=is_swapped), 7))
            assert bench.runs[0].client.version == first

    def test_only_the_benchmark_that_changed_is_run_again(self, bench: ScriptedBench, provide: Provider) -> None:
        measure = measurer(bench, (SMALL, LARGE), provide, SETTINGS, now=bench.now)
        seen = {}
        for benchmark in (None, "", title_of(LARGE)):
            bench.runs.clear()
            list(measure(comparison(benchmark=benchmark), 7))
            seen[benchmark] = {title_of(run.definition) for run in bench.runs}
        both = {"s3.cp.upload FileSize=4KB", "s3.cp.upload FileSize=32MB"}
        assert seen == {None: both, "": both, title_of(LARGE): {"s3.cp.upload FileSize=32MB"}}

    def test_the_steps_between_the_ends_and_the_confirmation_have_no_controls_of_their_own(
        self, bench: ScriptedBench, provide: Provider
    ) -> None:
        measure = measurer(bench, (SMALL,), provide, SETTINGS, now=bench.now)
        controlled = {
            purpose: len(list(measure(comparison(purpose=purpose), 7))[-1].cells) > 1 for purpose in ComparisonPurpose
        }
        assert controlled == {
            ComparisonPurpose.ENDS: True,
            ComparisonPurpose.STEP: False,
            ComparisonPurpose.CONFIRMATION: True,
        }

    def test_each_pretended_version_runs_under_its_own_conditions(
        self, bench: ScriptedBench, provide: Provider
    ) -> None:
        faulty = Conditions(env={"FAULT": "1"})
        conditions = {0: PLAIN, 15: faulty}
        list(
            measurer(bench, (SMALL,), provide, SETTINGS, now=bench.now, conditions=conditions.__getitem__)(
                comparison(), 7
            )
        )
        faults = {(run.client.version, run.conditions.env.get("FAULT")) for run in bench.runs}
        assert faults == {("1.0", None), ("1.15", "1")}

    def test_a_version_that_cannot_be_installed_is_named_by_its_place(
        self, bench: ScriptedBench, provide: Provider
    ) -> None:
        measure = measurer(bench, (SMALL,), provide, SETTINGS, now=bench.now)
        with pytest.raises(VersionFailed) as caught:
            list(measure(comparison(newer=13), 7))
        assert (caught.value.place, bench.runs) == (13, [])


class TestSearching:
    """Whole searches on a scripted bench."""

    @pytest.fixture
    def bench(self, tmp_path: Path) -> ScriptedBench:
        (tmp_path / "root").mkdir()
        return ScriptedBench(root=tmp_path / "root", script=versions(first=6))

    @pytest.fixture
    def search(self, bench: ScriptedBench, tmp_path: Path) -> Callable[..., list[BisectStatus]]:
        def run(
            answers: Sequence[ComparisonResult] = (),
            *,
            deadline_s: float | None = None,
            gone: Sequence[int] = (),
        ) -> list[BisectStatus]:
            def provide(place: int) -> FoundClient:
                if place in gone:
                    raise ClientNotFound("it is gone", "yanked")
                return client(tmp_path, f"1.{place}")

            measure = measurer(bench, (SMALL,), provide, SETTINGS, now=bench.now, deadline_s=deadline_s)
            return list(run_bisection(BISECTION, answers, measure, seed=1, now=bench.now))

        return run

    def test_it_finds_the_first_slower_version(self, search: Search) -> None:
        steps = search()
        found = outcome(steps)
        assert (found.ending, found.last, found.first) == (Ending.FOUND, 5, 6)
        compared = [(step.answer.comparison.older, step.answer.comparison.newer) for step in steps if step.answer]
        assert compared == [(0, 15), (0, 8), (0, 4), (0, 6), (0, 5), (5, 6)]

    def test_without_a_change_only_the_ends_are_compared(self, bench: ScriptedBench, search: Search) -> None:
        bench.script = versions(first=99)
        assert outcome(search()).ending is Ending.NO_CHANGE
        assert {run.client.version for run in bench.runs} == {"1.0", "1.15"}

    def test_a_version_that_cannot_be_installed_is_passed_by(self, search: Search) -> None:
        steps = search(gone=(8,))
        assert (outcome(steps).ending, outcome(steps).first) == (Ending.FOUND, 6)
        (lost,) = (step.answer for step in steps if step.answer and step.answer.comparison.newer == 8)
        assert (lost.outcome, lost.reasons) == (ComparisonOutcome.FAILED, ("it is gone; yanked",))

    def test_suspects_remain_where_the_versions_around_the_change_are_gone(self, search: Search) -> None:
        found = outcome(search(gone=(5, 6)))
        assert (found.ending, found.last, found.first, found.skipped) == (Ending.SUSPECTS, 4, 7, (5, 6))

    def test_a_version_that_does_not_run_is_passed_by(self, bench: ScriptedBench, search: Search) -> None:
        usual = bench.script
        bench.script = lambda run: failed("exited 7") if run.client.version == "1.8" else usual(run)
        steps = search()
        assert (outcome(steps).ending, outcome(steps).first) == (Ending.FOUND, 6)
        (lost,) = (step.answer for step in steps if step.answer and step.answer.comparison.newer == 8)
        assert (lost.outcome, lost.reasons) == (
            ComparisonOutcome.FAILED,
            ("s3.cp.upload FileSize=4KB, candidate: exited 7",),
        )

    def test_an_end_that_does_not_run_ends_the_search(self, bench: ScriptedBench, search: Search) -> None:
        usual = bench.script
        bench.script = lambda run: failed("exited 7") if run.client.version == "1.0" else usual(run)
        assert outcome(search()).ending is Ending.FAILED

    def test_a_comparison_whose_control_fails_is_made_again(self, bench: ScriptedBench, search: Search) -> None:
        usual = bench.script

        def script(run: Run) -> Measurement | Failure:
            # A delay that takes no time: the positive control of the first comparison cannot show it.
            outcome = usual(run)
            assert isinstance(outcome, Measurement)
            if run.delay_s and run.workspace.root.name == "001":
                return msgspec.structs.replace(outcome, total_time=outcome.total_time - run.delay_s)
            return outcome

        bench.script = script
        answers = [step.answer for step in search() if step.answer]
        assert [answer.outcome for answer in answers[:2]] == [ComparisonOutcome.WITHDRAWN, ComparisonOutcome.CHANGED]
        assert answers[0].comparison == answers[1].comparison

    def test_it_stops_at_its_time_and_goes_on_from_its_answers(self, search: Search) -> None:
        steps = search(deadline_s=160.0)
        made = [step.answer for step in steps if step.answer]
        assert steps[-1].gate is not None
        assert steps[-1].gate.is_out_of_time
        assert 0 < len(made) < 6
        rest = [step.answer for step in search(made) if step.answer]
        found = BISECTION.next([*made, *rest])
        assert isinstance(found, SearchResult)
        assert (found.ending, found.first) == (Ending.FOUND, 6)


class TestRecord:
    def test_it_has_every_answer_and_the_pairs_of_a_comparison_on_its_way(self) -> None:
        record = new_record()
        seen = [each for each, _ in recorded(record, Gates().steps(), out_of_time="no time")]
        assert [(len(each.answers), len(each.unfinished)) for each in seen[:5]] == [
            (0, 0),
            (0, 1),
            (0, 1),
            (1, 0),
            (1, 0),
        ]
        last = seen[-1].concluded()
        assert last.found is not None
        assert (last.found.first, last.unfinished, last.stopped) == (6, (), "")

    def test_one_that_ran_out_of_time_says_so_and_keeps_what_it_had(self) -> None:
        gates = Gates()
        gates.gates_max = 2
        *_, (record, _) = recorded(new_record(), gates.steps(), out_of_time="no time")
        assert (len(record.answers), len(record.unfinished), record.stopped) == (2, 1, "no time")

    def test_after_ctrl_c_the_last_record_has_all_that_was_measured(self) -> None:
        def steps() -> Iterator[BisectStatus]:
            for step in Gates().steps():
                yield step
                if step.gate is not None and step.comparison.newer == 8:
                    raise KeyboardInterrupt

        record, _ = until_stopped(recorded(new_record(), steps()))[-1]
        assert (len(record.answers), len(record.unfinished)) == (1, 1)
