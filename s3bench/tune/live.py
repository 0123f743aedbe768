"""Runs what a tuner plans: one trial after the other, in one workspace, against one endpoint.

Owns how a planned run becomes a trial. What to run is `tune.tuner`'s, how one run goes is `bench`'s.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from s3bench.bench import Bench, ClientRunner, Settings
from s3bench.clients.client import FoundClient
from s3bench.results.measurement import Failure
from s3bench.run.workspace import Workspace
from s3bench.tune.setting import Setting, config_of
from s3bench.tune.study import Trial
from s3bench.tune.tuner import PlannedRun, Planner, RunBlock
from s3bench.tune.workload import definition_of

FIRST_RUN_S = 10.0
"""A study has at least one run, which may take so long even where the set-up took all of the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneStatus:
    """A trial that was just made, the block it belongs to, and how many runs of that block are left."""

    trial: Trial
    block: RunBlock
    left: int


def run_study(
    bench: Bench,
    clients: Mapping[str, FoundClient],
    planner: Planner,
    trials: Sequence[Trial],
    settings: Settings,
    *,
    began_s: float | None = None,
    now: Callable[[], float],
) -> Iterator[TuneStatus]:
    """Run the study on from `trials` to its end; yield after every run. A run that fails is a trial that tells why.

    What passed since `began_s` counts as set-up of the first run. A run that is not over when the time of the study is
    ends the study, and is no trial: nothing is known of its setting but that there was no time for it.
    """
    known = list(trials)
    workload = planner.header.workload
    with bench.workspaces.open(definition_of(workload, config="").environment) as workspace:
        stand = _Stand(bench=bench, clients=clients, planner=planner, workspace=workspace, settings=settings, now=now)
        set_up_s = 0.0 if began_s is None else now() - began_s
        while (block := planner.next_block(known)) is not None:
            for position, run in enumerate(block.runs, start=1):
                left_s = max(planner.left_s(known) - set_up_s, 0.0 if known else FIRST_RUN_S)
                trial = stand.once(run, block, number=len(known), left_s=left_s) if left_s else None
                if trial is None:
                    return
                known.append(msgspec.structs.replace(trial, set_up_s=set_up_s))
                set_up_s = 0.0
                yield TuneStatus(trial=known[-1], block=block, left=len(block.runs) - position)


@dataclass(slots=True, kw_only=True)
class _Stand:
    bench: Bench
    clients: Mapping[str, FoundClient]
    planner: Planner
    workspace: Workspace
    settings: Settings
    now: Callable[[], float]
    bouts: dict[Setting, ClientRunner] = field(default_factory=dict)

    def once(self, run: PlannedRun, block: RunBlock, *, number: int, left_s: float) -> Trial | None:
        """Make one run; `None` when it is not over after `left_s` seconds."""
        started_s = self.now()
        cap_s = None if run.cap_s is None else min(run.cap_s, self.settings.timeout_s)
        limit_s = self.settings.timeout_s if cap_s is None else cap_s
        settings = replace(self.settings, timeout_s=min(limit_s, left_s))
        outcome = self._bout(run.setting).once(number, settings, f"tune-{run.setting.client}")
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

    def _bout(self, setting: Setting) -> ClientRunner:
        if setting not in self.bouts:
            self.bouts[setting] = self._new_bout(setting)
        return self.bouts[setting]

    def _new_bout(self, setting: Setting) -> ClientRunner:
        definition = definition_of(self.planner.header.workload, config=config_of(setting))
        return ClientRunner(
            bench=self.bench, definition=definition, found=self.clients[setting.client], workspace=self.workspace
        )
