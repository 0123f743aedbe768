"""Times, numbers of calls and what was known, joined into one list of causes."""

from s3bench.profiling.explanation import Cause, CauseKind
from s3bench.profiling.joining import joined, narrowed, suspected_places
from tests.report.page.profile.stack_profiles import profile

CALL = Cause(kind=CauseKind.CALL, place="time:sleep", caller="a:retry", counts=(0, 1))


def timed(place: str, change: float, caller: str = "") -> Cause:
    return Cause(kind=CauseKind.CALL, place=place, caller=caller, change=change)


def places(causes: tuple[Cause, ...]) -> list[str]:
    return [cause.place for cause in causes]


def test_a_place_whose_time_and_number_changed_comes_first_and_once() -> None:
    counted = [Cause(kind=CauseKind.CALL, place="a:f", caller="a:g", counts=(1, 2)), CALL]
    found = joined([timed("b:h", 0.02), timed("a:f", 0.01, "a:g")], counted, [])
    assert places(found) == ["a:f", "b:h", "time:sleep"]
    assert found[0].counts == (1, 2)
    assert found[0].change == 0.01


def test_a_function_that_our_driver_calls_is_not_told_again_by_its_calls() -> None:
    driver = "s3bench_driver_backend:upload"
    counted = [Cause(kind=CauseKind.CALL, place="a:f", caller=driver, file="d.py", line=3, counts=(0, 1)), CALL]
    found = joined([timed("a:f", 0.01)], counted, [])
    assert [(each.place, each.caller, each.counts) for each in found] == [
        ("a:f", driver, (0, 1)),
        ("time:sleep", "a:retry", (0, 1)),
    ]
    assert (found[0].change, found[0].line) == (0.01, 3)


def test_the_time_of_a_function_is_not_that_of_one_of_its_callers() -> None:
    counted = [Cause(kind=CauseKind.CALL, place="a:f", caller="a:g", counts=(1, 2))]
    found = joined([timed("a:f", 0.01)], counted, [])
    assert [(each.caller, each.change) for each in found] == [("", 0.01), ("a:g", None)]


def test_requests_come_before_times_without_a_number_and_phases_come_late() -> None:
    known = [
        Cause(kind=CauseKind.PHASE, place="start to end", change=0.1),
        Cause(kind=CauseKind.SYSTEM_CALL, place="openat", counts=(1, 2)),
        Cause(kind=CauseKind.REQUEST, place="HEAD", counts=(0, 1)),
    ]
    assert places(joined([timed("b:h", 0.02)], [], known)) == ["HEAD", "b:h", "openat", "start to end"]


def test_what_changed_the_other_way_comes_last() -> None:
    times = [timed("a:less", -0.09), timed("a:more", 0.01)]
    assert places(joined(times, [CALL], [])) == ["a:more", "time:sleep", "a:less"]
    assert places(joined(times, [CALL], [], is_more=False)) == ["a:less", "time:sleep", "a:more"]


def test_modules_of_an_import_that_is_told_are_not_told_again() -> None:
    told = Cause(kind=CauseKind.IMPORT, place="botocore.docs", caller="a:<module>", counts=(0, 1))
    modules = [
        Cause(kind=CauseKind.IMPORT, place=name, counts=(0, 1)) for name in ("botocore.docs.service", "botocore", "csv")
    ]
    assert places(joined([], [told], modules)) == ["botocore.docs", "botocore", "csv"]


def test_a_call_that_carries_the_time_of_a_place_is_told_in_its_stead() -> None:
    before = profile({"a:main;a:run": 10, "a:main;a:run;a:retry": 1})
    after = profile({"a:main;a:run": 10, "a:main;a:run;a:retry": 5})
    (found,) = narrowed([timed("a:run", 0.02)], [CALL], (before, after))
    assert (found.place, found.caller, found.change, found.counts) == ("time:sleep", "a:retry", 0.02, (0, 1))


def test_a_call_elsewhere_is_not() -> None:
    before = profile({"a:main;a:run": 10, "a:main;a:retry": 1})
    after = profile({"a:main;a:run": 14, "a:main;a:retry": 1})
    assert places(narrowed([timed("a:run", 0.02)], [CALL], (before, after))) == ["a:run"]


def test_the_caller_is_suspected_where_what_it_calls_has_no_frame() -> None:
    call = Cause(kind=CauseKind.CALL, place="a:f", caller="a:g", counts=(1, 2))
    module = Cause(kind=CauseKind.IMPORT, place="csv", caller="a:g", counts=(0, 1))
    seen = profile({"a:g;a:f": 1, "a:g;csv:<module>": 1, "a:retry": 1})
    assert suspected_places([call, module, CALL], (seen,)) == {("a:g", "a:f"), ("a:g", "csv:<module>"), ("a:retry",)}
