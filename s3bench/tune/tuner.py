"""Plans a study: decides from the trials so far what to run next (probes, search, verification) and when to end.

The plan depends on the trials alone, so that an interrupted study continues where it stopped.
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from statistics import median
from typing import Protocol

import msgspec

from s3bench.tune.candidates import Candidates, search_model_of
from s3bench.tune.effective_settings import ignored_parameters
from s3bench.tune.evidence import SettingEstimate, TrialEvidence
from s3bench.tune.objective import Aim
from s3bench.tune.preference import is_preferable, may_tie, preferred, simplifications
from s3bench.tune.race import (
    DOWNLOAD_PEAK_SIGMA,
    MEMORY_MARGIN,
    MEMORY_RUNS,
    RUNS_MIN,
    UPLOAD_PEAK_SIGMA,
    Leaders,
    cap_s,
    contenders,
    find_leaders,
    is_gain_clear,
    is_settled,
    leader,
    peak_bound_bytes,
    rivals,
    still_racing,
)
from s3bench.tune.setting import Setting
from s3bench.tune.space import Space
from s3bench.tune.study import Header, Search, Stage, Trial
from s3bench.tune.verification import (
    CLEAR_LOOKS,
    PAIRS_MIN,
    UNCERTAIN_LOOKS,
    Change,
    TuneVerdict,
    VerificationLooks,
    needs_more_pairs,
    needs_size,
    verdict_on,
    verify,
)

RACERS_MAX = 4
"""How many settings run again in every block, not counting the default."""

OVERRUN = 1.05
"""A study is ended after so many times its budget, since planned runs may take a little longer."""

FIRST_RUN_S = 10.0
"""A study has at least one run, which may take so long even where the set-up took all of the budget."""

CHALLENGERS_MAX = 3
"""How many further settings run in the verification, not counting the winner and the default."""

_NEW_PER_BLOCK = 3
_GRID_ROUNDS = 3
_SEARCH_SHARE = 0.5
"""The race takes at most half of the budget if the gain is uncertain, so that there is time to prove it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """One planned run, to be ended after `cap_s` seconds."""

    setting: Setting
    cap_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBlock:
    """Runs to make next to each other, in this order; `number` counts from 0 in each stage."""

    stage: Stage
    number: int
    runs: tuple[PlannedRun, ...]


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
        """The rest of the block in which `trials` end, or the next block; `None` when the study is complete."""
        if trials and self.left_s(trials) <= 0:
            return None
        return self._rest_of_block(trials) or self._plan(tuple(trials))

    def _rest_of_block(self, trials: Sequence[Trial]) -> RunBlock | None:
        """The runs that are missing in the block in which `trials` end.

        `None` if it is complete, and if it would not be planned now: the study continues with another budget.
        """
        if not trials:
            return None
        stage, number = trials[-1].stage, trials[-1].block
        before = tuple(trial for trial in trials if (trial.stage, trial.block) != (stage, number))
        block = self._plan(before)
        if block is None or (block.stage, block.number) != (stage, number):
            return None
        done = {trial.setting for trial in trials[len(before) :]}
        left = tuple(run for run in block.runs if run.setting not in done)
        return replace(block, runs=left) if left else None

    def _plan(self, trials: tuple[Trial, ...]) -> RunBlock | None:
        """The block after `trials`. The last one is kept: during its runs every call asks for it again."""
        if not self._planned or self._planned[0][0] != trials:
            self._planned[:] = [(trials, StudyState(tuner=self, trials=trials).plan())]
        return self._planned[0][1]

    def left_s(self, trials: Sequence[Trial]) -> float:
        """The seconds until the study is ended, even during a run."""
        return OVERRUN * self.header.budget_s - sum(trial.cost_s for trial in trials)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finalists:
    """The setting that is compared with the default, and the `others` that still run with the two."""

    winner: Setting
    others: tuple[Setting, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StudyState:
    """The state of a study after complete blocks of trials.

    `is_final`: the study has ended, its verification had no verdict at its last look, and it never ended before.
    """

    tuner: Tuner
    trials: tuple[Trial, ...]
    is_final: bool = False

    def plan(self) -> RunBlock | None:
        """The next block."""
        if (probes := self._probes()) is not None or self.reference is None:
            return probes
        return self._search() or self._verification()

    @cached_property
    def space(self) -> Space:
        """The space without clients that fail here, and without parameters that have no effect."""
        ignored = ignored_parameters(self._of(Stage.PROBE), self.tuner.header.workload)
        return self.tuner.space.without(ignored, self.left_out)

    @cached_property
    def left_out(self) -> frozenset[str]:
        """The clients that failed here: no probe of their defaults was complete."""
        probes = [trial for trial in self._of(Stage.PROBE) if trial.setting.is_default]
        working = {trial.setting.client for trial in probes if trial.failure is None}
        return frozenset(trial.setting.client for trial in probes) - working

    @cached_property
    def reference(self) -> Setting | None:
        """The default with which everything is compared: that of the first client that works."""
        return next((Setting(client=client) for client in self.space.parameters), None)

    @cached_property
    def evidence(self) -> TrialEvidence:
        """The evidence of the search."""
        return TrialEvidence.of(self._of(Stage.SEARCH), self.tuner.header.objective)

    @cached_property
    def leaders(self) -> Leaders | None:
        """The winner of the search and the runner-up; `None` while there are none.

        Based on the search, since the verification tests its winner. A winner that exceeds the memory limit in the
        verification, or fails twice, is replaced by the next; in the end the default is left.
        """
        assert self.reference is not None
        return find_leaders(self.evidence, self.reference, keeps=self._may_win)

    def _may_win(self, setting: Setting) -> bool:
        """Whether `setting` is in the running by all of its runs, or is the default and keeps the memory limit."""
        return setting in self._running or (setting == self.reference and self.keeps_memory(setting))

    @cached_property
    def _running(self) -> frozenset[Setting]:
        return frozenset(each.setting for each in contenders(self.measured, keeps=self.keeps_memory))

    @cached_property
    def finalists(self) -> Finalists | None:
        """The setting now compared with the default, and those that run with it; `None` while there is no candidate.

        At first it is the preferred setting among those with as many runs as a winner of the search needs. Once
        settings have enough pairs with the default, it is the preferred one of these, by the figures of the result.
        """
        found = self.leaders
        if found is None:
            return None
        if found.winner == self.reference:
            return self._against_the_default(found)
        verified = self._verified
        if not verified:
            first = self._preferred_by_search(found.winner)
            return Finalists(winner=first, others=self._others(first, found.winner))
        winner = preferred(verified, self._default)
        fastest = min(verified, key=lambda each: each.value)
        return Finalists(winner=winner.setting, others=self._others(winner.setting, fastest.setting))

    @property
    def runner_up(self) -> Setting | None:
        """The best of the others: among those with all their pairs, else those still running, else by the search."""
        found = self.finalists
        if found is None or self.leaders is None:
            return None
        verified = sorted(self._verified, key=lambda each: each.value)
        ranked = (*(each.setting for each in verified), *found.others, self.leaders.runner_up)
        return next((each for each in ranked if each not in {None, found.winner}), None)

    def _against_the_default(self, found: Leaders) -> Finalists:
        """The finalists if the default won the search: the best other setting wins if its pairs show it better."""
        if found.runner_up is None:
            return Finalists(winner=found.winner)
        change = self.change(found.runner_up, found.winner)
        is_better = change.high is not None and change.high < 0
        ranked = (found.runner_up, found.winner) if is_better else (found.winner, found.runner_up)
        return Finalists(winner=ranked[0], others=ranked[1:])

    @cached_property
    def _verified(self) -> tuple[SettingEstimate, ...]:
        """The estimates of the settings with enough pairs to be recommended."""
        every = self._contenders(self.measured)
        return tuple(each for each in every if self._blocks_of(each.setting) >= PAIRS_MIN)

    def _preferred_by_search(self, winner: Setting) -> Setting:
        found = self._contenders(self.evidence)
        known = [each for each in found if each.setting == winner or each.runs >= RUNS_MIN]
        return preferred(known, self._default).setting

    def _others(self, winner: Setting, fastest: Setting) -> tuple[Setting, ...]:
        """The settings to run with `winner`: `fastest`, those preferable if they are as fast, and the runner-up.

        Among the preferable ones the best by all figures so far comes first, then those expected to be fastest.
        """
        found, known = self.leaders, self._estimate(winner)
        assert found is not None
        assert known is not None
        challengers = [
            each
            for each in self._contenders(self.measured)
            if each.setting != winner
            and is_preferable(each, known, self._default)
            and may_tie(self.measured, each.setting, fastest)
        ]
        first = preferred((known, *challengers), self._default)
        ranked = (fastest, first.setting, *(each.setting for each in challengers), found.runner_up)
        every = dict.fromkeys(ranked)
        still = (each for each in every if each is not None and each != winner and self._blocks_of(each) < PAIRS_MIN)
        return tuple(islice(still, CHALLENGERS_MAX))

    def _contenders(self, evidence: TrialEvidence) -> Iterator[SettingEstimate]:
        """The settings that may be recommended rather than the default, the fastest first."""
        for each in contenders(evidence, keeps=self._may_win):
            if each.setting != self.reference:
                peak = max(self.everything.peaks_bytes(each.setting), default=None)
                yield replace(each, peak_memory_bytes=None if peak is None else math.ceil(peak))

    def _estimate(self, setting: Setting) -> SettingEstimate | None:
        return next((each for each in self._contenders(self.measured) if each.setting == setting), None)

    @cached_property
    def measured(self) -> TrialEvidence:
        """The evidence of search and verification together."""
        runs = [trial for trial in self.trials if trial.stage is not Stage.PROBE]
        return TrialEvidence.of(runs, self.tuner.header.objective)

    @property
    def _default(self) -> Setting:
        assert self.reference is not None
        return self.reference

    def change(self, setting: Setting, other: Setting) -> Change:
        """The change from `other` to `setting` in the verification.

        Changes from the default are looked at repeatedly; for any other one the interval takes all of the error.
        """
        trials, objective = self._of(Stage.VERIFICATION), self.tuner.header.objective
        is_final = self.is_final or self.reference not in {setting, other}
        return verify(trials, winner=setting, other=other, objective=objective, looks=self.looks, is_final=is_final)

    @property
    def is_undecided(self) -> bool:
        """Whether the verification has no verdict yet."""
        settings = self._compared()
        return len(settings) > 1 and verdict_on(self.change(settings[1], settings[0])) is TuneVerdict.UNSETTLED

    @property
    def has_ended_before(self) -> bool:
        """Whether a session ended after `PAIRS_MIN` rounds of the verification; each has the time of its set-up.

        Its result may have spent the rest of the error. Ctrl-C spends nothing, but the trials do not tell it.
        """
        rounds = {trial.block for trial in self._of(Stage.VERIFICATION)}
        resumed = (trial for trial in self._of(Stage.VERIFICATION) if trial.set_up_s > 0)
        return any(sum(each < trial.block for each in rounds) >= PAIRS_MIN for trial in resumed)

    @property
    def can_continue(self) -> bool:
        """Whether a larger budget would add runs."""
        tuner = replace(self.tuner, header=msgspec.structs.replace(self.tuner.header, budget_s=math.inf))
        return tuner.next_block(self.trials) is not None

    def keeps_memory(self, setting: Setting) -> bool:
        """Whether `setting` keeps the memory limit, by the peaks of all its runs so far."""
        limit = self.tuner.header.max_memory_bytes
        return limit is None or self.peak_bound_bytes(setting) <= limit

    def peak_bound_bytes(self, setting: Setting) -> float:
        """The upper prediction bound of the memory of `setting`, by the peaks of all its runs so far."""
        is_upload = self.tuner.header.workload.is_upload
        prior_sigma = UPLOAD_PEAK_SIGMA if is_upload else DOWNLOAD_PEAK_SIGMA
        return peak_bound_bytes(self.everything, setting, prior_sigma=prior_sigma)

    @cached_property
    def looks(self) -> VerificationLooks:
        """The looks of the verification."""
        return CLEAR_LOOKS if self._is_gain_clear else UNCERTAIN_LOOKS

    @cached_property
    def everything(self) -> TrialEvidence:
        """The evidence of all trials, including probes and verification."""
        return TrialEvidence.of(self.trials, self.tuner.header.objective)

    def _of(self, stage: Stage) -> tuple[Trial, ...]:
        return tuple(trial for trial in self.trials if trial.stage is stage)

    def _number(self, stage: Stage) -> int:
        return 1 + max((trial.block for trial in self._of(stage)), default=-1)

    def _block(self, stage: Stage, runs: Sequence[PlannedRun]) -> RunBlock | None:
        """A block of `runs` in random order."""
        number = self._number(stage)
        shuffled = list(runs)
        self._randomness(stage).shuffle(shuffled)
        return RunBlock(stage=stage, number=number, runs=tuple(shuffled)) if shuffled else None

    def _randomness(self, purpose: str) -> random.Random:
        """A generator that depends on the trials alone, so that a continued study takes the same course."""
        return random.Random(f"{self.tuner.header.seed} {purpose} {len(self.trials)}")  # noqa: S311 (no secret)

    def _probes(self) -> RunBlock | None:
        """First every client at its defaults, to warm caches and find broken ones; then parameters it may ignore.

        A client that fails at its defaults is tried once more before it is left out.
        """
        probes, settings = self._of(Stage.PROBE), list[Setting]()
        if not probes:
            settings = [Setting(client=client) for client in self.space.parameters]
        elif self._of(Stage.SEARCH):
            return None
        elif self.left_out and self._number(Stage.PROBE) == 1:
            settings = [Setting(client=client) for client in self.tuner.header.clients if client in self.left_out]
        elif all(trial.setting.is_default for trial in probes):
            settings = list(self._possibly_ignored())
        return self._block(Stage.PROBE, [PlannedRun(setting=setting) for setting in settings])

    def _possibly_ignored(self) -> Iterator[Setting]:
        for client, parameters in self.space.parameters.items():
            for parameter in parameters:
                if parameter.is_doubtful:
                    yield self.space.setting(
                        client, {parameter.name: next(value for value in parameter.choices if value)}
                    )

    def _search(self) -> RunBlock | None:
        """The next block of the search, which resumes if no verified setting keeps the memory limit."""
        if self._of(Stage.VERIFICATION) and self.leaders is not None:
            return None
        if self.tuner.header.search is Search.GRID:
            return self._grid()
        return self._simplify() or self._race() or self._final_rounds() if self._of(Stage.SEARCH) else self._first()

    def _grid(self) -> RunBlock | None:
        """Every setting once more; the first round ignores the time limit."""
        done, grid = self._number(Stage.SEARCH), self.space.grid()
        if done == _GRID_ROUNDS or (done and not self._has_time(sum(self.took_s(setting) for setting in grid))):
            return None
        return self._block(Stage.SEARCH, [PlannedRun(setting=setting) for setting in grid])

    def _first(self) -> RunBlock | None:
        """The defaults of every client, and, as time allows, a few settings of each client that may compete."""
        probed = TrialEvidence.of(self._of(Stage.PROBE), self.tuner.header.objective)
        cap = cap_s(probed, max_memory_bytes=self.tuner.header.max_memory_bytes)
        competitive = frozenset(self._competitive_clients(probed))
        settings = [each for each in self.space.starts() if each.is_default or each.client in competitive]
        budget_s, ends_s, runs = self.tuner.header.budget_s, self._spent_s(), []
        for setting in sorted(settings, key=lambda each: not each.is_default):
            default_s = self.took_s(Setting(client=setting.client))
            ends_s += default_s if setting.is_default else min(default_s, cap or math.inf)
            if ends_s <= (budget_s if setting.is_default else _SEARCH_SHARE * budget_s):
                runs.append(PlannedRun(setting=setting, cap_s=None if setting.is_default else cap))
        return self._block(Stage.SEARCH, runs)

    def _competitive_clients(self, probed: TrialEvidence) -> Iterator[str]:
        """The clients that may beat the best probe: those whose start-up and bytes alone do not take longer than it."""
        best = leader(probed, max_memory_bytes=self.tuner.header.max_memory_bytes)
        for client in self.space.parameters:
            model = search_model_of(self.tuner.header, probed.trials, client)
            least_s = model.least_s if model is not None and probed.objective.aim is Aim.TIME else 0.0
            if best is None or least_s <= best.value:
                yield client

    def _race(self) -> RunBlock | None:
        """The best settings so far and new ones, while there is time; the default too while the gain is uncertain."""
        assert self.reference is not None
        if not self._has_time(self._block_s()):
            return None
        limit = self.tuner.header.max_memory_bytes
        new = self._promising[: self._most_new]
        if not self._is_memory_critical and is_settled(self.evidence, are_new=bool(new), max_memory_bytes=limit):
            return None
        runs = [PlannedRun(setting=setting) for setting in self._again()]
        runs += [PlannedRun(setting=setting, cap_s=self._cap_s) for setting in new]
        return self._block(Stage.SEARCH, runs)

    def _again(self) -> tuple[Setting, ...]:
        """The tried settings of the next block of the race."""
        assert self.reference is not None
        limit = self.tuner.header.max_memory_bytes
        if self._is_memory_critical:
            return self._nearest_to_memory_limit()
        best = still_racing(self.evidence, self.reference, max_memory_bytes=limit, most=RACERS_MAX)
        compared = () if self._is_gain_clear else (self.reference,)
        return tuple(dict.fromkeys((*compared, *best)))

    def _nearest_to_memory_limit(self) -> tuple[Setting, ...]:
        """The setting that comes nearest to keeping the memory limit: further runs may show that it does."""
        limit = self.tuner.header.max_memory_bytes or 0
        bounds = {
            each.setting: self.peak_bound_bytes(each.setting)
            for each in self.everything.estimates()
            if each.runs < MEMORY_RUNS and (each.peak_memory_bytes or math.inf) * (1 + MEMORY_MARGIN) <= limit
        }
        return tuple(sorted(bounds, key=lambda setting: bounds[setting])[:1])

    def _simplify(self) -> RunBlock | None:
        """The best setting together with smaller and simpler ones that were not tried and may be as fast."""
        best = leader(self.evidence, max_memory_bytes=self.tuner.header.max_memory_bytes)
        if self.leaders is None or self.leaders.winner == self.reference or best is None or best.runs < RUNS_MIN:
            return None
        cap, winner = self._cap_s, self.leaders.winner
        chosen = preferred(tuple(self._contenders(self.evidence)), self._default).setting
        smaller = dict.fromkeys((*simplifications(winner), *simplifications(chosen), *self._smaller(chosen)))
        untried = [each for each in smaller if each not in self.evidence.settings and self.space.contains(each)]
        new = self._candidates.may_tie(untried)[:_NEW_PER_BLOCK]
        again = (winner,) if self._is_gain_clear else (self._default, winner)
        again_s = [self.took_s(setting) for setting in again]
        if not new or not self._has_time(sum(again_s) + len(new) * (cap or max(again_s))):
            return None
        runs = [PlannedRun(setting=setting) for setting in again]
        runs += [PlannedRun(setting=setting, cap_s=cap) for setting in new]
        return self._block(Stage.SEARCH, runs)

    def _smaller(self, setting: Setting) -> tuple[Setting, ...]:
        return self.space.smaller(setting) if self.space.contains(setting) else ()

    def _final_rounds(self) -> RunBlock | None:
        """The best settings once more, until one leads or the time before the verification is over.

        Only if the gain over the default is clear: an uncertain one needs all the time for its verification.
        """
        assert self.reference is not None
        if not self._is_gain_clear:
            return None
        limit = self.tuner.header.max_memory_bytes
        best = rivals(self.evidence, self.reference, max_memory_bytes=limit, most=RACERS_MAX)
        if not self._has_time(sum(self.took_s(setting) for setting in best)):
            return None
        return self._block(Stage.SEARCH, [PlannedRun(setting=setting) for setting in best])

    @cached_property
    def _is_gain_clear(self) -> bool:
        """Whether the search clearly shows that the best setting is better than the default."""
        assert self.reference is not None
        limit = self.tuner.header.max_memory_bytes
        return is_gain_clear(self.evidence, self.reference, max_memory_bytes=limit)

    @property
    def _most_new(self) -> int:
        return 1 if self._is_memory_critical else _NEW_PER_BLOCK

    @property
    def _cap_s(self) -> float | None:
        """The seconds after which a run of a new setting is ended in the race."""
        return (
            None
            if self._is_memory_critical
            else cap_s(self.evidence, max_memory_bytes=self.tuner.header.max_memory_bytes)
        )

    @property
    def _promising(self) -> tuple[Setting, ...]:
        """The untried settings that are worth a run, the most promising first."""
        return self._candidates.fitting if self._is_memory_critical else self._candidates.improving

    @cached_property
    def _is_memory_critical(self) -> bool:
        """Whether no tried setting keeps the memory limit, and there is no time or no reason to search for better ones.

        Then every setting that may keep it is worth a run, one at a time and however slow; and the nearest one so far
        runs again, since its margin shrinks with further runs.
        """
        is_late = self._spent_s() > _SEARCH_SHARE * self.tuner.header.budget_s
        return self.leaders is None and (is_late or not self._candidates.improving)

    @cached_property
    def _candidates(self) -> Candidates:
        return Candidates(header=self.tuner.header, space=self.space, evidence=self.evidence)

    def _has_time(self, block_s: float) -> bool:
        """Whether the search may take `block_s` longer and still leave the time that the verification needs."""
        return self._spent_s() + block_s <= self._search_ends_s()

    def _search_ends_s(self) -> float:
        """When the search ends: a clear gain shows at the first look, an uncertain one gets half of the budget.

        While there is nothing to verify, the search has the whole budget.
        """
        budget_s, settings = self.tuner.header.budget_s, self._compared()
        if self.leaders is None:
            return budget_s
        if self._is_gain_clear:
            every_s = self._first_look_s(settings)
            return budget_s - (every_s if every_s <= _SEARCH_SHARE * budget_s else self._first_look_s(settings[:3]))
        return min(_SEARCH_SHARE * budget_s, budget_s - self._first_look_s(settings[:2]))

    def _is_over(self, settings: Sequence[Setting], share: float) -> bool:
        """Whether there is no time for one more run of each of `settings`, within `share` times the budget."""
        return self._spent_s() + sum(map(self.took_s, settings)) > share * self.tuner.header.budget_s

    def _spent_s(self) -> float:
        return sum(trial.cost_s for trial in self.trials)

    def _block_s(self) -> float:
        """The longest time of one more block of the race; runs of new settings end at their cap."""
        longest_s = max(self.took_s(estimate.setting) for estimate in self.evidence.estimates())
        return sum(self.took_s(setting) for setting in self._again()) + self._most_new * (self._cap_s or longest_s)

    def _first_look_s(self, settings: Sequence[Setting]) -> float:
        """The time of the verification up to its first look, plus one pair, since times vary."""
        return (self.looks.first + 1) * sum(self.took_s(setting) for setting in settings)

    def took_s(self, setting: Setting) -> float:
        """The median time of the runs that did not fail, of all only where there is no other."""
        own = [trial for trial in self.trials if trial.setting == setting]
        runs = [trial for trial in own if trial.failure is None] or own
        return median([trial.took_s for trial in runs] or [0.0])

    def _compared(self) -> tuple[Setting, ...]:
        """The settings of the verification: the default, the one compared with it, and the others."""
        if self.reference is None or self.finalists is None:
            return ()
        return tuple(dict.fromkeys((self.reference, self.finalists.winner, *self.finalists.others)))

    def _verification(self) -> RunBlock | None:
        """The default and the winner, together with the others while there is time for `PAIRS_MIN` pairs of each.

        After that the better one continues alone with the default, for more pairs in the remaining time. The
        `PAIRS_MIN` pairs of the first winner may exceed the budget by `OVERRUN`.
        """
        settings = self._compared()
        if len(settings) < 2:  # noqa: PLR2004 (a comparison needs two)
            return None
        pair, pairs = settings[:2], self._blocks_of(settings[1])
        is_short = pairs < PAIRS_MIN
        may_overrun = is_short and pairs == self._number(Stage.VERIFICATION)
        if self._is_over(pair, OVERRUN if may_overrun else 1.0):
            return None
        also = tuple(self._with_time_for(pair, settings[2:]))
        if not is_short and not also and not self._needs_more(pair, pairs):
            return None
        return self._block(Stage.VERIFICATION, [PlannedRun(setting=setting) for setting in (*pair, *also)])

    def _with_time_for(self, pair: Sequence[Setting], others: Sequence[Setting]) -> Iterator[Setting]:
        """Those of `others` for which `PAIRS_MIN` rounds with `pair` fit the time before the first look."""
        rounds = max(self.looks.first - self._blocks_of(pair[1]), 0) + 1
        ends_s = self._spent_s() + rounds * sum(map(self.took_s, pair))
        for setting in others:
            rounds_left = PAIRS_MIN - self._blocks_of(setting)
            ends_s += (rounds_left + (rounds_left == PAIRS_MIN)) * self.took_s(setting)
            if ends_s <= OVERRUN * self.tuner.header.budget_s or rounds_left < PAIRS_MIN:
                yield setting

    def _needs_more(self, settings: tuple[Setting, ...], pairs: int) -> bool:
        """Whether the verdict is open after so many pairs; or the gain's size is, and the second look fits the time."""
        changes = self._changes(settings)
        if needs_more_pairs(changes, pairs, self.looks):
            return True
        first, second = CLEAR_LOOKS.pairs[:2]
        more_s = (second - first + 1) * sum(self.took_s(setting) for setting in settings)
        return needs_size(changes, pairs) and self._spent_s() + more_s <= self.tuner.header.budget_s

    def _blocks_of(self, setting: Setting) -> int:
        """The number of blocks of the verification with `setting`."""
        return sum(trial.setting == setting for trial in self._of(Stage.VERIFICATION))

    def _changes(self, settings: tuple[Setting, ...]) -> tuple[Change, ...]:
        reference, *others = settings
        return tuple(self.change(other, reference) for other in others)
