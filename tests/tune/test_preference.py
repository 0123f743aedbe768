"""Which of several settings is recommended: speed first, then memory, then simplicity."""

import pytest

from s3bench.tune.evidence import SettingEstimate
from s3bench.tune.preference import is_preferable, preferred, simplifications
from s3bench.tune.setting import Setting

DEFAULT = Setting(client="cli-classic")


def known(
    value: float, memory: int | None, *, client: str = "cli-classic", runs: int = 9, **knobs: int
) -> SettingEstimate:
    return SettingEstimate(setting=Setting.of(client, knobs), value=value, runs=runs, peak_memory_bytes=memory)


FAST = known(1.0, 200, io_chunksize=4, max_concurrent_requests=40)


@pytest.mark.parametrize(
    ("other", "is_chosen"),
    [
        (known(1.019, 104, max_concurrent_requests=40), True),
        (known(1.021, 104, max_concurrent_requests=40), False),
        (known(1.019, 179, io_chunksize=1, max_concurrent_requests=40), True),
        (known(1.019, 190, io_chunksize=1, max_concurrent_requests=40), False),
        (known(1.019, 215, max_concurrent_requests=40), True),
        (known(1.019, 230, max_concurrent_requests=40), False),
    ],
    ids=["less memory", "slower", "less memory alone", "memory alike", "simpler", "simpler, but larger"],
)
def test_a_tie_goes_to_less_memory_and_then_to_fewer_settings(other: SettingEstimate, *, is_chosen: bool) -> None:
    assert preferred((FAST, other), DEFAULT) == (other if is_chosen else FAST)
    assert preferred((other, FAST), DEFAULT) == (other if is_chosen else FAST)


def test_another_client_counts_as_a_change() -> None:
    stays, goes = known(1.0, 100, max_concurrent_requests=40), known(1.0, 100, client="s5cmd", concurrency=40)
    assert preferred((goes, stays), DEFAULT) == stays
    assert is_preferable(stays, goes, DEFAULT)
    assert not is_preferable(goes, stays, DEFAULT)


def test_of_settings_that_are_alike_the_one_with_the_most_runs_stays() -> None:
    first, second = known(1.01, 100, runs=12, max_concurrent_requests=40), known(1.0, 100, max_concurrent_requests=20)
    assert preferred((second, first), DEFAULT) == first


def test_unknown_memory_counts_as_alike_and_as_no_advantage() -> None:
    one, other = known(1.0, None, max_concurrent_requests=40, io_chunksize=1), known(1.0, None, io_chunksize=1)
    assert preferred((one, other), DEFAULT) == other
    assert not is_preferable(one, known(1.0, 100, max_concurrent_requests=40), DEFAULT)


def test_simplifications_leave_out_one_value_each() -> None:
    assert simplifications(FAST.setting) == (
        Setting.of("cli-classic", {"max_concurrent_requests": 40}),
        Setting.of("cli-classic", {"io_chunksize": 4}),
    )
    assert simplifications(DEFAULT) == ()
