"""Chooses the setting to recommend: among those about as fast, the one with the least memory.

If the memory is about equal too, the one with the fewest changes from the default.
"""

import math
from collections.abc import Sequence

from s3bench.stats.t_distribution import upper_quantile
from s3bench.tune.evidence import SettingEstimate, TrialEvidence
from s3bench.tune.setting import Setting

TOLERANCE = 0.02
"""Settings whose values differ by at most this share count as equally fast."""

MEMORY_TOLERANCE = 0.1
"""Settings whose peak memory differs by at most this share counts as equal."""

TIE_RISK = 0.1
"""The one-sided level of the test that a setting is as fast as another one."""


def preferred(estimates: Sequence[SettingEstimate], reference: Setting) -> SettingEstimate:
    """The setting to recommend. `reference` is the default, from which changes are counted.

    Of otherwise equal settings the one with the most runs, so that a verification keeps its candidate.
    """
    fastest = min(each.value for each in estimates)
    ties = [each for each in estimates if each.value <= fastest * (1 + TOLERANCE)]
    least = min(map(_peak_bytes, ties))
    small = [each for each in ties if _peak_bytes(each) <= least * (1 + MEMORY_TOLERANCE)]
    return min(small, key=lambda each: (changes(each.setting, reference), -each.runs, each.value))


def is_preferable(one: SettingEstimate, other: SettingEstimate, reference: Setting) -> bool:
    """Whether `one` would be recommended rather than `other` if it is as fast: for less memory, or fewer changes."""
    peak, limit = _peak_bytes(one) * (1 + MEMORY_TOLERANCE), _peak_bytes(other)
    is_as_small = _peak_bytes(one) <= limit * (1 + MEMORY_TOLERANCE)
    return peak < limit or (is_as_small and changes(one.setting, reference) < changes(other.setting, reference))


def may_tie(evidence: TrialEvidence, setting: Setting, fastest: Setting) -> bool:
    """Whether `setting` may be as fast as `fastest`: the lower bound of their ratio does not exceed `TOLERANCE`."""
    contrast = evidence.contrast(setting, fastest)
    reach = upper_quantile(TIE_RISK, contrast.degrees_of_freedom) * contrast.standard_error
    return contrast.log_ratio - reach <= math.log1p(TOLERANCE)


def changes(setting: Setting, reference: Setting) -> int:
    """The number of changes from `reference`: each value that is set, and another client."""
    return len(setting.values) + (setting.client != reference.client)


def simplifications(setting: Setting) -> tuple[Setting, ...]:
    """The settings that reset one of the values of `setting` to its default."""
    return tuple(
        Setting(client=setting.client, values=tuple(pair for pair in setting.values if pair != left_out))
        for left_out in setting.values
    )


def _peak_bytes(estimate: SettingEstimate) -> float:
    return math.inf if estimate.peak_memory_bytes is None else float(estimate.peak_memory_bytes)
