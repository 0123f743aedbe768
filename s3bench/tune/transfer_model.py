"""A physical model of one client's run: start-up, requests one after the other, and the limits of what goes at once.

Owns the formula, its fit to the runs of a study, and the error of that fit. The formula is the arithmetic of
docs/network.md ("A transfer on paper") with what the client adds: CPU time per byte and per request, a limit of cores,
and a surplus on each request. Which requests there are is counted in `request_plan`. Pure.

    time = start-up + overhead + C x T + first + fill + (lanes^p + nic^p + cpu^p)^(1/p)

    lanes = rounds x T + bytes of the busiest connection x (1/bandwidth + serial)
    nic   = T + bytes / nic                                what all connections have to share
    cpu   = (a x bytes + b x requests) / cores             what the client has to compute

T is the time to first byte plus the surplus. C counts requests that have to wait for each other (look-up, create,
complete, listing). `first` is the first part where a client fetches it alone to learn the size. `fill` is of uploads:
the parts that are first in flight are read and hashed before a byte is on the wire, by all cores. Limits that bind at
the same time hinder each other: hence the p-norm rather than the largest of the three.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from numpy.typing import NDArray

from s3bench.results.measurement import Measurement
from s3bench.s3.network.model import NetworkModel
from s3bench.tune.objective import transfer_s
from s3bench.tune.request_plan import Habits, RequestPlan, habits_of, plan_requests
from s3bench.tune.setting import Setting
from s3bench.tune.study import Trial
from s3bench.tune.workload import Workload

Array = NDArray[np.float64]

SETTINGS_MIN = 4
"""With fewer settings than this their differences say nothing of where the time goes."""

_NORM = 3.0
"""How much limits hinder each other that bind at the same time: 1 is one after the other, infinity not at all.

Of 2, 3, 4 and 8 it has the least median error for the runs of tests/tune/data, between 64 and 256 MiB and two links.
"""

_NOISE = 0.05
"""How far the median of a setting's runs is off, as a share: the weight of the data against the centres below."""

_Z90 = 1.2815515655446004  # standard normal quantile of 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Error:
    """Relative errors of the whole time, of `settings` settings, each left out of the fit in turn."""

    median: float
    p90: float
    settings: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferModel:
    """One client's model. Rates are bytes per second, all times seconds.

    `start_up_s` is what passes before the first request and after the last response. `surplus_s` comes on top of each
    request's time to first byte, `serial_s_per_byte` on top of its bytes' time on the wire: hashing, copying, and what
    the server needs. `connection_bytes_per_s` and `nic_bytes_per_s` were fitted where no network model was imposed.
    `workload` and `network` are those of the runs.
    """

    client: str
    workload: Workload
    network: NetworkModel | None
    habits: Habits
    start_up_s: float
    cpu_s_per_byte: float
    cpu_s_per_request: float
    overhead_s: float
    surplus_s: float
    serial_s_per_byte: float
    cores: float
    connection_bytes_per_s: float
    nic_bytes_per_s: float
    error: Error

    def predict(self, setting: Setting, workload: Workload, network: NetworkModel | None) -> float:
        """The seconds of one whole run; without `network` behind the link that the model was fitted to."""
        plan = plan_requests(setting, workload, self.habits)
        link = _link(network or self.network, workload)
        seconds = _transfer_s(self._parameters(), _Plans.of([plan]), link, self._cpu())
        return self.start_up_s + float(seconds[0])

    def _parameters(self) -> Array:
        values = (self.overhead_s, self.surplus_s, self.serial_s_per_byte, self.cores)
        return _logarithms((*values, self.connection_bytes_per_s, self.nic_bytes_per_s))

    def _cpu(self) -> "_Cpu":
        return _Cpu(s_per_byte=self.cpu_s_per_byte, s_per_request=self.cpu_s_per_request)


def fit(trials: Sequence[Trial], workload: Workload, network: NetworkModel | None) -> TransferModel | None:
    """The model of one client from its trials; `None` where fewer than `SETTINGS_MIN` settings have whole runs."""
    assert len({trial.setting.client for trial in trials}) <= 1, "a model is one client's"
    runs: dict[Setting, list[Measurement]] = {}
    for trial in trials:
        if trial.measurement is not None and not trial.was_capped:
            runs.setdefault(trial.setting, []).append(trial.measurement)
    if len(runs) < SETTINGS_MIN:
        return None
    client, kind = next(iter(runs)).client, next(iter(runs)).kind
    habits = habits_of(kind, runs, workload)
    points = _Points.of(runs, workload, habits, _link(network, workload))
    fitted = _fitted(points)
    return _model(client, workload, network, points, fitted, _left_out(points, fitted))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Link:
    """The link of a network model in the direction of the data.

    Rates are those of a connection and of all together, infinite where the model has no limit; they are `None`, and
    fitted, where no model was imposed. The latency is then in the surplus.
    """

    ttfb_s: float
    rates: tuple[float | None, float | None]


def _link(network: NetworkModel | None, workload: Workload) -> _Link:
    if network is None:
        return _Link(ttfb_s=0.0, rates=(None, None))
    nic = network.nic_up_bytes_per_s if workload.is_upload else network.nic_down_bytes_per_s
    rates = (network.connection_bytes_per_s or math.inf, nic or math.inf)
    return _Link(ttfb_s=mean_ttfb_s(network), rates=rates)


def mean_ttfb_s(network: NetworkModel) -> float:
    """The mean: of the samples, or of the lognormal distribution with the two quantiles, median x e^(sigma^2 / 2)."""
    if network.ttfb_samples_s:
        return sum(network.ttfb_samples_s) / len(network.ttfb_samples_s)
    if network.ttfb_p90_s <= network.ttfb_p50_s:
        return network.ttfb_p50_s
    sigma = math.log(network.ttfb_p90_s / network.ttfb_p50_s) / _Z90
    return network.ttfb_p50_s * math.exp(sigma * sigma / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cpu:
    s_per_byte: float
    s_per_request: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plans:
    """Plans as columns."""

    total_bytes: Array
    requests: Array
    rounds: Array
    lane_bytes: Array
    in_turn: Array
    first_bytes: Array
    fill_bytes: Array
    filling: Array

    @classmethod
    def of(cls, plans: Sequence[RequestPlan]) -> "_Plans":
        def column(values: Iterable[float]) -> Array:
            return np.array(tuple(values), dtype=np.float64)

        return cls(
            total_bytes=column(item.total_bytes for item in plans),
            requests=column(item.requests for item in plans),
            rounds=column(item.rounds for item in plans),
            lane_bytes=column(item.lane_bytes for item in plans),
            in_turn=column(item.in_turn for item in plans),
            first_bytes=column(item.first_bytes for item in plans),
            fill_bytes=column(item.fill_bytes for item in plans),
            filling=column(min(item.lanes, item.requests) for item in plans),
        )

    def without(self, number: int) -> "_Plans":
        return _Plans(**{name: np.delete(getattr(self, name), number) for name in self.__slots__})


def _transfer_s(logarithms: Array, plans: _Plans, link: _Link, cpu: _Cpu) -> Array:
    """The formula of the module, without the start-up; parameters as `_PARAMETERS` has them, as logarithms."""
    overhead_s, surplus_s, serial, cores, connection, nic = np.exp(logarithms)
    own = connection if link.rates[0] is None else link.rates[0]
    shared = nic if link.rates[1] is None else link.rates[1]
    latency_s = link.ttfb_s + surplus_s
    is_first = plans.first_bytes > 0
    first_s = is_first * (latency_s + plans.first_bytes * (1 / min(own, shared) + serial))
    lane_s = plans.rounds * latency_s + plans.lane_bytes * (1 / own + serial)
    fill_s = serial * plans.fill_bytes * np.maximum(1.0, plans.filling / cores)
    lane_s = lane_s - serial * plans.fill_bytes
    nic_s = latency_s + (plans.total_bytes - plans.first_bytes) / shared
    cpu_s = (cpu.s_per_byte * plans.total_bytes + cpu.s_per_request * plans.requests) / cores
    limits_s = (lane_s**_NORM + nic_s**_NORM + cpu_s**_NORM) ** (1 / _NORM)
    return np.asarray(overhead_s + plans.in_turn * latency_s + first_s + fill_s + limits_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parameter:
    """A parameter of the fit: where it probably lies, how far off that may be (as a factor), and its bounds."""

    name: str
    centre: float
    factor: float
    low: float
    high: float


_PARAMETERS = (
    _Parameter(name="overhead_s", centre=0.01, factor=2.5, low=1e-4, high=60.0),
    _Parameter(name="surplus_s", centre=0.003, factor=5.0, low=1e-5, high=10.0),
    _Parameter(name="serial_s_per_byte", centre=2e-9, factor=5.0, low=1e-12, high=1e-6),
    _Parameter(name="cores", centre=1.0, factor=1.5, low=0.2, high=256.0),
    _Parameter(name="connection_bytes_per_s", centre=5e7, factor=20.0, low=1e4, high=1e11),
    _Parameter(name="nic_bytes_per_s", centre=5e8, factor=20.0, low=1e4, high=1e12),
)
"""What is fitted. The last two matter only where no network model gives them.

The centres are weak: 10 ms within a factor of 2.5, 3 ms and 2 ns a byte (SHA-256 and a copy of one byte on one core)
within 5, and one core. By the runs of one study they cannot all be told apart: there the centres decide.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Points:
    """The medians of each setting's runs."""

    plans: _Plans
    each: tuple[RequestPlan, ...]
    habits: Habits
    link: _Link
    total_s: Array
    transfer_s: Array
    start_up_s: Array
    cpu_s: Array

    @classmethod
    def of(cls, runs: dict[Setting, list[Measurement]], workload: Workload, habits: Habits, link: _Link) -> "_Points":
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
            plans=_Plans.of(each),
            each=each,
            habits=habits,
            link=link,
            total_s=total,
            transfer_s=transfer,
            start_up_s=start_up,
            cpu_s=cpu,
        )

    def without(self, number: int) -> "_Points":
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
class _Fitted:
    start_up_s: float
    cpu: _Cpu
    logarithms: Array

    def total_s(self, plans: _Plans, link: _Link) -> Array:
        return self.start_up_s + _transfer_s(self.logarithms, plans, link, self.cpu)


def _fitted(points: _Points, start: Array | None = None) -> _Fitted:
    start_up_s = float(np.median(points.start_up_s))
    cpu = _cpu(points, start_up_s)
    found = _least_squares(points, cpu, _CENTRES if start is None else start)
    return _Fitted(start_up_s=start_up_s, cpu=cpu, logarithms=found)


def _cpu(points: _Points, start_up_s: float) -> _Cpu:
    """CPU seconds per byte and per request, neither below 0: of what is left beside the start-up, which is one core's.

    Least squares with two unknowns; where one comes out negative it is 0 and the other takes all (Lawson & Hanson,
    "Solving Least Squares Problems", 1974, chapter 23, for two columns).
    """
    left = np.maximum(points.cpu_s - start_up_s, 0.0)
    columns = np.stack((points.plans.total_bytes, points.plans.requests), axis=1)
    largest = np.maximum(columns.max(axis=0), 1.0)
    both, *_ = np.linalg.lstsq(columns / largest, left, rcond=None)
    both = both / largest
    if (both >= 0).all():
        return _Cpu(s_per_byte=float(both[0]), s_per_request=float(both[1]))
    alone = np.maximum(columns.T @ left, 0.0) / np.maximum((columns * columns).sum(axis=0), 1.0)
    misses = [float(np.square(left - columns[:, index] * alone[index]).sum()) for index in (0, 1)]
    is_bytes = misses[0] <= misses[1]
    return _Cpu(s_per_byte=float(alone[0]) * is_bytes, s_per_request=float(alone[1]) * (not is_bytes))


def _logarithms(values: Iterable[float]) -> Array:
    return np.log(np.array(tuple(values), dtype=np.float64))


_CENTRES = _logarithms(item.centre for item in _PARAMETERS)
_FACTORS = _logarithms(item.factor for item in _PARAMETERS)
_LOWS = _logarithms(item.low for item in _PARAMETERS)
_HIGHS = _logarithms(item.high for item in _PARAMETERS)

_ROUNDS_MAX = 60
_STEP = 1e-5
_DAMPING_MAX = 1e9
_CONVERGED = 1e-6


def _least_squares(points: _Points, cpu: _Cpu, start: Array) -> Array:
    """Levenberg-Marquardt on logarithms (Marquardt, J. SIAM 11, 1963), within the bounds, the centres as weak data."""
    here, damping = np.clip(start, _LOWS, _HIGHS), 1e-2
    misses = _misses(here, points, cpu)
    for _ in range(_ROUNDS_MAX):
        slopes = np.stack(
            [(_misses(here + step, points, cpu) - misses) / _STEP for step in np.eye(here.size) * _STEP], axis=1
        )
        curvature, gradient = slopes.T @ slopes, slopes.T @ misses
        while damping < _DAMPING_MAX:
            step = np.linalg.solve(curvature + damping * np.diag(np.diag(curvature)), gradient)
            there = np.clip(here - step, _LOWS, _HIGHS)
            missed = _misses(there, points, cpu)
            gain = float(misses @ misses - missed @ missed)
            if gain >= 0:
                break
            damping *= 4
        else:
            return here
        here, misses, damping = there, missed, max(damping / 4, 1e-9)
        if gain <= _CONVERGED * float(misses @ misses):
            return here
    return here


def _misses(logarithms: Array, points: _Points, cpu: _Cpu) -> Array:
    """What is off, in standard deviations: of the times in log space, and of each parameter from its centre."""
    times = np.log(_transfer_s(logarithms, points.plans, points.link, cpu) / points.transfer_s) / _NOISE
    return np.concatenate((times, (logarithms - _CENTRES) / _FACTORS))


def _left_out(points: _Points, fitted: _Fitted) -> Error:
    """The error for each setting by a fit of all others."""
    errors = []
    for number in range(points.total_s.size):
        others = _fitted(points.without(number), fitted.logarithms)
        predicted_s = others.total_s(_Plans.of([points.each[number]]), points.link)[0]
        errors.append(abs(float(predicted_s) / float(points.total_s[number]) - 1))
    return Error(median=median(errors), p90=float(np.quantile(errors, 0.9)), settings=len(errors))


def _model(
    client: str, workload: Workload, network: NetworkModel | None, points: _Points, fitted: _Fitted, error: Error
) -> TransferModel:
    values = dict(zip((item.name for item in _PARAMETERS), map(float, np.exp(fitted.logarithms)), strict=True))
    return TransferModel(
        client=client,
        workload=workload,
        network=network,
        habits=points.habits,
        start_up_s=fitted.start_up_s,
        cpu_s_per_byte=fitted.cpu.s_per_byte,
        cpu_s_per_request=fitted.cpu.s_per_request,
        error=error,
        **values,
    )
