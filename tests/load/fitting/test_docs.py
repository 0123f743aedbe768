"""docs/real-workloads.md says what a fit does: its figures are those of the code."""

import pytest

from s3bench.load.fitting.arrival_counts import BINS_MAX
from s3bench.load.fitting.key_sample import KEYS_MAX
from s3bench.load.fitting.popularity import OBJECTS_FACTOR_MAX
from s3bench.load.fitting.rate_curve import STRETCHES_MAX
from s3bench.load.fitting.workload_fitting import ELAPSED_S, EVEN_DISPERSION, POPULAR_MAX
from s3bench.load.profile.sizes import SLOTS
from tests.documented import ROOT

PAGE = " ".join((ROOT / "docs" / "real-workloads.md").read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    "told",
    [
        f"more than {KEYS_MAX:,} keys",
        f"at most {STRETCHES_MAX} segments",
        f"{SLOTS} empirical quantiles",
        f"Below {EVEN_DISPERSION:g} the profile",
        f"or times {ELAPSED_S * 1000:g} ms",
        f"limited to {OBJECTS_FACTOR_MAX:g} times the keys",
        f"Those of the {POPULAR_MAX} that were read most",
        f"{BINS_MAX:,} different seconds ({BINS_MAX // 3600} hours)",
    ],
)
def test_each_figure_of_the_page_is_that_of_the_code(told: str) -> None:
    assert told in PAGE
