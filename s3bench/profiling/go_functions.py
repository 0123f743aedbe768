"""Names the functions of a program in Go by their addresses, also of one that is stripped of its symbols.

Go's runtime needs the table itself, to show stacks: the section `.gopclntab`. Its layout is that of Go's
src/debug/gosym/pclntab.go (`parsePclnTab`), which Go 1.16, 1.18 and 1.20 changed. What was inlined counts to the
function that it was inlined into. Nothing in a file is trusted: one that is broken, or not of 64 bits, has no names.

Since Go 1.18 the functions' addresses count from the start of Go's code, which the table had until Go 1.25. Later it is
the start of the section `.text`, unless a C linker has put other code there: such a program, stripped, has no names.
"""

import os
import stat
import struct
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

_ELF = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_HEADER = struct.Struct("<24x Q Q Q 6x H H H H H")
_SEGMENT = struct.Struct("<I I Q Q 8x Q 8x 8x")
_SECTION = struct.Struct("<I I 8x Q Q Q 4x 4x 8x 8x")
_LOAD, _EXECUTABLE = 1, 1
_TABLES = (b".gopclntab", b".data.rel.ro.gopclntab")
_TEXT = b".text"
_ENTRY = "_rt0_"
"""What the names of Go's own entry points begin with, where a program starts that Go's linker made."""
_TABLE_BYTES_MAX = 256 << 20
_NAME_BYTES_MAX = 4096
_POINTER_BYTES = 8
_FIXED_BYTES = 8
_WORDS_OF: Mapping[int, int] = MappingProxyType({0xFFFFFFFA: 7, 0xFFFFFFF0: 8, 0xFFFFFFF1: 8})
"""The number of words in the table's header, by its magic number: Go 1.16, 1.18 and 1.20."""

_Row = tuple[int, int, int, int, int]
"""Of a section: its name's place, its type, its address, its offset and its size. Of a segment: its type, its flags,
its offset, its address and its size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineTable:
    """The functions of a `.gopclntab`, whose addresses count from `text_address`; 0 where it does not say."""

    data: bytes
    count: int
    text_address: int
    names_at: int
    functions_at: int
    entry_bytes: int

    def name(self, address: int) -> str | None:
        """The name of the function that has the instruction at a virtual address."""
        try:
            number = bisect_right(range(self.count), address, key=self._entry) - 1
            if number < 0 or address >= self._entry(self.count):
                return None
            return self._name(number)
        except (struct.error, ValueError):
            return None

    def _entry(self, number: int) -> int:
        return self.text_address + self._word(self.functions_at + 2 * number * self.entry_bytes)

    def _name(self, number: int) -> str | None:
        function = self.functions_at + self._word(self.functions_at + (2 * number + 1) * self.entry_bytes)
        [offset] = struct.unpack_from("<I", self.data, function + self.entry_bytes)
        start = self.names_at + offset
        end = self.data.find(b"\0", start, start + _NAME_BYTES_MAX)
        return self.data[start:end].decode("utf-8", "backslashreplace") or None if end > start else None

    def _word(self, at: int) -> int:
        word: int = struct.unpack_from("<I" if self.entry_bytes < _POINTER_BYTES else "<Q", self.data, at)[0]
        return word


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeSegment:
    """Bytes of a file that are executed: where they are in the file, and in memory."""

    offset: int
    address: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GoFunctions:
    """The functions of one program."""

    table: LineTable
    segments: tuple[CodeSegment, ...]

    @property
    def first_address(self) -> int:
        """The lowest virtual address of code, as the program was linked."""
        return min((segment.address for segment in self.segments), default=0)

    def name(self, address: int) -> str | None:
        """The function at a virtual address, as the program was linked."""
        return self.table.name(address)

    def name_in_file(self, offset: int) -> str | None:
        """The function at an offset in the file."""
        for segment in self.segments:
            if segment.offset <= offset < segment.offset + segment.size:
                return self.table.name(offset - segment.offset + segment.address)
        return None


def read_go_functions(path: Path) -> GoFunctions | None:
    """Read the functions of a program; `None` if it is not one in Go, or cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:  # noqa: PTH123 (a descriptor, which does not wait for a pipe's other end)
            return parse_go_functions(file) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except (OSError, ValueError):
        return None


def parse_go_functions(file: BinaryIO) -> GoFunctions | None:
    """Find the table in an ELF file; `None` without one, and where the file is broken."""
    try:
        return _go_functions(file)
    except (struct.error, ValueError, OverflowError):
        return None


def parse_line_table(data: bytes) -> LineTable | None:
    """Read the table's header; `None` where it is broken or of another version."""
    try:
        magic, zero, _, pointer_bytes = struct.unpack_from("<IHBB", data)
        count_of_words = _WORDS_OF.get(magic)
        if count_of_words is None or zero or pointer_bytes != _POINTER_BYTES:
            return None
        words = struct.unpack_from(f"<{count_of_words}Q", data, _FIXED_BYTES)
    except struct.error:
        return None
    has_offsets = count_of_words == max(_WORDS_OF.values())
    names_at = words[3] if has_offsets else words[2]
    entry_bytes = 4 if has_offsets else _POINTER_BYTES
    count, functions_at = words[0], words[-1]
    if names_at > len(data) or functions_at + (2 * count + 1) * entry_bytes > len(data):
        return None
    return LineTable(
        data=data,
        count=count,
        text_address=words[2] if has_offsets else 0,
        names_at=names_at,
        functions_at=functions_at,
        entry_bytes=entry_bytes,
    )


def _go_functions(file: BinaryIO) -> GoFunctions | None:
    header = _read(file, 0, _HEADER.size)
    if not header.startswith(_ELF):
        return None
    entry, segments_at, sections_at, *counts, names = _HEADER.unpack(header)
    segment_bytes, segment_count, section_bytes, section_count = counts
    sections = _named_sections(_rows(file, sections_at, section_bytes, section_count, _SECTION), names, file)
    place = next((sections[name] for name in _TABLES if name in sections), None)
    found = None if place is None else parse_line_table(_read(file, place[3], place[4]))
    if found is None:
        return None
    if not found.text_address:
        is_offset = found.entry_bytes < _POINTER_BYTES
        found = replace(found, text_address=sections[_TEXT][2] if is_offset and _TEXT in sections else 0)
        if not (found.name(entry) or "").startswith(_ENTRY):
            return None
    segments = (
        CodeSegment(offset=offset, address=address, size=size)
        for kind, flags, offset, address, size in _rows(file, segments_at, segment_bytes, segment_count, _SEGMENT)
        if kind == _LOAD and flags & _EXECUTABLE
    )
    return GoFunctions(table=found, segments=tuple(segments))


def _named_sections(rows: Sequence[_Row], names: int, file: BinaryIO) -> Mapping[bytes, _Row]:
    """The sections by their names, which are in the section of number `names`."""
    if names >= len(rows):
        return {}
    strings = _read(file, rows[names][3], rows[names][4])
    return {strings[row[0] : strings.find(b"\0", row[0])]: row for row in rows}


def _rows(file: BinaryIO, at: int, row_bytes: int, count: int, layout: struct.Struct) -> Sequence[_Row]:
    data = _read(file, at, row_bytes * count)
    return [layout.unpack_from(data, number * row_bytes) for number in range(count)]


def _read(file: BinaryIO, at: int, size: int) -> bytes:
    """So many bytes. Raises `ValueError` where the file ends before."""
    if size > _TABLE_BYTES_MAX:
        raise ValueError(size)
    file.seek(at)
    data = file.read(size)
    if len(data) < size:
        raise ValueError(size)
    return data
