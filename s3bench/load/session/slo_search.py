"""The search for the highest rate at which a service keeps its promise.

Owns what to try next and what has been found; pure: it proposes a rate and is told what came of it. Rates double until
one does not hold (or halve until one does), then the gap is bisected until it is 5 %. It takes for granted that what
holds at one rate holds at every lower one, and believes each run.
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
    """A run to be made: at which rate, and how many times as long as usual."""

    rate_per_s: float
    longer: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RateTrial:
    """A run that was made."""

    step: RateStep
    verdict: SloVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class HighestRate:
    """The highest rate that held, `None` when none did. `is_limit`: 5 % above it the server broke the promise."""

    rate_per_s: float | None
    is_limit: bool
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SloSearch:
    """A search in progress; every answer gives a new one. It does not go beyond `rate_max_per_s`."""

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

    def told(self, verdict: SloVerdict) -> "SloSearch":
        """The search after the proposed run was made."""
        step = self.proposal
        assert step is not None, "the search is over"
        return replace(self, trials=(*self.trials, RateTrial(step=step, verdict=verdict)))

    @property
    def found(self) -> HighestRate:
        """What is known so far."""
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
        """The lowest rate that is not known to hold, however long the run."""
        failed = [each for each in self._settled if each.verdict.outcome is not SloOutcome.HOLDS]
        return min(failed, key=lambda each: each.step.rate_per_s, default=None)

    @property
    def _highest_held(self) -> float | None:
        held = [each.step.rate_per_s for each in self._settled if each.verdict.outcome is SloOutcome.HOLDS]
        return max(held, default=None)

    @property
    def _settled(self) -> tuple[RateTrial, ...]:
        """The trials that were not to be repeated for longer."""
        return tuple(
            each
            for each in self.trials
            if each.verdict.outcome is not SloOutcome.UNRESOLVED or each.step.longer >= LONGER_MAX
        )
