"""Fits the parameters of a client's transfer model to its runs, by least squares over `s3bench.tune.transfer_time`."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median

import numpy as np

from s3bench.clients.tuning.client_tuning import Habits
from s3bench.clients.tuning.workload import Workload
from s3bench.results.measurement import Measurement
from s3bench.tune.objective import transfer_s
from s3bench.tune.request_plan import RequestPlan, plan_requests
from s3bench.tune.setting import Setting
from s3bench.tune.study import Trial
from s3bench.tune.transfer_time import Array, Cpu, LinkModel, Plans, plan_s

_NOISE = 0.05
"""The relative error of the median of a setting's runs, which weighs the data against the priors below."""


def whole_runs(trials: Sequence[Trial]) -> dict[Setting, list[Measurement]]:
    """The complete runs of each setting among the trials of one client."""
    assert len({trial.setting.client for trial in trials}) <= 1, "a model is one client's"
    runs: dict[Setting, list[Measurement]] = {}
    for trial in trials:
        if trial.measurement is not None and not trial.was_capped:
            runs.setdefault(trial.setting, []).append(trial.measurement)
    return runs


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parameter:
    """A parameter of the fit: its prior (a centre and its uncertainty as a factor) and its bounds."""

    name: str
    centre: float
    factor: float
    low: float
    high: float


PARAMETERS = (
    _Parameter(name="overhead_s", centre=0.01, factor=2.5, low=1e-4, high=60.0),
    _Parameter(name="surplus_s", centre=0.003, factor=5.0, low=1e-5, high=10.0),
    _Parameter(name="serial_s_per_byte", centre=2e-9, factor=5.0, low=1e-12, high=1e-6),
    _Parameter(name="cores", centre=1.0, factor=1.5, low=0.2, high=256.0),
    _Parameter(name="connection_bytes_per_s", centre=5e7, factor=20.0, low=1e4, high=1e11),
    _Parameter(name="nic_bytes_per_s", centre=5e8, factor=20.0, low=1e4, high=1e12),
)
"""The fitted parameters. The last two matter only if no network model gives them.

The priors are weak: 10 ms within a factor of 2.5, 3 ms and 2 ns per byte (SHA-256 and a copy of one byte on one core)
within 5, and one core. The runs of one study do not determine all parameters; the priors decide the rest.
"""


@dataclass(frozen=True, kw_only=True)
class Points:
    """The medians of each setting's runs, and the plans of settings known to be `slower` than `slower_than_s`."""

    plans: Plans
    each: tuple[RequestPlan, ...]
    habits: Habits
    link: LinkModel
    total_s: Array
    transfer_s: Array
    start_up_s: Array
    cpu_s: Array
    slower: Plans
    slower_than_s: Array

    @classmethod
    def of(
        cls, runs: dict[Setting, list[Measurement]], workload: Workload, habits: Habits, link: LinkModel
    ) -> "Points":
        """The points of complete runs, without lower bounds."""
        each = tuple(plan_requests(setting, workload, habits) for setting in runs)
        medians = [
            (
                median(run.total_time for run in own),
                median(transfer_s(run) for run in own),
                median(run.total_time - transfer_s(run) for run in own),
                median(run.cpu_time or 0.0 for run in own),
            )
            for own in runs.values()
        ]
        total, transfer, start_up, cpu = np.array(medians, dtype=np.float64).T
        return cls(
            plans=Plans.of(each),
            each=each,
            habits=habits,
            link=link,
            total_s=total,
            transfer_s=transfer,
            start_up_s=start_up,
            cpu_s=cpu,
            slower=Plans.of([]),
            slower_than_s=np.zeros(0),
        )

    @cached_property
    def every_plan(self) -> Plans:
        """`plans`, then `slower`."""
        return self.plans.and_also(self.slower)

    @cached_property
    def start_up_median_s(self) -> float:
        """The median of the settings' start-up times."""
        return float(np.median(self.start_up_s))

    def without(self, number: int) -> "Points":
        """All but one of them."""
        return replace(
            self,
            plans=self.plans.without(number),
            each=self.each[:number] + self.each[number + 1 :],
            total_s=np.delete(self.total_s, number),
            transfer_s=np.delete(self.transfer_s, number),
            start_up_s=np.delete(self.start_up_s, number),
            cpu_s=np.delete(self.cpu_s, number),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedModel:
    """The fit: the start-up, the CPU time of bytes and requests, the logarithms of `PARAMETERS` in order."""

    start_up_s: float
    cpu: Cpu
    logarithms: Array

    def total_s(self, plans: Plans, link: LinkModel) -> Array:
        """The seconds of the whole run of each plan."""
        return self.start_up_s + plan_s(self.logarithms, plans, link, self.cpu)


def fit_points(points: Points, start: Array | None = None) -> FittedModel:
    """Fit all parameters, from `start` or from their centres."""
    start_up_s = points.start_up_median_s
    cpu = _cpu(points, start_up_s)
    found = _least_squares(points, cpu, _CENTRES if start is None else start)
    return FittedModel(start_up_s=start_up_s, cpu=cpu, logarithms=found)


_TYPICAL_CPU_S = np.array((3e-9, 3e-3))
"""CPU seconds of a byte and of a request: the clients of tests/tune/data need 1 to 4 ns and 1 to 17 ms at 256 MiB."""

_CPU_SHARE_MIN = 0.02
"""The split between bytes and requests is not fitted if it explains less than this share of the CPU time."""


def _cpu(points: Points, start_up_s: float) -> Cpu:
    """CPU seconds per byte and per request, neither below 0, of the CPU time without the start-up on one core.

    Non-negative least squares with two unknowns (Lawson & Hanson, "Solving Least Squares Problems", 1974, chapter 23).
    If the settings' numbers of requests differ too little, the split follows `_TYPICAL_CPU_S`: the minimum-norm
    solution in these units (there, chapter 14).
    """
    left = np.maximum(points.cpu_s - start_up_s, 0.0)
    columns = np.stack((points.plans.total_bytes, points.plans.requests), axis=1)
    both, *_ = np.linalg.lstsq(columns * _TYPICAL_CPU_S, left, rcond=_CPU_SHARE_MIN)
    both = both * _TYPICAL_CPU_S
    if (both >= 0).all():
        return Cpu(s_per_byte=float(both[0]), s_per_request=float(both[1]))
    alone = np.maximum(columns.T @ left, 0.0) / np.maximum((columns * columns).sum(axis=0), 1.0)
    residuals = [float(np.square(left - columns[:, index] * alone[index]).sum()) for index in (0, 1)]
    is_bytes = residuals[0] <= residuals[1]
    return Cpu(s_per_byte=float(alone[0]) * is_bytes, s_per_request=float(alone[1]) * (not is_bytes))


def covariance_of(points: Points, fitted: FittedModel) -> Array:
    """The covariance of the parameters' logarithms, by Laplace's approximation at the fit."""
    derivatives = derivatives_of(lambda logarithms: residuals_of(logarithms, points, fitted.cpu), fitted.logarithms)
    return np.linalg.inv(derivatives.T @ derivatives).astype(np.float64)


def logarithms_of(values: Iterable[float]) -> Array:
    """The logarithms of `values`, as an array."""
    return np.log(np.array(tuple(values), dtype=np.float64))


_CENTRES = logarithms_of(item.centre for item in PARAMETERS)
_FACTORS = logarithms_of(item.factor for item in PARAMETERS)
_LOWS = logarithms_of(item.low for item in PARAMETERS)
_HIGHS = logarithms_of(item.high for item in PARAMETERS)

_ROUNDS_MAX = 60
_STEP = 1e-5
_SHIFTS = np.vstack((np.zeros(len(PARAMETERS)), np.eye(len(PARAMETERS)) * _STEP))  # none, then one parameter each
_DAMPING_MAX = 1e9
_CONVERGED = 1e-6


def _least_squares(points: Points, cpu: Cpu, start: Array) -> Array:
    """Levenberg-Marquardt on logarithms (Marquardt, J. SIAM 11, 1963), within the bounds, with the priors as data."""
    here, damping = np.clip(start, _LOWS, _HIGHS), 1e-2
    residuals = residuals_of(here, points, cpu)
    for _ in range(_ROUNDS_MAX):
        derivatives = derivatives_of(lambda there: residuals_of(there, points, cpu), here)
        curvature, gradient = derivatives.T @ derivatives, derivatives.T @ residuals
        diagonal = np.diag(np.diag(curvature))
        while damping < _DAMPING_MAX:
            step = np.linalg.solve(curvature + damping * diagonal, gradient)
            there = np.clip(here - step, _LOWS, _HIGHS)
            new_residuals = residuals_of(there, points, cpu)
            gain = float(residuals @ residuals - new_residuals @ new_residuals)
            if gain >= 0:
                break
            damping *= 4
        else:
            return here
        here, residuals, damping = there, new_residuals, max(damping / 4, 1e-9)
        if gain <= _CONVERGED * float(residuals @ residuals):
            return here
    return here


def derivatives_of(function: Callable[[Array], Array], here: Array) -> Array:
    """The derivative of each value with respect to each parameter, by forward differences.

    `function` takes rows of parameters and returns a row of values for each.
    """
    values = function(here + _SHIFTS)
    return np.asarray((values[1:] - values[0]) / _STEP).T


def residuals_of(logarithms: Array, points: Points, cpu: Cpu) -> Array:
    """The residuals in standard deviations: of the times in log space, and of each parameter from its prior."""
    seconds = plan_s(logarithms, points.every_plan, points.link, cpu)
    measured = points.transfer_s.size
    times = np.log(seconds[..., :measured] / points.transfer_s) / _NOISE
    from_priors = (logarithms - _CENTRES) / _FACTORS
    if not points.slower_than_s.size:
        return np.concatenate((times, from_priors), axis=-1)
    slower_s = points.start_up_median_s + seconds[..., measured:]
    short = np.minimum(0.0, np.log(slower_s / points.slower_than_s)) / _NOISE
    return np.concatenate((times, short, from_priors), axis=-1)
