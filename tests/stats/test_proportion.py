import pytest
from scipy import stats  # type: ignore[import-untyped]

from s3bench.stats.proportion import wilson


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("successes", "trials"), [(0, 1), (1, 1), (0, 20), (20, 20), (3, 20), (399, 400), (17, 1000)])
def test_the_interval_is_that_of_scipy(successes: int, trials: int, confidence: float) -> None:
    expected = stats.binomtest(successes, trials).proportion_ci(confidence, method="wilson")
    assert wilson(successes, trials, confidence=confidence) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_the_confidence_is_95_percent_unless_reported() -> None:
    assert wilson(3, 20) == wilson(3, 20, confidence=0.95)


def test_ends_are_exact_where_all_or_none_succeed() -> None:
    assert all(wilson(0, trials)[0] == 0.0 and wilson(trials, trials)[1] == 1.0 for trials in range(1, 200))
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("successes", "trials"), [(-1, 3), (4, 3)])
def test_more_successes_than_trials_are_refused(successes: int, trials: int) -> None:
    with pytest.raises(AssertionError, match="trials"):
        wilson(successes, trials)
