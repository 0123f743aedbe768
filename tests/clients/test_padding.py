"""Padding: the count agrees with what the kernel does to real processes, and comes out equal for unequal launches."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.clients.interpreter import script_words
from s3bench.clients.padding import PADDING, common_size, pad, stack_bytes, stack_entries
from s3bench.errors import MachineError

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own figures are in /proc")
STAT = "/proc/self/stat"
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
NAMES = WORDS.filter(lambda name: name and "=" not in name and not name.startswith(PADDING))


def a_program(folder: Path) -> Path:
    """A program at a path of its own that prints what the kernel knows about itself."""
    folder.mkdir(parents=True)
    program = folder / "cat"
    program.symlink_to(shutil.which("cat") or "/bin/cat")
    return program


def a_script(folder: Path, first_line: str) -> Path:
    folder.mkdir(parents=True)
    script = folder / "script"
    script.write_text(f'{first_line}\nread -r line < {STAT}\necho "$line"\n')
    script.chmod(0o755)
    return script


def layout(argv: Sequence[str], env: Mapping[str, str], *, setarch: str = "") -> dict[str, int]:
    """Run a process that reports where its stack, its arguments and its environment are (proc(5), fields 28, 48-51)."""
    command = [setarch, "-R", *argv] if setarch else list(argv)
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=True)
    fields = done.stdout.rpartition(")")[2].split()
    places = {"stack": 28, "arg_start": 48, "arg_end": 49, "env_start": 50, "env_end": 51}
    return {name: int(fields[number - 3]) for name, number in places.items()}


@needs_linux
@pytest.mark.parametrize("first_line", ["", "#!/bin/sh", "#! /bin/sh -e "])
def test_the_count_is_the_kernels(first_line: str, tmp_path: Path) -> None:
    program = a_script(tmp_path / "x", first_line) if first_line else a_program(tmp_path / "x")
    argv = [str(program), *([] if first_line else [STAT])]
    script = script_words(program)
    env = {"ONE": "1", "UMLAUT": "ä", "EMPTY": ""}
    found = layout(argv, env)
    # The executed path stands alone above the environment; the count includes a padding variable even without one.
    above_bytes = len(str(program)) + 1
    padding_bytes = len(PADDING) + 2
    kernel_bytes = found["env_end"] - found["arg_start"] + above_bytes + padding_bytes
    assert stack_bytes(argv, env, script=script) == kernel_bytes


@needs_linux
def test_programs_at_paths_of_unequal_length_get_an_equal_stack(tmp_path: Path) -> None:
    setarch = shutil.which("setarch")
    if setarch is None or subprocess.run([setarch, "-R", "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs `setarch -R`, which is missing or not permitted")
    found = []
    for folder, env in (("a", {"X": "1"}), ("a/much/longer/path/than/the/first", {"X": "1", "PYTHONPATH": "/y" * 30})):
        argv = [str(a_program(tmp_path / folder)), STAT]
        found.append(layout(argv, pad(argv, env, size_bytes=8192, entries=9), setarch=setarch))
    assert found[0]["stack"] == found[1]["stack"]
    assert found[0]["arg_start"] == found[1]["arg_start"]


@needs_linux
def test_a_script_and_a_program_get_an_equal_stack(tmp_path: Path) -> None:
    program, script = a_program(tmp_path / "a"), a_script(tmp_path / "further", "#!/bin/sh -e")
    totals = []
    for path, argv in ((program, [str(program), STAT]), (script, [str(script)])):
        found = layout(argv, pad(argv, {}, size_bytes=4096, script=script_words(path)))
        totals.append(found["env_end"] - found["arg_start"] + len(str(path)))
    assert totals[0] == totals[1] == 4095


@given(
    argv=st.lists(WORDS, min_size=1, max_size=4),
    env=st.dictionaries(NAMES, WORDS, max_size=4),
    spare=st.integers(0, 999),
)
def test_a_padded_launch_has_the_size_and_the_entries_asked_for(
    argv: list[str], env: dict[str, str], spare: int
) -> None:
    size_bytes = stack_bytes(argv, env) + 100 + spare
    padded = pad(argv, env, size_bytes=size_bytes, entries=stack_entries(argv, env) + 3)
    assert stack_bytes(argv, padded) == size_bytes
    assert stack_entries(argv, padded) == stack_entries(argv, env) + 3
    assert {name: padded[name] for name in env} == env


def test_padding_again_replaces_the_padding() -> None:
    once = pad(["/a"], {"X": "1"}, size_bytes=4096, entries=9)
    assert pad(["/a"], once, size_bytes=4096, entries=9) == once
    assert stack_bytes(["/a"], pad(["/a"], once, size_bytes=200)) == 200


def test_an_environment_that_is_full_to_the_byte_gets_an_empty_padding() -> None:
    env = {"X": "1"}
    size_bytes = stack_bytes(["/a"], env)
    assert pad(["/a"], env, size_bytes=size_bytes) == {"X": "1", PADDING: ""}
    with pytest.raises(MachineError) as caught:
        pad(["/a"], env, size_bytes=size_bytes - 1)
    assert f"{size_bytes} bytes of {size_bytes - 1}" in caught.value.why


def test_too_many_strings_do_not_fit() -> None:
    with pytest.raises(MachineError, match="cannot be started") as caught:
        pad(["/a", "b"], {"X": "1"}, size_bytes=4096, entries=3)
    assert "4 strings of 3" in caught.value.why


def test_a_padding_as_long_as_execve_takes_is_taken_and_a_longer_one_refused() -> None:
    cat = shutil.which("cat") or "/bin/cat"
    argv = [cat, os.devnull]
    size_bytes = stack_bytes(argv, {}) + 32 * 4096 - len(PADDING) - 2
    subprocess.run(argv, env=pad(argv, {}, size_bytes=size_bytes), timeout=60, check=True)
    with pytest.raises(MachineError, match="cannot be filled up"):
        pad(argv, {}, size_bytes=size_bytes + 1)


def test_the_common_size_is_whole_pages_with_at_least_one_to_spare() -> None:
    assert common_size(10, 4095, 300) == 8192
    assert common_size(4096) == 12288
