"""The winner against the default and the runner-up, interleaved: whether the gain is there, and how large it is.

Owns the verdict on a gain and when enough was seen. Pure.

Runs of one block were made next to each other, so a block in which both settings have a whole run is a pair, and its
log-ratio one value for the signed-rank test of `s3bench.stats.signed_rank`. Whoever looks several times and stops when
pleased errs more often than each look by itself, so the looks share the error of 5 % and the shares add up
(Bonferroni's inequality). The first one takes what an interval from its pairs costs, for six 2 in 64; the others share
the rest by the pairs that they add, as in `s3bench.gate.looks`. A verification that is broken off between two looks
spends what is left. So the interval holds the true change in at least 95 of 100 verifications, whenever they stop.

When one looks is chosen by the search, before the first pair is there: a gain that is plain shows at six pairs, and
these take most of the error; where it is in doubt, nothing is spent on them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from statistics import median

import msgspec

from s3bench.stats.signed_rank import hodges_lehmann, lower_bound, upper_bound
from s3bench.tune.objective import Objective
from s3bench.tune.setting import Setting
from s3bench.tune.study import Stage, Trial

PAIRS_MIN = 6
"""The fewest pairs that bound a change with 95 % on both sides."""

CONFIDENCE = 0.95

GAIN_MIN = 0.01
"""A gain below this is no reason to change a configuration, however certain it is."""

GAIN_OF_INTEREST = 0.03
"""The default is as good where gains as large as this are excluded."""

_TAIL = (1 - CONFIDENCE) / 2
_PER_TAIL = 40  # the reciprocal of `_TAIL`, a whole number: powers of two beyond 1,023 are no floats


@dataclass(frozen=True, slots=True)
class VerificationLooks:
    """The numbers of pairs at which one looks, ascending, at least two; the first is `PAIRS_MIN` or more."""

    pairs: tuple[int, ...]

    @property
    def first(self) -> int:
        """The fewest pairs that may end a verification before its time is over."""
        return self.pairs[0]

    @property
    def last(self) -> int:
        """The most pairs of a verification."""
        return self.pairs[-1]

    def tail(self, blocks: int) -> float:
        """The error that an interval may spend on each side after so many blocks, failed ones included."""
        blocks = min(blocks, self.last)
        tails = self._tails()
        look = sum(each < blocks for each in self.pairs)
        return tails[look] if blocks in self.pairs else sum(tails[look:])

    def _tails(self) -> tuple[float, ...]:
        """The error that each look may spend, above and below."""
        least = 0.5**self.first
        per_pair = (_TAIL - least) / (self.last - self.first)
        return (least, *(per_pair * (look - before) for before, look in pairwise(self.pairs)))


PLAIN_LOOKS = VerificationLooks((6, 10, 16, 24, 40))
"""For a gain that the search showed beyond doubt."""

DOUBT_LOOKS = VerificationLooks((10, 16, 24, 40, 64))
"""For a gain in doubt, which takes the more pairs the noisier the runs are.

With noise of 4 % a run, a default that is as good is found so in 97 % of 1,000 simulated verifications, and in 75 %
when they look as at a plain gain; with 3 % in 99 % and 94 %.
"""


class TuneVerdict(StrEnum):
    """`BETTER`: faster than the default, by more than chance. `AS_GOOD`: at most a gain of no interest.

    `UNSETTLED`: too few runs to tell. `FITS`: the default may need more memory than was allowed, and this does not.
    """

    BETTER = "better than the default"
    AS_GOOD = "the default is as good"
    UNSETTLED = "unsettled"
    FITS = "within the memory that was allowed"


class Change(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one setting's value lies to another's: -0.2 is 20 % less. Interval of 95 %, an unbounded end is `None`.

    Without any pair there is no `estimate`: it is not a number (null in JSON).
    """

    estimate: float
    low: float | None
    high: float | None
    pairs: int


def verify(
    trials: Sequence[Trial], *, winner: Setting, other: Setting, objective: Objective, looks: VerificationLooks
) -> Change:
    """How the values of `winner` lie to those of `other`, by the blocks of a verification in which both have a run."""
    first, second = _logs(trials, winner, objective), _logs(trials, other, objective)
    pairs = [(first[block], second[block]) for block in first if block in second]
    ratios = [above - below for above, below in pairs if above is not None and below is not None]
    if not ratios:
        return Change(estimate=math.nan, low=None, high=None, pairs=0)
    tail = looks.tail(len(pairs))
    return Change(
        estimate=math.expm1(hodges_lehmann(ratios)),
        low=_change(lower_bound(ratios, alpha=tail)),
        high=_change(upper_bound(ratios, alpha=tail)),
        pairs=len(ratios),
    )


def verdict_on(change: Change) -> TuneVerdict:
    """The verdict on a setting by how its value lies to the default's."""
    if change.high is not None and change.high < 0 and change.estimate <= -GAIN_MIN:
        return TuneVerdict.BETTER
    if change.low is not None and change.low > -GAIN_OF_INTEREST:
        return TuneVerdict.AS_GOOD
    return TuneVerdict.UNSETTLED


def wants_more(changes: Sequence[Change], blocks: int, looks: VerificationLooks) -> bool:
    """Whether a verification goes on after `blocks` blocks; `changes` lie to the default, the winner's first.

    It decides at its `looks` alone, by the winner. One that never ran to its end beside the default is not tried again.
    """
    if blocks >= looks.last or not changes:
        return False
    if blocks not in looks.pairs:
        return True
    return changes[0].pairs > 0 and verdict_on(changes[0]) is TuneVerdict.UNSETTLED


def wants_size(changes: Sequence[Change], blocks: int) -> bool:
    """Whether a gain is certain at the first look, but its size is not: worth the second look where there is time.

    An interval takes pairs to be independent, and those that follow each other within seconds are not: behind three
    emulated links, a ratio varied by 3 to 5 % with the minute and by 4 to 9 % with the pair, one standard deviation
    (`benchmarks/tune_regret.py`). Simulated on such a machine, the interval of the first look holds the gain of the
    next 20 pairs in 84 of 100 verifications, and that of the second, which spends less error on ten pairs, in 94.
    """
    return blocks == PLAIN_LOOKS.first and bool(changes) and verdict_on(changes[0]) is TuneVerdict.BETTER


def median_interval(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    """The median of a sample and the ends of its interval of 95 %, which are `None` below six values.

    The ends are order statistics. How many values lie below the true median is binomial with one half, whatever the
    distribution (David & Nagaraja, Order Statistics, 3rd edition, 7.1; Hollander & Wolfe, 3.6).
    """
    ordered, count = sorted(values), len(values)
    below = tail = 0
    while (tail := tail + math.comb(count, below)) * _PER_TAIL <= 2**count:
        below += 1
    if not below:
        return median(ordered), None, None
    return median(ordered), ordered[below - 1], ordered[-below]


def _logs(trials: Sequence[Trial], setting: Setting, objective: Objective) -> Mapping[tuple[Stage, int], float | None]:
    """The logarithm of the value of each run of `setting` by its stage and block; `None` for one that was not whole."""
    return {
        (trial.stage, trial.block): math.log(objective.value(trial.measurement)) if trial.measurement else None
        for trial in trials
        if trial.setting == setting
    }


def _change(log_ratio: float) -> float | None:
    return math.expm1(log_ratio) if math.isfinite(log_ratio) else None
