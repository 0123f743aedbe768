"""Reads key files, which list objects that are not ours: a key a line, with size and checksum where they are known.

The format is `KEY[<tab>SIZE[<tab>CRC32]]`: UTF-8, the size in bytes, the CRC-32 in eight hexadecimal digits.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from s3bench.errors import BadInput
from s3bench.load.profile.sizes import SIZE_BYTES_MAX

KEY_BYTES_MAX = 1024
"""S3's longest key in UTF-8 (https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html)."""

_RIGHT = "write KEY, KEY<tab>SIZE or KEY<tab>SIZE<tab>CRC32, the size in bytes, the CRC-32 as 8 hexadecimal digits"
_SIZE = re.compile(r"[0-9]{1,13}", re.ASCII)
_CRC32 = re.compile(r"[0-9A-Fa-f]{8}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Listed:
    """One object of a key file; `None` is what the file does not say."""

    key: str
    size_bytes: int | None = None
    crc32: int | None = None


def read_key_file(path: str) -> tuple[Listed, ...]:
    """Read the objects in the file at `path`, in its order; raises `BadInput` with the line where one is wrong."""
    try:
        contents = Path(path).read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: the key file cannot be read", error.strerror or str(error)) from error
    return parse_key_lines(contents, path)


def parse_key_lines(contents: bytes, source: str) -> tuple[Listed, ...]:
    """Read the objects in a key file's `contents`; `source` is its name in errors."""
    lines = contents.removesuffix(b"\n").split(b"\n") if contents else []
    if not lines:
        raise BadInput(f"{source}: the key file is empty", fix=_RIGHT)
    return tuple(_parse_lines(lines, source))


def _parse_lines(lines: Iterable[bytes], source: str) -> Iterable[Listed]:
    for number, line in enumerate(lines, 1):
        try:
            yield _parse_line(line.removesuffix(b"\r"))
        except ValueError as error:
            why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
            raise BadInput(f"{source}, line {number}: no object", why, _RIGHT) from error


def _parse_line(line: bytes) -> Listed:
    key, *facts = line.decode().split("\t")
    if not key:
        raise ValueError("the key is empty")
    if len(key.encode()) > KEY_BYTES_MAX:
        raise ValueError(f"the key has {len(key.encode()):,} bytes; S3 allows {KEY_BYTES_MAX:,}")
    if len(facts) > 2:  # noqa: PLR2004 (size and checksum)
        raise ValueError(f"there are {1 + len(facts)} fields")
    size, crc32 = (*facts, "", "")[:2]
    if facts and not (_SIZE.fullmatch(size) and int(size) <= SIZE_BYTES_MAX):
        raise ValueError(f"{size!r} is not a size of an object in bytes")
    if len(facts) == 2 and not _CRC32.fullmatch(crc32):  # noqa: PLR2004 (size and checksum)
        raise ValueError(f"{crc32!r} is not a CRC-32")
    return Listed(key, int(size) if size else None, int(crc32, 16) if crc32 else None)
