"""What py-spy writes, read into samples."""

from s3bench.profiling.profile_builder import ProfileBuilder
from s3bench.profiling.py_spy_output import ImportRoots, PySpySamples, module_name, parse_py_spy
from s3bench.profiling.stack_profile import MAIN_THREAD, OWN_MODULE, Frame, Sampled

MAIN = "thread (71): MainThread"


def parsed(*lines: str, sampled: Sampled = Sampled.WALL_TIME, roots: ImportRoots | None = None) -> PySpySamples:
    return parse_py_spy("\n".join(lines) + "\n", sampled=sampled, roots=roots or ImportRoots())


def frame(place: str, roots: ImportRoots | None = None) -> Frame:
    (((_, (found,)), _),) = parsed(f"{MAIN};{place} 1", roots=roots).samples.items()
    return found


def test_a_line_is_a_stack_with_its_number_of_samples() -> None:
    found = parsed(f"{MAIN};<module> (aws.py:19);ClientCreator.create_client (awscli/botocore/client.py:107) 4")
    assert found.samples == {
        (
            MAIN_THREAD,
            (
                Frame(module="aws", function="<module>", file="aws.py", line=19),
                Frame(
                    module="awscli.botocore.client",
                    function="ClientCreator.create_client",
                    file="awscli/botocore/client.py",
                    line=107,
                ),
            ),
        ): 4
    }
    assert found.malformed == 0


def test_files_are_named_below_the_directory_that_they_are_imported_from() -> None:
    assert frame("f (/x/lib/python3.11/site-packages/botocore/session.py:1)").module == "botocore.session"
    assert frame("f (/x/lib/python3.11/re/__init__.py:1)").module == "re"
    checkout = ImportRoots(directories=("/home/me/aws-cli",))
    assert frame("f (/home/me/aws-cli/awscli/clidriver.py:1)", checkout).file == "awscli/clidriver.py"


def test_frames_of_the_import_system_of_text_and_of_ours_are_recognised() -> None:
    assert frame("_load (<frozen importlib._bootstrap>:938)").is_import_system
    assert frame("<module> (<string>:1)").module == "<string>"
    ours = ImportRoots(own=("/opt/s3bench/probes",))
    assert frame("main (/opt/s3bench/probes/driver.py:3)", ours).module == OWN_MODULE


def test_a_package_has_the_name_of_its_directory() -> None:
    assert module_name("botocore/__init__.py") == "botocore"
    assert module_name("__init__.py") == "__init__"


def test_wall_time_is_that_of_the_main_thread_alone() -> None:
    lines = (f"{MAIN};f (a.py:1) 2", "thread (72): Thread-1;g (a.py:9) 3")
    assert sum(parsed(*lines).samples.values()) == 2
    cpu = parsed(*lines, sampled=Sampled.CPU_TIME).samples
    assert {thread: count for (thread, _), count in cpu.items()} == {MAIN_THREAD: 2, "Thread-1": 3}


def test_a_thread_without_a_name_is_the_main_one_if_it_is_the_first() -> None:
    found = parsed("thread (71);f (a.py:1) 2", "thread (75);g (a.py:1) 2")
    assert sum(found.samples.values()) == 2


def test_a_semicolon_in_a_path_does_not_end_a_frame() -> None:
    assert frame("f (/tmp/a;b/c.py:3)").line == 3


def test_lines_that_cannot_be_read_are_counted() -> None:
    found = parsed("py-spy> hello", f"{MAIN};f (a.py:1) 2", f"{MAIN};broken 1")
    assert found.malformed == 2
    assert sum(found.samples.values()) == 2


def test_frames_and_stacks_of_all_runs_stand_once() -> None:
    builder = ProfileBuilder(sampled=Sampled.WALL_TIME, interval_s=0.005)
    builder.add(parsed(f"{MAIN};f (a.py:1);g (a.py:2) 2").samples, total_time=1.0, cpu_time=0.5)
    builder.add(parsed(f"{MAIN};f (a.py:1);g (a.py:2) 3", f"{MAIN};f (a.py:1) 1").samples, total_time=1.1, cpu_time=0.6)
    made = builder.profile
    assert len(made.frames) == 2
    assert [run.samples for run in made.runs] == [{0: 2}, {0: 3, 1: 1}]
    assert [run.total_time for run in made.runs] == [1.0, 1.1]


def test_functions_of_libraries_in_c_are_named_by_their_source_or_their_library() -> None:
    assert frame("RAND_bytes (rand.c:625)") == Frame(module="rand.c", function="RAND_bytes", file="rand.c", line=625)
    library = Frame(module="libc.so.6", function="(no name)", file="libc.so.6")
    assert frame("0x7f08be0ac057 (libc.so.6)") == library
    assert frame("0x7f08be0ac058 (libc.so.6)") == library, "addresses differ from run to run"
    assert frame("gc_collect_main (/usr/lib/libpython3.11.so.1.0)").module == "libpython3.11.so.1.0"
