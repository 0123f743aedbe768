"""Lines of JSON that a campaign appends to a file, so that it can be interrupted and continued.

A line that was cut off, as by a kill or a full disk, is no line: it is not read, and the next one takes its place.
"""

from pathlib import Path
from typing import Any, TypeVar

import msgspec

_Line = TypeVar("_Line")


def read(file: Path) -> list[dict[str, Any]]:
    """The lines that are there so far; none where there is no file."""
    return read_as(dict[str, Any], file)


def read_as(kind: type[_Line], file: Path) -> list[_Line]:
    """As `read`, each line as a `kind`."""
    lines = file.read_bytes().splitlines(keepends=True) if file.exists() else []
    return [msgspec.json.decode(line, type=kind) for line in lines if line.endswith(b"\n")]


def append(file: Path, line: object) -> None:
    """Append one line. The file and its directory are made where they are missing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a+b") as out:
        out.seek(0)
        out.truncate(out.read().rfind(b"\n") + 1)
        out.write(msgspec.json.encode(line, enc_hook=float) + b"\n")  # a number of NumPy's is one
