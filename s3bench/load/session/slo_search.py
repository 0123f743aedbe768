"""The search for the highest rate at which a service level objective holds.

It proposes a rate and takes the verdict of its run. Rates double until one does not hold (or halve until one does),
then the gap is bisected until it is 5 %. It assumes that an objective that holds at one rate holds at every lower one.
"""

import math
from dataclasses import dataclass, replace

from s3bench.load.aggregation.slo import SloOutcome, SloVerdict

PRECISION = 0.05
GROWTH = 2.0
LONGER_MAX = 8
"""A run that was too short for its percentiles is repeated, up to so many times as long."""

_LOWEST_SHARE = 1 / 1024
_TRIALS_MAX = 60


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
    """The highest rate that held, `None` if none did. `is_limit`: the server missed the objective 5 % above it."""

    rate_per_s: float | None
    is_limit: bool
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
        last = self.trials[-1]
        if len(self.trials) >= _TRIALS_MAX:
            return None
        if last.verdict.outcome is SloOutcome.UNRESOLVED and last.step.longer < LONGER_MAX:
            return replace(last.step, longer=last.step.longer * 2)
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
        if held is None:
            return HighestRate(rate_per_s=None, is_limit=False, words=f"no rate held: {above}")
        if high and high.verdict.outcome is SloOutcome.BROKEN and high.step.rate_per_s <= held * (1 + PRECISION):
            return HighestRate(rate_per_s=held, is_limit=True, words=f"{held:,.1f}/s held; {above}")
        words = f"at least {held:,.1f}/s held; {above}, so that the server's own limit is not known"
        return HighestRate(rate_per_s=held, is_limit=False, words=words)

    def _next_rate(self) -> float | None:
        high, held = self._lowest_failed, self._highest_held
        if high is None:
            assert held is not None
            return min(held * GROWTH, self.rate_max_per_s) if held < self.rate_max_per_s else None
        failed = high.step.rate_per_s
        if held is None:
            return failed / GROWTH if failed / GROWTH >= self.start_per_s * _LOWEST_SHARE else None
        return math.sqrt(held * failed) if failed > held * (1 + PRECISION) else None

    @property
    def _lowest_failed(self) -> RateTrial | None:
        """The lowest rate that is not known to hold after runs of any length."""
        failed = [each for each in self._settled if each.verdict.outcome is not SloOutcome.HOLDS]
        return min(failed, key=lambda each: each.step.rate_per_s, default=None)

    @property
    def _highest_held(self) -> float | None:
        held = [each.step.rate_per_s for each in self._settled if each.verdict.outcome is SloOutcome.HOLDS]
        return max(held, default=None)

    @property
    def _settled(self) -> tuple[RateTrial, ...]:
        """The trials that need no longer run."""
        return tuple(
            each
            for each in self.trials
            if each.verdict.outcome is not SloOutcome.UNRESOLVED or each.step.longer >= LONGER_MAX
        )
