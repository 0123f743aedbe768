"""Verifies the gain of the winner over the default with interleaved runs: its verdict, its size, when to stop.

Runs of one block were made next to each other, so a block with complete runs of both settings is a pair, and its
log-ratio one value for the signed-rank test of `s3bench.stats.signed_rank`. Repeated looks with optional stopping
inflate the error rate, so the looks share the error of 5 %, and the shares add up (Bonferroni's inequality). The first
look takes the smallest error that its pairs allow, for six pairs 2 in 64; the others share the rest by the pairs they
add, as in `s3bench.gate.looks`. A verification that ends without a verdict spends the rest, between two looks and at
one. So the interval contains the true change in at least 95 of 100 verifications, whenever they end. Until then, and
after an interruption, the interval is that of the last look, so that looking at it spends nothing.

A study that is resumed after its end has spent everything already, and its later looks spend their shares again. The
rest is only spent once, so the interval contains the change in at least 90 of 100 such verifications, however often
they are resumed. Simulated without a gain, ended and resumed after every fourth round from 6 to 38, 15 of 600 studies
once said "better" (2.5 %), and 39 if each end spent the rest (6.5 %).

The search chooses the looks before the first pair: a clear gain shows at six pairs, which take most of the error; for
an uncertain gain nothing is spent on them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import msgspec

from s3bench.stats.signed_rank import SignedRankTest
from s3bench.tune.objective import Objective
from s3bench.tune.setting import Setting
from s3bench.tune.study import Stage, Trial

PAIRS_MIN = 6
"""The fewest pairs that bound a change with 95 % on both sides."""

CONFIDENCE = 0.95

GAIN_MIN = 0.01
"""A gain below this is no reason to change a configuration, however certain it is."""

GAIN_OF_INTEREST = 0.03
"""The default is as good if gains of this size are excluded."""

_TAIL = (1 - CONFIDENCE) / 2


@dataclass(frozen=True, slots=True)
class VerificationLooks:
    """The numbers of pairs of at least two looks, ascending; the first is at least `PAIRS_MIN`."""

    pairs: tuple[int, ...]

    @property
    def first(self) -> int:
        """The fewest pairs after which a verification may end early."""
        return self.pairs[0]

    @property
    def last(self) -> int:
        """The most pairs of a verification."""
        return self.pairs[-1]

    def tail(self, blocks: int, *, is_final: bool = False) -> float:
        """The error that an interval may spend on each side after so many blocks, including failed ones.

        `is_final`: the verification has ended without a verdict, and spends what its looks have left.
        """
        blocks, tails = min(blocks, self.last), self._tails()
        look = sum(each < blocks for each in self.pairs)
        if is_final:
            return sum(tails[look:])
        return tails[look] if blocks in self.pairs else 0.0

    def reached(self, blocks: int) -> int:
        """The pairs of the last look within so many blocks; all of them before the first look."""
        return max((each for each in self.pairs if each <= blocks), default=blocks)

    def _tails(self) -> tuple[float, ...]:
        """The error that each look may spend, above and below."""
        least = 0.5**self.first
        per_pair = (_TAIL - least) / (self.last - self.first)
        return (least, *(per_pair * (look - before) for before, look in pairwise(self.pairs)))


CLEAR_LOOKS = VerificationLooks((6, 10, 16, 24, 40))
"""For a gain that the search clearly showed."""

UNCERTAIN_LOOKS = VerificationLooks((10, 16, 24, 40, 64))
"""For an uncertain gain, which needs more pairs the noisier the runs are.

With noise of 4 % per run, a default that is as good gets that verdict in 97 % of 1,000 simulated verifications, and in
75 % with `CLEAR_LOOKS`; with 3 % in 99 % and 94 %.
"""


class TuneVerdict(StrEnum):
    """`BETTER`: significantly faster than the default. `AS_GOOD`: at most a negligible gain.

    `UNSETTLED`: too few runs to decide. `FITS`: it keeps the memory limit, which the default may exceed.
    """

    BETTER = "better than the default"
    AS_GOOD = "the default is as good"
    UNSETTLED = "unsettled"
    FITS = "within the memory that was allowed"


class Change(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The relative change between the values of two settings: -0.2 is 20 % less, with its 95 % interval.

    An unbounded end is `None`. Without any pair `estimate` is NaN (null in JSON).
    """

    estimate: float
    low: float | None
    high: float | None
    pairs: int


def verify(
    trials: Sequence[Trial],
    *,
    winner: Setting,
    other: Setting,
    objective: Objective,
    looks: VerificationLooks,
    is_final: bool = False,
) -> Change:
    """The change from `other` to `winner`, from the blocks of a verification in which both have a complete run.

    Between two looks it is the change at the last one, and before the first look it has no interval; unless `is_final`:
    the verification has ended, and had no verdict at its last look.
    """
    first, second = _logs(trials, winner, objective), _logs(trials, other, objective)
    pairs = [(first[block], second[block]) for block in first if block in second]
    pairs = pairs if is_final else pairs[: looks.reached(len(pairs))]
    ratios = [above - below for above, below in pairs if above is not None and below is not None]
    if not ratios:
        return Change(estimate=math.nan, low=None, high=None, pairs=0)
    test, tail = SignedRankTest(ratios), looks.tail(len(pairs), is_final=is_final)
    return Change(
        estimate=math.expm1(test.hodges_lehmann()),
        low=_change(test.lower_bound(tail)) if tail else None,
        high=_change(test.upper_bound(tail)) if tail else None,
        pairs=len(ratios),
    )


def verdict_on(change: Change) -> TuneVerdict:
    """The verdict on a setting from its change relative to the default."""
    if change.high is not None and change.high < 0 and change.estimate <= -GAIN_MIN:
        return TuneVerdict.BETTER
    if change.low is not None and change.low > -GAIN_OF_INTEREST:
        return TuneVerdict.AS_GOOD
    return TuneVerdict.UNSETTLED


def needs_more_pairs(changes: Sequence[Change], blocks: int, looks: VerificationLooks) -> bool:
    """Whether a verification continues after `blocks` blocks; `changes` from the default, the winner's first.

    It decides only at its looks, by the winner. A winner without any pair is not tried again.
    """
    if blocks >= looks.last or not changes:
        return False
    if blocks not in looks.pairs:
        return True
    return changes[0].pairs > 0 and verdict_on(changes[0]) is TuneVerdict.UNSETTLED


def needs_size(changes: Sequence[Change], blocks: int) -> bool:
    """Whether a gain is certain at the first look but its size is not, which is worth a second look if time allows.

    An interval assumes independent pairs, and pairs within seconds of each other are not: behind three emulated links,
    a ratio varied by 3 to 5 % with the minute and by 4 to 9 % with the pair, one standard deviation
    (`benchmarks/tune_regret.py`). Simulated with these figures, the interval of the first look contains the gain of the
    next 20 pairs in 84 of 100 verifications, and that of the second, which spends less error on ten pairs, in 94.
    """
    return blocks == CLEAR_LOOKS.first and bool(changes) and verdict_on(changes[0]) is TuneVerdict.BETTER


def _logs(trials: Sequence[Trial], setting: Setting, objective: Objective) -> Mapping[tuple[Stage, int], float | None]:
    """The logarithm of the value of each run of `setting` by stage and block; `None` for an incomplete run."""
    return {
        (trial.stage, trial.block): math.log(objective.value(trial.measurement)) if trial.measurement else None
        for trial in trials
        if trial.setting == setting
    }


def _change(log_ratio: float) -> float | None:
    return math.expm1(log_ratio) if math.isfinite(log_ratio) else None
