"""An explanation in sentences."""

import pytest

from s3bench.profiling.explanation import Cause, CauseKind, ChangeInterval, Explanation
from s3bench.report.explanation import explanation_lines, explanation_title

IMPORT = Cause(
    kind=CauseKind.IMPORT,
    place="botocore.docs",
    caller="awscli.clidriver:<module>",
    file="awscli/clidriver.py",
    line=70,
    change=0.033,
    low=0.029,
    high=0.037,
    counts=(0, 1),
    share=0.8,
)


def explanation(*causes: Cause, **facts: object) -> Explanation:
    return Explanation(benchmark="s3.ls", metric="total_time", change=0.041, causes=causes, **facts)  # type: ignore[arg-type]


def test_the_title_says_what_changed_and_by_how_much() -> None:
    assert explanation_title(explanation()) == "Why total_time of s3.ls changed by +41.0 ms"


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        (
            ChangeInterval(low=0.038, high=0.044),
            "Why total_time of s3.ls changed by +41.0 ms (+38.0 ms to +44.0 ms)",
        ),
        (
            ChangeInterval(low=-0.01, high=0.092),
            "No detectable change of total_time of s3.ls: +41.0 ms (-10.0 ms to +92.0 ms)",
        ),
        (
            ChangeInterval(),
            "No detectable change of total_time of s3.ls: +41.0 ms (too few runs for an interval, 6 needed)",
        ),
    ],
)
def test_a_change_that_may_be_noise_is_not_stated_as_a_fact(interval: ChangeInterval, expected: str) -> None:
    assert explanation_title(explanation(interval=interval)) == expected


def test_a_cause_has_its_size_its_interval_its_share_and_its_place() -> None:
    (line,) = explanation_lines(explanation(IMPORT))
    assert line == (
        "+33.0 ms (+29.0 ms to +37.0 ms, 80% of it): import of botocore.docs, 0 -> 1, "
        "from awscli.clidriver:<module>, awscli/clidriver.py:70"
    )


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (
            Cause(kind=CauseKind.CALL, place="os:stat", caller="a:f", counts=(12, 1212)),
            "call of os:stat, 12 -> 1,212 times, from a:f",
        ),
        (
            Cause(kind=CauseKind.FUNCTION, place="a:f", file="a.py", line=3, change=-0.002),
            "-2.00 ms: function a:f, in a.py:3",
        ),
        (Cause(kind=CauseKind.REQUEST, place="HEAD", counts=(0, 1)), "request HEAD, 0 -> 1 times"),
        (Cause(kind=CauseKind.SYSTEM_CALL, place="openat", counts=(1, 2)), "system call openat, 1 -> 2 times"),
        (
            Cause(kind=CauseKind.PHASE, place="start to imports_done", change=0.01),
            "+10.0 ms: phase start to imports_done",
        ),
        (
            Cause(kind=CauseKind.ALLOCATION, place="a:f", change=8 * 1024 * 1024, caller="a:g"),
            "+8.00 MiB: memory allocated in a:f, from a:g",
        ),
    ],
)
def test_every_kind_of_cause_has_a_sentence(cause: Cause, expected: str) -> None:
    assert list(explanation_lines(explanation(cause))) == [expected]


def test_what_is_not_explained_is_said_unless_it_is_next_to_nothing() -> None:
    lines = list(explanation_lines(explanation(IMPORT, unexplained=0.008)))
    assert lines[-1].startswith("+8.00 ms of +41.0 ms are not explained")
    assert len(list(explanation_lines(explanation(IMPORT, unexplained=0.001)))) == 1


def test_without_a_cause_that_is_said_with_the_notes() -> None:
    lines = list(explanation_lines(explanation(runs=20, profiler="py-spy", slowdown=1.2, notes=("no probe",))))
    assert lines == [
        "no cause stands out from the noise",
        "(20 runs of each side under py-spy, which makes a run 1.20 times as long; times are those without it)",
        "no probe",
    ]


def test_where_nothing_was_compared_no_cause_is_said_to_be_missing() -> None:
    lines = list(explanation_lines(explanation(runs=1, profiler="py-spy", is_compared=False, notes=("too few",))))
    assert lines == ["(1 run of each side under py-spy)", "too few"]


def test_times_of_the_cpu_are_as_they_were_sampled() -> None:
    found = Explanation(benchmark="s3.ls", metric="cpu_time", change=0.041, runs=20, profiler="perf", slowdown=9.0)
    assert list(explanation_lines(found))[-1] == (
        "(20 runs of each side under perf, which makes a run 9.00 times as long)"
    )


def test_names_from_a_client_cannot_control_a_terminal() -> None:
    cause = Cause(kind=CauseKind.FUNCTION, place="a:\x1b[31mf\n", caller="b:\u202eg")
    (line,) = explanation_lines(explanation(cause))
    assert line.isprintable()


def test_a_count_has_no_unit() -> None:
    found = Explanation(benchmark="s3.ls", metric="requests", change=2.0)
    assert explanation_title(found) == "Why requests of s3.ls changed by +2"
