"""Call counts: the probe's file, and which differences between two versions are told."""

from collections.abc import Mapping
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.errors import MachineError
from s3bench.profiling.call_counts import (
    DIFFERENCES_MAX,
    CallCounts,
    CallEdge,
    CountedFrom,
    count_differences,
    parse_call_counts,
    why_incomparable,
)
from s3bench.profiling.explanation import CauseKind
from s3bench.profiling.stack_profile import Frame

Call = tuple[str, str] | tuple[str, str, int]
HEADER = "s3bench-call-counts 1\nobserved\tsys.monitoring\timports\t3.14.0\n"


def run(
    calls: Mapping[Call, int],
    *,
    mechanism: str = "sys.monitoring",
    counted_from: CountedFrom = CountedFrom.IMPORTS,
    python_version: str = "3.14.0",
) -> CallCounts:
    """One run by `(caller, callee)` or `(caller, callee, line)`; the line is 1 where it is not given."""
    names = sorted({name for call in calls for name in call[:2] if name})
    frames = []
    for name in names:
        module, _, function = name.partition(":")
        frames.append(Frame(module=module, function=function, file=f"{module.replace('.', '/')}.py"))
    edges = tuple(
        CallEdge(
            caller=names.index(call[0]) if call[0] else None,
            callee=names.index(call[1]),
            line=call[2] if len(call) == 3 else 1,
            count=count,
        )
        for call, count in calls.items()
    )
    return CallCounts(
        mechanism=mechanism,
        counted_from=counted_from,
        python_version=python_version,
        functions=tuple(frames),
        edges=edges,
    )


def told(before: Mapping[Call, int], after: Mapping[Call, int]) -> list[tuple[str, str, tuple[float, float] | None]]:
    causes = count_differences([run(before)] * 2, [run(after)] * 2)
    return [(cause.caller, cause.place, cause.counts) for cause in causes]


def test_what_the_probe_writes_is_parsed() -> None:
    text = (
        HEADER + "f\tbotocore.session\tSession.get\t/x/lib/botocore/session.py\nf\tposix\tstat\t\n"
        "f\tawscli\t<module>\tawscli/__init__.py\nf\tos\t<module>\t<frozen os>\ne\t0\t12\t1\t3\ne\t-1\t0\t0\t1\n"
    )
    counts = parse_call_counts(text)
    assert (counts.mechanism, counts.counted_from, counts.python_version) == (
        "sys.monitoring",
        CountedFrom.IMPORTS,
        "3.14.0",
    )
    assert counts.functions == (
        Frame(module="botocore.session", function="Session.get", file="botocore/session.py"),
        Frame(module="os", function="stat"),
        Frame(module="awscli", function="<module>", file="awscli/__init__.py"),
        Frame(module="os", function="<module>"),
    )
    assert counts.edges == (
        CallEdge(caller=0, line=12, callee=1, count=3),
        CallEdge(caller=None, line=0, callee=0, count=1),
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "something else\n",
        "s3bench-call-counts 1\n",
        HEADER.replace("imports", "nowhere"),
        HEADER.replace("monitoring", "magic"),
        HEADER + "e\t0\t1\t0\t1\n",
        HEADER + "f\tm\tf\t\ne\t-2\t1\t0\t1\n",
        HEADER + "f\tm\tf\t\ne\t0\t-1\t0\t1\n",
        HEADER + "f\tm\tf\t\ne\t0\t1\t0\t99999999999999999999\n",
        HEADER + "f\tm\tf\t\ne\t0\t1\t0\tmany\n",
        HEADER + "f\tm\n",
        HEADER + "g\tm\tf\t\n",
    ],
)
def test_anything_else_is_unreadable(text: str) -> None:
    with pytest.raises(MachineError, match="cannot be read"):
        parse_call_counts(text)


@given(st.text() | st.text(alphabet="fe\t\n-0123456789 ob").map(HEADER.__add__))
def test_no_text_raises_anything_else(text: str) -> None:
    with suppress(MachineError):
        parse_call_counts(text)


def test_a_name_with_another_kind_of_line_end_stays_whole() -> None:
    assert parse_call_counts(HEADER + "f\tm\u2028\x0c\tf\t\n").functions[0].module == "m\u2028\x0c"


def test_a_long_name_is_cut() -> None:
    counts = parse_call_counts(HEADER + f"f\t{'m' * 5000}\t{'f' * 5000}\t/{'d' * 5000}.py\n")
    assert max(map(len, (counts.functions[0].module, counts.functions[0].function, counts.functions[0].file))) <= 300


BASE: dict[Call, int] = {
    ("__main__:<module>", "cli:main"): 1,
    ("cli:main", "session:load"): 2,
    ("session:load", "json:loads"): 4,
    ("json:loads", "json:decode"): 4,
    ("cli:main", "os:stat"): 10,
}


def test_equal_runs_have_no_difference() -> None:
    assert told(BASE, BASE) == []


def test_more_calls_of_a_function_are_told_with_their_caller_place_and_line() -> None:
    [cause] = count_differences([run(BASE)], [run({**BASE, ("cli:main", "os:stat", 77): 200})])
    assert (cause.kind, cause.place, cause.caller) == (CauseKind.CALL, "os:stat", "cli:main")
    assert (cause.file, cause.line, cause.counts) == ("cli.py", 77, (10.0, 210.0))
    assert cause.change is None


def test_what_a_function_calls_because_it_is_called_more_often_is_not_told() -> None:
    more = {
        **BASE,
        ("cli:main", "session:load"): 3,
        ("session:load", "json:loads"): 6,
        ("json:loads", "json:decode"): 6,
    }
    assert told(BASE, more) == [("cli:main", "session:load", (2.0, 3.0))]


def test_of_a_new_function_the_call_alone_is_told() -> None:
    more: dict[Call, int] = {
        **BASE,
        ("cli:main", "new:start"): 1,
        ("new:start", "new:work"): 500,
        ("new:work", "os:stat"): 5000,
    }
    assert told(BASE, more) == [("cli:main", "new:start", (0.0, 1.0))]


def test_of_a_function_that_is_gone_the_call_alone_is_told_without_a_line() -> None:
    less = {call: count for call, count in BASE.items() if "json" not in call[0] + call[1]}
    [cause] = count_differences([run(BASE)], [run(less)])
    assert (cause.caller, cause.place, cause.counts) == ("session:load", "json:loads", (4.0, 0.0))
    assert (cause.file, cause.line) == ("session.py", 0)


def test_a_recursion_that_is_entered_anew_is_told_by_its_entry() -> None:
    before: dict[Call, int] = {**BASE, ("cli:main", "copy:deepcopy"): 1, ("copy:deepcopy", "copy:_dict"): 1}
    after: dict[Call, int] = {
        **BASE,
        ("cli:main", "copy:deepcopy"): 1,
        ("session:load", "copy:deepcopy"): 1,
        ("copy:deepcopy", "copy:_dict"): 400,
        ("copy:_dict", "copy:deepcopy"): 1200,
    }
    assert told(before, after)[0] == ("session:load", "copy:deepcopy", (0.0, 1.0))


def test_a_function_that_is_called_more_and_calls_far_more_is_told_for_both() -> None:
    after: dict[Call, int] = {**BASE, ("cli:main", "session:load"): 3, ("session:load", "os:stat"): 600}
    assert told(BASE, after) == [
        ("cli:main", "session:load", (2.0, 3.0)),
        ("session:load", "os:stat", (0.0, 600.0)),
    ]


def test_counts_that_vary_between_equal_runs_are_not_told() -> None:
    after = [run({**BASE, ("cli:main", "os:stat"): count}) for count in (20, 21)]
    assert count_differences([run(BASE)] * 2, after) == ()


def test_calls_of_a_caller_that_varies_are_not_told() -> None:
    after = [run({**BASE, ("a:b", "session:load"): count, ("session:load", "os:stat"): 7}) for count in (1, 2)]
    assert ("session:load", "os:stat") not in [
        (cause.caller, cause.place) for cause in count_differences([run(BASE)] * 2, after)
    ]


def test_what_depends_on_when_threads_wake_up_or_objects_are_released_is_not_told() -> None:
    after: dict[Call, int] = {
        **BASE,
        ("threading:Condition.wait", "_thread:lock.acquire"): 9,
        ("cli:main", "_weakrefset:WeakSet._remove"): 2,
        ("", "awscrt.s3:on_shutdown"): 1,
    }
    assert told(BASE, after) == []


def test_a_module_that_is_imported_more_is_an_import_and_what_it_does_is_not_told() -> None:
    after: dict[Call, int] = {
        **BASE,
        ("session:load", "docs:<module>", 70): 1,
        ("docs:<module>", "docs.style:<module>"): 1,
        ("docs:<module>", "re:compile"): 30,
    }
    [cause] = count_differences([run(BASE)], [run(after)])
    assert (cause.kind, cause.place, cause.caller) == (CauseKind.IMPORT, "docs", "session:load")
    assert (cause.file, cause.line, cause.counts) == ("session.py", 70, (0.0, 1.0))


def test_the_package_that_a_module_brings_along_is_not_told() -> None:
    after: dict[Call, int] = {**BASE, ("cli:main", "xml.dom:<module>"): 1, ("cli:main", "xml.dom.minidom:<module>"): 1}
    assert told(BASE, after) == [("cli:main", "xml.dom.minidom", (0.0, 1.0))]


def test_what_a_finder_of_modules_does_more_is_not_told() -> None:
    finder: Call = ("importlib._bootstrap:_find_spec", "hack:find_spec")
    before: dict[Call, int] = {**BASE, finder: 200, ("hack:find_spec", "builtins:str.startswith"): 200}
    after: dict[Call, int] = {
        **BASE,
        finder: 201,
        ("hack:find_spec", "builtins:str.startswith"): 201,
        ("cli:main", "docs:<module>"): 1,
    }
    assert told(before, after) == [("cli:main", "docs", (0.0, 1.0))]


def test_an_import_by_a_new_function_is_told_beside_the_function() -> None:
    after: dict[Call, int] = {**BASE, ("cli:main", "cli:lazy"): 1, ("cli:lazy", "docs:<module>"): 1}
    assert {place for _, place, _ in told(BASE, after)} == {"cli:lazy", "docs"}


def test_a_module_that_another_one_imports_first_is_not_told() -> None:
    before: dict[Call, int] = {**BASE, ("a:<module>", "json:<module>"): 1}
    after: dict[Call, int] = {**BASE, ("b:<module>", "json:<module>"): 1}
    assert told(before, after) == []


def test_lines_that_moved_are_no_difference() -> None:
    before = {**BASE, ("cli:main", "re:compile", 10): 1}
    after = {**BASE, ("cli:main", "re:compile", 12): 1}
    assert told(before, after) == []


def test_the_line_is_that_of_the_new_call_though_others_have_moved() -> None:
    before: dict[Call, int] = {**BASE, ("cli:main", "re:compile", 10): 5}
    after: dict[Call, int] = {**BASE, ("cli:main", "re:compile", 13): 5, ("cli:main", "re:compile", 20): 1}
    [cause] = count_differences([run(before)], [run(after)])
    assert cause.line == 20


def test_the_probably_most_expensive_comes_first() -> None:
    after: dict[Call, int] = {
        **BASE,
        ("cli:main", "builtins:len"): 300,
        ("cli:main", "os:stat"): 110,
        ("cli:main", "time:sleep"): 1,
        ("cli:main", "big:work"): 1,
        ("big:work", "big:step"): 900,
    }
    assert [place for _, place, _ in told(BASE, after)] == ["time:sleep", "os:stat", "big:work", "builtins:len"]


def test_runs_that_were_counted_differently_are_not_compared() -> None:
    before, more = [run(BASE)], {**BASE, ("cli:main", "os:stat"): 11}
    otherwise, later = [run(more, mechanism="sys.setprofile")], [run(more, counted_from=CountedFrom.PLUG_IN)]
    assert count_differences(before, otherwise) == ()
    assert why_incomparable(before, otherwise) == (
        "the baseline's are counted by sys.monitoring, the candidate's by sys.setprofile"
    )
    assert count_differences(before, later) == ()
    assert why_incomparable(before, later) == (
        "the baseline's are counted from its first import on, the candidate's from the loading of its plug-ins on"
    )
    assert why_incomparable([*before, *later], [*before, *later])
    assert why_incomparable(before, [run(more)]) == ""
    assert count_differences([], [run(more)]) == ()


def test_what_another_python_does_differently_is_not_told() -> None:
    after: dict[Call, int] = {
        **BASE,
        ("json:loads", "json:check"): 4,
        ("cli:main", "builtins:any"): 3,
        ("cli:main", "_io:_IOBase.__enter__"): 3,
        ("cli:main", "typing:_tp_cache.<locals>.inner"): 3,
        ("cli:main", "os:stat"): 20,
    }
    [cause] = count_differences([run(BASE)], [run(after, python_version="3.15.0")])
    assert cause.place == "os:stat"
    assert len(count_differences([run(BASE)], [run(after)])) == 5


def test_differences_are_limited() -> None:
    after: dict[Call, int] = {**BASE, **{("cli:main", f"m:f{number}"): 1 for number in range(200)}}
    assert len(told(BASE, after)) == DIFFERENCES_MAX
