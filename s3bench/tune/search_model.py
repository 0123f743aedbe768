"""A model from however few runs, to search with: what is expected of settings, and how far the runs leave that open.

Owns what one whole run and bounds are good for. A prediction that is told comes from `transfer_model`, whose error is
measured. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from s3bench.s3.network.model import NetworkModel
from s3bench.tune.request_plan import Habits, habits_of, plan_requests
from s3bench.tune.setting import Setting
from s3bench.tune.study import Trial
from s3bench.tune.transfer_fit import FittedModel, Points, covariance_of, fit_points, slopes_of, whole_runs
from s3bench.tune.transfer_time import Array, LinkModel, Plans, link_of
from s3bench.tune.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchModel:
    """What was fitted to the runs of one client; `covariance` is that of the parameters' logarithms."""

    workload: Workload
    habits: Habits
    link: LinkModel
    fitted: FittedModel
    covariance: Array

    @property
    def least_s(self) -> float:
        """The seconds that no setting undercuts: the start-up, and all bytes at the speed of the link as a whole."""
        shared = self.link.rates[1]
        return self.fitted.start_up_s + (0.0 if shared is None else self.workload.total_bytes / shared)

    def expect(self, settings: Sequence[Setting]) -> tuple[Array, Array]:
        """For each setting the logarithm of the seconds that are expected of one run, and its standard deviation."""
        plans = Plans.of([plan_requests(setting, self.workload, self.habits) for setting in settings])
        here = self.fitted.logarithms

        def log_s(logarithms: Array) -> Array:
            return np.log(replace(self.fitted, logarithms=logarithms).total_s(plans, self.link))

        slopes = slopes_of(log_s, here)
        variances = np.einsum("ij,jk,ik->i", slopes, self.covariance, slopes)
        return log_s(here), np.sqrt(variances)


def sketch(trials: Sequence[Trial], workload: Workload, network: NetworkModel | None) -> SearchModel | None:
    """What the search can make of one client's trials; `None` where there is no whole run.

    Runs that were ended as too slow count as what they are: lower bounds (Tobin, Econometrica 26, 1958, without the
    shape of his likelihood: what lies beyond a bound costs nothing, what falls short of it costs as any miss).
    """
    runs = whole_runs(trials)
    if not runs:
        return None
    habits, link = habits_of(next(iter(runs)).kind, runs, workload), link_of(network, workload)
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
