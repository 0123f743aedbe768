"""Makes the smallest programs in Go that have a table of functions."""

import struct
from collections.abc import Sequence

GO_1_16, GO_1_18, GO_1_20 = 0xFFFFFFFA, 0xFFFFFFF0, 0xFFFFFFF1
FUNCTION_BYTES = 0x40
TEXT_AT = 0x1000
"""The offset of the code in the file."""


def line_table(magic: int, names: Sequence[str], *, text_address: int, has_text_address: bool = True) -> bytes:
    """A `.gopclntab` whose functions follow each other, each of `FUNCTION_BYTES`."""
    has_offsets = magic != GO_1_16
    entry, first, words = ("<I", 0, 8) if has_offsets else ("<Q", text_address, 7)
    size = struct.calcsize(entry)
    texts = b"".join(name.encode() + b"\0" for name in names)
    names_at = 8 + 8 * words
    functions_at = names_at + len(texts)
    records_at = (2 * len(names) + 1) * size
    table, records, name_at = b"", b"", 0
    for number, name in enumerate(names):
        address = first + number * FUNCTION_BYTES
        table += struct.pack(entry, address) + struct.pack(entry, records_at + len(records))
        records += struct.pack(entry, address) + struct.pack("<I", name_at)
        name_at += len(name.encode()) + 1
    table += struct.pack(entry, first + len(names) * FUNCTION_BYTES)
    text = (text_address if has_text_address else 0,) if has_offsets else ()
    header = (len(names), 0, *text, names_at, 0, 0, 0, functions_at)
    return struct.pack("<IHBB", magic, 0, 1, 8) + struct.pack(f"<{words}Q", *header) + texts + table + records


def elf(table: bytes, *, text_address: int, entry: int = 0, section: bytes = b".gopclntab") -> bytes:
    """An ELF file of 64 bits: a segment of code at `TEXT_AT`, and the table."""
    code = bytes(0x1000)
    names = b"\0.text\0" + section + b"\0.shstrtab\0"
    table_at = TEXT_AT + len(code)
    names_at = table_at + len(table)
    sections_at = names_at + len(names)
    segment = struct.pack("<IIQQQQQQ", 1, 5, TEXT_AT, text_address, text_address, len(code), len(code), 0x1000)

    def row(name: bytes, address: int, offset: int, size: int) -> bytes:
        return struct.pack("<IIQQQQIIQQ", names.index(name + b"\0"), 1, 0, address, offset, size, 0, 0, 1, 0)

    sections = bytes(64) + row(b".text", text_address, TEXT_AT, len(code)) + row(section, 0, table_at, len(table))
    sections += row(b".shstrtab", 0, names_at, len(names))
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, entry, 64, sections_at, 0, 64, 56, 1, 64, 4, 3)
    return (header + segment).ljust(TEXT_AT, b"\0") + code + table + names + sections
