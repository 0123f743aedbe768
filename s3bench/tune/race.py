"""The race among settings: which ones run again, which are dropped, when the search stops, which one has won.

F-Race (Birattari et al., "A racing algorithm for configuring metaheuristics", GECCO 2002) with the t test of irace
(Lopez-Ibanez et al., Operations Research Perspectives 3, 2016), applied to the two-way model of
`s3bench.tune.evidence`, whose noise is pooled over all settings, so that fewer runs suffice. Each decision uses all
evidence anew: a setting that was dropped wrongly comes back.

A setting is in the running for first place if it has a complete run, was never ended as too slow, failed less than
twice, and keeps the memory limit.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from s3bench.stats.t_distribution import upper_quantile, upper_tail
from s3bench.tune.evidence import SettingEstimate, TrialEvidence
from s3bench.tune.objective import Aim
from s3bench.tune.preference import TOLERANCE
from s3bench.tune.setting import Setting

LEVEL = 0.01
"""The one-sided level at which a setting counts as worse than the best one. Low, since every setting is tested after
every block against the apparently best one.

Simulated with eight settings within 2 % of each other over eight blocks: the best of them is dropped at the end in 3 %
of races with noise of 3 % per run, and in 6 % with 8 %; at a level of 0.05 in 14 % and 31 %.
"""

FAILURES_MAX = 2
"""After so many failed runs a setting is out of the race."""

CAP_RATIO = 1.6
CAP_EXTRA_S = 0.5
"""A new setting may take 1.6 times the time of the best one, and at least half a second more, since start-up varies.

With noise of 8 % per run, a setting as good as the best would have to be off by four standard errors to take longer.
Adaptive capping: Hutter et al., "ParamILS", Journal of Artificial Intelligence Research 36, 2009; Perez Caceres et al.,
"An experimental study of adaptive capping in irace", LION 2017.
"""

IMPROVEMENT = 0.01
"""A new setting is worth a run if its expected improvement on the best one is at least this.

The rule of Jones, Schonlau & Welch (1998, see `s3bench.tune.surrogate`): stop at an expected improvement of 1 %.
"""

RUNS_MIN = 3
"""The number of complete runs that the leader needs before the search may stop."""

WINNER_RUNS_MIN = 2

CLEAR_SIGMAS = 3.0
"""A gain of so many standard deviations of a pair's log-ratio is clear: six pairs show it in 99 of 100 cases."""

RIVAL_RISK = 0.002
"""The one-sided level at which a setting is no longer a rival. Low, since it is tested after every final round.

Simulated with the times of a real grid (256 MiB from ec2:c5n.18xlarge, the next three 6 to 9 % behind the best) and
noise of 8.5 % per run: the search ends within 3 % of the best in 86 % of 80 studies at 0.01, and in 91 % at 0.002.
"""

MEMORY_MARGIN = 0.05
"""The least share of its own peak by which a winner must stay below the memory limit."""

UPLOAD_PEAK_SIGMA = 0.02
DOWNLOAD_PEAK_SIGMA = 0.15
MEMORY_PRIOR_DEGREES_OF_FREEDOM = 3.0
"""The prior of the spread of the logarithms of peaks, moderated like the noise in `s3bench.tune.evidence`.

Received data waits in memory for the disk: up to 100 chunks of 256 KiB in boto3 and 1,000 in aws-cli (`max_io_queue`);
the further the writing thread falls behind, the more of them are in use. Measured with 256 MiB behind a fast link: 0.9
to 16 % for four settings of boto3-classic and 4 to 38 % for three of cli-classic, over 16 runs each; 0 to 16 % for six
of cli-crt, over 5 to 19 runs; some with two modes. The same prior is used for s5cmd downloads, although the one setting
measured had below 1 %. An upload is read as it is sent: 0.1 % for the defaults of cli-classic.
"""

MEMORY_RUNS = 10
MEMORY_RISK = 0.05
"""The allowed probability that any of so many further runs of a winner exceeds the memory limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaders:
    """The winner of a search, and the best of the others except the default; `None` if there is none."""

    winner: Setting
    runner_up: Setting | None


def dropped(evidence: TrialEvidence, default: Setting, *, max_memory_bytes: int | None) -> frozenset[Setting]:
    """The settings that need no further run; never `default`, with which everything is compared.

    Dropped are settings that failed twice, were ended as too slow, or exceed the memory limit; and those that are worse
    than the best one by a one-sided t test at `LEVEL`.
    """
    best = leader(evidence, max_memory_bytes=max_memory_bytes)
    return frozenset(
        each.setting
        for each in evidence.estimates()
        if each.setting != default
        and (_is_out(evidence, each, max_memory_bytes) or (best is not None and _is_worse(evidence, each, best)))
    )


def still_racing(
    evidence: TrialEvidence, default: Setting, *, max_memory_bytes: int | None, most: int
) -> tuple[Setting, ...]:
    """The settings to run again beside `default`, best first: the `most` best that are not dropped."""
    out = dropped(evidence, default, max_memory_bytes=max_memory_bytes) | {default}
    return tuple(each.setting for each in evidence.estimates() if each.setting not in out)[:most]


def cap_s(evidence: TrialEvidence, *, max_memory_bytes: int | None = None) -> float | None:
    """The seconds after which a run of a new setting may be ended, since it cannot compete with the best one.

    `None` while there is no best one, and if the objective is not the time, since a slow run may then still be good.
    """
    best = leader(evidence, max_memory_bytes=max_memory_bytes)
    if best is None or evidence.objective.aim is not Aim.TIME:
        return None
    return max(CAP_RATIO * best.value, best.value + CAP_EXTRA_S)


def leader(evidence: TrialEvidence, *, max_memory_bytes: int | None = None) -> SettingEstimate | None:
    """The best setting that is in the running; `None` while there is none."""
    return next(_contenders(evidence, max_memory_bytes), None)


def contenders(evidence: TrialEvidence, *, keeps: Callable[[Setting], bool]) -> tuple[SettingEstimate, ...]:
    """The settings in the running for first place that `keeps` says to keep within the memory limit, best first."""
    return tuple(each for each in _contenders(evidence, None) if keeps(each.setting))


def is_settled(evidence: TrialEvidence, *, are_new: bool, max_memory_bytes: int | None = None) -> bool:
    """Whether the search may stop: no new setting is worth a run.

    The leader must have `RUNS_MIN` complete runs, so that a single lucky run does not end the search.
    """
    best = leader(evidence, max_memory_bytes=max_memory_bytes)
    return not are_new and (best is None or best.runs >= RUNS_MIN)


def is_gain_clear(evidence: TrialEvidence, default: Setting, *, max_memory_bytes: int | None = None) -> bool:
    """Whether a verification will show at its first look that the best setting is better than the default."""
    best, reference = leader(evidence, max_memory_bytes=max_memory_bytes), evidence.estimate(default)
    if best is None or reference is None or best.setting == default:
        return False
    if not reference.runs or _is_out(evidence, reference, max_memory_bytes):
        return True
    contrast = evidence.contrast(default, best.setting)
    return contrast.log_ratio >= CLEAR_SIGMAS * math.sqrt(2) * evidence.noise


def rivals(
    evidence: TrialEvidence, default: Setting, *, max_memory_bytes: int | None, most: int
) -> tuple[Setting, ...]:
    """The `most` best of the best setting and those that may be better than it by more than `TOLERANCE`.

    By the lower bound of each contrast, one-sided, at `RIVAL_RISK`; those that the race has dropped count too. Without
    such a rival none, unless the best one has too few runs to win.
    """
    every = tuple(_contenders(evidence, max_memory_bytes))
    if not every:
        return ()
    best = every[0]
    near = [
        each.setting
        for each in every[1:]
        if each.setting != default and _may_lead(evidence, each.setting, best.setting)
    ]
    return (best.setting, *near[: most - 1]) if near or best.runs < WINNER_RUNS_MIN else ()


def find_leaders(evidence: TrialEvidence, default: Setting, *, keeps: Callable[[Setting], bool]) -> Leaders | None:
    """The winner and the runner-up of the search; `None` while no setting is in the running.

    Settings with `WINNER_RUNS_MIN` complete runs come before those with fewer. `keeps` tells whether a setting keeps
    the memory limit.
    """
    fit = contenders(evidence, keeps=keeps)
    ranked = [each.setting for each in sorted(fit, key=lambda each: each.runs < WINNER_RUNS_MIN)]
    if not ranked:
        return None
    others = (setting for setting in ranked[1:] if setting != default)
    return Leaders(winner=ranked[0], runner_up=next(others, None))


def peak_bound_bytes(evidence: TrialEvidence, setting: Setting, *, prior_sigma: float) -> float:
    """The memory that `MEMORY_RUNS` further runs all stay below, except with `MEMORY_RISK`; infinite if unknown.

    The larger of the largest peak and `MEMORY_MARGIN`, and the upper prediction bound of the peaks' logarithms for all
    of several further values, by Bonferroni's inequality: mean + t s (1 + 1/n)^0.5, t at risk / runs (Hahn & Meeker,
    Statistical Intervals, 1991, 4.8), with the spread moderated by `prior_sigma`.
    """
    peaks = np.array(evidence.peaks_bytes(setting), dtype=np.float64)
    if not peaks.size:
        return math.inf
    logs = np.log(peaks)
    free = MEMORY_PRIOR_DEGREES_OF_FREEDOM + peaks.size - 1
    squares = float(((logs - logs.mean()) ** 2).sum())
    variance = (MEMORY_PRIOR_DEGREES_OF_FREEDOM * prior_sigma**2 + squares) / free
    reach = upper_quantile(MEMORY_RISK / MEMORY_RUNS, free) * math.sqrt(variance * (1 + 1 / peaks.size))
    return max(float(peaks.max()) * (1 + MEMORY_MARGIN), math.exp(float(logs.mean()) + reach))


def _contenders(evidence: TrialEvidence, max_memory_bytes: int | None) -> Iterator[SettingEstimate]:
    """The settings in the running for first place, best first."""
    for each in evidence.estimates():
        if each.runs and not _is_out(evidence, each, max_memory_bytes):
            yield each


def _is_out(evidence: TrialEvidence, estimate: SettingEstimate, max_memory_bytes: int | None) -> bool:
    """Whether a setting can no longer win, however fast it is.

    For memory only `MEMORY_MARGIN` counts here: the rest of the margin shrinks with further runs.
    """
    peak = estimate.peak_memory_bytes
    is_too_large = max_memory_bytes is not None and peak is not None and peak * (1 + MEMORY_MARGIN) > max_memory_bytes
    return is_too_large or estimate.failures >= FAILURES_MAX or evidence.caps(estimate.setting) > 0


def _is_worse(evidence: TrialEvidence, estimate: SettingEstimate, best: SettingEstimate) -> bool:
    if not estimate.runs or estimate.setting == best.setting:
        return False
    contrast = evidence.contrast(estimate.setting, best.setting)
    return upper_tail(contrast.log_ratio / contrast.standard_error, contrast.degrees_of_freedom) < LEVEL


def _may_lead(evidence: TrialEvidence, setting: Setting, best: Setting) -> bool:
    contrast = evidence.contrast(setting, best)
    reach = upper_quantile(RIVAL_RISK, contrast.degrees_of_freedom) * contrast.standard_error
    return contrast.log_ratio - reach < math.log1p(-TOLERANCE)
