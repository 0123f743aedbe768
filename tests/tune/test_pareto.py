"""The front has exactly what nothing beats."""

from hypothesis import given
from hypothesis import strategies as st

from s3bench.tune.pareto import pareto_front
from s3bench.tune.setting import Setting
from s3bench.tune.study_result import SettingFigures


def figures(value: float | None, memory: int | None, *, was_capped: bool = False, failures: int = 0) -> SettingFigures:
    return SettingFigures(
        setting=Setting(client="cli@2.38.5"), runs=1, value=value, time=value, peak_memory=memory,
        was_capped=was_capped, failures=failures,
    )  # fmt: skip


VALUES = st.one_of(st.none(), st.integers(1, 6).map(float))
ANY = st.builds(
    figures, VALUES, st.one_of(st.none(), st.integers(1, 6)), was_capped=st.booleans(), failures=st.integers(0, 1)
)


def beats(one: SettingFigures, other: SettingFigures) -> bool:
    assert one.value is not None
    assert one.peak_memory is not None
    assert other.value is not None
    assert other.peak_memory is not None
    at_least_as_good = one.value <= other.value and one.peak_memory <= other.peak_memory
    return at_least_as_good and (one.value, one.peak_memory) != (other.value, other.peak_memory)


UNKNOWN = SettingFigures(setting=Setting(client="s5cmd"), runs=0, value=None, time=None)


@given(st.lists(ANY, max_size=12))
def test_the_front_is_what_no_other_beats(tried: list[SettingFigures]) -> None:
    known = [
        each
        for each in tried
        if each.value is not None and each.peak_memory is not None and not each.was_capped and not each.failures
    ]
    unbeaten = [each for each in known if not any(beats(other, each) for other in known)]
    front = pareto_front(tried, UNKNOWN)
    assert sorted(map(id, front)) == sorted(map(id, unbeaten))
    assert [each.value for each in front] == sorted(each.value for each in front if each.value is not None)


def test_of_equals_all_are_kept() -> None:
    one, two = figures(1.0, 5), figures(1.0, 5)
    assert pareto_front([one, figures(2.0, 5), two], UNKNOWN) == (one, two)


def test_the_same_time_with_more_memory_is_beaten() -> None:
    assert pareto_front([figures(1.0, 9), figures(1.0, 5)], UNKNOWN) == (figures(1.0, 5),)


def test_what_was_capped_failed_or_has_no_memory_known_is_left_out() -> None:
    tried = [figures(1.0, 1, was_capped=True), figures(1.0, 1, failures=1), figures(1.0, None), figures(None, 1)]
    assert pareto_front([*tried, figures(9.0, 9)], UNKNOWN) == (figures(9.0, 9),)


def test_nothing_has_no_front() -> None:
    assert pareto_front([], UNKNOWN) == ()


def test_what_is_recommended_is_on_the_front_and_what_beats_it_by_less_than_a_tie_or_unverified_is_not() -> None:
    recommended, slightly_better, slower = figures(1.0, 100), figures(0.99, 99), figures(1.2, 80)
    assert pareto_front([slightly_better, recommended, slower], recommended) == (recommended, slower)
    faster = figures(0.8, 120)
    assert pareto_front([recommended, faster, slower], recommended) == (faster, recommended, slower)
