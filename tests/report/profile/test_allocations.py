"""The tables of a client's memory."""

import msgspec

from s3bench.profiling.allocations import AllocationProfile, HeldMemory
from s3bench.profiling.stack_profile import Frame
from s3bench.report.profile.allocations import allocation_tables, memory_fact

PROFILE = AllocationProfile(
    start="plug-in",
    peak_bytes=4 << 20,
    taken_bytes=3 << 20,
    frames=(
        Frame(module="a.b", function="load", file="a/b.py", line=7),
        Frame(module="a", function="main", file="a.py", line=3),
    ),
    held=(HeldMemory(frames=(0, 1), size_bytes=2 << 20), HeldMemory(frames=(1,), size_bytes=1 << 20)),
)


def test_functions_and_modules_have_what_they_hold_and_the_notes_say_what_was_seen() -> None:
    functions, modules = allocation_tables(PROFILE)
    assert [[cell.text for cell in row] for row in functions.rows] == [
        ["a.b:load", "2.00 MiB", "2.00 MiB", "a/b.py:7"],
        ["a:main", "1.00 MiB", "3.00 MiB", "a.py:3"],
    ]
    assert [[cell.text for cell in row] for row in modules.rows] == [["a.b", "2.00 MiB"], ["a", "1.00 MiB"]]
    assert "what it imports before is missing" in functions.notes[0]
    assert memory_fact(PROFILE).startswith("peak 4.00 MiB, of which Python held 3.00 MiB (below)")


def test_a_profile_without_places_has_no_tables() -> None:
    assert allocation_tables(msgspec.structs.replace(PROFILE, held=())) == ()
