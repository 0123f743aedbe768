"""Profiles as folded stacks and as a file for speedscope."""

import json

from s3bench.profiling.stack_formats import collapsed, speedscope
from tests.report.page.profile.stack_profiles import INTERVAL_S, profile


def test_folded_stacks_have_the_samples_of_all_runs() -> None:
    found = profile({"a:main;a:f": [1, 2], "[Thread-1]a:g": [0, 1], "a:h": [0, 0]}, runs=2)
    assert collapsed(found) == "Thread-1;a:g 1\na:main;a:f 3\n"


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
