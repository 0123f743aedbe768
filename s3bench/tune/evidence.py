"""Estimates how good each setting is from its trials, adjusted for the speed of the machine in each block.

The value of a run is modelled as setting times block times noise, so that its logarithm is a sum, fitted by least
squares over all complete runs: the additive two-way layout, unbalanced because new settings join late and weak ones
leave early (Searle, Linear Models, 1971, chapter 7).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from s3bench.tune.objective import Aim, Objective
from s3bench.tune.setting import Setting
from s3bench.tune.study import Stage, Trial

PRIOR_SIGMA = 0.04
PRIOR_DEGREES_OF_FREEDOM = 2.0
"""The prior of the noise: 4 % from run to run, with the weight of two degrees of freedom.

The first runs leave few or no residuals, often small by chance. So their variance is moderated as in Smyth, "Linear
models and empirical Bayes methods", Statistical Applications in Genetics and Molecular Biology 3 (2004):
(d0 s0^2 + d s^2) / (d0 + d), with d0 + d degrees of freedom. After some twenty runs the prior hardly matters.
"""

Block = tuple[Stage, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingEstimate:
    """The estimate of one setting: `value` in the unit of the objective, from `runs` complete runs.

    `value` is the geometric mean in an average block of the verification if common blocks connect the setting with it;
    else in an average block. `peak_memory_bytes` is the largest of its runs, `None` if none reported it. `was_capped`:
    it has only runs that were ended as too slow, and `value` is a lower bound. `failures` is the number of failed runs;
    if all failed, `value` is infinite.
    """

    setting: Setting
    value: float
    runs: int
    peak_memory_bytes: int | None
    was_capped: bool = False
    failures: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """The difference of two settings: the logarithm of the ratio of their values, and its standard error.

    `standard_error` is infinite if no chain of common blocks connects the two.
    """

    log_ratio: float
    standard_error: float
    degrees_of_freedom: float


@dataclass(frozen=True, kw_only=True)
class TrialEvidence:
    """All trials of a search under one objective. Made by `TrialEvidence.of`."""

    objective: Objective
    trials: tuple[Trial, ...]

    @classmethod
    def of(cls, trials: Sequence[Trial], objective: Objective) -> "TrialEvidence":
        """The evidence of `trials`, in the order in which they ran. Caps are times, so only `Aim.TIME` allows them."""
        assert objective.aim is Aim.TIME or not any(trial.was_capped for trial in trials), "a cap bounds times alone"
        return cls(objective=objective, trials=tuple(trials))

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """Every setting that was run, in the order in which they joined."""
        return tuple(self._runs)

    def estimates(self) -> tuple[SettingEstimate, ...]:
        """The estimates of all settings: best first, then those with capped runs only, then those that failed."""
        return self._ranked

    def estimate(self, setting: Setting) -> SettingEstimate | None:
        """The estimate of `setting`; `None` if it was not run."""
        return self._estimates.get(setting)

    def contrast(self, slower: Setting, faster: Setting) -> Contrast:
        """The contrast of `slower` over `faster`; both need a complete run."""
        fit = self._fit
        first, second = fit.settings[slower], fit.settings[faster]
        scale = fit.inverse[first, first] + fit.inverse[second, second] - 2 * fit.inverse[first, second]
        is_joined = fit.groups[first] == fit.groups[second]
        return Contrast(
            log_ratio=float(fit.effects[first] - fit.effects[second]),
            standard_error=math.sqrt(fit.variance * max(0.0, float(scale))) if is_joined else math.inf,
            degrees_of_freedom=fit.degrees_of_freedom,
        )

    @property
    def noise(self) -> float:
        """The standard deviation of the logarithm of one run's value; meaningful once there is a complete run."""
        return math.sqrt(self._fit.variance)

    def peaks_bytes(self, setting: Setting) -> tuple[float, ...]:
        """The peak memory of each complete run of `setting` that reported it."""
        measured = (trial.measurement for trial in self._runs[setting] if trial.measurement)
        return tuple(each.max_memory for each in measured if each.max_memory is not None)

    def caps(self, setting: Setting) -> int:
        """The number of runs of `setting` that were ended as too slow."""
        return sum(trial.was_capped for trial in self._runs[setting])

    @cached_property
    def _runs(self) -> Mapping[Setting, list[Trial]]:
        runs: dict[Setting, list[Trial]] = {}
        for trial in self.trials:
            runs.setdefault(trial.setting, []).append(trial)
        return runs

    @cached_property
    def _ranked(self) -> tuple[SettingEstimate, ...]:
        return tuple(sorted(self._estimates.values(), key=lambda each: (each.runs == 0, each.value)))

    @cached_property
    def _estimates(self) -> Mapping[Setting, SettingEstimate]:
        return {setting: self._estimated(setting) for setting in self._runs}

    def _estimated(self, setting: Setting) -> SettingEstimate:
        runs = self._runs[setting]
        whole = sum(trial.measurement is not None for trial in runs)
        capped = [trial for trial in runs if trial.was_capped]
        if whole:
            value = math.exp(self._fit.effects[self._fit.settings[setting]])
        else:
            value = max((self._bound(trial) for trial in capped), default=math.inf)
        peak = max(self.peaks_bytes(setting), default=None)
        return SettingEstimate(
            setting=setting,
            value=value,
            runs=whole,
            peak_memory_bytes=None if peak is None else math.ceil(peak),
            was_capped=bool(capped) and not whole,
            failures=sum(trial.failure is not None for trial in runs),
        )

    def _bound(self, trial: Trial) -> float:
        """The time that a capped run exceeds, adjusted to an average block: its cap over the effect of its block.

        A block without a complete run counts as average.
        """
        assert trial.cap_s, "a capped run has a cap"
        return trial.cap_s / math.exp(self._fit.blocks.get(_block(trial), 0.0))

    @cached_property
    def _fit(self) -> "_Fit":
        whole = [(trial, trial.measurement) for trial in self.trials if trial.measurement]
        values = [self.objective.value(measurement) for _, measurement in whole]
        assert all(value > 0 for value in values), "the model is of ratios and needs values above 0"
        return _fit(
            [trial.setting for trial, _ in whole],
            [_block(trial) for trial, _ in whole],
            np.log(np.array(values, dtype=np.float64)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fit:
    """The model's coefficients.

    `settings` maps each setting to its index in `effects`, `groups` and `inverse`. `groups` numbers the parts that no
    common block connects. `inverse` times `variance` gives the variance of contrasts within a group.
    """

    settings: Mapping[Setting, int]
    effects: NDArray[np.float64]
    groups: NDArray[np.intp]
    blocks: Mapping[Block, float]
    inverse: NDArray[np.float64]
    variance: float
    degrees_of_freedom: float


def _fit(settings: Sequence[Setting], blocks: Sequence[Block], logs: NDArray[np.float64]) -> _Fit:
    """Fit log value = setting + block.

    Only differences within a group are determined. One constraint per group determines the rest: the effects of its
    blocks of the verification, or of all blocks if it has none, sum to 0. The effect of a setting is thus its log value
    in an average one of these blocks: settings that only the search ran get the value that they would have had together
    with the verified ones. Adding the constraint to the normal equations makes them regular without changing the fit,
    and their inverse is a generalised inverse that gives the variance of every contrast (Searle 1971, 1.5 and 5.7).
    """
    columns = {setting: index for index, setting in enumerate(dict.fromkeys(settings))}
    rows = {block: len(columns) + index for index, block in enumerate(dict.fromkeys(blocks))}
    pairs = [(columns[setting], rows[block]) for setting, block in zip(settings, blocks, strict=True)]
    groups = _groups(len(columns) + len(rows), pairs)
    design = np.zeros((len(pairs), groups.size))
    design[np.arange(len(pairs))[:, np.newaxis], np.reshape(pairs, (-1, 2)).astype(np.intp)] = 1.0
    sums = np.array([_constraint(groups == group, len(columns), list(rows)) for group in np.unique(groups)], np.float64)
    inverse = np.linalg.inv(design.T @ design + sums.T @ sums).astype(np.float64)
    effects = inverse @ (design.T @ logs)
    residuals = logs - design @ effects
    free = PRIOR_DEGREES_OF_FREEDOM + len(pairs) - (groups.size - len(sums))
    prior = PRIOR_DEGREES_OF_FREEDOM * PRIOR_SIGMA**2
    return _Fit(
        settings=columns,
        effects=effects[: len(columns)],
        groups=groups[: len(columns)],
        blocks={block: float(effects[row]) for block, row in rows.items()},
        inverse=inverse,
        variance=(prior + float(residuals @ residuals)) / free,
        degrees_of_freedom=free,
    )


def _constraint(members: NDArray[np.bool_], settings: int, blocks: Sequence[Block]) -> NDArray[np.bool_]:
    """The columns of a group's blocks whose effects sum to 0: those of the verification, or all if there are none."""
    own = members & (np.arange(members.size) >= settings)
    verified = own & np.array([False] * settings + [stage is Stage.VERIFICATION for stage, _ in blocks])
    return verified if verified.any() else own


def _groups(size: int, pairs: Sequence[tuple[int, int]]) -> NDArray[np.intp]:
    """Number the connected components of a graph of `size` nodes with edges `pairs`, each by its smallest node."""
    groups = np.arange(size)
    for first, second in pairs:
        kept, lost = sorted((groups[first], groups[second]))
        if kept != lost:
            groups[groups == lost] = kept
    return groups


def _block(trial: Trial) -> Block:
    return trial.stage, trial.block
