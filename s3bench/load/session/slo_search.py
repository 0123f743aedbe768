"""The search for the highest rate at which a service level objective holds.

It proposes a rate and takes the verdict of its run. Rates double until one does not hold (or halve until one does),
then the gap is bisected until it is 5 %. It assumes that an objective that holds at one rate holds at every lower one.
A run with too few operations is made again for longer, as far as that helps, and then at higher rates only: lower ones
have fewer operations still.
"""

import math
from dataclasses import dataclass, replace

from s3bench.load.aggregation.slo import MORE_OPERATIONS, SloOutcome, SloVerdict

PRECISION = 0.05
GROWTH = 2.0
LONGER_MAX = 8
"""A run that was too short for its percentiles is repeated, up to so many times as long."""

_LOWEST_SHARE = 1 / 1024
_TRIALS_MAX = 60
_FAILED = frozenset({SloOutcome.BROKEN, SloOutcome.NO_EVIDENCE})


@dataclass(frozen=True, slots=True, kw_only=True)
class RateStep:
    """A proposed run: its rate, and its length as a multiple of the usual one."""

    rate_per_s: float
    longer: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RateTrial:
    """A completed run."""

    step: RateStep
    verdict: SloVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class HighestRate:
    """The highest rate that held, `None` if none did.

    `is_limit`: the server missed the objective 5 % above it. `is_undecided`: none held, and one could not be decided.
    """

    rate_per_s: float | None
    is_limit: bool
    is_undecided: bool = False
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SloSearch:
    """A search in progress; every verdict gives a new one. It does not go beyond `rate_max_per_s`."""

    start_per_s: float
    rate_max_per_s: float = math.inf
    trials: tuple[RateTrial, ...] = ()

    @property
    def proposal(self) -> RateStep | None:
        """The next run; `None` when the search is over."""
        if not self.trials:
            return RateStep(rate_per_s=min(self.start_per_s, self.rate_max_per_s))
        if len(self.trials) >= _TRIALS_MAX:
            return None
        last = self.trials[-1]
        if last.verdict.outcome is SloOutcome.UNRESOLVED and _longer(last) <= LONGER_MAX:
            return replace(last.step, longer=_longer(last))
        rate_per_s = self._next_rate()
        return None if rate_per_s is None else RateStep(rate_per_s=rate_per_s)

    def after(self, verdict: SloVerdict) -> "SloSearch":
        """The search after the verdict of the proposed run."""
        step = self.proposal
        assert step is not None, "the search is over"
        return replace(self, trials=(*self.trials, RateTrial(step=step, verdict=verdict)))

    @property
    def found(self) -> HighestRate:
        """The result so far."""
        high, held = self._lowest_failed, self._highest_held
        above = f"at {high.step.rate_per_s:,.1f}/s {high.verdict.words}" if high else "nothing higher was tried"
        if held is None and (undecided := self._highest_unresolved):
            at = f"at {undecided.step.rate_per_s:,.1f}/s {undecided.verdict.words}"
            words = f"undecided: {at}; {above}; {MORE_OPERATIONS}"
            return HighestRate(rate_per_s=None, is_limit=False, is_undecided=True, words=words)
        if held is None and high is None:
            return HighestRate(rate_per_s=None, is_limit=False, is_undecided=True, words="undecided: no rate was tried")
        if held is None:
            return HighestRate(rate_per_s=None, is_limit=False, words=f"no rate held: {above}")
        if high and high.verdict.outcome is SloOutcome.BROKEN and high.step.rate_per_s <= held * (1 + PRECISION):
            return HighestRate(rate_per_s=held, is_limit=True, words=f"{held:,.1f}/s held; {above}")
        words = f"at least {held:,.1f}/s held; {above}, so that the server's own limit is not known"
        return HighestRate(rate_per_s=held, is_limit=False, words=words)

    def _next_rate(self) -> float | None:
        high, held, unresolved = self._lowest_failed, self._highest_held, self._highest_unresolved
        low = max(held or 0.0, unresolved.step.rate_per_s if unresolved else 0.0)
        if high is None:
            return min(low * GROWTH, self.rate_max_per_s) if low < self.rate_max_per_s else None
        failed = high.step.rate_per_s
        if not low:
            return failed / GROWTH if failed / GROWTH >= self.start_per_s * _LOWEST_SHARE else None
        if unresolved and held is None and _enough_per_s(unresolved) >= failed:
            return None
        return math.sqrt(low * failed) if failed > low * (1 + PRECISION) else None

    @property
    def _lowest_failed(self) -> RateTrial | None:
        """The lowest rate that was tried and is not known to hold, except for want of operations."""
        failed = [each for each in self.trials if each.verdict.outcome in _FAILED]
        return min(failed, key=_rate_of, default=None)

    @property
    def _highest_unresolved(self) -> RateTrial | None:
        """The highest rate below those that failed whose last run had too few operations."""
        failed = self._lowest_failed
        limit_per_s = failed.step.rate_per_s if failed else math.inf
        last = {each.step.rate_per_s: each for each in self.trials if each.step.rate_per_s < limit_per_s}
        unresolved = [each for each in last.values() if each.verdict.outcome is SloOutcome.UNRESOLVED]
        return max(unresolved, key=_rate_of, default=None)

    @property
    def _highest_held(self) -> float | None:
        held = [each.step.rate_per_s for each in self.trials if each.verdict.outcome is SloOutcome.HOLDS]
        return max(held, default=None)


def _rate_of(trial: RateTrial) -> float:
    return trial.step.rate_per_s


def _longer(trial: RateTrial) -> int:
    """For how many usual lengths an unresolved run has to be repeated: a power of two, twice as long at least."""
    return trial.step.longer << max(1, math.ceil(math.log2(trial.verdict.longer)))


def _enough_per_s(trial: RateTrial) -> float:
    """The rate from which on the longest run has enough operations, by what was missing in an unresolved one."""
    return trial.step.rate_per_s * trial.step.longer * trial.verdict.longer / LONGER_MAX
