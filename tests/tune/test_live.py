"""Trials on a scripted bench: what a planned run becomes, caps, the budget's end, failures and Ctrl-C."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from s3bench.bench.runner import Settings
from s3bench.clients.client import FoundClient
from s3bench.results.measurement import Failure, Measurement
from s3bench.tune.conclusion import conclude
from s3bench.tune.live import TuneStatus, run_study
from s3bench.tune.run_block import PlannedRun, RunBlock
from s3bench.tune.setting import Setting
from s3bench.tune.space import Space
from s3bench.tune.study import Header, Stage, Study, Trial
from s3bench.tune.tuner import FIRST_RUN_S, Tuner
from s3bench.tune.verification import TuneVerdict
from tests.bench.scripted_bench import Run, ScriptedBench, client, failed, measured, until_stopped
from tests.tune.simulated_client import OVERHEAD_S, Link, Simulation, upload

SETTINGS = Settings(interval_s=None, timeout_s=100.0)
DEFAULT = Setting(client="cli-classic@1")
WIDE = Setting.of("cli-classic@1", {"max_concurrent_requests": 20})
SIMULATION = Simulation(link=Link(), workload=upload(64), clients=("cli-classic@1",))
HEADER = SIMULATION.header()


@dataclass
class Planned:
    """A planner of blocks that are known before; the study has `budget_s`."""

    blocks: Sequence[RunBlock]
    budget_s: float = math.inf
    header: Header = HEADER

    def next_block(self, trials: Sequence[Trial]) -> RunBlock | None:
        done = 0
        for block in self.blocks:
            done += len(block.runs)
            if done > len(trials):
                return block
        return None

    def left_s(self, trials: Sequence[Trial]) -> float:
        return max(0.0, self.budget_s - sum(trial.cost_s for trial in trials))


def block(*settings: Setting, number: int = 0, cap_s: float | None = None, stage: Stage = Stage.SEARCH) -> RunBlock:
    return RunBlock(
        stage=stage, number=number, runs=tuple(PlannedRun(setting=setting, cap_s=cap_s) for setting in settings)
    )


@pytest.fixture
def bench(tmp_path: Path) -> ScriptedBench:
    return ScriptedBench(root=tmp_path, between_s=0.5)


Tune = Callable[..., Iterator[TuneStatus]]


@pytest.fixture
def tune(bench: ScriptedBench, tmp_path: Path) -> Tune:
    found: dict[str, FoundClient] = {"cli-classic@1": client(tmp_path, kind="cli-classic")}

    def run(
        *blocks: RunBlock,
        budget_s: float = math.inf,
        trials: tuple[Trial, ...] = (),
        began_s: float | None = None,
    ) -> Iterator[TuneStatus]:
        study = Study(header=HEADER, trials=trials)
        planner = Planned(blocks, budget_s=budget_s)
        return run_study(bench, found, planner, study, SETTINGS, began_s=began_s, now=bench.now)

    return run


def test_every_planned_run_is_a_trial_with_its_block_and_what_it_cost(bench: ScriptedBench, tune: Tune) -> None:
    bench.script = lambda _: measured(2.0)
    statuses = list(tune(block(DEFAULT, WIDE, stage=Stage.PROBE), block(WIDE, number=1)))
    trials = statuses[-1].study.trials
    assert [(each.number, each.stage, each.block, each.setting) for each in trials] == [
        (0, Stage.PROBE, 0, DEFAULT),
        (1, Stage.PROBE, 0, WIDE),
        (2, Stage.SEARCH, 1, WIDE),
    ]
    assert {(each.took_s, each.set_up_s) for each in trials} == {(2.5, 0.0)}
    assert [status.left for status in statuses] == [1, 0, 0]
    assert [status.trial for status in statuses] == list(trials)


def test_all_runs_share_a_workspace_and_each_setting_has_its_config(bench: ScriptedBench, tune: Tune) -> None:
    list(tune(block(DEFAULT, WIDE, DEFAULT)))
    assert (bench.workspaces, bench.workspaces_open) == (1, 0)
    configs = [run.definition.environment.config for run in bench.runs]
    assert "max_concurrent_requests = 20" in configs[1]
    assert configs[0] == configs[2] != configs[1]
    assert {run.debug_name for run in bench.runs} == {"tune-cli-classic@1"}


def test_a_run_that_takes_longer_than_its_cap_is_known_to_be_slower_and_nothing_else(
    bench: ScriptedBench, tune: Tune
) -> None:
    bench.script = lambda _: measured(30.0)
    (status,) = tune(block(DEFAULT, cap_s=5.0))
    trial = status.trial
    assert (trial.was_capped, trial.cap_s, trial.took_s) == (True, 5.0, 5.5)
    assert (trial.measurement, trial.failure) == (None, None)


def test_a_cap_is_not_longer_than_the_timeout(tune: Tune) -> None:
    (status,) = tune(block(DEFAULT, cap_s=1e6))
    assert status.trial.cap_s == SETTINGS.timeout_s
    assert not status.trial.was_capped


@pytest.mark.parametrize("outcome", [failed("exited 7"), measured(1e3)])
def test_a_run_that_fails_or_never_ends_is_a_trial_that_says_so(
    bench: ScriptedBench, tune: Tune, outcome: Measurement | Failure
) -> None:
    bench.script = lambda run: outcome if run.definition.environment.config.count("20") else measured()
    statuses = list(tune(block(WIDE, DEFAULT)))
    first, second = statuses[-1].study.trials
    assert first.failure is not None
    assert first.failure.what in {"exited 7", "timed out after 100 s"}
    assert (first.was_capped, second.failure) == (False, None)


def test_a_capped_run_that_fails_by_itself_is_a_failure(bench: ScriptedBench, tune: Tune) -> None:
    bench.script = lambda _: failed("exited 7")
    (status,) = tune(block(DEFAULT, cap_s=5.0))
    assert status.trial.failure is not None
    assert not status.trial.was_capped


def test_the_set_up_counts_to_the_first_run_alone(bench: ScriptedBench, tune: Tune) -> None:
    bench.now_s = 12.0
    statuses = list(tune(block(DEFAULT, WIDE), began_s=4.0))
    assert [each.set_up_s for each in statuses[-1].study.trials] == [8.0, 0.0]


def test_a_run_that_is_going_when_the_time_ends_is_no_trial(bench: ScriptedBench, tune: Tune) -> None:
    bench.script = lambda _: measured(4.0)
    statuses = list(tune(block(DEFAULT, WIDE, DEFAULT), budget_s=12.0))
    assert len(statuses[-1].study.trials) == 2
    assert len(bench.runs) == 3
    assert bench.runs[-1].settings.timeout_s == pytest.approx(12.0 - 2 * 4.5)


def test_no_run_begins_when_the_time_is_over(bench: ScriptedBench, tune: Tune) -> None:
    bench.script = lambda _: measured(4.0)
    assert len(list(tune(block(DEFAULT, WIDE, DEFAULT), budget_s=9.0))) == 2
    assert len(bench.runs) == 2


def test_the_first_run_has_time_even_where_the_set_up_took_all(bench: ScriptedBench, tune: Tune) -> None:
    bench.now_s = 60.0
    statuses = list(tune(block(DEFAULT, WIDE), budget_s=5.0, began_s=0.0))
    assert len(statuses) == 1
    assert bench.runs[0].settings.timeout_s == FIRST_RUN_S


def test_a_study_goes_on_after_its_trials(bench: ScriptedBench, tune: Tune) -> None:
    blocks = (block(DEFAULT), block(WIDE, number=1))
    before = next(iter(tune(*blocks))).study.trials
    bench.runs.clear()
    statuses = list(tune(*blocks, trials=before))
    assert [each.setting for each in statuses[-1].study.trials] == [DEFAULT, WIDE]
    assert [run.iteration for run in bench.runs] == [1]


def test_ctrl_c_leaves_all_whole_trials_in_the_study(bench: ScriptedBench, tune: Tune) -> None:
    def script(_run: Run) -> Measurement:
        if len(bench.runs) == 3:
            raise KeyboardInterrupt
        return measured()

    bench.script = script
    seen = until_stopped(tune(block(DEFAULT, WIDE, DEFAULT)))
    assert [each.setting for each in seen[-1].study.trials] == [DEFAULT, WIDE]
    assert bench.workspaces_open == 0


def test_a_whole_tuning_by_the_real_tuner_recommends_what_is_faster(bench: ScriptedBench, tmp_path: Path) -> None:
    found = {"cli-classic@1": client(tmp_path, kind="cli-classic")}
    header = SIMULATION.header(budget_s=600.0)
    tuner = Tuner(header=header, space=Space.of(header.clients, header.workload))
    bench.between_s = OVERHEAD_S
    coming, planned = SIMULATION.run(tuner), []  # a twin of this study, which has to plan the same runs

    def script(_run: Run) -> Measurement | Failure:
        trial = next(coming)
        planned.append(trial.setting)
        return trial.measurement or (measured(1e3) if trial.was_capped else failed())

    bench.script = script
    statuses = list(run_study(bench, found, tuner, Study(header=header), SETTINGS, now=bench.now))
    assert [status.trial.setting for status in statuses] == planned[: len(statuses)]
    answer = conclude(statuses[-1].study, ())
    assert answer.verdict is TuneVerdict.BETTER
    assert {status.block.stage for status in statuses} == set(Stage)
