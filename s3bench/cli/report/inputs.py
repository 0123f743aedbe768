"""Reads the files of `s3bench report`, recognised by what they hold: results, records of gates, studies and so on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from s3bench.bisect.record import BisectRecord, parse_bisect
from s3bench.errors import BadInput
from s3bench.gate.record import GateRecord, parse_record
from s3bench.profiling.record import ProfileRecord, parse_profile
from s3bench.results.decoding import decode
from s3bench.results.document import Document
from s3bench.results.file import read_whole
from s3bench.results.foreign import read_any
from s3bench.spec.reader import one_of
from s3bench.spec.selection import parse_selection
from s3bench.tune.study import Study, parse_study

_NAMED_MAX = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The files by what they are, in the order in which they were given, with short names that are unique."""

    documents: tuple[tuple[str, Document], ...]
    gates: tuple[tuple[str, GateRecord], ...]
    studies: tuple[tuple[str, Study], ...]
    bisections: tuple[tuple[str, BisectRecord], ...] = ()
    profiles: tuple[tuple[str, ProfileRecord], ...] = ()


class _Head(msgspec.Struct, frozen=True):
    """The keys by which our files are distinguished."""

    gate_version: Any = None
    study_version: Any = None
    bisect_version: Any = None
    profile_version: Any = None


def read_inputs(files: Sequence[Path], *, benchmarks: str = "") -> Inputs:
    """Read the files, of results the `benchmarks` that the expression picks. Raises `BadInput` saying what is wrong."""
    documents, gates, studies, bisections, profiles = [], [], [], [], []
    for file, name in zip(files, _names(files), strict=True):
        source, content = (
            str(file),
            read_whole(file, of="a results document, a record of a gate, a bisection or a profile, or a study"),
        )
        if _head(content).gate_version is not None:
            record = parse_record(content, source=source)
            gates.append((name, record if record.conclusion is not None else record.concluded()))
        elif _head(content).bisect_version is not None:
            bisections.append((name, parse_bisect(content, source=source)))
        elif _head(content).profile_version is not None:
            profiles.append((name, parse_profile(content, source=source)))
        elif _head(content.partition(b"\n")[0]).study_version is not None:
            studies.append((name, parse_study(content, source=source)))
        else:
            documents.append((name, read_any(content, source=source)))
    return Inputs(
        documents=narrowed(documents, benchmarks),
        gates=tuple(gates),
        studies=tuple(studies),
        bisections=tuple(bisections),
        profiles=tuple(profiles),
    )


def narrowed(documents: Sequence[tuple[str, Document]], benchmarks: str) -> tuple[tuple[str, Document], ...]:
    """The documents with the results that the expression picks. Raises `BadInput` where it picks none of any."""
    if not benchmarks:
        return tuple(documents)
    selection = parse_selection(benchmarks)
    kept = tuple((name, document.selected(selection.picks)) for name, document in documents)
    if documents and not any(document.results for _, document in kept):
        names = sorted({result.name for _, document in documents for result in document.results})
        raise BadInput(f"-k {benchmarks}: no benchmark is selected", fix=f"there are {one_of(names[:_NAMED_MAX])}")
    return kept


def _names(files: Sequence[Path]) -> list[str]:
    """The last part of each path; the whole paths where two have the same."""
    names = [file.name for file in files]
    return names if len(set(names)) == len(names) else [str(file) for file in files]


def _head(content: bytes) -> _Head:
    try:
        return decode(content, _Head)
    except msgspec.DecodeError:
        return _Head()
