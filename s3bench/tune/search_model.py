"""The search model of a client: the expected time of every setting and its uncertainty, from even a single run.

Predictions for users come from `s3bench.tune.transfer_model` instead, whose error is measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from s3bench.clients.tuning.client_tuning import Habits
from s3bench.clients.tuning.workload import Workload
from s3bench.s3.network.model import NetworkModel
from s3bench.tune.request_plan import habits_of, plan_requests
from s3bench.tune.setting import Setting
from s3bench.tune.study import Trial
from s3bench.tune.transfer_fit import FittedModel, Points, covariance_of, derivatives_of, fit_points, whole_runs
from s3bench.tune.transfer_time import Array, LinkModel, Plans, link_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchModel:
    """A model fitted to the runs of one client; `covariance` is that of the logarithms of its parameters."""

    workload: Workload
    habits: Habits
    link: LinkModel
    fitted: FittedModel
    covariance: Array

    @property
    def least_s(self) -> float:
        """The lower bound of the time of any setting: the start-up, and all bytes at the speed of the whole link."""
        shared = self.link.rates[1]
        return self.fitted.start_up_s + (0.0 if shared is None else self.workload.total_bytes / shared)

    def expect(self, settings: Sequence[Setting]) -> tuple[Array, Array]:
        """For each setting the logarithm of the expected seconds of one run, and its standard deviation."""
        plans = Plans.of([plan_requests(setting, self.workload, self.habits) for setting in settings])
        here = self.fitted.logarithms

        def log_s(logarithms: Array) -> Array:
            return np.log(replace(self.fitted, logarithms=logarithms).total_s(plans, self.link))

        derivatives = derivatives_of(log_s, here)
        variances = np.einsum("ij,jk,ik->i", derivatives, self.covariance, derivatives)
        return log_s(here), np.sqrt(variances)


def fit_search_model(trials: Sequence[Trial], workload: Workload, network: NetworkModel | None) -> SearchModel | None:
    """Fit the search model to the trials of one client; `None` without a complete run.

    Runs that were ended as too slow are censored: they count as lower bounds (Tobin, Econometrica 26, 1958, but with
    another likelihood: a time above the bound costs nothing, a time below it costs like any residual).
    """
    runs = whole_runs(trials)
    if not runs:
        return None
    habits, link = habits_of(runs, workload), link_of(network, workload)
    capped = {
        trial.setting: trial.cap_s for trial in trials if trial.was_capped and trial.cap_s and trial.setting not in runs
    }
    points = replace(
        Points.of(runs, workload, habits, link),
        slower=Plans.of([plan_requests(setting, workload, habits) for setting in capped]),
        slower_than_s=np.array(tuple(capped.values()), dtype=np.float64),
    )
    fitted = fit_points(points)
    return SearchModel(
        workload=workload, habits=habits, link=link, fitted=fitted, covariance=covariance_of(points, fitted)
    )
