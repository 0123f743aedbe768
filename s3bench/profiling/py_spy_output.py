"""Reads what py-spy wrote (its format `raw`): a stack and its number of samples on each line.

`thread (71): MainThread;<module> (/x/site-packages/botocore/session.py:30);_find (<frozen importlib._bootstrap>:9) 4`

With its option `--native`, functions of libraries in C stand among them, by their source file or else by their library:
`RAND_bytes (rand.c:625)`, `0x7f08be0ac057 (libc.so.6)`. Their module is that file's name.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from s3bench.profiling.stack_profile import MAIN_THREAD, OWN_MODULE, UNNAMED, Frame, Sampled

_LINE = re.compile(r"thread \((\w+)\)(?:: ([^;]*))?(?:;(.*))? (\d+)")
_FRAME = re.compile(r"(.+?) \((.*?)(?::(\d+))?\)", re.DOTALL)
_FRAME_END = re.compile(r".+ \(.*\)", re.DOTALL)
_FROZEN = re.compile(r"<frozen (.+)>")
_INSTALLED = re.compile(r".*/(?:site|dist)-packages/")
_STANDARD_LIBRARY = re.compile(r".*/lib(?:64)?/python\d+\.\d+/(?:lib-dynload/)?")
_NATIVE = re.compile(r"\.(?:c|cc|cpp|cxx|h|hpp|inl|rs|s|S)$|\.so(?:[.\d]|$)")
_ADDRESS = re.compile(r"0x[0-9a-f]+")
_INIT = "__init__"

Samples = Mapping[tuple[str, tuple[Frame, ...]], int]
"""The number of samples of each thread and stack, the outermost frame first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PySpySamples:
    """The samples of one run, and how many lines could not be read."""

    samples: Samples
    malformed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRoots:
    """Directories that modules are imported from; frames below one of `own` are ours."""

    directories: tuple[str, ...] = ()
    own: tuple[str, ...] = ()


def parse_py_spy(text: str, *, sampled: Sampled, roots: ImportRoots) -> PySpySamples:
    """Read the samples of one run; of wall time, those of the main thread alone."""
    lines, malformed = [], 0
    for line in text.splitlines():
        found = _LINE.fullmatch(line)
        frames = None if found is None else _frames(found[3] or "", roots)
        if found is None or frames is None:
            malformed += bool(line.strip())
            continue
        lines.append((found[1], found[2] or "", frames, int(found[4])))
    main = _main_thread([(identity, name) for identity, name, _, _ in lines])
    counts: Counter[tuple[str, tuple[Frame, ...]]] = Counter()
    for identity, name, frames, count in lines:
        if identity == main or sampled is Sampled.CPU_TIME:
            counts[MAIN_THREAD if identity == main else name or f"thread {identity}", frames] += count
    return PySpySamples(samples=counts, malformed=malformed)


def unrooted_files(text: str) -> frozenset[str]:
    """The files with absolute paths in py-spy's output that are in no directory of installed packages."""
    places = (found[2] for line in text.splitlines() for part in line.split(";") if (found := _FRAME.search(part)))
    return frozenset(place for place in places if place.startswith("/") and _installed(place) is None)


def _main_thread(threads: Iterable[tuple[str, str]]) -> str | None:
    """The thread that is called so; it has no name until the client imports `threading`, and starts first."""
    identities = {}
    for identity, name in threads:
        if name == MAIN_THREAD:
            return identity
        identities[identity] = int(identity) if identity.isdigit() else 0
    return min(identities, key=lambda identity: identities[identity], default=None)


def _frames(text: str, roots: ImportRoots) -> tuple[Frame, ...] | None:
    frames = []
    for part in _parts(text):
        found = _FRAME.fullmatch(part)
        if found is None:
            return None
        frames.append(_frame(found[1], found[2], int(found[3] or 0), roots))
    return tuple(frames)


def _parts(text: str) -> Sequence[str]:
    """Split at semicolons, but not within a file's name."""
    parts: list[str] = []
    pending = ""
    for piece in text.split(";") if text else ():
        pending = f"{pending};{piece}" if pending else piece
        if _FRAME_END.fullmatch(pending):
            parts.append(pending)
            pending = ""
    return [*parts, pending] if pending else parts


@lru_cache(maxsize=100_000)
def _frame(function: str, path: str, line: int, roots: ImportRoots) -> Frame:
    if any(_below(path, own) is not None for own in roots.own):
        return Frame(module=OWN_MODULE, function=function, file=PurePosixPath(path).name, line=line)
    frozen = _FROZEN.fullmatch(path)
    if frozen:
        return Frame(module=frozen[1], function=function, line=line)
    if path.startswith("<"):  # code from text: <string>, <stdin>
        return Frame(module=path, function=function, line=line)
    if _NATIVE.search(path):
        name = PurePosixPath(path).name
        return Frame(module=name, function=_ADDRESS.sub(UNNAMED, function), file=path, line=line)
    file = _file(path, roots)
    return Frame(module=module_name(file), function=function, file=file, line=line)


def module_name(file: str) -> str:
    """The name that an import statement takes of a file below an import root: `x.y` of `x/y.py`."""
    parts = PurePosixPath(file).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == _INIT else parts) or file


def _file(path: str, roots: ImportRoots) -> str:
    if not path.startswith("/"):
        return path
    below = [rest for root in roots.directories if (rest := _below(path, root)) is not None]
    return min(below, key=len, default=None) or _installed(path) or PurePosixPath(path).name


def _installed(path: str) -> str | None:
    """What follows the directory of installed packages or of the standard library."""
    found = _INSTALLED.match(path) or _STANDARD_LIBRARY.match(path)
    return path[found.end() :] or None if found else None


def _below(path: str, root: str) -> str | None:
    prefix = root.rstrip("/") + "/"
    return path[len(prefix) :] or None if path.startswith(prefix) else None
