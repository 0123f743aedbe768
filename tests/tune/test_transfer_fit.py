"""What a client costs: the fit held against scipy's, CPU time split by hand."""

from collections.abc import Sequence

import pytest
from scipy.optimize import least_squares  # type: ignore[import-untyped]

from s3bench.clients.tuning.client_tuning import Habits
from s3bench.tune import transfer_fit
from s3bench.tune.setting import Setting
from s3bench.tune.transfer_time import link_of
from tests.tune.ticking_transfer import DOWN, LINK, SETTINGS, START_UP_S, measured, simulated


def test_the_fit_is_the_least_squares_that_scipy_finds() -> None:
    runs = {setting: [measured(simulated(setting))] for setting in SETTINGS}
    points = transfer_fit.Points.of(runs, DOWN, Habits(), link_of(None, DOWN))
    fitted = transfer_fit.fit_points(points)
    start = transfer_fit._CENTRES
    oracle = least_squares(lambda here: transfer_fit.residuals_of(here, points, fitted.cpu), start)
    own = transfer_fit.residuals_of(fitted.logarithms, points, fitted.cpu)
    assert float(own @ own) <= 2 * oracle.cost * 1.001


def test_cpu_time_is_split_into_bytes_and_requests_neither_below_zero() -> None:
    def cpu(per_byte: float, per_request: float, settings: Sequence[Setting] = SETTINGS) -> tuple[float, float]:
        points = transfer_fit.Points.of(
            {setting: [measured(simulated(setting))] for setting in settings},
            DOWN,
            Habits(),
            link_of(LINK, DOWN),
        )
        plans = points.plans
        points.cpu_s[:] = START_UP_S + per_byte * plans.total_bytes + per_request * plans.requests
        found = transfer_fit._cpu(points, START_UP_S)
        return found.s_per_byte, found.s_per_request

    assert cpu(2e-9, 3e-3) == pytest.approx((2e-9, 3e-3))
    assert cpu(0.0, 3e-3) == pytest.approx((0.0, 3e-3), abs=1e-12)
    assert cpu(4e-9, -1e-3)[1] == 0.0
    of_one = cpu(2e-9, 3e-3, SETTINGS[1:2])
    assert of_one[0] * DOWN.total_bytes + of_one[1] * 32 == pytest.approx(2e-9 * DOWN.total_bytes + 32 * 3e-3)
    assert of_one[1] < 3e-3, "one setting cannot tell, and 32 requests are little beside 256 MiB"
