"""Where the time of a profile goes: functions, modules, imports."""

import pytest

from s3bench.profiling.tables import function_times, import_times, module_times, seconds_per_run, widest_share
from tests.report.page.profile.stack_profiles import INTERVAL_S, profile

FIND = "importlib._bootstrap:_find_and_load"


def test_a_function_has_its_own_time_and_that_of_what_it_calls() -> None:
    found = profile({"a:main;b:f": 3, "a:main": 1})
    times = {place.name: place for place in function_times(found)}
    assert times["a:main"].self_s == pytest.approx(INTERVAL_S)
    assert times["a:main"].total_s == pytest.approx(4 * INTERVAL_S)
    assert times["b:f"].self_share.value == pytest.approx(0.75)
    assert seconds_per_run(found) == pytest.approx(4 * INTERVAL_S)
    assert [place.name for place in module_times(found)] == ["b", "a"]


def test_a_function_that_calls_itself_counts_once() -> None:
    (place,) = function_times(profile({"a:f;a:f;a:f": 2}))
    assert place.total_s == pytest.approx(2 * INTERVAL_S)


def test_a_share_is_the_surer_the_less_it_varies_between_runs() -> None:
    steady = function_times(profile({"a:f": [10, 10, 10, 10], "a:g": [10, 10, 10, 10]}))
    varying = function_times(profile({"a:f": [2, 18, 5, 15], "a:g": [18, 2, 15, 5]}))
    assert widest_share(steady) == pytest.approx(0.0)
    assert widest_share(varying) > 0.1


def test_of_one_run_no_share_is_known() -> None:
    assert widest_share(function_times(profile({"a:f": 3}, runs=1))) == float("inf")


def test_imports_are_a_tree_with_what_each_cost() -> None:
    found = profile({
        f"a:<module>@7;{FIND};b:<module>;{FIND};c:<module>;c:f": 4,
        f"a:<module>@7;{FIND};b:<module>": 2,
        f"a:<module>@7;{FIND};b:<module>;{FIND}": 1,
    })  # fmt: skip
    (outer,) = import_times(found)
    assert (outer.module, outer.importer.line if outer.importer else 0) == ("b", 7)
    assert outer.total_s == pytest.approx(7 * INTERVAL_S)
    assert outer.self_s == pytest.approx(2 * INTERVAL_S), "without the import system"
    assert [child.module for child in outer.children] == ["c"]
    assert outer.children[0].total_s == pytest.approx(4 * INTERVAL_S)
