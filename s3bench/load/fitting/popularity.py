"""Fits Zipf's law to how often the keys of a log were read.

The ranks of keys are not known: those of keys that are read seldom follow from chance. The likelihood is therefore that
of the frequency spectrum, which says how many keys were read once, twice, and so on: if the object of rank r is read
with the probability r**-s / H, its count among n reads is a Poisson variable, and the expected number of keys in a bin
of counts is a sum over all ranks. Both the exponent s and the number of objects, of which some were not read, are
estimated by maximum likelihood; a sample of keys has the same spectrum. The interval is that of the score with the
variance that sums of independent keys have (Huber's sandwich: White, Econometrica 50, 1982).
"""

import itertools
import math
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from s3bench.stats.poisson import poisson_cdf, poisson_cdfs
from s3bench.stats.proportion import wilson

KEYS_MIN = 20
READS_MIN = 200
"""With fewer keys or reads nothing is fitted."""

EXPONENT_MAX = 5.0
OBJECTS_FACTOR_MAX = 20.0
"""The most objects are so many times the keys that were read: with a steep law more would change nothing."""

_Z = 1.96
_RANKS_EXACT = 128
_RANKS_PER_OCTAVE = 24
_EXPONENTS = (*np.arange(0.0, 0.3, 0.05), *np.arange(0.3, 1.6, 0.1), *np.arange(1.6, EXPONENT_MAX, 0.4))
_MORE_OBJECTS = (0.02, 0.7)
"""Where the search begins: exponents, and logarithms of the number of objects over that of keys."""

_STEPS_MAX = 60
_STEP = 1e-4
_PRECISION = 1e-5
_TINY = 1e-12

Floats = npt.NDArray[np.float64]


class Popularity(msgspec.Struct, frozen=True, kw_only=True):
    """How reads are distributed over keys.

    `exponent` is that of Zipf's law, with its 95 % interval; `objects` is how many objects there are to read, of which
    `keys` were. `once_share` of the keys were read once, with its 95 % interval. Both come from a sample of
    `sampled_share` of the keys. `top_share` of the reads were of the key of the sample that was read most.
    """

    reads: int
    keys: int
    exponent: float
    exponent_low: float
    exponent_high: float
    objects: int
    once_share: float
    once_share_low: float
    once_share_high: float
    top_share: float
    sampled_share: float

    @property
    def is_even(self) -> bool:
        """Whether all objects may be equally popular."""
        return self.exponent_low <= 0


class Spectrum:
    """The counts of the keys in a sample of `share` of all keys, with `reads` of all keys together."""

    def __init__(self, counts: Sequence[int], *, reads: int, share: float) -> None:
        self.counts = np.sort(np.asarray(counts, dtype=np.int64))[::-1]
        self.reads = reads
        self.share = share
        self.edges = _edges(int(self.counts[0]))  # the most that a bin has; the last bin, which is empty, has more
        self.observed = np.bincount(np.searchsorted(self.edges, self.counts), minlength=len(self.edges) + 1)

    @property
    def keys(self) -> float:
        """How many keys there are in all."""
        return len(self.counts) / self.share

    def expected(self, exponent: float, objects: float) -> Floats:
        """The expected number of keys of the sample in each bin."""
        weights, shares = self._shares(exponent, objects)
        found: Floats = self.share * weights @ shares
        return found

    def covariance(self, exponent: float, objects: float) -> Floats:
        """The covariance of the numbers of keys in the bins."""
        weights, shares = self._shares(exponent, objects)
        found: Floats = np.diag(self.share * weights @ shares) - self.share**2 * (shares * weights[:, None]).T @ shares
        return found

    def _shares(self, exponent: float, objects: float) -> tuple[Floats, Floats]:
        """How many objects each rank stands for, and the probabilities of the bins for each."""
        ranks, weights = _ranks(objects)
        masses = ranks**-exponent
        means = np.maximum(self.reads * masses / (weights * masses).sum(), _TINY)
        below = np.column_stack((poisson_cdfs([0, *self.edges.tolist()], means), np.ones_like(means)))
        return weights, np.maximum(np.diff(below, axis=1), 0.0)


def fit_popularity(spectrum: Spectrum) -> Popularity | None:
    """Fit exponent and number of objects by Fisher's scoring; `None` where there is too little to fit."""
    if len(spectrum.counts) < KEYS_MIN or spectrum.reads < READS_MIN:
        return None
    bounds = (math.log(spectrum.keys), math.log(spectrum.keys * OBJECTS_FACTOR_MAX))
    starts = [np.array(start) for start in itertools.product(_EXPONENTS, [bounds[0] + more for more in _MORE_OBJECTS])]
    likelihood, at = max(((_likelihood(spectrum, start), start) for start in starts), key=lambda found: found[0])
    for _ in range(_STEPS_MAX):
        slopes, expected = _slopes(spectrum, at)
        score = slopes @ (spectrum.observed / expected - 1)
        information = (slopes / expected) @ slopes.T + np.diag([_TINY, 1e-3])
        step: Floats = np.linalg.solve(information, score).astype(np.float64)
        moved, better = _climb(spectrum, at, step, likelihood, bounds)
        is_settled = better - likelihood < _PRECISION and float(np.abs(moved - at).max()) < _STEP
        at, likelihood = moved, better
        if is_settled:
            break
    return _fitted(spectrum, at, bounds)


def expected_top_share(popularity: Popularity) -> float:
    """The share of the reads that the most popular object has by the fitted law."""
    ranks, weights = _ranks(popularity.objects)
    return float(1 / (weights * ranks**-popularity.exponent).sum())


def expected_counts(popularity: Popularity, counts: Sequence[int]) -> tuple[float, ...]:
    """How many of all keys are expected to be read at least as often as each of `counts`, by the fitted law."""
    ranks, weights = _ranks(popularity.objects)
    masses = ranks**-popularity.exponent
    means = popularity.reads * masses / (weights * masses).sum()
    return tuple(float(weights @ (1 - poisson_cdf(count - 1, means))) for count in counts)


def _fitted(spectrum: Spectrum, at: Floats, bounds: tuple[float, float]) -> Popularity:
    slopes, expected = _slopes(spectrum, at)
    spread = spectrum.covariance(float(at[0]), math.exp(at[1]))
    is_free = bounds[0] < at[1] < bounds[1]  # at a bound, the number of objects is not estimated
    free = slopes if is_free else slopes[:1]
    scaled = free / expected
    inverse = np.linalg.inv(scaled @ free.T + _TINY * np.eye(len(free)))
    error = math.sqrt(max(0.0, float((inverse @ (scaled @ spread @ scaled.T) @ inverse)[0, 0])))
    once = int((spectrum.counts == 1).sum())
    once_low, once_high = wilson(once, len(spectrum.counts))
    exponent = float(at[0])
    is_even = _Z * error >= exponent or _likelihood(spectrum, np.array([0.0, at[1]])) >= _least(spectrum, at)
    return Popularity(
        reads=spectrum.reads,
        keys=round(spectrum.keys),
        exponent=exponent,
        exponent_low=0.0 if is_even else max(0.0, exponent - _Z * error),
        exponent_high=_highest(spectrum, at) if is_even else exponent + _Z * error,
        objects=max(len(spectrum.counts), round(math.exp(at[1]))),
        once_share=once / len(spectrum.counts),
        once_share_low=once_low,
        once_share_high=once_high,
        top_share=float(spectrum.counts[0]) / spectrum.reads,
        sampled_share=spectrum.share,
    )


def _highest(spectrum: Spectrum, at: Floats) -> float:
    """The upper end of a likelihood-ratio interval, for exponents near 0.

    There the spectrum hardly depends on the exponent: that of -s is that of s.
    """
    least = _least(spectrum, at)
    low, high = float(at[0]), EXPONENT_MAX
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if _likelihood(spectrum, np.array([middle, at[1]])) >= least else (low, middle)
    return high


def _least(spectrum: Spectrum, at: Floats) -> float:
    """The likelihood above which parameters are in the 95 % interval (Wilks, 1938): half of 3.84 below the highest."""
    return _likelihood(spectrum, at) - _Z**2 / 2


def _climb(
    spectrum: Spectrum, at: Floats, step: Floats, likelihood: float, bounds: tuple[float, float]
) -> tuple[Floats, float]:
    """Go a step, or the largest half, quarter and so on of it that makes the likelihood larger."""
    limit = max(1.0, abs(step[0]) / 0.5, abs(step[1]))
    for halving in range(20):
        moved = at + step / limit / 2**halving
        moved = np.array([np.clip(moved[0], 0.0, EXPONENT_MAX), np.clip(moved[1], *bounds)])
        better = _likelihood(spectrum, moved)
        if better >= likelihood:
            return moved, better
    return at, likelihood


def _likelihood(spectrum: Spectrum, at: Floats) -> float:
    expected = np.maximum(spectrum.expected(float(at[0]), math.exp(at[1])), _TINY)
    return float((spectrum.observed * np.log(expected) - expected).sum())


def _slopes(spectrum: Spectrum, at: Floats) -> tuple[Floats, Floats]:
    """The slopes of the expected numbers by both parameters, and the numbers themselves."""
    expected = spectrum.expected(float(at[0]), math.exp(at[1]))
    slopes = []
    for parameter in range(2):
        shift = np.zeros(2)
        shift[parameter] = _STEP
        above = spectrum.expected(float((at + shift)[0]), math.exp((at + shift)[1]))
        below = spectrum.expected(float((at - shift)[0]), math.exp((at - shift)[1]))
        slopes.append((above - below) / (2 * _STEP))
    return np.array(slopes), np.maximum(expected, _TINY)


def _edges(most: int) -> npt.NDArray[np.int64]:
    """The largest counts of the bins: each count to 8, then four bins for each power of two."""
    edges = list(range(1, 9))
    while edges[-1] < most:
        edges.append(math.ceil(edges[-1] * 2**0.25))
    return np.array(edges, dtype=np.int64)


def _ranks(objects: float) -> tuple[Floats, Floats]:
    """Ranks from 1 to `objects` and how many each stands for: every one at first, then a few for each power of two.

    The number of objects may be broken, so that all that is calculated from it is smooth.
    """
    if objects <= _RANKS_EXACT:
        whole = math.floor(objects)
        ranks = np.arange(1, whole + 2, dtype=np.float64)
        return ranks, np.append(np.ones(whole), max(objects - whole, _TINY))
    octaves = math.log2((objects + 0.5) / (_RANKS_EXACT + 0.5))
    bounds = (_RANKS_EXACT + 0.5) * np.exp2(np.linspace(0, octaves, max(2, math.ceil(octaves * _RANKS_PER_OCTAVE)) + 1))
    ranks = np.concatenate((np.arange(1, _RANKS_EXACT + 1, dtype=np.float64), np.sqrt(bounds[1:] * bounds[:-1])))
    return ranks, np.concatenate((np.ones(_RANKS_EXACT), np.diff(bounds)))
