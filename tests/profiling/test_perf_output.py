"""What perf writes, read into samples."""

from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.profiling.go_functions import GoFunctions, parse_go_functions
from s3bench.profiling.perf_output import KERNEL, parse_perf
from s3bench.profiling.py_spy_output import Samples
from s3bench.profiling.stack_profile import MAIN_THREAD, UNNAMED, Frame
from tests.profiling.go_program import FUNCTION_BYTES, GO_1_20, TEXT_AT, elf, line_table

NAMES = ("runtime.goexit", "main.main", "github.com/peak/s5cmd/v2/command.(*Copy).Run", "aeshashbody")
ADDRESS = 0x401000

# Of `perf script -F comm,pid,tid,ip,sym,dso`, perf 6.1.
RECORDED = (
    "s5cmd 14950/14950 \n"
    "\tffffffff815dfc04 __do_fault ([kernel.kallsyms])\n"
    "\t            1082 [unknown] (/opt/s5cmd)\n"
    "\t            1041 [unknown] (/opt/s5cmd)\n"
    "\t            1001 [unknown] (/opt/s5cmd)\n"
    "\n"
    "s5cmd 14950/14953 \n"
    "\t             b46 __vdso_clock_gettime ([vdso])\n"
    "\t            1041 [unknown] (/opt/s5cmd)\n"
    "\n"
)


def go_program(_: Path) -> GoFunctions | None:
    """Whatever the file, the program with `NAMES`."""
    return parse_go_functions(BytesIO(elf(line_table(GO_1_20, NAMES, text_address=ADDRESS), text_address=ADDRESS)))


def parsed(text: str) -> Samples:
    return parse_perf(text.splitlines(), functions_of=lambda path: go_program(path) if path.name == "s5cmd" else None)


def stacks(text: str) -> list[tuple[str, ...]]:
    return [tuple(frame.name for frame in frames) for _, frames in parsed(text)]


def sample(*frames: str, thread: str = "s5cmd 7/7") -> str:
    return "".join((f"{thread} \n", *(f"\t{frame}\n" for frame in frames), "\n"))


def test_a_sample_is_a_stack_with_the_outermost_function_first() -> None:
    assert stacks(RECORDED) == [
        ("runtime:goexit", "main:main", "github.com/peak/s5cmd/v2/command:(*Copy).Run", "[kernel]:__do_fault"),
        ("main:main", "[vdso]:__vdso_clock_gettime"),
    ]


def test_equal_stacks_are_counted_together() -> None:
    assert list(parsed(RECORDED * 3).values()) == [3, 3]


def test_a_function_in_go_has_the_module_of_its_package() -> None:
    (((_, (frame,)), _),) = parsed(sample("1080 [unknown] (/opt/s5cmd)")).items()
    assert frame == Frame(module="github.com/peak/s5cmd/v2/command", function="(*Copy).Run")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("runtime.goexit", "runtime:goexit"),
        ("net/http.(*Transport).dialConn", "net/http:(*Transport).dialConn"),
        ("main.glob..func1", "main:glob..func1"),
        ("gopkg.in/yaml%2ev3.Unmarshal", "gopkg.in/yaml.v3:Unmarshal"),
        ("go.uber.org/zap.New", "go.uber.org/zap:New"),
        ("slices.Sort[go.shape.[]example.org/x.T]", "slices:Sort[go.shape.[]example.org/x.T]"),
        ("aeshashbody", "s5cmd:aeshashbody"),
        ("type:.eq.example.org/x.T", "s5cmd:type:.eq.example.org/x.T"),
        ("go:buildid", "s5cmd:go:buildid"),
        ("main.", "s5cmd:main."),
        (".x", "s5cmd:.x"),
    ],
)
def test_the_package_ends_at_the_first_dot_behind_the_last_slash(name: str, expected: str) -> None:
    data = elf(line_table(GO_1_20, (name,), text_address=ADDRESS), text_address=ADDRESS)
    text = sample(f"{TEXT_AT:x} [unknown] (/opt/s5cmd)")
    ((_, (frame,)),) = parse_perf(text.splitlines(), functions_of=lambda _: parse_go_functions(BytesIO(data)))
    assert frame.name == expected


def test_the_address_of_a_caller_is_behind_its_call() -> None:
    behind_the_last = TEXT_AT + FUNCTION_BYTES
    text = sample(f"{TEXT_AT:x} [unknown] (/opt/s5cmd)", f"{behind_the_last:x} [unknown] (/opt/s5cmd)")
    assert stacks(text) == [("runtime:goexit", "runtime:goexit")]
    assert stacks(sample(f"{behind_the_last:x} [unknown] (/opt/s5cmd)")) == [("main:main",)]


def test_addresses_may_be_those_at_which_the_program_was_linked() -> None:
    text = sample(f"{ADDRESS + FUNCTION_BYTES:x} [unknown] (/opt/s5cmd)", f"{ADDRESS + 1:x} [unknown] (/opt/s5cmd)")
    assert stacks(text) == [("runtime:goexit", "main:main")]


def test_functions_of_the_kernel_and_its_modules_are_of_one_module() -> None:
    text = sample("ffffffffc0a01000 nf_hook ([nf_conntrack])", "ffffffff815dfc04 [unknown] ([kernel.kallsyms])")
    ((_, frames),) = parsed(text)
    assert frames == (Frame(module=KERNEL, function=UNNAMED), Frame(module=KERNEL, function="nf_hook"))


def test_other_native_code_has_the_module_of_its_file() -> None:
    library = "/usr/lib/libc.so.6"
    text = sample(f"1750ce operator() (int) ({library})", "15830 [unknown] (/opt/a b (1)/dash (deleted))", "1 f (anon)")
    ((_, (anonymous, outer, inner)),) = parsed(text)
    assert inner == Frame(module="libc.so.6", function="operator() (int)", file=library)
    assert anonymous.name == "anon:f"
    assert (outer.module, outer.function) == ("dash (deleted)", UNNAMED)


def test_what_perf_has_a_name_for_and_the_table_has_not_keeps_it() -> None:
    assert stacks(sample("1800 _cgo_start (/opt/s5cmd)")) == [("s5cmd:_cgo_start",)]


def test_addresses_in_no_file_are_left_out_unless_there_are_no_others() -> None:
    assert stacks(sample("1001 [unknown] (/opt/s5cmd)", "7ffc [unknown] ([unknown])")) == [("runtime:goexit",)]
    assert stacks(sample("7ffc [unknown] ([unknown])")) == [(f"[unknown]:{UNNAMED}",)]
    assert stacks(sample()) == [(f"[unknown]:{UNNAMED}",)]


def test_threads_with_the_name_of_the_first_are_one() -> None:
    frame = "1001 [unknown] (/opt/s5cmd)"
    text = "".join(sample(frame, thread=thread) for thread in ("s5cmd 7/7", "s5cmd 7/9", "cgo thread 7/8"))
    assert {thread: count for (thread, _), count in parsed(text).items()} == {MAIN_THREAD: 2, "cgo thread": 1}


def test_another_program_in_the_same_process_is_in_its_first_thread() -> None:
    frame = "1001 [unknown] (/opt/s5cmd)"
    text = "".join(sample(frame, thread=thread) for thread in ("sh 7/7", "s5cmd 7/7", "s5cmd 7/8", "child 9/9"))
    assert {thread for thread, _ in parsed(text)} == {MAIN_THREAD, "child"}


def test_a_sample_at_the_end_needs_no_empty_line() -> None:
    assert stacks(sample("1001 [unknown] (/opt/s5cmd)").rstrip()) == [("runtime:goexit",)]


def test_what_cannot_be_read_is_left_out() -> None:
    text = "# captured on\n\nhello\n\n" + sample("1001 [unknown] (/opt/s5cmd)", "what?", "zz x (y)")
    assert stacks(text) == [("runtime:goexit",)]


def test_a_line_without_an_end_does_not_take_long() -> None:
    assert stacks(sample("1001 [unknown] (/opt/s5cmd)", "1 f" + " (/" * 1_000_000)) == [("runtime:goexit",)]


_THREADS = ("s5cmd 7/7 ", " 1/", "x 99999999999/1", "")
_FRAMES = ("\t1001 [unknown] (/opt/s5cmd)", "\tffffffffffffffff f ([k])", "\t(", "\t0 a ()")
_PIECES = st.sampled_from((*_THREADS, *_FRAMES))


@given(text=st.text() | st.lists(_PIECES | st.text(max_size=20), max_size=30).map("\n".join))
def test_any_text_is_read(text: str) -> None:
    for (thread, frames), count in parsed(text).items():
        assert thread
        assert frames
        assert all(frame.module or frame.function for frame in frames)
        assert count > 0
