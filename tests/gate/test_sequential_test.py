"""The words of a row: what was shown of the change, in the direction in which it went."""

import re

import pytest

from s3bench.gate.multiple_testing import decide_rows
from s3bench.gate.policy import Policy
from s3bench.gate.row import Verdict
from tests.gate.evidence_maker import of_pairs, only, ratios, run


@pytest.mark.parametrize(
    ("ratio", "sigma", "verdict", "words"),
    [
        (3.0, 0.001, Verdict.PASS, r"at least 199\.\d% higher"),
        (0.985, 0.001, Verdict.PASS, r"at most 1\.\d% lower, below 6\.0%"),
        (0.9425, 0.0005, Verdict.SMALL, r"at least 5\.\d% and at most 5\.\d% lower: real, and below 6\.0%"),
        (0.9, 0.001, Verdict.FAIL, r"at least 9\.\d% lower, above 2\.0%"),
        (0.98, 0.2, Verdict.INCONCLUSIVE, r"at most \d+\.\d% higher and at most \d+\.\d% lower: not certainly .*"),
    ],
)
def test_a_decrease_below_0_is_an_increase(ratio: float, sigma: float, verdict: Verdict, words: str) -> None:
    pairs = [(run(throughput=1e6), run(throughput=1e6 * ratio / each)) for each in ratios(0.0, sigma, 40)]
    row = only(decide_rows([of_pairs(pairs)], Policy(metrics=("throughput",))), "throughput")
    assert row.verdict is verdict
    assert re.fullmatch(words, row.reason), row.reason
