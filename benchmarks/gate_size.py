"""The size that a gate reports of a change that it shows, and gates whose pairs resemble their neighbours; simulated.

    python benchmarks/gate_size.py [--gates 4000] [--failed 600]
    python benchmarks/gate_size.py --autocorrelation [--gates 1000]

Size: gates with the default looks and limits on normal noise, one test of eight (Holm's first level), with a true
worsening of 3 to 10 % and a sigma of a pair of 2 to 10 %. Of the gates that FAIL it prints the mean estimate, how often
it is within a quarter of the truth, and how often the 95 % interval covers the truth: of the pairs that decided, of
those corrected for the selection, of 12 fresh pairs alone, and of all pairs, as a gate reports it. Target: the mean of
the last is within a quarter of the truth, and the last three cover at least 94 %.

Autocorrelation: pairs of a first-order autoregressive series with a correlation of 0, 0.2 and 0.4 and a sigma of 5 %.
It prints how often a change of d0 FAILs (or is SMALL), one of d1 PASSes, and one of 6 and 10 % FAILs: with pairs taken
as independent, with widened bounds as the gate has them, and with means of blocks of 4 pairs where neighbours are found
to be alike. Then the same of a machine whose speed in neighbouring runs is correlated, by 0 to 0.99: a first-order
autoregressive series over the runs of ABBA and BAAB quads, scaled to the same sigma of a pair. Last, how alike
neighbouring pairs were in the gates that `benchmarks/gate_truth.py` has recorded: the mean correlation of their ranks,
which is about -1 / pairs for independent ones. The standard error of a share is printed nowhere: it is
sqrt(p (1 - p) / gates).
"""

import argparse
import datetime as dt
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from unittest.mock import patch

from gate_truth import DATA, outcomes
from msgspec.structs import replace
from scipy.stats import rankdata

from s3bench.gate import sequential_test
from s3bench.gate.conclusion import conclude
from s3bench.gate.evidence import ClientCellEvidence, RunPair
from s3bench.gate.multiple_testing import decide_rows
from s3bench.gate.pair_autocorrelation import WidenedSeries, widened
from s3bench.gate.paired_series import PairedSeries, series_of
from s3bench.gate.policy import Policy
from s3bench.gate.row import Verdict
from s3bench.gate.size import SIZING_PAIRS
from s3bench.results.measurement import measure

TESTS = 8
POLICY = Policy(metrics=("total_time",), false_alarm=0.01 / TESTS)
SIGMA = 0.05
NEAR = 0.25
ASKED = (
    (0.02, {Verdict.FAIL, Verdict.SMALL}),
    (0.06, {Verdict.PASS, Verdict.SMALL}),
    (0.06, {Verdict.FAIL}),
    (0.10, {Verdict.FAIL}),
)
"""True changes, and the verdicts that are counted."""
TODAY = dt.date(2026, 11, 25)
_RUN = measure(iteration=0, total_s=1.0)


def pairs_of(log_ratios: Sequence[float]) -> tuple[RunPair, ...]:
    """Pairs with these log-ratios, whose baseline takes a second."""
    return tuple(
        RunPair(
            order="AB",
            hash_seed=0,
            started_s=0.0,
            baseline=_RUN,
            candidate=replace(_RUN, total_time=math.exp(each)),
        )
        for each in log_ratios
    )


def ended(log_ratios: Sequence[float], policy: Policy) -> ClientCellEvidence:
    """The evidence of a gate that stops when it has decided."""
    whole = pairs_of(log_ratios)
    cell = ClientCellEvidence(name="benchmark")
    for pairs in policy.looks.pairs:
        cell = replace(cell, pairs=whole[:pairs])
        if not decide_rows([cell], policy).needs.undecided:
            break
    return cell


Series = Callable[[random.Random, float, float, float, int], list[float]]
"""Makes log-ratios of pairs: randomness, mean, sigma, correlation of neighbours, number of pairs."""


def autoregressive(source: random.Random, mean: float, sigma: float, correlation: float, count: int) -> list[float]:
    """A first-order autoregressive series; independent values for a correlation of 0."""
    value, found = source.gauss(), []
    for _ in range(count):
        found.append(mean + sigma * value)
        value = correlation * value + math.sqrt(1 - correlation**2) * source.gauss()
    return found


def quads(source: random.Random, mean: float, sigma: float, correlation: float, count: int) -> list[float]:
    """Pairs in ABBA and BAAB quads, whose runs follow one another on a machine with such a series of speeds."""
    of_run = sigma / math.sqrt(2 * (1 - correlation))
    speeds = autoregressive(source, 0.0, of_run, correlation, 2 * count)
    found = []
    for start in range(0, 2 * count, 4):
        first, second, third, fourth = speeds[start : start + 4]
        sign = source.choice((1, -1))
        found += [mean + sign * (second - first), mean + sign * (third - fourth)]
    return found


@dataclass(slots=True)
class Sizes:
    """Estimates of a true change, how many are near it, and how many of their intervals cover it."""

    truth: float
    changes: list[float] = field(default_factory=list)
    covered: int = 0

    def add(self, change: float | None, low: float | None, high: float | None) -> None:
        """Count an estimate."""
        assert change is not None
        self.changes.append(change)
        self.covered += (-1.0 if low is None else low) <= self.truth <= (math.inf if high is None else high)

    def __str__(self) -> str:
        near = sum(abs(change / self.truth - 1) <= NEAR for change in self.changes)
        mean = sum(self.changes) / len(self.changes)
        return f"{mean:+6.1%} {near / len(self.changes):6.1%} {self.covered / len(self.changes):6.1%}"


def sizes(gates: int, failed: int) -> None:
    """Print the sizes of the gates that FAIL or are SMALL."""
    print("(mean, within a quarter, covered)")
    columns = "".join(f"{name:>24}" for name in ("as decided", "corrected", "fresh pairs", "all pairs"))
    print(f"sigma  true  verdict  gates  of all{columns}")
    for sigma in (0.02, 0.05, 0.10):
        for truth in (0.03, 0.05, 0.07, 0.10):
            source = random.Random(f"{sigma} {truth}")
            found = {each: tuple(Sizes(truth) for _ in range(4)) for each in (Verdict.FAIL, Verdict.SMALL)}
            run = 0
            while run < gates and len(found[Verdict.FAIL][0].changes) < failed:
                run += 1
                cell = ended([source.gauss(math.log1p(truth), sigma) for _ in range(POLICY.looks.cap)], POLICY)
                (raw,) = decide_rows([cell], POLICY).rows
                if raw.verdict not in found:
                    continue
                fresh = pairs_of([source.gauss(math.log1p(truth), sigma) for _ in range(SIZING_PAIRS)])
                (corrected,) = conclude([cell], POLICY, today=TODAY).rows
                (sized,) = conclude([replace(cell, sizing=fresh)], POLICY, today=TODAY).rows
                alone = series_of(replace(cell, pairs=fresh), "total_time")
                sizes_of = [(row.change, row.low, row.high) for row in (raw, corrected, sized)]
                sizes_of.insert(2, (alone.change(), *alone.interval()))
                for column, size in zip(found[raw.verdict], sizes_of, strict=True):
                    column.add(*size)
            for verdict, columns in found.items():
                count = len(columns[0].changes)
                if count >= 20:
                    print(
                        f"{sigma:5.0%} {truth:5.0%}  {verdict:7} {count:6} {count / run:7.1%}  "
                        f"{'   '.join(map(str, columns))}",
                        flush=True,
                    )


def independent(series: PairedSeries) -> WidenedSeries:
    """Pairs taken as independent."""
    return WidenedSeries(series=series, correlation=0.0, factor=1.0)


def blocks(series: PairedSeries, size: int = 4) -> WidenedSeries:
    """Means of blocks of pairs where the gate finds neighbours alike."""
    found = widened(series)
    if not found.correlation:
        return found
    values = series.worsenings
    means = [math.fsum(values[start : start + size]) / size for start in range(0, len(values) - size + 1, size)]
    whole = PairedSeries(baseline=(1.0,) * len(means), candidate=tuple(map(math.exp, means)), is_paired=True)
    return WidenedSeries(series=whole, correlation=found.correlation, factor=1.0)


def autocorrelation(gates: int) -> None:
    """Print level and power with pairs that are alike."""
    methods: dict[str, Callable[[PairedSeries], WidenedSeries]] = {
        "independent": independent,
        "widened": widened,
        "blocks of 4": blocks,
    }
    print("correlation  tests  method       d0 FAILs  d1 PASSes  6 % FAILs  10 % FAILs")
    for correlation in (0.0, 0.2, 0.4):
        for tests in (1, TESTS):
            policy = Policy(metrics=("total_time",), false_alarm=0.01 / tests)
            for name, method in methods.items():
                with patch.object(sequential_test, "widened", method):
                    shares = [_share(correlation, *asked, policy, gates) for asked in ASKED]
                columns = "  ".join(f"{share:9.1%}" for share in shares)
                print(f"{correlation:11}  {tests:5}  {name:11} {columns}", flush=True)


def _share(
    correlation: float, truth: float, wanted: set[Verdict], policy: Policy, gates: int, series: Series = autoregressive
) -> float:
    source = random.Random(f"{correlation} {truth}")
    count = 0
    for _ in range(gates):
        values = series(source, math.log1p(truth), SIGMA, correlation, policy.looks.cap)
        (row,) = decide_rows([ended(values, policy)], policy).rows
        count += row.verdict in wanted
    return count / gates


def machines(gates: int) -> None:
    """Print level and power where the speed of the machine is alike in neighbouring runs."""
    print("\nof runs  of pairs  tests  d0 FAILs  d1 PASSes  6 % FAILs  10 % FAILs")
    for correlation in (0.0, 0.3, 0.5, 0.7, 0.9, 0.99):
        source = random.Random(f"{correlation}")
        of_pairs = rank_correlation(quads(source, 0.0, SIGMA, correlation, 40_000))
        for tests in (1, TESTS):
            policy = Policy(metrics=("total_time",), false_alarm=0.01 / tests)
            shares = [_share(correlation, *asked, policy, gates, quads) for asked in ASKED]
            columns = "  ".join(f"{share:9.1%}" for share in shares)
            print(f"{correlation:7}  {of_pairs:+8.3f}  {tests:5}{columns}", flush=True)


def recorded() -> None:
    """Print how alike neighbouring pairs were in live gates."""
    print("\nlive gates            series  pairs  correlation  independent  standard error")
    for name in ("aa", "aa-noise", "time+6%", "time+10%"):
        for is_adjusted in (False, True):
            found = [each for each in live_series(name, is_adjusted=is_adjusted) if len(each) >= POLICY.looks.pairs[0]]
            if len(found) < 2:
                continue
            correlations = [rank_correlation(each) for each in found]
            pairs = fmean(map(len, found))
            print(
                f"{name:9} {'adjusted' if is_adjusted else 'measured':9} {len(found):7} {pairs:6.1f} "
                f"{fmean(correlations):+12.3f} {fmean(-1 / len(each) for each in found):+12.3f} "
                f"{stdev(correlations) / math.sqrt(len(found)):15.3f}"
            )


def live_series(name: str, *, is_adjusted: bool) -> Iterator[list[float]]:
    """The log-ratios of total time of each benchmark in a condition's gates, in the order of their pairs."""
    for outcome in outcomes(DATA / f"{name}.jsonl"):
        for cell in outcome["raw"]:
            if cell["role"] != "benchmark" or (is_adjusted and not outcome["is_adjusted"]):
                continue
            has_raw = outcome["is_adjusted"] and not is_adjusted
            yield cell["raw_log_ratios"] if has_raw else cell["log_ratios"]["total_time"]


def rank_correlation(values: Sequence[float]) -> float:
    """The correlation of the ranks of neighbouring values."""
    ranks = rankdata(values) - (len(values) + 1) / 2
    return float((ranks[1:] * ranks[:-1]).mean() / (ranks**2).mean())


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gates", type=int, default=4000)
    parser.add_argument("--failed", type=int, default=600)
    parser.add_argument("--autocorrelation", action="store_true")
    options = parser.parse_args()
    if options.autocorrelation:
        autocorrelation(options.gates)
        machines(options.gates)
        recorded()
    else:
        sizes(options.gates, options.failed)


if __name__ == "__main__":
    main()
