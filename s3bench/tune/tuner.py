"""Decides what to run next, told what was found so far: probes, the race, the verification, the end.

Owns the course of a study. It follows from the trials alone, so that an interrupted study goes on where it stopped, and
knows nothing of processes.
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, zip_longest
from statistics import median
from typing import Protocol

from s3bench.tune.candidates import Candidates, sketch_of
from s3bench.tune.effective_settings import ignored_knobs
from s3bench.tune.evidence import SettingEstimate, TrialEvidence
from s3bench.tune.objective import Aim
from s3bench.tune.preference import is_preferable, may_tie, preferred, simplifications
from s3bench.tune.proposer import propose
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
    is_gain_plain,
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
    DOUBT_LOOKS,
    PAIRS_MIN,
    PLAIN_LOOKS,
    Change,
    VerificationLooks,
    verify,
    wants_more,
    wants_size,
)

RACERS_MAX = 4
"""How many settings are run again in every block, the default not counted."""

OVERRUN = 1.05
"""A study is ended after so many times its budget: what was planned within the budget may take a little longer."""

CHALLENGERS_MAX = 3
"""How many settings run beside the winner in the verification, the default not counted."""

_SEEDS = 2**32
_NEW_PER_BLOCK = 3
_GRID_ROUNDS = 3
_SEARCH_SHARE = 0.5
"""The race takes half of the budget at the most where the gain is in doubt: one that cannot be proven is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """One run to come, to be ended after `cap_s` seconds."""

    setting: Setting
    cap_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBlock:
    """Runs to be made next to each other, in this order; `number` counts from 0 in each stage."""

    stage: Stage
    number: int
    runs: tuple[PlannedRun, ...]


class Planner(Protocol):
    """Whoever decides what to run next for the study that `header` begins."""

    @property
    def header(self) -> Header:
        """What the study is about."""
        ...

    def next_block(self, trials: Sequence[Trial]) -> RunBlock | None:
        """What to run after `trials`; `None` at the end."""
        ...

    def left_s(self, trials: Sequence[Trial]) -> float:
        """The time in which the study has to be over; infinite where nothing bounds it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """Every client at its defaults, `rounds` times in turn: a comparison of clients, without a search."""

    header: Header
    rounds: int

    def next_block(self, trials: Sequence[Trial]) -> RunBlock | None:
        """The next round, after one that warms caches."""
        number = 1 + max((trial.block for trial in trials), default=-1)
        if number > self.rounds:
            return None
        runs = [PlannedRun(setting=Setting(client=client)) for client in self.header.clients]
        random.Random(f"{self.header.seed} {number}").shuffle(runs)  # noqa: S311 (an order, not a secret)
        return RunBlock(stage=Stage.SEARCH if number else Stage.PROBE, number=number, runs=tuple(runs))

    def left_s(self, trials: Sequence[Trial]) -> float:  # noqa: ARG002 (it is the same after any trials)
        """As many rounds as were asked for have all the time that they take."""
        return math.inf


@dataclass(frozen=True, kw_only=True)
class Tuner:
    """Plans the study that `header` begins, over `space`."""

    header: Header
    space: Space

    def next_block(self, trials: Sequence[Trial]) -> RunBlock | None:
        """What is left of the block in which `trials` end, or the one after it; `None` when all is known."""
        if trials and self.left_s(trials) <= 0:
            return None
        if trials:
            last = trials[-1]
            before = [trial for trial in trials if (trial.stage, trial.block) != (last.stage, last.block)]
            block = Course(tuner=self, trials=tuple(before)).plan()
            assert block is not None, "a block that has begun was planned"
            done = {trial.setting for trial in trials[len(before) :]}
            left = tuple(run for run in block.runs if run.setting not in done)
            if left:
                return replace(block, runs=left)
        return Course(tuner=self, trials=tuple(trials)).plan()

    def left_s(self, trials: Sequence[Trial]) -> float:
        """The time until the study is ended, whatever runs then."""
        return OVERRUN * self.header.budget_s - sum(trial.cost_s for trial in trials)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finalists:
    """The setting that is held against the default, and the `others` that still run beside the two."""

    winner: Setting
    others: tuple[Setting, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Course:
    """Where a study stands after whole blocks of trials."""

    tuner: Tuner
    trials: tuple[Trial, ...]

    def plan(self) -> RunBlock | None:
        """The next block."""
        if self.reference is None and self._of(Stage.PROBE):
            return None
        return self._probes() or self._search() or self._verification()

    @cached_property
    def space(self) -> Space:
        """The space without clients that do not work here, and without knobs that do nothing."""
        probes = self._of(Stage.PROBE)
        broken = frozenset(trial.setting.client for trial in probes if trial.failure and trial.setting.is_default)
        return self.tuner.space.without(ignored_knobs(probes, self.tuner.header.workload), broken)

    @cached_property
    def reference(self) -> Setting | None:
        """The default that everything is held against: that of the first client that works."""
        return next((Setting(client=client) for client in self.space.knobs), None)

    @cached_property
    def evidence(self) -> TrialEvidence:
        """What the search showed."""
        return TrialEvidence.of(self._of(Stage.SEARCH), self.tuner.header.objective)

    @cached_property
    def leaders(self) -> Leaders | None:
        """The winner of the search and the runner-up; `None` while there are none.

        By the times of the search, since its winner is what the verification proves. A winner whose memory turns out
        too large in the verification makes way for the next.
        """
        assert self.reference is not None
        return find_leaders(self.evidence, self.reference, keeps=self.keeps_memory)

    @cached_property
    def finalists(self) -> Finalists | None:
        """What is held against the default by now, and what runs beside it; `None` while nothing is in the running.

        First the preferred setting of those that were run as often as a winner of the search has to be. Of the settings
        that were seen beside the default often enough, the one to be preferred takes its place: by the same figures
        that the answer shows.
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
        """The best of the others: of those that have all their pairs, else of those that still run, else by search."""
        found = self.finalists
        if found is None or self.leaders is None:
            return None
        verified = sorted(self._verified, key=lambda each: each.value)
        ranked = (*(each.setting for each in verified), *found.others, self.leaders.runner_up)
        return next((each for each in ranked if each not in {None, found.winner}), None)

    def _against_the_default(self, found: Leaders) -> Finalists:
        """Where the default won the search: the best other one takes its place when it is better side by side."""
        if found.runner_up is None:
            return Finalists(winner=found.winner)
        change = self.change(found.runner_up, found.winner)
        is_better = change.high is not None and change.high < 0
        ranked = (found.runner_up, found.winner) if is_better else (found.winner, found.runner_up)
        return Finalists(winner=ranked[0], others=ranked[1:])

    @cached_property
    def _verified(self) -> tuple[SettingEstimate, ...]:
        """The settings that may be recommended by the pairs that they have, and what their runs showed."""
        every = self._contenders(self.measured)
        return tuple(each for each in every if self._blocks_of(each.setting) >= PAIRS_MIN)

    def _preferred_by_search(self, winner: Setting) -> Setting:
        found = self._contenders(self.evidence)
        known = [each for each in found if each.setting == winner or each.runs >= RUNS_MIN]
        return preferred(known, self._default).setting

    def _others(self, winner: Setting, fastest: Setting) -> tuple[Setting, ...]:
        """What runs beside `winner`: `fastest`, what would be preferred if it is as fast as that, and the runner-up.

        Of what would be preferred first the best by all figures so far, then those that are expected to be fastest.
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
        for each in contenders(evidence, keeps=self.keeps_memory):
            if each.setting != self.reference:
                peak = max(self.everything.peaks_bytes(each.setting), default=None)
                yield replace(each, peak_memory_bytes=None if peak is None else math.ceil(peak))

    def _estimate(self, setting: Setting) -> SettingEstimate | None:
        return next((each for each in self._contenders(self.measured) if each.setting == setting), None)

    @cached_property
    def measured(self) -> TrialEvidence:
        """What the runs of the search and of the verification showed together."""
        runs = [trial for trial in self.trials if trial.stage is not Stage.PROBE]
        return TrialEvidence.of(runs, self.tuner.header.objective)

    @property
    def _default(self) -> Setting:
        assert self.reference is not None
        return self.reference

    def change(self, setting: Setting, other: Setting) -> Change:
        """How `setting` lies to `other` in the verification."""
        trials, objective = self._of(Stage.VERIFICATION), self.tuner.header.objective
        return verify(trials, winner=setting, other=other, objective=objective, looks=self.looks)

    def keeps_memory(self, setting: Setting) -> bool:
        """Whether `setting` may be recommended under the memory limit, by the peaks of all its runs so far."""
        limit = self.tuner.header.max_memory_bytes
        return limit is None or self.peak_bound_bytes(setting) <= limit

    def peak_bound_bytes(self, setting: Setting) -> float:
        """The memory that `setting` is not believed to exceed, by the peaks of all its runs so far."""
        is_upload = self.tuner.header.workload.is_upload
        prior_sigma = UPLOAD_PEAK_SIGMA if is_upload else DOWNLOAD_PEAK_SIGMA
        return peak_bound_bytes(self.everything, setting, prior_sigma=prior_sigma)

    @cached_property
    def looks(self) -> VerificationLooks:
        """When the verification looks at its pairs."""
        return PLAIN_LOOKS if self._is_gain_plain else DOUBT_LOOKS

    @cached_property
    def everything(self) -> TrialEvidence:
        """What all trials showed, those of probes and of the verification, too."""
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
        """The same for the same trials: a study that is gone on with takes the same course."""
        return random.Random(f"{self.tuner.header.seed} {purpose} {len(self.trials)}")  # noqa: S311 (no secret)

    def _probes(self) -> RunBlock | None:
        """First every client as it is: that warms caches and shows who works. Then knobs that may be ignored."""
        match self._number(Stage.PROBE):
            case 0:
                return self._block(Stage.PROBE, [PlannedRun(setting=Setting(client=name)) for name in self.space.knobs])
            case 1:
                return self._block(Stage.PROBE, [PlannedRun(setting=setting) for setting in self._doubtful()])
        return None

    def _doubtful(self) -> Iterator[Setting]:
        for client, knobs in self.space.knobs.items():
            for knob in knobs:
                if knob.is_doubtful:
                    yield self.space.setting(client, {knob.name: next(value for value in knob.choices if value)})

    def _search(self) -> RunBlock | None:
        """The next block of the search, which is gone back to where the verification left nothing within the memory."""
        if self._of(Stage.VERIFICATION) and self.leaders is not None:
            return None
        if self.tuner.header.search is Search.GRID:
            return self._grid()
        return self._trim() or self._race() or self._play_off() if self._of(Stage.SEARCH) else self._first()

    def _grid(self) -> RunBlock | None:
        """Every setting once more; the first time however long it takes."""
        done, grid = self._number(Stage.SEARCH), self.space.grid()
        if done == _GRID_ROUNDS or (done and not self._has_time(sum(self._took_s(setting) for setting in grid))):
            return None
        return self._block(Stage.SEARCH, [PlannedRun(setting=setting) for setting in grid])

    def _first(self) -> RunBlock | None:
        """The defaults of every client, and as time allows a few settings of each that the probes do not rule out."""
        probed = TrialEvidence.of(self._of(Stage.PROBE), self.tuner.header.objective)
        cap = cap_s(probed, max_memory_bytes=self.tuner.header.max_memory_bytes)
        hopeful = frozenset(self._hopeful(probed))
        settings = [each for each in self.space.starts() if each.is_default or each.client in hopeful]
        budget_s, ends_s, runs = self.tuner.header.budget_s, self._spent_s(), []
        for setting in sorted(settings, key=lambda each: not each.is_default):
            default_s = self._took_s(Setting(client=setting.client))
            ends_s += default_s if setting.is_default else min(default_s, cap or math.inf)
            if ends_s <= (budget_s if setting.is_default else _SEARCH_SHARE * budget_s):
                runs.append(PlannedRun(setting=setting, cap_s=None if setting.is_default else cap))
        return self._block(Stage.SEARCH, runs)

    def _hopeful(self, probed: TrialEvidence) -> Iterator[str]:
        """The clients that may beat the best probe: not those whose start-up and bytes alone take longer than it."""
        best = leader(probed, max_memory_bytes=self.tuner.header.max_memory_bytes)
        for client in self.space.knobs:
            drawn = sketch_of(self.tuner.header, probed.trials, client)
            least_s = drawn.least_s if drawn is not None and probed.objective.aim is Aim.TIME else 0.0
            if best is None or least_s <= best.value:
                yield client

    def _race(self) -> RunBlock | None:
        """The best settings so far and new ones, while there is time for them; the default while it is in doubt."""
        assert self.reference is not None
        if not self._has_time(self._block_s()):
            return None
        limit = self.tuner.header.max_memory_bytes
        new = tuple(self._proposals())
        if not self._is_cornered and is_settled(self.evidence, are_new=bool(new), max_memory_bytes=limit):
            return None
        runs = [PlannedRun(setting=setting) for setting in self._again()]
        runs += [PlannedRun(setting=setting, cap_s=self._cap_s) for setting in new]
        return self._block(Stage.SEARCH, runs)

    def _again(self) -> tuple[Setting, ...]:
        """The settings that the next block of the race runs again."""
        assert self.reference is not None
        limit = self.tuner.header.max_memory_bytes
        if self._is_cornered:
            return self._nearest()
        best = still_racing(self.evidence, self.reference, max_memory_bytes=limit, most=RACERS_MAX)
        held_against = () if self._is_gain_plain else (self.reference,)
        return tuple(dict.fromkeys((*held_against, *best)))

    def _nearest(self) -> tuple[Setting, ...]:
        """The setting that comes nearest to keeping within the memory limit: further runs may show that it does."""
        limit = self.tuner.header.max_memory_bytes or 0
        bounds = {
            each.setting: self.peak_bound_bytes(each.setting)
            for each in self.everything.estimates()
            if each.runs < MEMORY_RUNS and (each.peak_memory_bytes or math.inf) * (1 + MEMORY_MARGIN) <= limit
        }
        return tuple(sorted(bounds, key=lambda setting: bounds[setting])[:1])

    def _trim(self) -> RunBlock | None:
        """The best setting beside smaller and simpler ones that were not tried, as long as they are as fast."""
        best = leader(self.evidence, max_memory_bytes=self.tuner.header.max_memory_bytes)
        if self.leaders is None or self.leaders.winner == self.reference or best is None or best.runs < RUNS_MIN:
            return None
        cap, winner = self._cap_s, self.leaders.winner
        chosen = preferred(tuple(self._contenders(self.evidence)), self._default).setting
        smaller = dict.fromkeys((*simplifications(winner), *simplifications(chosen), *self._smaller(chosen)))
        untried = [setting for setting in smaller if setting not in self.evidence.settings]
        new = self._candidates.may_tie(untried)[:_NEW_PER_BLOCK]
        again = (winner,) if self._is_gain_plain else (self._default, winner)
        again_s = [self._took_s(setting) for setting in again]
        if not new or not self._has_time(sum(again_s) + len(new) * (cap or max(again_s))):
            return None
        runs = [PlannedRun(setting=setting) for setting in again]
        runs += [PlannedRun(setting=setting, cap_s=cap) for setting in new]
        return self._block(Stage.SEARCH, runs)

    def _smaller(self, setting: Setting) -> tuple[Setting, ...]:
        return self.space.smaller(setting) if self.space.holds(setting) else ()

    def _play_off(self) -> RunBlock | None:
        """The best settings among themselves, until one leads or the time that the verification leaves is over.

        Only where the gain over the default is plain: one in doubt needs all the time there is for its proof.
        """
        assert self.reference is not None
        if not self._is_gain_plain:
            return None
        limit = self.tuner.header.max_memory_bytes
        best = rivals(self.evidence, self.reference, max_memory_bytes=limit, most=RACERS_MAX)
        if not self._has_time(sum(self._took_s(setting) for setting in best)):
            return None
        return self._block(Stage.SEARCH, [PlannedRun(setting=setting) for setting in best])

    @cached_property
    def _is_gain_plain(self) -> bool:
        """Whether the search shows beyond doubt that the best setting is better than the default."""
        assert self.reference is not None
        limit = self.tuner.header.max_memory_bytes
        return is_gain_plain(self.evidence, self.reference, max_memory_bytes=limit)

    def _proposals(self) -> Iterator[Setting]:
        """New settings that are worth a run: by turns what is believed to improve most, and what Optuna proposes."""
        tried = set(self.evidence.settings)
        seed = self._randomness("proposals").randrange(_SEEDS)
        clients = dict.fromkeys(setting.client for setting in self._promising)
        asked = (propose(self.space, client, self._candidates.known, tried, seed=seed) for client in clients)
        turns = (setting for turn in zip_longest(self._promising, asked) for setting in turn)
        worth = set(self._promising)
        yield from islice(dict.fromkeys(setting for setting in turns if setting in worth), self._most_new)

    @property
    def _most_new(self) -> int:
        return 1 if self._is_cornered else _NEW_PER_BLOCK

    @property
    def _cap_s(self) -> float | None:
        """After how many seconds a run of a new setting is ended in the race."""
        return None if self._is_cornered else cap_s(self.evidence, max_memory_bytes=self.tuner.header.max_memory_bytes)

    @property
    def _promising(self) -> tuple[Setting, ...]:
        """The settings not tried yet that are worth a run, the most promising first."""
        return self._candidates.fitting if self._is_cornered else self._candidates.improving

    @cached_property
    def _is_cornered(self) -> bool:
        """Whether nothing tried keeps within the memory limit, and there is no time or no reason to look for better.

        Then whatever may keep within it is worth a run, one at a time and however slow it is; and what came nearest so
        far is run again, since its margin shrinks with further runs.
        """
        is_late = self._spent_s() > _SEARCH_SHARE * self.tuner.header.budget_s
        return self.leaders is None and (is_late or not self._candidates.improving)

    @cached_property
    def _candidates(self) -> Candidates:
        return Candidates(header=self.tuner.header, space=self.space, evidence=self.evidence)

    def _has_time(self, block_s: float) -> bool:
        """Whether the search may take so much longer, and leave the time that the verification needs."""
        return self._spent_s() + block_s <= self._search_ends_s()

    def _search_ends_s(self) -> float:
        """When the search is to be over: a plain gain shows at the first look, one in doubt has half of the budget.

        While there is nothing to verify, the whole budget is the search's.
        """
        budget_s, settings = self.tuner.header.budget_s, self._compared()
        if self.leaders is None:
            return budget_s
        if self._is_gain_plain:
            every_s = self._first_look_s(settings)
            return budget_s - (every_s if every_s <= _SEARCH_SHARE * budget_s else self._first_look_s(settings[:3]))
        return min(_SEARCH_SHARE * budget_s, budget_s - self._first_look_s(settings[:2]))

    def _is_over(self, settings: Sequence[Setting], share: float) -> bool:
        """Whether there is no time for one more run of each of `settings`, within `share` times the budget."""
        return self._spent_s() + sum(map(self._took_s, settings)) > share * self.tuner.header.budget_s

    def _spent_s(self) -> float:
        return sum(trial.cost_s for trial in self.trials)

    def _block_s(self) -> float:
        """The time that one more block of the race will take, at the most: a new setting is ended at its cap."""
        longest_s = max(self._took_s(estimate.setting) for estimate in self.evidence.estimates())
        return sum(self._took_s(setting) for setting in self._again()) + self._most_new * (self._cap_s or longest_s)

    def _first_look_s(self, settings: Sequence[Setting]) -> float:
        """The time that the verification takes up to its first look, and that of one pair more, since times vary."""
        return (self.looks.first + 1) * sum(self._took_s(setting) for setting in settings)

    def _took_s(self, setting: Setting) -> float:
        return median([trial.took_s for trial in self.trials if trial.setting == setting] or [0.0])

    def _compared(self) -> tuple[Setting, ...]:
        """The settings of the verification: the default, the one that is held against it, and the others."""
        if self.reference is None or self.finalists is None:
            return ()
        return tuple(dict.fromkeys((self.reference, self.finalists.winner, *self.finalists.others)))

    def _verification(self) -> RunBlock | None:
        """The default and the winner in turn, and beside them the others where there is time for `PAIRS_MIN` pairs.

        After that the better one goes on alone with the default, for more pairs in the time that is left. For the
        `PAIRS_MIN` pairs of the first winner, the budget may be overstepped by `OVERRUN`.
        """
        settings = self._compared()
        if len(settings) < 2:  # noqa: PLR2004 (a comparison needs two)
            return None
        pair, pairs = settings[:2], self._blocks_of(settings[1])
        is_short = pairs < PAIRS_MIN
        is_owed = is_short and pairs == self._number(Stage.VERIFICATION)
        if self._is_over(pair, OVERRUN if is_owed else 1.0):
            return None
        beside = tuple(self._beside(pair, settings[2:]))
        if not is_short and not beside and not self._wants_more(pair, pairs):
            return None
        return self._block(Stage.VERIFICATION, [PlannedRun(setting=setting) for setting in (*pair, *beside)])

    def _beside(self, pair: Sequence[Setting], others: Sequence[Setting]) -> Iterator[Setting]:
        """Those of `others` that can be seen `PAIRS_MIN` times beside `pair`, and the first look still be reached."""
        rounds = max(self.looks.first - self._blocks_of(pair[1]), 0) + 1
        ends_s = self._spent_s() + rounds * sum(map(self._took_s, pair))
        for setting in others:
            rounds_left = PAIRS_MIN - self._blocks_of(setting)
            ends_s += (rounds_left + (rounds_left == PAIRS_MIN)) * self._took_s(setting)
            if ends_s <= OVERRUN * self.tuner.header.budget_s or rounds_left < PAIRS_MIN:
                yield setting

    def _wants_more(self, settings: tuple[Setting, ...], pairs: int) -> bool:
        """Whether the verdict is open after so many pairs; or the gain's size, and the second look fits the time."""
        changes = self._changes(settings)
        if wants_more(changes, pairs, self.looks):
            return True
        first, second = PLAIN_LOOKS.pairs[:2]
        more_s = (second - first + 1) * sum(self._took_s(setting) for setting in settings)
        return wants_size(changes, pairs) and self._spent_s() + more_s <= self.tuner.header.budget_s

    def _blocks_of(self, setting: Setting) -> int:
        """In how many blocks of the verification `setting` took part."""
        return sum(trial.setting == setting for trial in self._of(Stage.VERIFICATION))

    def _changes(self, settings: tuple[Setting, ...]) -> tuple[Change, ...]:
        reference, *others = settings
        return tuple(self.change(other, reference) for other in others)
