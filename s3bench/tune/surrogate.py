"""The surrogate of the search: posterior and expected improvement of settings that were not tried (Bayesian search).

The search model of a client gives the expected value of every setting; the residuals are modelled by a Gaussian process
over the parameters (Kennedy & O'Hagan, "Bayesian calibration of computer models", Journal of the Royal Statistical
Society B 63, 2001). So a client with a few poor first settings is not given up, and one whose model proved wrong is
searched around its measurements. Settings are ranked by expected improvement (Jones, Schonlau & Welch, "Efficient
Global Optimization of Expensive Black-Box Functions", Journal of Global Optimization 13, 1998), under a memory limit
times the probability to keep it (Gardner et al., "Bayesian Optimization with Inequality Constraints", ICML 2014).
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

DISCREPANCY_SIGMA = 0.08
DISCREPANCY_DEGREES_OF_FREEDOM = 4.0
"""The prior of the model's discrepancy: the median error of predictions is 4 %, their ninth decile 12 %
(`benchmarks/tune_prediction.py`). Moderated by the residuals like the noise in `s3bench.tune.evidence`."""

LENGTH_SCALE = 1.5
"""The length scale of the Gaussian kernel, in steps of a parameter."""

_LEVEL_VARIANCE = 0.25
"""The prior variance of the process's level around the mean of the data, as a logarithm."""

_MEMORY_SIGMA = 0.2
_MEMORY_SLOPE_VARIANCE = 0.1
_MEMORY_VARIANCE = 1e-4
"""Peaks rise by a factor of up to about e^0.3 with each step of a parameter, vary by 20 % around that, and by 1 % from
run to run. This only saves runs: which setting may win is decided by measured peaks."""

_VARIANCE_MIN = 1e-8
"""Rounding can make the variance of a certain value negative."""

_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """The posterior of one setting: the logarithm of its value, its standard deviation, the chance to fit in memory."""

    setting: Setting
    log_value: float
    sigma: float
    feasibility: float = 1.0

    def improvement(self, best: float) -> float:
        """The expected improvement on `best`, as a share, times the probability to keep the memory limit."""
        ahead = math.log(best) - self.log_value
        z = ahead / self.sigma
        return self.feasibility * (ahead * _NORMAL.cdf(z) + self.sigma * _NORMAL.pdf(z))


def posteriors(
    space: Space,
    known: Sequence[SettingEstimate],
    model: SearchModel,
    settings: Sequence[Setting],
    *,
    noise: float,
    max_memory_bytes: float | None = None,
) -> tuple[Posterior, ...]:
    """The posteriors of `settings`, all of one client, given its estimates and the noise of one run's logarithm."""
    whole = [each for each in known if each.runs]
    tried, new = _positions(space, [each.setting for each in whole]), _positions(space, settings)
    residuals = np.log([each.value for each in whole]) - model.expect([each.setting for each in whole])[0]
    variances = np.array([noise**2 / each.runs for each in whole])
    expected, sigmas = model.expect(settings)
    corrections, unknown = kriged(residuals, variances, tried, new, sigma=discrepancy(residuals))
    feasibility = _feasibilities(whole, tried, new, max_memory_bytes)
    return tuple(
        Posterior(setting=setting, log_value=float(mean), sigma=float(sigma), feasibility=float(chance))
        for setting, mean, sigma, chance in zip(
            settings, expected + corrections, np.sqrt(unknown + sigmas**2), feasibility, strict=True
        )
    )


def _positions(space: Space, settings: Sequence[Setting]) -> Array:
    """The position of each parameter's value among its choices, one row per setting."""
    rows = [
        [parameter.choices.index(space.value(setting, parameter)) for parameter in space.parameters[setting.client]]
        for setting in settings
    ]
    return np.array(rows, dtype=np.float64).reshape(len(rows), -1)


def discrepancy(residuals: Array) -> float:
    """The standard deviation of the residuals, moderated by the prior."""
    squares = float(((residuals - residuals.mean()) ** 2).sum())
    free = DISCREPANCY_DEGREES_OF_FREEDOM + residuals.size - 1
    return math.sqrt((DISCREPANCY_DEGREES_OF_FREEDOM * DISCREPANCY_SIGMA**2 + squares) / free)


def _feasibilities(whole: Sequence[SettingEstimate], tried: Array, new: Array, limit_bytes: float | None) -> Array:
    """The probability of each new setting to keep the memory limit, from the peaks of those tried."""
    known_rows = [row for row, each in enumerate(whole) if each.peak_memory_bytes]
    if limit_bytes is None or not known_rows:
        return np.ones(len(new))
    logs = np.log([whole[row].peak_memory_bytes or 0 for row in known_rows])
    means, variances = kriged(
        logs,
        np.full(len(known_rows), _MEMORY_VARIANCE),
        tried[known_rows],
        new,
        sigma=_MEMORY_SIGMA,
        slope_variance=_MEMORY_SLOPE_VARIANCE,
    )
    z = (math.log(limit_bytes) - means) / np.sqrt(variances)
    return np.array([_NORMAL.cdf(float(each)) for each in z])


def kriged(
    values: Array, variances: Array, known: Array, new: Array, *, sigma: float, slope_variance: float = 0.0
) -> tuple[Array, Array]:
    """The mean and the variance of a Gaussian process at `new`, given noisy `values` at `known`.

    Its mean is a level, and a slope along each knob where `slope_variance` says so; around it values vary by `sigma`
    (Rasmussen & Williams, "Gaussian Processes for Machine Learning", 2006, equations 2.23, 2.24 and 2.40).
    """

    def kernel(first: Array, second: Array) -> Array:
        squares = np.square(first[:, np.newaxis, :] - second[np.newaxis, :, :]).sum(axis=2)
        level = _LEVEL_VARIANCE + slope_variance * first @ second.T
        return np.asarray(level + sigma**2 * np.exp(-squares / (2 * LENGTH_SCALE**2)))

    centre = values.mean()
    across = kernel(known, new)
    weights = np.linalg.solve(kernel(known, known) + np.diag(variances), across)
    means = centre + weights.T @ (values - centre)
    own = _LEVEL_VARIANCE + slope_variance * np.square(new).sum(axis=1) + sigma**2
    return means, np.maximum(own - np.einsum("ij,ij->j", across, weights), _VARIANCE_MIN)
