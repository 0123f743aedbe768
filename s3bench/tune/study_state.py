"""What the trials of a study show so far: which settings lead, what the verification tells, what time was spent."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from statistics import median

from s3bench.tune import race
from s3bench.tune.effective_settings import ignored_parameters
from s3bench.tune.evidence import SettingEstimate, TrialEvidence
from s3bench.tune.preference import is_preferable, may_tie, preferred
from s3bench.tune.race import DOWNLOAD_PEAK_SIGMA, RUNS_MIN, UPLOAD_PEAK_SIGMA, Leaders, find_leaders
from s3bench.tune.setting import Setting
from s3bench.tune.space import Space
from s3bench.tune.study import Header, Stage, Trial
from s3bench.tune.verification import (
    CLEAR_LOOKS,
    PAIRS_MIN,
    UNCERTAIN_LOOKS,
    Change,
    TuneVerdict,
    VerificationLooks,
    verdict_on,
    verify,
)

CHALLENGERS_MAX = 3
"""How many further settings run in the verification, not counting the winner and the default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finalists:
    """The setting that is compared with the default, and the `others` that still run with the two."""

    winner: Setting
    others: tuple[Setting, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StudyState:
    """The state of the study that `header` begins, after `trials`.

    `whole_space` is the space that was given. `is_final`: the study has ended, its verification had no verdict at its
    last look, and it never ended before.
    """

    header: Header
    whole_space: Space
    trials: tuple[Trial, ...]
    is_final: bool = False

    @cached_property
    def space(self) -> Space:
        """The space without clients that fail here, and without parameters that have no effect."""
        ignored = ignored_parameters(self.of(Stage.PROBE), self.header.workload)
        return self.whole_space.without(ignored, self.left_out)

    @cached_property
    def left_out(self) -> frozenset[str]:
        """The clients that failed here: no probe of their defaults was complete."""
        probes = [trial for trial in self.of(Stage.PROBE) if trial.setting.is_default]
        working = {trial.setting.client for trial in probes if trial.failure is None}
        return frozenset(trial.setting.client for trial in probes) - working

    @cached_property
    def reference(self) -> Setting | None:
        """The default with which everything is compared: that of the first client that works."""
        return next((Setting(client=client) for client in self.space.parameters), None)

    @property
    def default(self) -> Setting:
        """The `reference`, where there is one."""
        assert self.reference is not None
        return self.reference

    @cached_property
    def everything(self) -> TrialEvidence:
        """The evidence of all trials, including probes and verification."""
        return TrialEvidence.of(self.trials, self.header.objective)

    @cached_property
    def evidence(self) -> TrialEvidence:
        """The evidence of the search."""
        return TrialEvidence.of(self.of(Stage.SEARCH), self.header.objective)

    @cached_property
    def measured(self) -> TrialEvidence:
        """The evidence of search and verification together."""
        runs = [trial for trial in self.trials if trial.stage is not Stage.PROBE]
        return TrialEvidence.of(runs, self.header.objective)

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
        return setting in self.running or (setting == self.reference and self.keeps_memory(setting))

    @cached_property
    def running(self) -> frozenset[Setting]:
        """The settings in the running for first place by all runs of search and verification."""
        return frozenset(each.setting for each in race.contenders(self.measured, keeps=self.keeps_memory))

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
        winner = preferred(verified, self.default)
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
        every = self.contenders(self.measured)
        return tuple(each for each in every if self.pairs_of(each.setting) >= PAIRS_MIN)

    def _preferred_by_search(self, winner: Setting) -> Setting:
        found = self.contenders(self.evidence)
        known = [each for each in found if each.setting == winner or each.runs >= RUNS_MIN]
        return preferred(known, self.default).setting

    def _others(self, winner: Setting, fastest: Setting) -> tuple[Setting, ...]:
        """The settings to run with `winner`: `fastest`, those preferable if they are as fast, and the runner-up.

        Among the preferable ones the best by all figures so far comes first, then those expected to be fastest.
        """
        found, known = self.leaders, self._estimate(winner)
        assert found is not None
        assert known is not None
        challengers = [
            each
            for each in self.contenders(self.measured)
            if each.setting != winner
            and is_preferable(each, known, self.default)
            and may_tie(self.measured, each.setting, fastest)
        ]
        first = preferred((known, *challengers), self.default)
        ranked = (fastest, first.setting, *(each.setting for each in challengers), found.runner_up)
        every = dict.fromkeys(ranked)
        still = (each for each in every if each is not None and each != winner and self.pairs_of(each) < PAIRS_MIN)
        return tuple(islice(still, CHALLENGERS_MAX))

    def contenders(self, evidence: TrialEvidence) -> Iterator[SettingEstimate]:
        """The settings that may be recommended rather than the default, the fastest first."""
        for each in race.contenders(evidence, keeps=self._may_win):
            if each.setting != self.reference:
                peak = max(self.everything.peaks_bytes(each.setting), default=None)
                yield replace(each, peak_memory_bytes=None if peak is None else math.ceil(peak))

    def _estimate(self, setting: Setting) -> SettingEstimate | None:
        return next((each for each in self.contenders(self.measured) if each.setting == setting), None)

    def compared(self) -> tuple[Setting, ...]:
        """The settings of the verification: the default, the one compared with it, and the others."""
        if self.reference is None or self.finalists is None:
            return ()
        return tuple(dict.fromkeys((self.reference, self.finalists.winner, *self.finalists.others)))

    def change(self, setting: Setting, other: Setting) -> Change:
        """The change from `other` to `setting` in the verification.

        Changes from the default are looked at repeatedly; for any other one the interval takes all of the error.
        """
        trials, objective = self.of(Stage.VERIFICATION), self.header.objective
        is_final = self.is_final or self.reference not in {setting, other}
        return verify(trials, winner=setting, other=other, objective=objective, looks=self.looks, is_final=is_final)

    @property
    def is_undecided(self) -> bool:
        """Whether the verification has no verdict yet."""
        settings = self.compared()
        return len(settings) > 1 and verdict_on(self.change(settings[1], settings[0])) is TuneVerdict.UNSETTLED

    @property
    def has_ended_before(self) -> bool:
        """Whether a session ended after `PAIRS_MIN` rounds of the verification; each has the time of its set-up.

        Its result may have spent the rest of the error. Ctrl-C spends nothing, but the trials do not tell it.
        """
        resumed = (trial for trial in self.of(Stage.VERIFICATION) if trial.set_up_s > 0)
        return any(sum(each < trial.block for each in self.rounds) >= PAIRS_MIN for trial in resumed)

    @cached_property
    def is_gain_clear(self) -> bool:
        """Whether the search clearly shows that the best setting is better than the default."""
        assert self.reference is not None
        limit = self.header.max_memory_bytes
        return race.is_gain_clear(self.evidence, self.reference, max_memory_bytes=limit)

    @cached_property
    def looks(self) -> VerificationLooks:
        """The looks of the verification."""
        return CLEAR_LOOKS if self.is_gain_clear else UNCERTAIN_LOOKS

    def keeps_memory(self, setting: Setting) -> bool:
        """Whether `setting` keeps the memory limit, by the peaks of all its runs so far."""
        limit = self.header.max_memory_bytes
        return limit is None or self.peak_bound_bytes(setting) <= limit

    def peak_bound_bytes(self, setting: Setting) -> float:
        """The upper prediction bound of the memory of `setting`, by the peaks of all its runs so far."""
        is_upload = self.header.workload.is_upload
        prior_sigma = UPLOAD_PEAK_SIGMA if is_upload else DOWNLOAD_PEAK_SIGMA
        return race.peak_bound_bytes(self.everything, setting, prior_sigma=prior_sigma)

    def of(self, stage: Stage) -> tuple[Trial, ...]:
        """The trials of one stage."""
        return tuple(trial for trial in self.trials if trial.stage is stage)

    def next_number(self, stage: Stage) -> int:
        """The number of the next block of one stage."""
        return 1 + max((trial.block for trial in self.of(stage)), default=-1)

    def pairs_of(self, setting: Setting) -> int:
        """The number of blocks of the verification in which `setting` ran next to the default."""
        return len(self._paired_blocks.get(setting, ()))

    @property
    def rounds(self) -> frozenset[int]:
        """The blocks of the verification in which any setting ran next to the default."""
        return frozenset().union(*self._paired_blocks.values())

    @cached_property
    def _paired_blocks(self) -> Mapping[Setting, set[int]]:
        """By setting, the blocks of the verification in which it ran next to the default.

        One that was interrupted may have a run of only one of the two.
        """
        verification = self.of(Stage.VERIFICATION)
        with_default = {trial.block for trial in verification if trial.setting == self.reference}
        blocks: dict[Setting, set[int]] = {}
        for trial in verification:
            if trial.setting != self.reference and trial.block in with_default:
                blocks.setdefault(trial.setting, set()).add(trial.block)
        return blocks

    def spent_s(self) -> float:
        """The time of all trials."""
        return sum(trial.cost_s for trial in self.trials)

    def took_s(self, setting: Setting) -> float:
        """The median time of the runs that did not fail, of all only where there is no other."""
        own = [trial for trial in self.trials if trial.setting == setting]
        runs = [trial for trial in own if trial.failure is None] or own
        return median([trial.took_s for trial in runs] or [0.0])
