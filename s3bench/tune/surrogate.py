"""What is believed of settings that were not tried: how good they are, and how much better than the best they may be.

Owns the surrogate of the search. A client's physical model, fitted to its runs however few, gives what is expected of
every setting; what the model leaves over is a Gaussian process over the knobs (Kennedy & O'Hagan, "Bayesian calibration
of computer models", Journal of the Royal Statistical Society B 63, 2001). So a client whose first few settings are poor
is not given up for them, and one whose model has been found wrong is searched around what was seen. What is worth a try
is the expected improvement (Jones, Schonlau & Welch, "Efficient Global Optimization of Expensive Black-Box Functions",
Journal of Global Optimization 13, 1998), under a memory limit times the probability to keep it (Gardner et al.,
"Bayesian Optimization with Inequality Constraints", ICML 2014). Pure.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from s3bench.tune.evidence import SettingEstimate
from s3bench.tune.search_model import SearchModel
from s3bench.tune.setting import Setting
from s3bench.tune.space import Space
from s3bench.tune.transfer_time import Array

MISFIT_SIGMA = 0.08
MISFIT_DEGREES_OF_FREEDOM = 4.0
"""How far a model's expectation is off before anything is known of that: the median error of predictions is 4 %, their
ninth decile 12 % (`benchmarks/tune_prediction.py`). Moderated by the residuals as the noise in `evidence` is."""

REACH = 1.5
"""Over so many steps of a knob what the model leaves over is alike: the length of the Gaussian kernel."""

_LEVEL_VARIANCE = 0.25
"""How far the level of a process may be from the mean of what was seen: by half, as a logarithm."""

_MEMORY_SIGMA = 0.2
_MEMORY_SLOPE_VARIANCE = 0.1
_MEMORY_VARIANCE = 1e-4
"""Peaks rise by a factor of up to e^0.3 or so with each step of a knob, vary by 20 % around that, and by 1 % from run
to run. It is only held to spare runs: what may win is decided by peaks that were seen."""

_VARIANCE_MIN = 1e-8
"""Rounding leaves less than nothing where a value is certain."""

_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """What is held of one setting: the logarithm of its value, its standard deviation, the chance that it fits."""

    setting: Setting
    log_value: float
    sigma: float
    fits: float = 1.0

    def improvement(self, best: float) -> float:
        """How much better than `best` the setting is expected to be, as a share; what is worse counts as nothing."""
        ahead = math.log(best) - self.log_value
        z = ahead / self.sigma
        return self.fits * (ahead * _NORMAL.cdf(z) + self.sigma * _NORMAL.pdf(z))


def beliefs(
    space: Space,
    known: Sequence[SettingEstimate],
    sketch: SearchModel,
    settings: Sequence[Setting],
    *,
    noise: float,
    max_memory_bytes: float | None = None,
) -> tuple[Belief, ...]:
    """What is believed of `settings`, all of one client, given its estimates and the noise of one run's logarithm."""
    whole = [each for each in known if each.runs]
    tried, new = _positions(space, [each.setting for each in whole]), _positions(space, settings)
    left_over = np.log([each.value for each in whole]) - sketch.expect([each.setting for each in whole])[0]
    variances = np.array([noise**2 / each.runs for each in whole])
    expected, sigmas = sketch.expect(settings)
    corrections, unknown = _kriged(left_over, variances, tried, new, sigma=_misfit(left_over))
    fits = _fits(whole, tried, new, max_memory_bytes)
    return tuple(
        Belief(setting=setting, log_value=float(mean), sigma=float(sigma), fits=float(chance))
        for setting, mean, sigma, chance in zip(
            settings, expected + corrections, np.sqrt(unknown + sigmas**2), fits, strict=True
        )
    )


def _positions(space: Space, settings: Sequence[Setting]) -> Array:
    """Where along its choices each knob of each setting stands, one setting a row."""
    rows = [
        [knob.choices.index(space.value(setting, knob)) for knob in space.knobs[setting.client]] for setting in settings
    ]
    return np.array(rows, dtype=np.float64).reshape(len(rows), -1)


def _misfit(left_over: Array) -> float:
    """The standard deviation of what a model leaves over."""
    squares = float(((left_over - left_over.mean()) ** 2).sum())
    free = MISFIT_DEGREES_OF_FREEDOM + left_over.size - 1
    return math.sqrt((MISFIT_DEGREES_OF_FREEDOM * MISFIT_SIGMA**2 + squares) / free)


def _fits(whole: Sequence[SettingEstimate], tried: Array, new: Array, limit_bytes: float | None) -> Array:
    """The chance of each new setting to keep the memory limit, by the peaks of those tried."""
    told = [row for row, each in enumerate(whole) if each.peak_memory_bytes]
    if limit_bytes is None or not told:
        return np.ones(len(new))
    logs = np.log([whole[row].peak_memory_bytes or 0 for row in told])
    means, variances = _kriged(
        logs,
        np.full(len(told), _MEMORY_VARIANCE),
        tried[told],
        new,
        sigma=_MEMORY_SIGMA,
        slope_variance=_MEMORY_SLOPE_VARIANCE,
    )
    z = (math.log(limit_bytes) - means) / np.sqrt(variances)
    return np.array([_NORMAL.cdf(float(each)) for each in z])


def _kriged(
    values: Array, variances: Array, known: Array, new: Array, *, sigma: float, slope_variance: float = 0.0
) -> tuple[Array, Array]:
    """The mean and the variance of a Gaussian process at `new`, given noisy `values` at `known`.

    Its mean is a level, and a slope along each knob where `slope_variance` says so; around it values vary by `sigma`
    (Rasmussen & Williams, "Gaussian Processes for Machine Learning", 2006, equations 2.23, 2.24 and 2.40).
    """

    def kernel(first: Array, second: Array) -> Array:
        squares = np.square(first[:, np.newaxis, :] - second[np.newaxis, :, :]).sum(axis=2)
        level = _LEVEL_VARIANCE + slope_variance * first @ second.T
        return np.asarray(level + sigma**2 * np.exp(-squares / (2 * REACH**2)))

    centre = values.mean()
    across = kernel(known, new)
    weights = np.linalg.solve(kernel(known, known) + np.diag(variances), across)
    means = centre + weights.T @ (values - centre)
    own = _LEVEL_VARIANCE + slope_variance * np.square(new).sum(axis=1) + sigma**2
    return means, np.maximum(own - np.einsum("ij,ij->j", across, weights), _VARIANCE_MIN)
