"""The tree of calls: frames merged by module and function, both sides in one tree, differences against the noise."""

import pytest

from s3bench.profiling.stack_profile import MAIN_THREAD
from s3bench.report.page.profile.call_tree import CallNode, CallTree, FunctionTimes, call_tree, function_times
from tests.report.page.profile.stack_profiles import INTERVAL_S, profile


def labels(tree: CallTree) -> list[tuple[int, str, tuple[int, int]]]:
    return [(node.depth, node.function.label, node.samples) for node in tree.root.walk()]


def found(tree: CallTree, label: str) -> CallNode:
    return next(node for node in tree.root.walk() if node.function.label == label)


def times(tree: CallTree, label: str) -> FunctionTimes:
    return next(each for each in function_times(tree) if each.function.label == label)


def test_lines_of_a_function_are_one_frame_and_the_largest_call_comes_first() -> None:
    tree = call_tree(profile({"app:main@1;app:load@5": 1, "app:main@2;app:save@9": 3, "app:main@3": 2}))
    assert labels(tree) == [
        (0, "all", (24, 0)),
        (1, "app:main", (24, 0)),
        (2, "app:save", (12, 0)),
        (2, "app:load", (4, 0)),
    ]
    assert found(tree, "app:main").self_samples == (8, 0)


def test_a_function_is_at_the_line_where_most_samples_found_it() -> None:
    tree = call_tree(profile({"app:main@7": 1, "app:main@3": 5, "app:main@9": 2}))
    assert (found(tree, "app:main").function.file, found(tree, "app:main").function.line) == ("app.py", 3)


def test_both_sides_are_in_one_tree_by_module_and_function_and_in_seconds_per_run() -> None:
    baseline = profile({"app:main@1;app:gone@2": 2}, runs=2)
    candidate = profile({"app:main@8;app:new@2": 3}, runs=4)
    tree = call_tree(candidate, baseline)
    assert labels(tree)[1:] == [(1, "app:main", (12, 4)), (2, "app:new", (12, 0)), (2, "app:gone", (0, 4))]
    assert tree.total_s(found(tree, "app:main")) == (3 * INTERVAL_S, 2 * INTERVAL_S)


def test_threads_are_frames_where_there_are_several() -> None:
    tree = call_tree(profile({"app:main": 1, "[pool 1]app:work": 2}))
    assert [label for depth, label, _ in labels(tree) if depth == 1] == ["thread pool 1", f"thread {MAIN_THREAD}"]
    assert {each.function.label for each in function_times(tree)} == {"app:main", "app:work"}


def test_the_import_system_is_one_frame_between_two_imports() -> None:
    machinery = "importlib._bootstrap:_find_and_load;importlib._bootstrap:_load;pyimod02_importers:Loader.exec_module"
    tree = call_tree(profile({f"app:<module>;{machinery};lib:<module>;{machinery}": 1, f"app:<module>;{machinery}": 2}))
    assert [node.function.label for node in tree.root.walk()] == [
        "all",
        "import app",
        "importlib:import system",
        "import lib",
        "importlib:import system",
    ]
    assert times(tree, "importlib:import system").self_s == (3 * INTERVAL_S, 0)


def test_a_difference_is_noise_unless_it_is_larger_than_runs_vary() -> None:
    steady = call_tree(profile({"app:main": [30, 31, 29, 30]}), profile({"app:main": [20, 21, 19, 20]}))
    varied = call_tree(profile({"app:main": [60, 1, 58, 1]}), profile({"app:main": [1, 38, 2, 39]}))
    assert not steady.is_noise(steady.root)
    assert varied.difference_s(varied.root) == steady.difference_s(steady.root)
    assert varied.is_noise(varied.root)


def test_few_samples_are_noise_though_all_runs_are_alike() -> None:
    tree = call_tree(profile({"app:main": 2}), profile({"app:main": 1}))
    assert tree.is_noise(tree.root)


def test_the_time_of_a_recursive_function_counts_once() -> None:
    tree = call_tree(profile({"a:f;a:g;a:f;a:f": 2, "a:f;a:h": 1}))
    assert times(tree, "a:f").total_s == (3 * INTERVAL_S, 0)
    assert times(tree, "a:f").self_s == (2 * INTERVAL_S, 0)
    assert times(tree, "a:g").total_s == (2 * INTERVAL_S, 0)


def test_a_function_called_from_two_places_has_the_time_of_both() -> None:
    tree = call_tree(profile({"a:f;a:h": 2, "a:g;a:h": 1}), profile({"a:f;a:h": 1}))
    assert times(tree, "a:h").total_s == times(tree, "a:h").self_s == (3 * INTERVAL_S, INTERVAL_S)
    assert times(tree, "a:h").total_difference_s == pytest.approx(2 * INTERVAL_S)


def test_profiles_without_runs_or_stacks_have_an_empty_tree() -> None:
    assert labels(call_tree(profile({}, runs=0), profile({}))) == [(0, "all", (0, 0))]
