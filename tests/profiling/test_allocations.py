"""What a probe told of a client's memory is read with care, and two sides of it are compared."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.errors import MachineError
from s3bench.profiling.allocations import (
    AllocationProfile,
    HeldMemory,
    allocation_differences,
    held_by_function,
    held_by_module,
    parse_probe_report,
)
from s3bench.profiling.explanation import Cause, CauseKind
from s3bench.profiling.stack_profile import Frame

MB = 1 << 20
REPORT = {
    "version": 2,
    "start": "imports",
    "python": "3.14.0",
    "peak_bytes": 900,
    "taken_bytes": 790,
    "frames": [["a.b", "f", "/usr/lib/x/a/b.py", 7], ["a", "<module>", "/usr/lib/x/a/__init__.py", 1]],
    "held": [[700, [0, 1]], [50, []]],
    "other_bytes": 40,
}


def profile(held: dict[str, int], *, line: int = 1) -> AllocationProfile:
    """What is held by stacks, the outermost function first: `a:f b:g`."""
    names = sorted({name for stack in held for name in stack.split()})
    frames = tuple(
        Frame(module=name.split(":")[0], function=name.split(":")[1], file=f"{name[0]}.py", line=line) for name in names
    )
    return AllocationProfile(
        start="imports",
        peak_bytes=sum(held.values()),
        taken_bytes=sum(held.values()),
        frames=frames,
        held=tuple(
            HeldMemory(frames=tuple(names.index(name) for name in reversed(stack.split())), size_bytes=size)
            for stack, size in held.items()
        ),
    )


def told(baseline: Sequence[dict[str, int]], candidate: Sequence[dict[str, int]]) -> list[tuple[str, float | None]]:
    causes = allocation_differences([profile(each) for each in baseline], [profile(each) for each in candidate])
    return [(cause.place, cause.change) for cause in causes]


def test_a_report_becomes_a_profile_with_files_as_imports_find_them() -> None:
    assert parse_probe_report(json.dumps(REPORT).encode()).profile(peak_bytes=900) == AllocationProfile(
        start="imports",
        peak_bytes=900,
        taken_bytes=790,
        frames=(
            Frame(module="a.b", function="f", file="a/b.py", line=7),
            Frame(module="a", function="<module>", file="a/__init__.py", line=1),
        ),
        held=(HeldMemory(frames=(0, 1), size_bytes=700), HeldMemory(frames=(), size_bytes=50)),
        other_bytes=40,
    )


@pytest.mark.parametrize(
    "change",
    [
        {"version": 1},
        {"held": [[1, [2]]]},
        {"held": [[1, [-1]]]},
        {"held": [[-1, [0]]]},
        {"peak_bytes": "much"},
        {"more": 1},
        {"frames": [["a", "f", "a.py", 1]] * 200_001},
    ],
)
def test_a_report_that_the_probe_does_not_write_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(MachineError, match="cannot be read"):
        parse_probe_report(json.dumps({**REPORT, **change}).encode())


@given(st.binary(max_size=200))
def test_no_bytes_do_worse_than_be_refused(data: bytes) -> None:
    with pytest.raises(MachineError):
        parse_probe_report(data)


def test_sides_that_are_equal_have_no_difference() -> None:
    side = [{"a:f b:g": 5 * MB}, {"a:f b:g": 5 * MB}]
    assert told(side, side) == []


def test_what_one_side_holds_more_is_told_at_its_line_with_the_range() -> None:
    before = [profile({"a:f": MB, "a:f b:g": size}) for size in (MB, MB + 10)]
    after = [profile({"a:f": MB, "a:f b:g": size}, line=9) for size in (9 * MB, 9 * MB + 30)]
    assert allocation_differences(before, after) == (
        Cause(
            kind=CauseKind.ALLOCATION,
            place="b:g",
            file="b.py",
            line=9,
            change=8 * MB + 10.0,
            low=8 * MB - 10.0,
            high=8 * MB + 30.0,
        ),
    )


def test_what_one_side_no_longer_holds_is_told_as_less() -> None:
    assert told([{"a:f": 3 * MB}], [{"a:f": MB}]) == [("a:f", -2.0 * MB)]


def test_a_change_of_64_kib_is_not_told() -> None:
    assert told([{"a:f": 0}], [{"a:f": 64 << 10}]) == []
    assert told([{"a:f": 0}], [{"a:f": (64 << 10) + 1}]) == [("a:f", 65537.0)]


def test_a_change_within_what_varies_between_runs_of_a_side_is_not_told() -> None:
    assert told([{"a:f": MB}, {"a:f": 3 * MB}], [{"a:f": 4 * MB}, {"a:f": 4 * MB}]) == []
    assert told([{"a:f": MB}, {"a:f": 2 * MB}], [{"a:f": 4 * MB}, {"a:f": 4 * MB}]) == [("a:f", 2.5 * MB)]


def test_a_change_that_is_spread_over_what_a_function_calls_is_told_of_the_function() -> None:
    after = {f"a:main a:load b:part{number}": 100_000 for number in range(8)}
    assert told([{"a:main": MB}], [{"a:main": MB, **after}]) == [("a:load", 800_000.0)]


def test_a_called_function_with_a_small_part_of_a_change_is_not_told_instead_of_its_caller() -> None:
    after = {"a:load b:large": 3 * MB, **{f"a:load b:part{number}": MB for number in range(7)}}
    assert told([{"a:load": MB}], [{"a:load": MB, **after}]) == [("a:load", 10.0 * MB)]


def test_two_changes_below_one_caller_are_told_apart_the_largest_first() -> None:
    after = {"a:main b:g": 2 * MB, "a:main c:h": 3 * MB}
    assert told([{"a:main": MB}], [{"a:main": MB, **after}]) == [("c:h", 3.0 * MB), ("b:g", 2.0 * MB)]


def test_a_caller_is_not_told_beside_what_it_calls() -> None:
    assert told([{"a:main c:h": MB}], [{"a:main c:h": 9 * MB, "a:main b:g": 2 * MB}]) == [
        ("c:h", 8.0 * MB),
        ("b:g", 2.0 * MB),
    ]


def test_a_function_that_calls_itself_is_counted_once() -> None:
    assert told([{"a:f": MB}], [{"a:f": MB, "a:f b:g a:f": MB}])[0][1] == MB
    held = held_by_function(profile({"a:f b:g a:f": MB}))
    assert [(frame.name, own, total) for frame, own, total in held] == [("a:f", MB, MB), ("b:g", 0, MB)]


def test_modules_hold_what_their_own_functions_allocated() -> None:
    held = profile({"a:main b:g": 2 * MB, "a:main": MB, "b:g a:f": 3 * MB})
    assert held_by_module(held) == (("a", 4 * MB), ("b", 2 * MB))
