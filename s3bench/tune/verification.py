"""The winner against the default and the runner-up, interleaved: whether the gain is there, and how large it is.

Owns the verdict on a gain and when enough was seen. Pure.

Runs of one block were made next to each other, so a block in which both settings have a whole run is a pair, and its
log-ratio one value for the signed-rank test of `s3bench.verdict.signedrank`. Whoever looks several times and stops when
pleased errs more often than each look by itself, so the looks share the error of 5 % and the shares add up
(Bonferroni's inequality). The first one takes what an interval from six pairs costs, 2 in 64; the others share the rest
by the pairs that they add, as in `s3bench.verdict.looks`. A verification that is broken off between two looks spends
what is left. So the interval holds the true change in at least 95 of 100 verifications, whenever they stop.
"""

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from statistics import median

import msgspec

from s3bench.tune.objective import Objective
from s3bench.tune.setting import Setting
from s3bench.tune.study import Stage, Trial
from s3bench.verdict.signedrank import hodges_lehmann, lower_bound, upper_bound

LOOKS = (6, 10, 16, 24, 40)
"""The numbers of pairs at which one looks.

The last one is for noise of some 3 % a run: there a default that is as good is found so in 93 % of verifications, in
simulations, while 24 pairs often cannot tell.
"""

PAIRS_FIRST = LOOKS[0]
PAIRS_MAX = LOOKS[-1]

CONFIDENCE = 0.95

GAIN_MIN = 0.01
"""A gain below this is no reason to change a configuration, however certain it is."""

GAIN_OF_INTEREST = 0.03
"""The default is as good where gains as large as this are excluded."""

_TAIL = (1 - CONFIDENCE) / 2
_PER_TAIL = 40  # the reciprocal of `_TAIL`, a whole number: powers of two beyond 1,023 are no floats
_TAIL_FIRST = 0.5**PAIRS_FIRST
_TAIL_PER_PAIR = (_TAIL - _TAIL_FIRST) / (PAIRS_MAX - PAIRS_FIRST)
_TAILS = (_TAIL_FIRST, *(_TAIL_PER_PAIR * (look - before) for before, look in pairwise(LOOKS)))
"""The error that each look may spend, above and below."""


class Verdict(StrEnum):
    """`BETTER`: faster than the default, by more than chance. `AS_GOOD`: at most a gain of no interest.

    `UNSETTLED`: too few runs to tell. `FITS`: the default needs more memory than was allowed, and this does not.
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


def verify(trials: Sequence[Trial], *, winner: Setting, other: Setting, objective: Objective) -> Change:
    """How the values of `winner` lie to those of `other`, by the blocks of a verification in which both have a run."""
    first, second = _logs(trials, winner, objective), _logs(trials, other, objective)
    pairs = [(first[block], second[block]) for block in first if block in second]
    ratios = [above - below for above, below in pairs if above is not None and below is not None]
    if not ratios:
        return Change(estimate=math.nan, low=None, high=None, pairs=0)
    tail = _tail(len(pairs))
    return Change(
        estimate=math.expm1(hodges_lehmann(ratios)),
        low=_change(lower_bound(ratios, alpha=tail)),
        high=_change(upper_bound(ratios, alpha=tail)),
        pairs=len(ratios),
    )


def verdict_on(change: Change) -> Verdict:
    """The verdict on a setting by how its value lies to the default's."""
    if change.high is not None and change.high < 0 and change.estimate <= -GAIN_MIN:
        return Verdict.BETTER
    if change.low is not None and change.low > -GAIN_OF_INTEREST:
        return Verdict.AS_GOOD
    return Verdict.UNSETTLED


def wants_more(changes: Sequence[Change], blocks: int) -> bool:
    """Whether a verification goes on after `blocks` blocks; `changes` lie to the default, the winner's first.

    It decides at `LOOKS` alone, by the winner. One that never ran to its end beside the default is not tried again.
    """
    if blocks >= PAIRS_MAX or not changes:
        return False
    if blocks not in LOOKS:
        return True
    return changes[0].pairs > 0 and verdict_on(changes[0]) is Verdict.UNSETTLED


def wants_size(changes: Sequence[Change], blocks: int) -> bool:
    """Whether a gain is certain at the first look, but its size is not: worth the second look where there is time.

    An interval takes pairs to be independent, and those that follow each other within seconds are not: behind three
    emulated links, a ratio varied by 3 to 5 % with the minute and by 4 to 9 % with the pair, one standard deviation
    (`benchmarks/tune_regret.py`). Simulated on such a machine, the interval of the first look holds the gain of the
    next 20 pairs in 84 of 100 verifications, and that of the second, which spends less error on ten pairs, in 94.
    """
    return blocks == PAIRS_FIRST and bool(changes) and verdict_on(changes[0]) is Verdict.BETTER


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


def _tail(blocks: int) -> float:
    """The error that an interval may spend on each side after so many blocks, failed ones included."""
    blocks = min(blocks, PAIRS_MAX)
    look = sum(each < blocks for each in LOOKS)
    return _TAILS[look] if blocks in LOOKS else sum(_TAILS[look:])


def _logs(trials: Sequence[Trial], setting: Setting, objective: Objective) -> Mapping[tuple[Stage, int], float | None]:
    """The logarithm of the value of each run of `setting` by its stage and block; `None` for one that was not whole."""
    return {
        (trial.stage, trial.block): math.log(objective.value(trial.measurement)) if trial.measurement else None
        for trial in trials
        if trial.setting == setting
    }


def _change(log_ratio: float) -> float | None:
    return math.expm1(log_ratio) if math.isfinite(log_ratio) else None
