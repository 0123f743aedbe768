"""Numbers of calls in one run of a Python client, and what of them differs between two versions.

They are exact: 200 more `os.stat` show even where the time that they take is below the noise.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import TypeVar

import msgspec

from s3bench.errors import MachineError
from s3bench.profiling.call_path import MODULE_CODE
from s3bench.profiling.explanation import Cause, CauseKind
from s3bench.profiling.stack_profile import Frame, file_of_module

DIFFERENCES_MAX = 50
"""So many differences are reported at most."""

_FORMAT = "s3bench-call-counts 1"
_MECHANISMS = ("sys.monitoring", "sys.setprofile")
_FUNCTIONS_MAX = 1_000_000
_EDGES_MAX = 4_000_000
_NAME_CHARACTERS = 300
_COUNT_MAX = 2**63
_NO_CALLER = -1
_MODULE_NAMES = {"posix": "os", "_frozen_importlib": "importlib._bootstrap"}

# How often these call depends on when threads wake up, not on the program alone.
_TIMING_MODULES = frozenset(
    {
        *("threading", "queue", "selectors", "concurrent.futures._base", "concurrent.futures.thread"),
        "multiprocessing.connection",
    }
)
# And these are called whenever an object happens to be released.
_RELEASE_MODULES = frozenset({"weakref", "_weakrefset"})

# What these call follows from imports.
_IMPORT_SYSTEM = frozenset(
    {
        *("importlib", "importlib._bootstrap", "importlib._bootstrap_external", "_frozen_importlib_external"),
        *("zipimport", "pyimod01_archive", "pyimod02_importers"),
    }
)
_UNTOLD_CALLERS = _TIMING_MODULES | _IMPORT_SYSTEM

# By what order of magnitude calls take longer than one in Python: to put the more probable cause first, nothing else.
_USUAL_WEIGHT = 1
_SYSTEM_WEIGHT = 20
_SLEEP_WEIGHT = 10_000
_SYSTEM_MODULES = frozenset({"os", "_io", "_socket", "select", "_ssl", "fcntl", "mmap", "_posixsubprocess", "_thread"})
_SLEEP = "time:sleep"

# A caller that is called more often explains so many more calls of each of its callees, on average of its new calls,
# compared with its average before.
_CONSEQUENCE_FACTOR = 4


class CountedFrom(StrEnum):
    """From where on calls are counted."""

    IMPORTS = "imports"
    """Before the client's first import."""
    PLUG_IN = "plug-in"
    """From the loading of the plug-in on: an aws-cli has done most of its imports by then."""


class CallEdge(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often a line of one function calls another function: indices into the functions of the `CallCounts`.

    `caller` is `None` where no Python function calls, as for the first function of a thread.
    """

    caller: int | None
    line: int
    callee: int
    count: int


class CallCounts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All calls of one run, of Python functions and of functions in C.

    `mechanism` is what the interpreter counts with; the counts of different mechanisms differ in what is counted.
    `python_version` is that of the interpreter. Functions have no line, those in C no file.
    """

    mechanism: str
    counted_from: CountedFrom
    python_version: str
    functions: tuple[Frame, ...]
    edges: tuple[CallEdge, ...]


def parse_call_counts(text: str) -> CallCounts:
    """Parse what the probe wrote; its format is in `s3bench_probe.call_counts`. Raises `MachineError`."""
    header, _, rest = text.partition("\n")
    if header != _FORMAT:
        raise _unreadable(f"the first line is {header[:40]!r}")
    mechanism, counted_from, python_version = "", CountedFrom.PLUG_IN, ""
    functions: list[Frame] = []
    edges: list[CallEdge] = []
    try:
        for line in rest.removesuffix("\n").split("\n"):
            match line.split("\t"):
                case ["observed", mechanism, start, python_version] if mechanism in _MECHANISMS:
                    counted_from = CountedFrom(start)
                    python_version = python_version[:_NAME_CHARACTERS]
                case ["f", module, function, file] if len(functions) < _FUNCTIONS_MAX:
                    functions.append(_function(module, function, file))
                case ["e", caller, at, callee, count] if len(edges) < _EDGES_MAX:
                    edges.append(_edge(int(caller), int(at), int(callee), int(count), len(functions)))
                case _:
                    raise _unreadable(f"a line is {line[:80]!r}")
    except ValueError as error:
        raise _unreadable(str(error)[:200]) from None
    if not mechanism:
        raise _unreadable("the line `observed` is missing")
    return CallCounts(
        mechanism=mechanism,
        counted_from=counted_from,
        python_version=python_version,
        functions=tuple(functions),
        edges=tuple(edges),
    )


def _unreadable(why: str) -> MachineError:
    return MachineError("the call counts of the client cannot be read", why, "run it again; the client may interfere")


def _function(module: str, function: str, file: str) -> Frame:
    name = _MODULE_NAMES.get(module, module)[:_NAME_CHARACTERS]
    return Frame(
        module=name, function=function[:_NAME_CHARACTERS], file=file_of_module(module, file[-_NAME_CHARACTERS:])
    )


def _edge(caller: int, line: int, callee: int, count: int, functions: int) -> CallEdge:
    if not (_NO_CALLER <= caller < functions and 0 <= callee < functions):
        raise ValueError("a call is of a function that is not listed")
    if not (0 <= line < _COUNT_MAX and 0 <= count < _COUNT_MAX):
        raise ValueError("a line or a number of calls is out of bounds")
    return CallEdge(caller=None if caller == _NO_CALLER else caller, line=line, callee=callee, count=count)


_Key = TypeVar("_Key")
_Pair = tuple[str, str]  # the names of caller and callee


def _module(name: str) -> str:
    return name.partition(":")[0]


class _Run:
    """One run by names: calls of each pair, of each function, and the lines of each pair."""

    def __init__(self, counts: CallCounts) -> None:
        names = [function.name for function in counts.functions]
        self.files = {name: each.file for name, each in zip(names, counts.functions, strict=True)}
        self.pairs: Counter[_Pair] = Counter()
        self.totals: Counter[str] = Counter()
        self.lines: defaultdict[_Pair, Counter[int]] = defaultdict(Counter)
        for edge in counts.edges:
            pair = ("" if edge.caller is None else names[edge.caller], names[edge.callee])
            self.pairs[pair] += edge.count
            self.totals[pair[1]] += edge.count
            self.lines[pair][edge.line] += edge.count


class _Change:
    """The calls of one pair, baseline and candidate, and those of its caller."""

    def __init__(self, pair: _Pair, calls: tuple[int, int], caller_calls: tuple[int, int]) -> None:
        self.pair, self.calls, self.caller_calls = pair, calls, caller_calls
        self.more = calls[1] - calls[0]
        self.caller_more = caller_calls[1] - caller_calls[0]

    @property
    def is_import(self) -> bool:
        return self.pair[1].endswith(f":{MODULE_CODE}")

    @property
    def is_consequence(self) -> bool:
        """Whether it follows from the caller being called more, or less, often."""
        if self.more * self.caller_more <= 0:
            return False
        if 0 in self.caller_calls:
            return True
        before = Fraction(min(self.calls), min(self.caller_calls))
        return Fraction(self.more, self.caller_more) <= _CONSEQUENCE_FACTOR * max(before, Fraction(1))


def why_incomparable(baseline: Sequence[CallCounts], candidate: Sequence[CallCounts]) -> str:
    """Say in words why the two sides do not count the same things; empty if they do."""
    for what_of in (_mechanism, _beginning):
        before, after = (sorted({what_of(run) for run in side}) for side in (baseline, candidate))
        if before != after or len(before) > 1:
            return f"the baseline's are counted {' and '.join(before)}, the candidate's {' and '.join(after)}"
    return ""


def _mechanism(counts: CallCounts) -> str:
    return f"by {counts.mechanism}"


def _beginning(counts: CallCounts) -> str:
    match counts.counted_from:
        case CountedFrom.IMPORTS:
            return "from its first import on"
        case CountedFrom.PLUG_IN:
            return "from the loading of its plug-ins on"


def count_differences(baseline: Sequence[CallCounts], candidate: Sequence[CallCounts]) -> tuple[Cause, ...]:
    """Tell which calls and imports differ between two versions, each counted in two or three equal runs.

    Only calls whose number is the same in all runs of a side count; what differs only because its caller is called
    more or less often is left out, and so is what another version of Python does differently.
    The probably most expensive come first. Nothing where `why_incomparable` has a reason.
    """
    if not (baseline and candidate) or why_incomparable(baseline, candidate):
        return ()
    before, after = [_Run(run) for run in baseline], [_Run(run) for run in candidate]
    changes = _changes(before, after)
    if baseline[0].python_version != candidate[0].python_version:
        changes = [change for change in changes if not _is_of_python(change)]
    weights = _Weights(changes)
    told = [
        *(change for change in changes if not change.is_import and not change.is_consequence),
        *_imports(changes),
    ]
    told.sort(key=lambda change: (change.caller_more != 0 and not change.is_import, -weights.of(change), change.pair))
    return tuple(_cause(change, before[0], after[0]) for change in told[:DIFFERENCES_MAX])


def _changes(before: Sequence[_Run], after: Sequence[_Run]) -> list[_Change]:
    """All pairs whose calls are the same within each side and differ between them."""
    totals = _steady(run.totals for run in before), _steady(run.totals for run in after)
    pairs = _steady(run.pairs for run in before), _steady(run.pairs for run in after)
    found = []
    for pair in sorted(pairs[0].keys() | pairs[1].keys()):
        caller, callee = pair
        if not caller or _module(caller) in _UNTOLD_CALLERS or _module(callee) in _RELEASE_MODULES:
            continue
        calls = _both(pairs, pair)
        caller_calls = _both(totals, caller)
        if calls is None or caller_calls is None or calls[0] == calls[1]:
            continue
        if callee.endswith(f":{MODULE_CODE}") and totals[0].get(callee, 0) == totals[1].get(callee, 0):
            continue  # imported by another module than before
        found.append(_Change(pair, calls, caller_calls))
    return found


def _is_of_python(change: _Change) -> bool:
    """Whether another version of Python explains it: by its standard library, or by how it calls its own functions."""
    caller, callee = change.pair
    return (
        _is_of_standard_library(caller)
        or _module(callee) == "builtins"
        or callee.endswith((".__enter__", ".__exit__"))
        or (_is_of_standard_library(callee) and callee.partition(":")[2].startswith("_"))
    )


def _is_of_standard_library(name: str) -> bool:
    return _module(name).partition(".")[0] in sys.stdlib_module_names


def _both(sides: tuple[dict[_Key, int | None], ...], key: _Key) -> tuple[int, int] | None:
    """The count of both sides; `None` where the runs of one side differ."""
    baseline, candidate = (side.get(key, 0) for side in sides)
    return None if baseline is None or candidate is None else (baseline, candidate)


def _steady(runs: Iterable[Counter[_Key]]) -> dict[_Key, int | None]:
    """The count of each key, `None` where the runs differ."""
    counted = list(runs)
    keys = set().union(*counted)
    return {key: counted[0][key] if len({run[key] for run in counted}) == 1 else None for key in keys}


def _imports(changes: Sequence[_Change]) -> list[_Change]:
    """The imports that no other import that is told has brought along, as a module does its package."""
    imports = [change for change in changes if change.is_import]
    changed = {_module(change.pair[1]): change.more for change in imports}
    inner = {(change.pair[0], package) for change in imports for package in _packages(_module(change.pair[1]))}
    return [
        change
        for change in imports
        if changed.get(_module(change.pair[0]), 0) * change.more <= 0
        and (change.pair[0], _module(change.pair[1])) not in inner
    ]


def _packages(module: str) -> Iterator[str]:
    while "." in module:
        module = module.rpartition(".")[0]
        yield module


class _Weights:
    """How expensive changes are with all that follows from them, very roughly."""

    def __init__(self, changes: Sequence[_Change]) -> None:
        self._by_caller: defaultdict[str, list[_Change]] = defaultdict(list)
        for change in changes:
            self._by_caller[change.pair[0]].append(change)

    def of(self, change: _Change) -> int:
        """Add up the changes below it that go the same way."""
        seen, waiting, weight = {change.pair[1]}, [change], 0
        while waiting:
            current = waiting.pop()
            weight += abs(current.more) * _weight(current.pair[1])
            if current is not change and current.pair[1] in seen:
                continue  # its own calls are added already
            seen.add(current.pair[1])
            waiting += [
                following
                for following in self._by_caller[current.pair[1]]
                if following.more * change.more > 0 and (following.is_consequence or following.is_import)
            ]
        return weight


def _weight(name: str) -> int:
    if name == _SLEEP:
        return _SLEEP_WEIGHT
    return _SYSTEM_WEIGHT if _module(name) in _SYSTEM_MODULES else _USUAL_WEIGHT


def _cause(change: _Change, before: _Run, after: _Run) -> Cause:
    caller, callee = change.pair
    kind = CauseKind.IMPORT if change.is_import else CauseKind.CALL
    return Cause(
        kind=kind,
        place=callee.removesuffix(f":{MODULE_CODE}") if change.is_import else callee,
        caller=caller,
        file=after.files.get(caller, ""),
        line=_line(before.lines.get(change.pair, Counter()), after.lines.get(change.pair, Counter())),
        counts=(float(change.calls[0]), float(change.calls[1])),
    )


def _line(before: Mapping[int, int], after: Mapping[int, int]) -> int:
    """The line of the candidate that calls more often: one that has no equal in the baseline; 0 if there is none."""
    new = {line: count for line, count in after.items() if before.get(line) != count}
    old = Counter(count for line, count in before.items() if after.get(line) != count)
    for line, count in list(new.items()):
        if old[count]:  # the same call on another line
            old[count] -= 1
            del new[line]
    candidates = new or after
    return max(candidates, key=lambda line: (candidates[line], -line), default=0)
