"""Decides from the trials of a study so far what to run next, and when to end.

That depends on the trials alone, so that an interrupted study continues where it stopped.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import msgspec

from s3bench.tune.run_block import PlannedRun, RunBlock
from s3bench.tune.setting import Setting
from s3bench.tune.space import Space
from s3bench.tune.study import Header, Stage, Trial
from s3bench.tune.study_plan import OVERRUN, StudyPlan
from s3bench.tune.study_state import StudyState

FIRST_RUN_S = 10.0
"""A study has at least one run, which may take so long even where the set-up took all of the budget."""


class Planner(Protocol):
    """Decides what to run next in the study that `header` begins."""

    @property
    def header(self) -> Header:
        """The header of the study."""
        ...

    def next_block(self, trials: Sequence[Trial]) -> RunBlock | None:
        """The runs after `trials`; `None` at the end."""
        ...

    def left_s(self, trials: Sequence[Trial]) -> float:
        """The seconds until the study has to end; infinite without a limit."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """Plans a comparison of clients without a search: every client at its defaults, `rounds` times in turn."""

    header: Header
    rounds: int

    def next_block(self, trials: Sequence[Trial]) -> RunBlock | None:
        """The next round; round 0 is a warm-up."""
        number = 1 + max((trial.block for trial in trials), default=-1)
        if number > self.rounds:
            return None
        runs = [PlannedRun(setting=Setting(client=client)) for client in self.header.clients]
        random.Random(f"{self.header.seed} {number}").shuffle(runs)  # noqa: S311 (an order, not a secret)
        return RunBlock(stage=Stage.SEARCH if number else Stage.PROBE, number=number, runs=tuple(runs))

    def left_s(self, trials: Sequence[Trial]) -> float:  # noqa: ARG002 (unlimited after any trials)
        """Infinite: the given number of rounds has no time limit."""
        return math.inf


@dataclass(frozen=True, kw_only=True)
class Tuner:
    """Plans the study that `header` begins, over `space`."""

    header: Header
    space: Space
    _planned: list[tuple[tuple[Trial, ...], RunBlock | None]] = field(default_factory=list, init=False, repr=False)

    def next_block(self, trials: Sequence[Trial]) -> RunBlock | None:
        """The next block; what an interruption left of the block in which `trials` end comes first.

        `None` when the study is complete.
        """
        if trials and self.left_s(trials) <= 0:
            return None
        return self._rest_of_block(tuple(trials)) or self._plan(tuple(trials))

    def _rest_of_block(self, trials: tuple[Trial, ...]) -> RunBlock | None:
        """The runs that are missing in the block in which `trials` end.

        `None` if it is complete, and if it would not be planned now: the study continues with another budget.
        """
        if not trials:
            return None
        stage, number = trials[-1].stage, trials[-1].block
        before = tuple(trial for trial in trials if (trial.stage, trial.block) != (stage, number))
        begins_session = trials[len(before)].set_up_s > 0
        block = self.next_block(before) if begins_session else self._plan(before)
        if block is None or (block.stage, block.number) != (stage, number):
            return None
        return StudyPlan(self.state(trials)).rest_of(block)

    def _plan(self, trials: tuple[Trial, ...]) -> RunBlock | None:
        """The block after `trials`. The last one is kept: during its runs every call asks for it again."""
        if not self._planned or self._planned[0][0] != trials:
            self._planned[:] = [(trials, StudyPlan(self.state(trials)).next_block())]
        return self._planned[0][1]

    def state(self, trials: tuple[Trial, ...]) -> StudyState:
        """The state of the study after `trials`."""
        return StudyState(header=self.header, whole_space=self.space, trials=trials)

    def can_continue(self, trials: Sequence[Trial]) -> bool:
        """Whether a larger budget would add runs after `trials`."""
        unlimited = replace(self, header=msgspec.structs.replace(self.header, budget_s=math.inf))
        return unlimited.next_block(trials) is not None

    def left_s(self, trials: Sequence[Trial]) -> float:
        """The seconds until the study is ended, even during a run."""
        return OVERRUN * self.header.budget_s - sum(trial.cost_s for trial in trials)
