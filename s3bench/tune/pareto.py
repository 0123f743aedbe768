"""The Pareto front: the settings that no other one beats in both time and memory."""

from collections.abc import Sequence

from s3bench.tune.study_result import SettingFigures


def pareto_front(figures: Sequence[SettingFigures], recommended: SettingFigures) -> tuple[SettingFigures, ...]:
    """The settings for which no other is better in `value` or `peak_memory` and at least as good in the other one.

    Sorted by rising value, and so by falling memory; equal ones are all kept. Capped and failed settings and those
    without value or memory are left out. So are those that beat `recommended`: they do so by less than a tie, or by
    figures that were not verified.
    """
    known = [
        (each.value, each.peak_memory, each)
        for each in figures
        if each.value is not None
        and each.peak_memory is not None
        and not each.was_capped
        and (not each.failures or each.setting == recommended.setting)
        and not _beats(each, recommended)
    ]
    front: list[tuple[float, int, SettingFigures]] = []
    for value, memory, each in sorted(known, key=lambda item: item[:2]):
        if not front or memory < front[-1][1] or (value, memory) == front[-1][:2]:
            front.append((value, memory, each))
    return tuple(each for *_, each in front)


def _beats(one: SettingFigures, other: SettingFigures) -> bool:
    if one.value is None or one.peak_memory is None or other.value is None or other.peak_memory is None:
        return False
    is_as_good = one.value <= other.value and one.peak_memory <= other.peak_memory
    return is_as_good and (one.value, one.peak_memory) != (other.value, other.peak_memory)
