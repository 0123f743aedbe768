"""The mean of a planned rate: constant, with changes, or with a ramp."""

import pytest

from s3bench.load.profile.profile import Rate, RateChange


@pytest.mark.parametrize(
    ("since_s", "until_s", "mean_per_s"),
    [
        (0.0, 2.0, 50.0),
        (0.0, 4.0, 75.0),
        (1.0, 2.0, 75.0),
        (1.0, 3.0, 87.5),
        (2.0, 4.0, 100.0),
        (1.0, 1.0, 50.0),
        (3.0, 3.0, 100.0),
    ],
)
def test_the_rate_of_a_ramp_rises_linearly_from_nothing(since_s: float, until_s: float, mean_per_s: float) -> None:
    assert Rate(per_s=100.0).mean_per_s(since_s, until_s, ramp_s=2.0) == pytest.approx(mean_per_s)


def test_without_a_ramp_the_rate_is_what_its_changes_say() -> None:
    changing = Rate(per_s=100.0, changes=(RateChange(after_s=2.0, per_s=300.0),))
    assert changing.mean_per_s(0.0, 4.0) == 200.0
    assert changing.mean_per_s(2.0, 2.0) == 300.0
