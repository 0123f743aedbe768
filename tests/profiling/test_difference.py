from collections.abc import Mapping

import numpy as np
import pytest

from s3bench.profiling.difference import TimeDifferences, time_differences
from s3bench.profiling.explanation import RUNS_MIN, Cause, CauseKind
from s3bench.profiling.stack_profile import Frame, ProfiledRun, Sampled, Stack, StackProfile

INTERVAL_S = 0.002
START = {
    "cli:main": 20.0,
    "cli:main session:create": 60.0,
    "cli:main session:create loader:load": 80.0,
    "cli:main session:create loader:load json:decode": 100.0,
    "cli:main command:run": 40.0,
    "cli:main command:run loader:load": 30.0,
    "cli:main command:run parser:<module>": 20.0,
    "cli:main command:run parser:<module> re:compile": 10.0,
}


def sampled(
    milliseconds: Mapping[str, float], *, seed: int, runs: int = 12, line: int = 10, interval_s: float = INTERVAL_S
) -> StackProfile:
    """A profile whose samples are Poisson distributed, on a machine whose speed varies by 5 %."""
    generator = np.random.default_rng(seed)
    frames: dict[Frame, int] = {}
    stacks = [Stack(frames=tuple(numbered(name, line, frames) for name in path.split())) for path in milliseconds]
    profiled = []
    for _ in range(runs):
        speed = np.exp(generator.normal(0, 0.05))
        counts = generator.poisson(np.array(list(milliseconds.values())) / 1000 / interval_s * speed)
        profiled.append(ProfiledRun(total_time=1, cpu_time=1, samples={at: int(n) for at, n in enumerate(counts) if n}))
    return StackProfile(
        sampled=Sampled.WALL_TIME,
        interval_s=interval_s,
        frames=tuple(frames),
        stacks=tuple(stacks),
        runs=tuple(profiled),
    )


def numbered(name: str, line: int, frames: dict[Frame, int]) -> int:
    module, function = name.split(":")
    frame = Frame(module=module, function=function, file=f"{module.replace('.', '/')}.py", line=line)
    return frames.setdefault(frame, len(frames))


def differences(
    before: Mapping[str, float],
    after: Mapping[str, float],
    *,
    seed: int = 1,
    suspected: frozenset[tuple[str, str]] = frozenset(),
) -> TimeDifferences:
    return time_differences(sampled(before, seed=seed), sampled(after, seed=seed + 1000, line=17), suspected=suspected)


def only(found: TimeDifferences) -> Cause:
    assert len(found.causes) == 1, [cause.place for cause in found.causes]
    return found.causes[0]


def test_a_new_import_is_told_at_its_line_with_the_modules_below_it() -> None:
    docs = "cli:main command:run docs:<module>"
    added = {docs: 8.0, f"{docs} docs.writer:<module>": 14.0, f"{docs} docs.style:<module> re:compile": 10.0}
    cause = only(differences(START, START | added))
    assert (cause.kind, cause.place, cause.caller) == (CauseKind.IMPORT, "docs", "command:run")
    assert (cause.file, cause.line) == ("command.py", 17)
    assert cause.change == pytest.approx(0.032, abs=0.006)
    assert cause.low is not None
    assert cause.high is not None
    assert cause.low < 0.032 < cause.high


def test_a_function_that_is_slower_itself_is_told_although_what_it_calls_varies() -> None:
    work = "cli:main command:run"
    busy = {path: at for path, at in START.items() if path != work} | {work: 4.0, f"{work} loader:load": 300.0}
    cause = only(differences(busy, busy | {work: 10.0}))
    assert (cause.kind, cause.place, cause.caller) == (CauseKind.FUNCTION, "command:run", "")
    assert (cause.file, cause.line) == ("command.py", 17)
    assert cause.change == pytest.approx(0.006, abs=0.003)


def test_time_that_moves_from_a_function_into_a_new_one_that_it_calls_is_no_change() -> None:
    work = "cli:main command:run"
    moved = START | {work: 10.0, f"{work} command:prepare": 30.0}
    assert differences(START, moved).causes == ()


def test_a_slower_function_is_told_and_not_its_callers() -> None:
    path = "cli:main session:create loader:load json:decode"
    cause = only(differences(START, START | {path: 140.0}))
    assert (cause.kind, cause.place, cause.caller) == (CauseKind.CALL, "json:decode", "loader:load")


def test_a_function_that_is_slower_under_several_callers_is_told_itself() -> None:
    slower = {"cli:main session:create loader:load": 110.0, "cli:main command:run loader:load": 60.0}
    cause = only(differences(START, START | slower))
    assert (cause.kind, cause.place, cause.caller) == (CauseKind.FUNCTION, "loader:load", "")
    assert (cause.file, cause.line) == ("loader.py", 17)


def test_a_new_call_is_told_and_not_what_a_known_function_calls() -> None:
    call = "cli:main session:create re:compile"
    added = {f"{call} re.parser:parse": 12.0, f"{call} re.compiler:code": 12.0}
    known = {"cli:main command:run parser:<module> re:compile re.parser:parse": 6.0}
    cause = only(differences(START | known, START | known | added))
    assert (cause.kind, cause.place, cause.caller) == (CauseKind.CALL, "re:compile", "session:create")


def test_an_import_that_vanished_has_no_line() -> None:
    after = {path: time for path, time in START.items() if "parser" not in path}
    cause = only(differences(START, after))
    assert (cause.kind, cause.place, cause.file, cause.line) == (CauseKind.IMPORT, "parser", "", 0)
    assert cause.change == pytest.approx(-0.03, abs=0.006)


def test_causes_stand_by_size_and_add_up_with_what_is_spread() -> None:
    after = START | {"cli:main docs:<module>": 15.0, "cli:main session:create": 120.0, "cli:main": 21.0}
    found = differences(START, after)
    assert [cause.place for cause in found.causes] == ["session:create", "docs"]
    told = sum(cause.change or 0 for cause in found.causes)
    assert found.change == pytest.approx(told + found.spread)
    assert found.change == pytest.approx(0.076, abs=0.02)


def test_nothing_is_told_of_noise() -> None:
    told = [seed for seed in range(20) if differences(START, START, seed=seed).causes]
    assert len(told) <= 3


def test_modules_that_moved_into_a_package_are_no_change() -> None:
    moved = {path.replace("json:", "vendored.json:"): time for path, time in START.items()}
    assert differences(START, moved).causes == ()
    assert differences(moved, START).causes == ()


def test_a_function_that_was_renamed_is_no_change() -> None:
    renamed = {path.replace("session:create", "session:make"): time for path, time in START.items()}
    assert differences(START, renamed).causes == ()


def test_a_small_change_shows_where_the_calls_are_known_to_differ() -> None:
    after = START | {"cli:main command:run os:stat": 1.5}
    call = ("command:run", "os:stat")
    assert differences(START, after).causes == ()
    cause = only(differences(START, after, suspected=frozenset({call, ("never", "seen")})))
    assert (cause.caller, cause.place) == call


@pytest.mark.parametrize("runs", [0, 1, RUNS_MIN - 1])
def test_too_few_runs_tell_the_change_alone(runs: int) -> None:
    before, after = sampled(START, seed=1), sampled(START | {"cli:main docs:<module>": 90.0}, seed=2, runs=runs)
    found = time_differences(before, after)
    assert found.causes == ()
    assert "of each side" in found.incomparable
    assert f"too few to compare ({RUNS_MIN} needed)" in found.incomparable
    assert time_differences(after, before).change == pytest.approx(-found.change)


def test_runs_without_samples_tell_nothing() -> None:
    empty = sampled({}, seed=1)
    assert time_differences(empty, empty) == TimeDifferences(
        change=0.0, incomparable="nothing was sampled in the runs of the baseline"
    )
    assert time_differences(sampled(START, seed=1), empty).incomparable.endswith("of the candidate")


def test_profiles_of_other_rates_compare_by_their_seconds() -> None:
    found = time_differences(sampled(START, seed=1), sampled(START, seed=2, interval_s=INTERVAL_S / 2))
    assert found.causes == ()
    assert found.change == pytest.approx(0, abs=0.03)


def test_of_runs_that_are_all_equal_nothing_is_told() -> None:
    runs = (ProfiledRun(total_time=1, cpu_time=1, samples={0: 10}),) * 6
    frame = Frame(module="cli", function="main")
    same = StackProfile(
        sampled=Sampled.WALL_TIME, interval_s=0.002, frames=(frame,), stacks=(Stack(frames=(0,)),), runs=runs
    )
    assert time_differences(same, same).causes == ()
