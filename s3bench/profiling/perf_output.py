"""Reads what perf wrote (`perf script -F comm,pid,tid,ip,sym,dso`): of each sample, its thread and its stack.

    s5cmd 14950/14953
            ffffffff815e6e79 do_fault ([kernel.kallsyms])
                       3f4c5 [unknown] (/opt/s5cmd)

The innermost frame is the first. Addresses of a file are offsets in it (perf of Linux 5.17 and later), or those at
which the program was linked. A caller's address is that of the instruction behind the call.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path, PurePosixPath

from s3bench.profiling.go_functions import GoFunctions, read_go_functions
from s3bench.profiling.py_spy_output import Samples
from s3bench.profiling.stack_profile import MAIN_THREAD, UNNAMED, Frame

KERNEL = "[kernel]"
"""The module of all functions of the kernel and of its modules."""

_THREAD = re.compile(r"(\S.*?) +(\d{1,10})/(\d{1,10})\s*")
_FRAME = re.compile(r"\s+([0-9a-f]{1,16}) (\[unknown\]|.*?\S) \((/.*|\[.*|[^()]*)\)\s*")
_UNKNOWN = "[unknown]"
_LINE_CHARACTERS_MAX = 16 << 10
_KERNEL_FROM = 1 << 63  # the kernel has the upper half of all addresses
_GENERATED = ("type:", "type..", "go:")
"""What Go's names begin with of functions that belong to no package, such as those that compare structures."""


@dataclass(frozen=True, slots=True)
class _Place:
    """An address in a file: `symbol` is empty if perf has no name for it."""

    address: int
    symbol: str
    file: str


_NOWHERE = _Place(0, "", _UNKNOWN)


@dataclass(frozen=True, slots=True)
class _Thread:
    name: str
    process: int
    number: int


def parse_perf(
    lines: Iterable[str], *, functions_of: Callable[[Path], GoFunctions | None] = read_go_functions
) -> Samples:
    """Read the samples of one run; what cannot be read is left out.

    Threads with the name of the client's first one are one thread: Go moves its functions from one to another.
    `functions_of` reads the functions of a program in Go, `None` for other files.
    """
    stacks = _counted(lines)
    namers = _namers({place for _, places in stacks for place in places}, functions_of)

    @cache
    def frame(place: _Place, *, is_caller: bool) -> Frame:
        name = namers[place.file](place.address - is_caller) if place.file in namers else None
        return _go_frame(name, place.file) if name else _native_frame(place)

    mains = _names_of_first(thread for thread, _ in stacks)
    samples: Counter[tuple[str, tuple[Frame, ...]]] = Counter()
    for (thread, places), count in stacks.items():
        frames = [frame(place, is_caller=number > 0) for number, place in enumerate(places)]
        samples[MAIN_THREAD if thread.name in mains else thread.name, tuple(reversed(frames))] += count
    return samples


def _counted(lines: Iterable[str]) -> Mapping[tuple[_Thread, tuple[_Place, ...]], int]:
    """The number of samples of each thread and stack, the innermost place first."""
    counts: Counter[tuple[_Thread, tuple[_Place, ...]]] = Counter()
    thread: _Thread | None = None
    places: list[_Place] = []
    for line in chain((line[:_LINE_CHARACTERS_MAX] for line in lines), ("",)):
        if found := _THREAD.fullmatch(line):
            thread, places = _Thread(found[1], int(found[2]), int(found[3])), []
        elif found := _FRAME.fullmatch(line):
            places.append(_place(int(found[1], 16), found[2], found[3]))
        elif not line.strip() and thread is not None:
            # Where a function keeps no frame pointer, what is taken for its caller is in no file.
            known = tuple(place for place in places if place.symbol or place.file != _UNKNOWN)
            counts[thread, known or (_NOWHERE,)] += 1
            thread = None
    return counts


@lru_cache(maxsize=100_000)
def _place(address: int, symbol: str, file: str) -> _Place:
    return _Place(
        address=address,
        symbol="" if symbol == _UNKNOWN else symbol,
        file=KERNEL if address >= _KERNEL_FROM else file,
    )


def _namers(
    places: Iterable[_Place], functions_of: Callable[[Path], GoFunctions | None]
) -> Mapping[str, Callable[[int], str | None]]:
    """What names the addresses of each program in Go."""
    lowest: dict[str, int] = {}
    for place in places:
        if place.file.startswith("/"):
            lowest[place.file] = min(place.address, lowest.get(place.file, place.address))
    programs = ((file, functions_of(Path(file))) for file in lowest)
    return {
        file: functions.name_in_file if lowest[file] < functions.first_address else functions.name
        for file, functions in programs
        if functions is not None
    }


def _names_of_first(threads: Iterable[_Thread]) -> frozenset[str]:
    """The names of the first thread of the first process: another one each time that it runs another program."""
    own: dict[int, set[str]] = defaultdict(set)
    for thread in threads:
        own[thread.process].add(thread.name if thread.process == thread.number else "")
    return frozenset(next(iter(own.values()), set())) - {""}


def _go_frame(name: str, file: str) -> Frame:
    """`github.com/peak/s5cmd/v2/command.(*Copy).Run`: the package ends at the first dot behind the last slash.

    Neither is looked for in type arguments, in brackets. Dots in the last element of a path are written `%2e`.
    """
    program = PurePosixPath(file).name
    path = name.partition("[")[0]
    dot = path.find(".", path.rfind("/") + 1)
    if dot < 1 or dot == len(name) - 1 or name.startswith(_GENERATED):
        return Frame(module=program, function=name)
    return Frame(module=name[:dot].replace("%2e", "."), function=name[dot + 1 :])


def _native_frame(place: _Place) -> Frame:
    if not place.file.startswith("/"):  # [kernel], [vdso]
        return Frame(module=place.file, function=place.symbol or UNNAMED)
    return Frame(module=PurePosixPath(place.file).name, function=place.symbol or UNNAMED, file=place.file)
