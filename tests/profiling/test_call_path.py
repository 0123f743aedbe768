from s3bench.profiling.call_path import CallPath, call_paths
from s3bench.profiling.stack_profile import IMPORT_SYSTEM, Frame, ProfiledRun, Sampled, Stack, StackProfile

MAIN = Frame(module="cli", function="main", file="cli.py", line=7)
FIND = Frame(module="importlib._bootstrap", function="_find_and_load", line=1371)
READ = Frame(module="importlib._bootstrap_external", function="SourceLoader.get_data", line=9)
FROZEN = Frame(module="PyInstaller.loader.pyimod02_importers", function="PyiFrozenImporter.exec_module", line=384)
DOCS = Frame(module="docs", function="<module>", file="docs.py", line=1)
OTHER = Frame(module="other", function="<module>", file="other.py", line=1)
JOIN = Frame(module="posixpath", function="join", file="posixpath.py", line=80)
PROBE = Frame(module="s3bench_probe", function="started", file="started.py", line=1)


def profile(*stacks: tuple[Frame, ...]) -> StackProfile:
    frames = tuple(dict.fromkeys(frame for stack in stacks for frame in stack))
    return StackProfile(
        sampled=Sampled.WALL_TIME,
        interval_s=0.001,
        frames=frames,
        stacks=tuple(Stack(frames=tuple(map(frames.index, stack))) for stack in stacks),
        runs=(ProfiledRun(total_time=1, cpu_time=1, samples=dict.fromkeys(range(len(stacks)), 1)),),
    )


def paths_of(of: StackProfile) -> tuple[CallPath, ...]:
    [paths] = call_paths(of)
    return paths


def test_a_module_is_called_by_the_function_that_imports_it() -> None:
    assert paths_of(profile((MAIN, FIND, FROZEN, DOCS))) == ((MAIN, DOCS),)


def test_reading_a_module_counts_for_the_module_that_the_line_imports() -> None:
    paths = paths_of(profile((MAIN, FIND, READ), (MAIN, FIND, FROZEN, JOIN), (MAIN, FIND, DOCS)))
    assert paths == ((MAIN, DOCS), (MAIN, DOCS, JOIN), (MAIN, DOCS))


def test_reading_counts_for_the_import_system_if_the_module_is_not_known() -> None:
    assert paths_of(profile((MAIN, FIND, READ))) == ((MAIN, IMPORT_SYSTEM),)
    two = paths_of(profile((MAIN, FIND, READ), (MAIN, FIND, DOCS), (MAIN, FIND, OTHER)))
    assert two[0] == (MAIN, IMPORT_SYSTEM)


def test_what_a_line_imports_is_known_from_the_other_profile_as_well() -> None:
    seen, unseen = profile((MAIN, FIND, READ), (MAIN, FIND, DOCS)), profile((MAIN, FIND, READ), (MAIN,))
    assert call_paths(unseen, seen) == (((MAIN, DOCS), (MAIN,)), ((MAIN, DOCS), (MAIN, DOCS)))


def test_frames_of_the_probe_are_left_out() -> None:
    assert paths_of(profile((MAIN, PROBE), (PROBE, FIND), ())) == ((MAIN,), (), ())
