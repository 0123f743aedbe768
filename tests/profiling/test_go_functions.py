"""Functions of programs in Go by their addresses."""

import os
import re
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.clients.client import ClientSpec
from s3bench.clients.finding import find_client
from s3bench.clients.store import ClientStore
from s3bench.errors import ClientNotFound
from s3bench.profiling.go_functions import GoFunctions, parse_go_functions, read_go_functions
from tests.profiling.go_program import FUNCTION_BYTES, GO_1_16, GO_1_18, GO_1_20, TEXT_AT, elf, line_table

NAMES = ("_rt0_amd64_linux", "runtime.goexit", "main.main", "github.com/peak/s5cmd/v2/command.(*Copy).Run")
ADDRESS = 0x401000


def program(magic: int = GO_1_20, *, has_text_address: bool = True, entry: int = ADDRESS) -> bytes:
    table = line_table(magic, NAMES, text_address=ADDRESS, has_text_address=has_text_address)
    return elf(table, text_address=ADDRESS, entry=entry)


def functions(data: bytes) -> GoFunctions:
    found = parse_go_functions(BytesIO(data))
    assert found is not None
    return found


@pytest.mark.parametrize("magic", [GO_1_16, GO_1_18, GO_1_20])
def test_an_instruction_has_the_name_of_its_function(magic: int) -> None:
    found = functions(program(magic))
    for number, name in enumerate(NAMES):
        start = number * FUNCTION_BYTES
        assert found.name(ADDRESS + start) == found.name(ADDRESS + start + FUNCTION_BYTES - 1) == name
        assert found.name_in_file(TEXT_AT + start) == name


@pytest.mark.parametrize("address", [0, ADDRESS - 1, ADDRESS + len(NAMES) * FUNCTION_BYTES, 1 << 63])
def test_what_is_outside_of_all_functions_has_no_name(address: int) -> None:
    assert functions(program()).name(address) is None


def test_what_is_outside_of_the_code_in_the_file_has_no_name() -> None:
    found = functions(program())
    assert found.name_in_file(TEXT_AT - 1) is None
    assert found.name_in_file(TEXT_AT + 0x1000) is None


def test_a_table_without_an_address_counts_from_the_code_if_go_linked_the_program() -> None:
    assert functions(program(has_text_address=False)).name(ADDRESS + 2 * FUNCTION_BYTES) == "main.main"
    linked_by_c = program(has_text_address=False, entry=ADDRESS + FUNCTION_BYTES)
    assert parse_go_functions(BytesIO(linked_by_c)) is None, "all names would be those of other functions"


def test_the_table_of_a_position_independent_program_has_another_name() -> None:
    table = line_table(GO_1_18, NAMES, text_address=ADDRESS)
    data = elf(table, text_address=ADDRESS, section=b".data.rel.ro.gopclntab")
    assert functions(data).name(ADDRESS) == NAMES[0]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"#!/bin/sh\n",
        program()[:100],
        program()[:-1],
        elf(b"", text_address=ADDRESS),
        elf(line_table(0xFFFFFFFB, NAMES, text_address=ADDRESS), text_address=ADDRESS),
        elf(line_table(GO_1_20, NAMES, text_address=ADDRESS)[:90], text_address=ADDRESS),
        elf(line_table(GO_1_20, NAMES, text_address=ADDRESS), text_address=ADDRESS, section=b".debug_line"),
    ],
)
def test_what_is_no_program_in_go_or_cut_short_has_no_functions(data: bytes) -> None:
    assert parse_go_functions(BytesIO(data)) is None


@given(
    changes=st.lists(
        st.tuples(st.integers(0, len(program()) - 1) | st.integers(0, 120), st.binary(min_size=1, max_size=8)),
        min_size=1,
        max_size=8,
    ),
    address=st.integers(0, (1 << 64) - 1) | st.integers(ADDRESS, ADDRESS + 0x200),
    magic=st.sampled_from([GO_1_16, GO_1_20]),
)
def test_a_broken_file_has_wrong_names_at_worst(changes: list[tuple[int, bytes]], address: int, magic: int) -> None:
    data = bytearray(program(magic))
    for place, new in changes:
        data[place : place + len(new)] = new
    found = parse_go_functions(BytesIO(bytes(data)))
    if found is not None:
        names = (found.name(address), found.name_in_file(address))
        assert all(name is None or name for name in names)


@given(changes=st.lists(st.tuples(st.integers(0, 200), st.binary(min_size=1, max_size=8)), max_size=6))
def test_a_broken_table_has_wrong_names_at_worst(changes: list[tuple[int, bytes]]) -> None:
    table = bytearray(line_table(GO_1_20, NAMES, text_address=ADDRESS))
    for place, new in changes:
        table[place : place + len(new)] = new
    found = parse_go_functions(BytesIO(elf(bytes(table), text_address=ADDRESS, entry=ADDRESS)))
    if found is not None:
        assert all(found.name(ADDRESS + number) != "" for number in range(0, 0x200, 16))


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read_go_functions(tmp_path / "pipe") is None
    assert read_go_functions(tmp_path) is None
    assert read_go_functions(tmp_path / "missing") is None


def test_the_real_s5cmd_has_its_functions() -> None:
    try:
        s5cmd = find_client(ClientSpec(kind="s5cmd"), ClientStore.from_environment(os.environ)).executable
    except ClientNotFound as error:
        pytest.skip(f"s5cmd is not installed: {error}")
    found = read_go_functions(s5cmd)
    assert found is not None
    (segment,) = found.segments
    starts = (found.table._entry(number) - segment.address for number in range(found.table.count))
    names = {found.name_in_file(segment.offset + start) for start in starts}
    assert "main.main" in names
    assert "runtime.goexit" in names
    assert any(name and re.fullmatch(r"github\.com/peak/s5cmd/v2/command\.\(?\*?Copy\)?\.Run", name) for name in names)
