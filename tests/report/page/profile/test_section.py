"""The section of a profile: its headline names what carries the time or the difference."""

from s3bench.profiling.explanation import ChangeInterval, Explanation
from s3bench.profiling.record import ClientProfile, ProfileRecord
from s3bench.report.page.page import render_page
from s3bench.report.page.profile.section import profile_section, record_section
from s3bench.report.page.section import Section
from s3bench.report.table import Tone
from tests.report.page.profile.stack_profiles import profile


def headline(section: Section) -> str:
    assert section.headline is not None
    return section.headline.text


def test_the_largest_import_that_is_not_the_program_is_the_headline() -> None:
    stacks = {"__main__:<module>;app:main;docs:<module>;docs:build": 27, "__main__:<module>;app:main;app:work": 73}
    assert headline(profile_section("s3.ls", profile(stacks))) == "27% of the time is import docs: 135 ms per run"


def test_without_a_large_import_it_is_the_function_with_the_most_time_of_its_own() -> None:
    stacks = {"app:main;app:read": 30, "app:main;app:work": 50, "app:main;lib:<module>": 5}
    text = headline(profile_section("s3.ls", profile(stacks)))
    assert text == "59% of the time is in app:work itself: 250 ms per run"


def test_of_two_it_is_the_difference_and_the_innermost_frame_that_carries_it() -> None:
    baseline = profile({"app:main;app:work": 50, "app:main;app:read": 20})
    candidate = profile({"app:main;app:work": 52, "app:main;app:read": 20, "app:main;app:setup;docs:<module>": 30})
    section = profile_section("s3.ls", candidate, baseline, labels=("1.0", "2.0"))
    assert headline(section) == "2.0 takes 160 ms more time per run: 150 ms in import docs"
    assert section.headline is not None
    assert section.headline.tone is Tone.BAD


def test_a_frame_that_has_the_whole_difference_is_named_before_its_largest_call() -> None:
    baseline = profile({"app:main;app:work": 100})
    candidate = profile({"app:main;app:work": 100, "app:main;docs:f;docs:g": 18, "app:main;docs:f;docs:h": 12})
    assert headline(profile_section("s3.ls", candidate, baseline)).endswith("150 ms in docs:f")


def test_a_frame_that_has_more_than_the_whole_difference_is_told_with_the_rest() -> None:
    baseline = profile({"app:main": 50, "app:main;app:work": 60})
    candidate = profile({"app:main": 50, "app:main;app:work": 48, "app:main;docs:f": 42})
    text = headline(profile_section("s3.ls", candidate, baseline))
    assert text == "candidate takes 150 ms more time per run: 210 ms in docs:f, 60.0 ms less elsewhere"


def test_less_time_is_good_and_a_difference_in_several_functions_is_told_as_such() -> None:
    section = profile_section("s3.ls", profile({"a:f": 10, "a:g": 10}), profile({"a:f": 50, "a:g": 50}))
    assert headline(section) == (
        "candidate takes 400 ms less time per run: the difference is spread over several functions"
    )
    assert section.headline is not None
    assert section.headline.tone is Tone.GOOD


def test_noise_is_called_noise() -> None:
    section = profile_section("s3.ls", profile({"a:f": [9, 11, 10, 12]}), profile({"a:f": [10, 10, 12, 9]}))
    assert headline(section).startswith("no difference in time beyond noise: ")


def test_a_part_may_differ_though_the_whole_does_not() -> None:
    noisy = {"app:main": [400, 10, 380, 20]}
    section = profile_section("s3.ls", profile({**noisy, "app:main;docs:f": 20}), profile(noisy))
    assert section.headline is not None
    assert section.headline.text == "no difference in time beyond noise: +100 ms per run"
    assert section.headline.remarks == ("The largest difference of a part: +100 ms in docs:f.",)


def test_without_samples_it_says_so_and_has_no_graph() -> None:
    section = profile_section("s3.ls", profile({}))
    assert headline(section) == "no samples were taken"
    assert section.flame_graphs == section.tables == ()


def test_the_page_has_the_graph_before_the_table_of_functions() -> None:
    page = render_page("Profile of cli-crt", [profile_section("s3.ls", profile({"a:main;a:f": 3}))])
    assert page.index('class="flame"') < page.index("Functions by their own time per run")
    assert page.index("This graph is drawn by a script") < page.index("Functions by total time per run")


def test_of_two_clients_the_change_stands_before_its_causes_with_its_interval() -> None:
    change = Explanation(
        benchmark="s3.ls", metric="total_time", change=0.01, interval=ChangeInterval(low=-0.02, high=0.04)
    )
    sides = tuple(ClientProfile(client=name, stacks=profile({"a:main": 3})) for name in ("s5cmd@1", "s5cmd@2"))
    record = ProfileRecord(
        s3bench="1", started_at="now", benchmark="s3.ls", profiler="perf", profiles=sides, explanation=change
    )
    assert [line.text for line in record_section(record).lines] == [
        "No detectable change of total_time of s3.ls: +10.0 ms (-20.0 ms to +40.0 ms)",
        "no cause stands out from the noise",
    ]
