"""Twelve kinds of causes: how each is planted, and which names an explanation may use for its place."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from planting.patch import Patch, apply, write
from planting.places import Place, Places

SLOWER_S = 0.003
IMPORT_S = 0.020
WAIT_S = 0.010
CALLS = 1_000
STATS = 200
MEMORY_BYTES = 8 << 20
PATTERNS = 150
NEW_MODULE = "partition_tables"
EXTENSION_REQUEST = "/s3bench-fault/extension"
_MODEL_FILES = ("s3/2006-03-01/service-2", "s3/2006-03-01/endpoint-rule-set-1", "endpoints")
_STAT_NAMES = frozenset({"stat", "newfstatat", "statx", "fstatat64", "stat64"})
_BLOCK = f"[None] * {MEMORY_BYTES // 8}"  # pointers of 8 bytes, all of them written; no call
_CALIBRATIONS = 7
_CALIBRATION_TURNS = 100_000

T = TypeVar("T")


class CauseName(StrEnum):
    """The kinds of causes that are planted."""

    IMPORT = "import"
    SLOW_FUNCTION = "slow_function"
    SLOW_CALLS = "slow_calls"
    REGEX = "regex"
    DEEP_COPY = "deep_copy"
    JSON_TWICE = "json_twice"
    REQUEST = "request"
    SLEEP = "sleep"
    LOCK = "lock"
    STAT = "stat"
    MEMORY_KEPT = "memory_kept"
    MEMORY_DROPPED = "memory_dropped"


OF_MEMORY = frozenset({CauseName.MEMORY_KEPT, CauseName.MEMORY_DROPPED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A cause before it is put into a copy.

    `names` are the functions that an explanation may name: the changed one, and those that are new with it. `method` is
    that of a request more, `system_calls` the names of system calls that are made more often. `files` are new files.
    """

    patch: Patch
    names: frozenset[str]
    files: tuple[tuple[str, str], ...] = ()
    method: str = ""
    system_calls: frozenset[str] = frozenset()

    def put_into(self, root: Path) -> dict[str, tuple[range, ...]]:
        """Change the copy below `root`; returns the lines that are new, by file."""
        for name, source in self.files:
            write(root / name, source)
        lines = {name: (range(1, len(source.splitlines()) + 1),) for name, source in self.files}
        return lines | {self.patch.place.file: apply(self.patch, root)}


def turns_per_second() -> float:
    """How often this machine runs the loop of planted work in a second, at its best."""
    scope: dict[str, Callable[[], None]] = {}
    exec("def work():\n    " + "\n    ".join(_work(_CALIBRATION_TURNS)), scope)  # noqa: S102 (the very lines that are planted)
    times = []
    for _ in range(_CALIBRATIONS):
        started_s = time.perf_counter()
        scope["work"]()
        times.append(time.perf_counter() - started_s)
    return _CALIBRATION_TURNS / min(times)


def plant(kind: CauseName, places: Places, seed: int, speed: float) -> Planted:
    """The cause of a kind at a place that `seed` draws; all places are drawn before one comes again.

    `speed` is what `turns_per_second` says.
    """
    return _PLANTS[kind](places, _Draw(kind=kind, seed=seed), speed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draw:
    kind: CauseName
    seed: int

    def __call__(self, of: Sequence[T], what: str = "place") -> T:
        order = list(range(len(of)))
        random.Random(f"{self.kind} {what} {len(of)}").shuffle(order)
        return of[order[self.seed % len(order)]]


def _work(turns: int) -> tuple[str, ...]:
    """A loop that calls nothing: a function that became slower need not show in counts of calls."""
    return (
        "_value = _turn = 0",
        f"while _turn < {turns}:",
        "    _value = (_value * 31 + _turn) & 0xFFFFFF",
        "    _turn += 1",
    )


def _at(place: Place, *lines: str, names: Sequence[str] = (), appended: Sequence[str] = ()) -> Planted:
    return Planted(
        patch=Patch(place=place, lines=lines, appended=tuple(appended)), names=frozenset({place.name, *names})
    )


def _import(places: Places, draw: _Draw, speed: float) -> Planted:
    where = draw((places.modules, places.once), "in a module or a function")
    place = draw(where)
    package = place.module.partition(".")[0]
    new = Place(file=f"{package}/{NEW_MODULE}.py")
    source = (
        '"""Tables of partitions."""',
        *("", ""),
        "def _build():",
        *(f"    {line}" for line in _work(round(IMPORT_S * speed))),
        "    return _value",
        *("", ""),
        "TABLE = _build()",
    )
    planted = _at(place, f"import {new.module}", names=(new.name, f"{new.module}:_build"))
    return Planted(patch=planted.patch, names=planted.names, files=((new.file, "\n".join(source) + "\n"),))


def _slow_function(places: Places, draw: _Draw, speed: float) -> Planted:
    return _at(draw(places.once), *_work(round(SLOWER_S * speed)))


def _slow_calls(places: Places, draw: _Draw, speed: float) -> Planted:
    if draw((True, False), "in a function that is called often"):
        place, calls = draw(places.often)
        return _at(place, *_work(round(SLOWER_S * speed / calls)))
    place = draw(places.once)
    callee = (
        "def _canonical_entry(number):",
        *(f"    {line}" for line in _work(round(SLOWER_S * speed / CALLS))),
        "    return number + _value",
    )
    lines = (f"for _number in range({CALLS}):", "    _canonical_entry(_number)")
    return _at(place, *lines, names=(f"{place.module}:_canonical_entry",), appended=callee)


def _regex(places: Places, draw: _Draw, _speed: float) -> Planted:
    pattern = 'f"(?P<host{_n}>[a-z]{{1,{_n + 1}}}[^/?#]*-{_n:03d}[.]s3)"'
    lines = ("import re as _re", f'_HOSTS = _re.compile("|".join({pattern} for _n in range({PATTERNS})))')
    return _at(draw(places.modules), *lines)


def _deep_copy(places: Places, draw: _Draw, _speed: float) -> Planted:
    place, model = draw(places.models)
    return _at(place, "import copy", f"copy.deepcopy({model})")


def _json_twice(places: Places, draw: _Draw, _speed: float) -> Planted:
    lines = (
        "import os",
        "from botocore.loaders import JSONFileLoader, Loader",
        f"JSONFileLoader().load_file(os.path.join(Loader.BUILTIN_DATA_PATH, {draw(_MODEL_FILES, 'file')!r}))",
    )
    return _at(draw(places.once), *lines)


def _request(places: Places, draw: _Draw, _speed: float) -> Planted:
    place, call, method = draw(places.requests)
    ask = (
        "def _ask(method):",
        "    import http.client",
        "    import os",
        "    connection = http.client.HTTPConnection(os.environ['AWS_ENDPOINT_URL'].removeprefix('http://'))",
        f"    connection.request(method, {EXTENSION_REQUEST!r})",
        "    connection.getresponse().read()",
        "    connection.close()",
    )
    is_extension = call.startswith("_ask(")
    names = (f"{place.module}:_ask",) if is_extension else ()
    planted = _at(place, call, names=names, appended=ask if is_extension else ())
    return Planted(patch=planted.patch, names=planted.names, method=method)


def _sleep(places: Places, draw: _Draw, _speed: float) -> Planted:
    return _at(draw(places.once), "import time", f"time.sleep({WAIT_S})")


def _lock(places: Places, draw: _Draw, _speed: float) -> Planted:
    place = draw(places.once)
    lines = (
        "import threading",
        "import time",
        "_lock, _held = threading.Lock(), threading.Event()",
        "def _hold():",
        "    with _lock:",
        "        _held.set()",
        f"        time.sleep({WAIT_S})",
        "_holder = threading.Thread(target=_hold)",
        "_holder.start()",
        "_held.wait()",
        "with _lock:",
        "    pass",
        "_holder.join()",
    )
    return _at(place, *lines, names=(f"{place.name}.<locals>._hold",))


def _stat(places: Places, draw: _Draw, _speed: float) -> Planted:
    planted = _at(draw(places.once), "import os", f"for _ in range({STATS}):", "    os.stat(__file__)")
    return Planted(patch=planted.patch, names=planted.names, system_calls=_STAT_NAMES)


def _memory_kept(places: Places, draw: _Draw, _speed: float) -> Planted:
    return _at(draw((*places.once, *places.late)), "global _KEPT", f"_KEPT = {_BLOCK}")


def _memory_dropped(places: Places, draw: _Draw, _speed: float) -> Planted:
    return _at(draw(places.late), f"_block = {_BLOCK}", "del _block")


_PLANTS: dict[CauseName, Callable[[Places, _Draw, float], Planted]] = {
    CauseName.IMPORT: _import,
    CauseName.SLOW_FUNCTION: _slow_function,
    CauseName.SLOW_CALLS: _slow_calls,
    CauseName.REGEX: _regex,
    CauseName.DEEP_COPY: _deep_copy,
    CauseName.JSON_TWICE: _json_twice,
    CauseName.REQUEST: _request,
    CauseName.SLEEP: _sleep,
    CauseName.LOCK: _lock,
    CauseName.STAT: _stat,
    CauseName.MEMORY_KEPT: _memory_kept,
    CauseName.MEMORY_DROPPED: _memory_dropped,
}
