"""Profiles as folded stacks and as a file for speedscope."""

import json

from s3bench.profiling.profile_builder import ProfileBuilder
from s3bench.profiling.stack_formats import collapsed, speedscope
from s3bench.profiling.stack_profile import MAIN_THREAD, Frame, Sampled, StackProfile
from tests.report.page.profile.stack_profiles import INTERVAL_S, profile


def test_folded_stacks_have_the_samples_of_all_runs() -> None:
    found = profile({"a:main;a:f": [1, 2], "[Thread-1]a:g": [0, 1], "a:h": [0, 0]}, runs=2)
    assert collapsed(found) == "Thread-1;a:g 1\na:main;a:f 3\n"


def without_a_frame() -> StackProfile:
    """Three samples of a function, and of two threads one each without any frame."""
    builder = ProfileBuilder(sampled=Sampled.CPU_TIME, interval_s=INTERVAL_S)
    stack = (Frame(module="a", function="f"),)
    builder.add({(MAIN_THREAD, stack): 3, (MAIN_THREAD, ()): 1, ("Thread-1", ()): 1}, total_time=1.0, cpu_time=1.0)
    return builder.profile


def test_folded_stacks_add_up_to_all_samples() -> None:
    assert collapsed(without_a_frame()) == "(no Python function) 1\nThread-1;(no Python function) 1\na:f 3\n"


def test_speedscope_names_a_stack_without_a_frame() -> None:
    document = json.loads(speedscope([("one", without_a_frame())]))
    names = [frame["name"] for frame in document["shared"]["frames"]]
    samples = [[names[index] for index in sample] for sample in document["profiles"][0]["samples"]]
    assert samples == [["a:f"], ["(no Python function)"], ["(no Python function)"]]


def test_speedscope_has_shared_frames_and_seconds() -> None:
    found = profile({"a:main;a:f@12": [1, 2], "a:main": [1, 1]}, runs=2)
    document = json.loads(speedscope([("one", found), ("two", found)]))
    names = [frame["name"] for frame in document["shared"]["frames"]]
    assert sorted(names) == ["a:f", "a:main"]
    first, second = document["profiles"]
    assert (first["name"], second["name"]) == ("one", "two")
    assert [[names[index] for index in sample] for sample in first["samples"]] == [["a:main", "a:f"], ["a:main"]]
    assert first["weights"] == [1.5 * INTERVAL_S, INTERVAL_S], "of a run"
    assert first["endValue"] == sum(first["weights"])
