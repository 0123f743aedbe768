"""Runs what a tuner plans: one trial after the other, in one workspace, against one endpoint."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from s3bench.bench.runner import Bench, ClientRunner, RunnerFactory, Settings
from s3bench.clients.client import FoundClient
from s3bench.results.measurement import Failure
from s3bench.tune.run_block import PlannedRun, RunBlock
from s3bench.tune.setting import Setting, config_of
from s3bench.tune.study import Study, Trial
from s3bench.tune.tuner import FIRST_RUN_S, Planner
from s3bench.tune.workload import definition_of


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneStatus:
    """The study up to a trial that was just made, the block of that trial, and how many runs of the block are left."""

    study: Study
    block: RunBlock
    left: int

    @property
    def trial(self) -> Trial:
        """The trial that was just made."""
        return self.study.trials[-1]


def run_study(
    bench: Bench,
    clients: Mapping[str, FoundClient],
    planner: Planner,
    study: Study,
    settings: Settings,
    *,
    began_s: float | None = None,
    now: Callable[[], float],
) -> Iterator[TuneStatus]:
    """Continue the study to its end; yield after every run. A run that fails is a trial with its failure.

    The time since `began_s` counts as set-up of the first run. A run that is still going at the end of the study's time
    ends the study and is no trial: nothing is known of its setting but that there was no time for it.
    """
    workload = planner.header.workload
    with bench.workspace(definition_of(workload, config="").environment) as runner_of:
        runner = _TrialRunner(clients=clients, planner=planner, runner_of=runner_of, settings=settings, now=now)
        set_up_s = 0.0 if began_s is None else now() - began_s
        while (block := planner.next_block(study.trials)) is not None:
            for position, run in enumerate(block.runs, start=1):
                left_s = max(planner.left_s(study.trials) - set_up_s, 0.0 if study.trials else FIRST_RUN_S)
                trial = runner.run(run, block, number=len(study.trials), left_s=left_s) if left_s else None
                if trial is None:
                    return
                trial = msgspec.structs.replace(trial, set_up_s=set_up_s)
                study = msgspec.structs.replace(study, trials=(*study.trials, trial))
                set_up_s = 0.0
                yield TuneStatus(study=study, block=block, left=len(block.runs) - position)


@dataclass(slots=True, kw_only=True)
class _TrialRunner:
    clients: Mapping[str, FoundClient]
    planner: Planner
    runner_of: RunnerFactory
    settings: Settings
    now: Callable[[], float]
    runners: dict[Setting, ClientRunner] = field(default_factory=dict)

    def run(self, run: PlannedRun, block: RunBlock, *, number: int, left_s: float) -> Trial | None:
        """Make one run; `None` when it is not over after `left_s` seconds."""
        started_s = self.now()
        cap_s = None if run.cap_s is None else min(run.cap_s, self.settings.timeout_s)
        limit_s = self.settings.timeout_s if cap_s is None else cap_s
        settings = replace(self.settings, timeout_s=min(limit_s, left_s))
        outcome = self._runner(run.setting).run_once(number, settings, f"tune-{run.setting.client}")
        was_ended = isinstance(outcome, Failure) and outcome.exit_code is None
        if was_ended and left_s < limit_s and self.now() - started_s >= left_s:
            return None
        was_capped = was_ended and cap_s is not None
        return Trial(
            number=number,
            stage=block.stage,
            block=block.number,
            setting=run.setting,
            took_s=self.now() - started_s,
            cap_s=cap_s,
            was_capped=was_capped,
            measurement=None if isinstance(outcome, Failure) else outcome,
            failure=outcome if isinstance(outcome, Failure) and not was_capped else None,
        )

    def _runner(self, setting: Setting) -> ClientRunner:
        if setting not in self.runners:
            definition = definition_of(self.planner.header.workload, config=config_of(setting))
            self.runners[setting] = self.runner_of(definition, self.clients[setting.client])
        return self.runners[setting]
