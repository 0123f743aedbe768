"""The transfer model of a client, with its cross-validated error, for predictions that users see.

`s3bench.tune.transfer_time` has the formula, `s3bench.tune.transfer_fit` the fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from s3bench.clients.tuning.client_tuning import Habits
from s3bench.clients.tuning.workload import Workload
from s3bench.s3.network.model import NetworkModel
from s3bench.tune.request_plan import habits_of, plan_requests
from s3bench.tune.setting import Setting
from s3bench.tune.study import Trial
from s3bench.tune.transfer_fit import PARAMETERS, FittedModel, Points, fit_points, logarithms_of, whole_runs
from s3bench.tune.transfer_time import Array, Cpu, Plans, link_of, plan_s

SETTINGS_MIN = 4
"""With fewer settings their differences do not show where the time goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferModel:
    """One client's model. Rates are bytes per second, all times seconds.

    `start_up_s` is the time before the first request and after the last response. `surplus_s` is added to each
    request's time to first byte, `serial_s_per_byte` to its bytes' time on the wire: hashing, copying, and the work of
    the server. `connection_bytes_per_s` and `nic_bytes_per_s` were fitted if no network model was imposed. `workload`
    and `network` are those of the runs. `error_p90` is the 90th percentile of the relative errors of the whole time,
    cross-validated by leaving each setting out of the fit.
    """

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
    error_p90: float

    def predict(self, setting: Setting, workload: Workload, network: NetworkModel | None) -> float:
        """The seconds of one run; without `network` behind the link that the model was fitted to."""
        plan = plan_requests(setting, workload, self.habits)
        link = link_of(network or self.network, workload)
        seconds = plan_s(self._parameters(), Plans.of([plan]), link, self._cpu())
        return self.start_up_s + float(seconds[0])

    def _parameters(self) -> Array:
        values = (self.overhead_s, self.surplus_s, self.serial_s_per_byte, self.cores)
        return logarithms_of((*values, self.connection_bytes_per_s, self.nic_bytes_per_s))

    def _cpu(self) -> Cpu:
        return Cpu(s_per_byte=self.cpu_s_per_byte, s_per_request=self.cpu_s_per_request)


def fit(trials: Sequence[Trial], workload: Workload, network: NetworkModel | None) -> TransferModel | None:
    """The model of one client from its trials; `None` if fewer than `SETTINGS_MIN` settings have complete runs."""
    runs = whole_runs(trials)
    if len(runs) < SETTINGS_MIN:
        return None
    habits = habits_of(runs, workload)
    points = Points.of(runs, workload, habits, link_of(network, workload))
    fitted = fit_points(points)
    values = dict(zip((item.name for item in PARAMETERS), map(float, np.exp(fitted.logarithms)), strict=True))
    return TransferModel(
        workload=workload,
        network=network,
        habits=habits,
        start_up_s=fitted.start_up_s,
        cpu_s_per_byte=fitted.cpu.s_per_byte,
        cpu_s_per_request=fitted.cpu.s_per_request,
        error_p90=_cross_validated_p90(points, fitted),
        **values,
    )


def _cross_validated_p90(points: Points, fitted: FittedModel) -> float:
    errors = []
    for number in range(points.total_s.size):
        others = fit_points(points.without(number), fitted.logarithms)
        predicted_s = others.total_s(Plans.of([points.each[number]]), points.link)[0]
        errors.append(abs(float(predicted_s) / float(points.total_s[number]) - 1))
    return float(np.quantile(errors, 0.9))
