"""Plans the next block of a study: probes, then the search, then the verification."""

import math
import random
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cached_property

from s3bench.tune.candidates import Candidates, search_model_of
from s3bench.tune.evidence import TrialEvidence
from s3bench.tune.objective import Aim
from s3bench.tune.preference import preferred, simplifications
from s3bench.tune.race import MEMORY_MARGIN, MEMORY_RUNS, RUNS_MIN, cap_s, is_settled, leader, rivals, still_racing
from s3bench.tune.run_block import PlannedRun, RunBlock
from s3bench.tune.setting import Setting
from s3bench.tune.study import Search, Stage
from s3bench.tune.study_state import StudyState
from s3bench.tune.verification import CLEAR_LOOKS, PAIRS_MIN, Change, needs_more_pairs, needs_size

RACERS_MAX = 4
"""How many settings run again in every block, not counting the default."""

OVERRUN = 1.05
"""A study is ended after so many times its budget, since planned runs may take a little longer."""

_NEW_PER_BLOCK = 3
_GRID_ROUNDS = 3
_SEARCH_SHARE = 0.5
"""The race takes at most half of the budget if the gain is uncertain, so that there is time to prove it."""


class StudyPlan:
    """What to run next in `state`."""

    def __init__(self, state: StudyState) -> None:
        self._state = state
        self._header = state.header
        self._limit_bytes = state.header.max_memory_bytes  # of memory

    def next_block(self) -> RunBlock | None:
        """The next block."""
        if (probes := self._probes()) is not None or self._state.reference is None:
            return probes
        return self._search() or self._verification()

    def rest_of(self, cut: RunBlock) -> RunBlock | None:
        """The runs that are missing in `cut`, in which the trials end; `None` if there are none, or pairs are cut.

        They are a block of their own, since the others were made some time ago. Probes are not compared, and stay one.
        """
        done = {trial.setting for trial in self._state.of(cut.stage) if trial.block == cut.number}
        left = [run for run in cut.runs if run.setting not in done]
        match cut.stage:
            case Stage.PROBE:
                return replace(cut, runs=tuple(left)) if left else None
            case Stage.SEARCH:
                again = [PlannedRun(setting=setting) for setting in self._connecting(done) if left]
                return self._block(cut.stage, [*again, *left])
        return None

    def _connecting(self, done: AbstractSet[Setting]) -> tuple[Setting, ...]:
        """The setting of `done` that runs again with those that are left, so that all of them are comparable.

        That is the default, which runs in every block while the gain is uncertain, or else the best one.
        """
        if self._state.default in done:
            return (self._state.default,)
        whole = (each.setting for each in self._state.evidence.estimates() if each.runs)
        return tuple(setting for setting in whole if setting in done)[:1]

    def _block(self, stage: Stage, runs: Sequence[PlannedRun]) -> RunBlock | None:
        """A block of `runs` in random order."""
        number = self._state.next_number(stage)
        shuffled = list(runs)
        self._randomness(stage).shuffle(shuffled)
        return RunBlock(stage=stage, number=number, runs=tuple(shuffled)) if shuffled else None

    def _randomness(self, purpose: str) -> random.Random:
        """A generator that depends on the trials alone, so that a continued study takes the same course."""
        return random.Random(f"{self._header.seed} {purpose} {len(self._state.trials)}")  # noqa: S311 (no secret)

    def _probes(self) -> RunBlock | None:
        """First every client at its defaults, to warm caches and find broken ones; then parameters it may ignore.

        A client that fails at its defaults is tried once more before it is left out.
        """
        probes, settings = self._state.of(Stage.PROBE), list[Setting]()
        if not probes:
            settings = [Setting(client=client) for client in self._state.space.parameters]
        elif self._state.of(Stage.SEARCH):
            return None
        elif self._state.left_out and self._state.next_number(Stage.PROBE) == 1:
            settings = [Setting(client=client) for client in self._header.clients if client in self._state.left_out]
        elif all(trial.setting.is_default for trial in probes):
            settings = list(self._possibly_ignored())
        return self._block(Stage.PROBE, [PlannedRun(setting=setting) for setting in settings])

    def _possibly_ignored(self) -> Iterator[Setting]:
        for client, parameters in self._state.space.parameters.items():
            for parameter in parameters:
                if parameter.is_doubtful:
                    yield self._state.space.setting(
                        client, {parameter.name: next(value for value in parameter.choices if value)}
                    )

    def _search(self) -> RunBlock | None:
        """The next block of the search, which resumes if no verified setting keeps the memory limit."""
        if self._state.of(Stage.VERIFICATION) and self._state.leaders is not None:
            return None
        if self._header.search is Search.GRID:
            return self._grid()
        if not self._state.of(Stage.SEARCH):
            return self._first()
        return self._simplify() or self._race() or self._final_rounds()

    def _grid(self) -> RunBlock | None:
        """Every setting once more; the first round ignores the time limit."""
        done, grid = self._state.next_number(Stage.SEARCH), self._state.space.grid()
        if done == _GRID_ROUNDS or (done and not self._has_time(self._round_s(grid))):
            return None
        return self._block(Stage.SEARCH, [PlannedRun(setting=setting) for setting in grid])

    def _first(self) -> RunBlock | None:
        """The defaults of every client, and, as time allows, a few settings of each client that may compete."""
        probed = TrialEvidence.of(self._state.of(Stage.PROBE), self._header.objective)
        cap = cap_s(probed, max_memory_bytes=self._limit_bytes)
        competitive = frozenset(self._competitive_clients(probed))
        settings = [each for each in self._state.space.starts() if each.is_default or each.client in competitive]
        budget_s, ends_s, runs = self._header.budget_s, self._state.spent_s(), []
        for setting in sorted(settings, key=lambda each: not each.is_default):
            default_s = self._state.took_s(Setting(client=setting.client))
            ends_s += default_s if setting.is_default else min(default_s, cap or math.inf)
            if ends_s <= (budget_s if setting.is_default else _SEARCH_SHARE * budget_s):
                runs.append(PlannedRun(setting=setting, cap_s=None if setting.is_default else cap))
        return self._block(Stage.SEARCH, runs)

    def _competitive_clients(self, probed: TrialEvidence) -> Iterator[str]:
        """The clients that may beat the best probe: those whose start-up and bytes alone do not take longer than it."""
        best = leader(probed, max_memory_bytes=self._limit_bytes)
        for client in self._state.space.parameters:
            model = search_model_of(self._header, probed.trials, client)
            least_s = model.least_s if model is not None and probed.objective.aim is Aim.TIME else 0.0
            if best is None or least_s <= best.value:
                yield client

    def _race(self) -> RunBlock | None:
        """The best settings so far and new ones, while there is time; the default too while the gain is uncertain."""
        if not self._has_time(self._block_s()):
            return None
        new = self._promising[: self._most_new]
        if not self._is_memory_critical and is_settled(
            self._state.evidence, are_new=bool(new), max_memory_bytes=self._limit_bytes
        ):
            return None
        runs = [PlannedRun(setting=setting) for setting in self._again()]
        runs += [PlannedRun(setting=setting, cap_s=self._cap_s) for setting in new]
        return self._block(Stage.SEARCH, runs)

    def _again(self) -> tuple[Setting, ...]:
        """The tried settings of the next block of the race."""
        if self._is_memory_critical:
            return self._nearest_to_memory_limit()
        best = still_racing(
            self._state.evidence, self._state.default, max_memory_bytes=self._limit_bytes, most=RACERS_MAX
        )
        compared = () if self._state.is_gain_clear else (self._state.default,)
        return tuple(dict.fromkeys((*compared, *best)))

    def _nearest_to_memory_limit(self) -> tuple[Setting, ...]:
        """The setting that comes nearest to keeping the memory limit: further runs may show that it does."""
        limit_bytes = self._limit_bytes or 0
        bounds = {
            each.setting: self._state.peak_bound_bytes(each.setting)
            for each in self._state.everything.estimates()
            if each.runs < MEMORY_RUNS and (each.peak_memory_bytes or math.inf) * (1 + MEMORY_MARGIN) <= limit_bytes
        }
        return tuple(sorted(bounds, key=lambda setting: bounds[setting])[:1])

    def _simplify(self) -> RunBlock | None:
        """The best setting together with smaller and simpler ones that were not tried and may be as fast."""
        state = self._state
        best = leader(state.evidence, max_memory_bytes=self._limit_bytes)
        if state.leaders is None or state.leaders.winner == state.default or best is None or best.runs < RUNS_MIN:
            return None
        cap, winner = self._cap_s, state.leaders.winner
        chosen = preferred(tuple(state.contenders(state.evidence)), state.default).setting
        smaller = dict.fromkeys((*simplifications(winner), *simplifications(chosen), *self._smaller(chosen)))
        untried = [each for each in smaller if each not in state.evidence.settings and state.space.contains(each)]
        new = self._candidates.may_tie(untried)[:_NEW_PER_BLOCK]
        again = (winner,) if state.is_gain_clear else (state.default, winner)
        again_s = [state.took_s(setting) for setting in again]
        if not new or not self._has_time(sum(again_s) + len(new) * (cap or max(again_s))):
            return None
        runs = [PlannedRun(setting=setting) for setting in again]
        runs += [PlannedRun(setting=setting, cap_s=cap) for setting in new]
        return self._block(Stage.SEARCH, runs)

    def _smaller(self, setting: Setting) -> tuple[Setting, ...]:
        return self._state.space.smaller(setting) if self._state.space.contains(setting) else ()

    def _final_rounds(self) -> RunBlock | None:
        """The best settings once more, until one leads or the time before the verification is over.

        Only if the gain over the default is clear: an uncertain one needs all the time for its verification.
        """
        if not self._state.is_gain_clear:
            return None
        best = rivals(self._state.evidence, self._state.default, max_memory_bytes=self._limit_bytes, most=RACERS_MAX)
        if not self._has_time(self._round_s(best)):
            return None
        return self._block(Stage.SEARCH, [PlannedRun(setting=setting) for setting in best])

    @property
    def _most_new(self) -> int:
        return 1 if self._is_memory_critical else _NEW_PER_BLOCK

    @property
    def _cap_s(self) -> float | None:
        """The seconds after which a run of a new setting is ended in the race."""
        if self._is_memory_critical:
            return None
        return cap_s(self._state.evidence, max_memory_bytes=self._limit_bytes)

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
        is_late = self._state.spent_s() > _SEARCH_SHARE * self._header.budget_s
        return self._state.leaders is None and (is_late or not self._candidates.improving)

    @cached_property
    def _candidates(self) -> Candidates:
        return Candidates(header=self._header, space=self._state.space, evidence=self._state.evidence)

    def _has_time(self, block_s: float) -> bool:
        """Whether the search may take `block_s` longer and still leave the time that the verification needs."""
        return self._state.spent_s() + block_s <= self._search_ends_s()

    def _search_ends_s(self) -> float:
        """When the search ends: a clear gain shows at the first look, an uncertain one gets half of the budget.

        While there is nothing to verify, the search has the whole budget.
        """
        budget_s, settings = self._header.budget_s, self._state.compared()
        if len(settings) < 2:  # noqa: PLR2004 (a comparison needs two)
            return budget_s
        if self._state.is_gain_clear:
            every_s = self._first_look_s(settings)
            return budget_s - (every_s if every_s <= _SEARCH_SHARE * budget_s else self._first_look_s(settings[:3]))
        return min(_SEARCH_SHARE * budget_s, budget_s - self._first_look_s(settings[:2]))

    def _is_over(self, settings: Sequence[Setting], share: float) -> bool:
        """Whether there is no time for one more run of each of `settings`, within `share` times the budget."""
        return self._state.spent_s() + self._round_s(settings) > share * self._header.budget_s

    def _round_s(self, settings: Sequence[Setting]) -> float:
        """The time of one run of each of `settings`."""
        return sum(map(self._state.took_s, settings))

    def _block_s(self) -> float:
        """The longest time of one more block of the race; runs of new settings end at their cap."""
        longest_s = max(self._state.took_s(estimate.setting) for estimate in self._state.evidence.estimates())
        return self._round_s(self._again()) + self._most_new * (self._cap_s or longest_s)

    def _first_look_s(self, settings: Sequence[Setting]) -> float:
        """The time of the verification up to its first look, plus one pair, since times vary."""
        return (self._state.looks.first + 1) * self._round_s(settings)

    def _verification(self) -> RunBlock | None:
        """The default and the winner, together with the others while there is time for `PAIRS_MIN` pairs of each.

        After that the better one continues alone with the default, for more pairs in the remaining time. The
        `PAIRS_MIN` pairs of the first winner may exceed the budget by `OVERRUN`.
        """
        settings = self._state.compared()
        if len(settings) < 2:  # noqa: PLR2004 (a comparison needs two)
            return None
        pair, pairs = settings[:2], self._state.pairs_of(settings[1])
        is_short = pairs < PAIRS_MIN
        may_overrun = is_short and pairs == len(self._state.rounds)
        if self._is_over(pair, OVERRUN if may_overrun else 1.0):
            return None
        also = tuple(self._with_time_for(pair, settings[2:]))
        if not is_short and not also and not self._needs_more(pair, pairs):
            return None
        return self._block(Stage.VERIFICATION, [PlannedRun(setting=setting) for setting in (*pair, *also)])

    def _with_time_for(self, pair: Sequence[Setting], others: Sequence[Setting]) -> Iterator[Setting]:
        """Those of `others` for which `PAIRS_MIN` rounds with `pair` fit the time before the first look."""
        rounds = max(self._state.looks.first - self._state.pairs_of(pair[1]), 0) + 1
        ends_s = self._state.spent_s() + rounds * self._round_s(pair)
        for setting in others:
            rounds_left = PAIRS_MIN - self._state.pairs_of(setting)
            ends_s += (rounds_left + (rounds_left == PAIRS_MIN)) * self._state.took_s(setting)
            if ends_s <= OVERRUN * self._header.budget_s or rounds_left < PAIRS_MIN:
                yield setting

    def _needs_more(self, settings: tuple[Setting, ...], pairs: int) -> bool:
        """Whether the verdict is open after so many pairs; or the gain's size is, and the second look fits the time."""
        changes = self._changes(settings)
        if needs_more_pairs(changes, pairs, self._state.looks):
            return True
        first, second = CLEAR_LOOKS.pairs[:2]
        more_s = (second - first + 1) * self._round_s(settings)
        return needs_size(changes, pairs) and self._state.spent_s() + more_s <= self._header.budget_s

    def _changes(self, settings: tuple[Setting, ...]) -> tuple[Change, ...]:
        reference, *others = settings
        return tuple(self._state.change(other, reference) for other in others)
