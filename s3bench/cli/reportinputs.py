"""What `s3bench report` makes a page of, recognised by what the files hold: results, gates, studies."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from s3bench.results.document import Document
from s3bench.results.file import read_whole
from s3bench.results.foreign import read_any
from s3bench.tune.study import Study, parse_study
from s3bench.verdict.record import GateRecord, parse_record


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The files by what they are, in the order in which they were given, with short names that tell them apart."""

    documents: tuple[tuple[str, Document], ...]
    gates: tuple[tuple[str, GateRecord], ...]
    studies: tuple[tuple[str, Study], ...]


class _Head(msgspec.Struct, frozen=True):
    """The keys by which our files are told apart."""

    gate_version: Any = None
    study_version: Any = None


def read_inputs(files: Sequence[Path]) -> Inputs:
    """Read the files. Raises `BadInput` saying what is wrong with one."""
    documents, gates, studies = [], [], []
    for file, name in zip(files, _names(files), strict=True):
        source, content = str(file), read_whole(file, of="a results document, a gate's record or a study")
        if _head(content).gate_version is not None:
            record = parse_record(content, source=source)
            gates.append((name, record if record.conclusion is not None else record.concluded()))
        elif _head(content.partition(b"\n")[0]).study_version is not None:
            studies.append((name, parse_study(content, source=source)))
        else:
            documents.append((name, read_any(content, source=source)))
    return Inputs(documents=tuple(documents), gates=tuple(gates), studies=tuple(studies))


def _names(files: Sequence[Path]) -> list[str]:
    """The last part of each path; the whole paths where two have the same."""
    names = [file.name for file in files]
    return names if len(set(names)) == len(names) else [str(file) for file in files]


def _head(content: bytes) -> _Head:
    try:
        return msgspec.json.decode(content, type=_Head)
    except msgspec.DecodeError:
        return _Head()
