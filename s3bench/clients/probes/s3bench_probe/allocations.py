"""Tells which lines of the client hold its memory at the peak, by the interpreter's own `tracemalloc`.

Loaded only when $S3BENCH_ALLOCATIONS_FILE names a file. Sees what Python allocates, in all threads, from `install` on;
libraries in C that call malloc by themselves, as the CRT does, are not seen. The size is looked at whenever a function
is called or returns. The peak is known only afterwards, so the memory is looked at in a second run: each time it has
more than $S3BENCH_ALLOCATIONS_ABOVE_BYTES and is 1 % above the last look. Without the variable only the peak is told.

The file is JSON, written when the interpreter ends: `profiling.allocations` has its members.
"""

from __future__ import annotations

import _tracemalloc
import atexit
import os
import sys
from collections.abc import Sequence
from typing import Any

# Frames of one allocation that are kept: the import of a module takes six.
_DEPTH = 16
_PLACES_MAX = 20_000
_STEP = 1.01
_IMPORT_SYSTEM = ("<frozen importlib", "<frozen zipimport", "pyimod0")
_installed: list[Any] = []

# Lines of a place, the one that allocated first: file and line.
_Lines = tuple[tuple[str, int], ...]


def install(start: str) -> None:
    """Watch the memory from here on; `start` tells the reader where that is.

    As for `inspection`, nothing is written when the process ends without the interpreter's leave.
    """
    if _installed:  # by somebody who was earlier
        return
    # Opened now, while the client cannot have changed the current directory or its environment yet.
    file = os.open(os.environ["S3BENCH_ALLOCATIONS_FILE"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    above = os.environ.get("S3BENCH_ALLOCATIONS_ABOVE_BYTES")
    watch = _Watch(int(above) if above else None)
    _installed.append(watch)
    atexit.register(_write, file, os.getpid(), start, watch)
    watch.start()


_OWN_FILE = install.__code__.co_filename


class _Watch:
    """Looks at the memory; `functions` are those that ran: their first and last line, by file and first line."""

    def __init__(self, above: int | None) -> None:
        self.seen_bytes = 0
        self.taken_bytes = 0
        self.held: dict[_Lines, int] = {}
        self.functions: dict[tuple[str, int], tuple[int, str, str]] = {}
        self._wanted = above if above is not None else sys.maxsize
        self._busy = False
        self._own_bytes = 0

    def start(self) -> None:
        """Start it, in this thread and in those that are started later."""
        import threading  # noqa: PLC0415 (every client has it by the time it starts a thread)

        frame: Any = sys._getframe(1)  # noqa: SLF001 (the only way to what runs already)
        while frame is not None:
            self._note(frame)
            frame = frame.f_back
        # Sizes do not depend on the depth, and a run that only learns the peak is faster without.
        _tracemalloc.start(_DEPTH if self._wanted < sys.maxsize else 1)
        look = self._make_look()
        threading.setprofile(look)
        sys.setprofile(look)

    def _make_look(self) -> Any:
        """Make the function that Python calls at each call and return; it notes new functions and new peaks."""
        traced, functions, highest = _tracemalloc.get_traced_memory, self.functions, 0

        def look(frame: Any, event: str, _argument: Any) -> None:
            nonlocal highest
            if event == "call":
                code = frame.f_code
                if (code.co_filename, code.co_firstlineno) not in functions:
                    self._note(frame)
            size = traced()[0] - self._own_bytes
            if size > highest:
                self.seen_bytes = highest = size
                if size > self._wanted and not self._busy:
                    self._take(size)

        return look

    def _note(self, frame: Any) -> None:
        code = frame.f_code
        if hasattr(code, "co_lines"):
            last = max((line for _, _, line in code.co_lines() if line), default=code.co_firstlineno)
        else:  # Python 3.9
            import dis  # noqa: PLC0415 (as above)

            last = max((line for _, line in dis.findlinestarts(code) if line), default=code.co_firstlineno)
        name = getattr(code, "co_qualname", code.co_name)
        module = str(frame.f_globals.get("__name__", ""))
        self.functions[code.co_filename, code.co_firstlineno] = (last, module, name)

    def _take(self, size: int) -> None:
        self._busy = True  # other threads run while this one looks
        self._wanted = int(size * _STEP)
        held: dict[_Lines, int] = {}
        traces: Any = _tracemalloc._get_traces()  # noqa: SLF001 (what `take_snapshot` calls)
        for _domain, size_bytes, lines, *_ in traces:
            if lines[0][0] != _OWN_FILE:
                held[lines] = held.get(lines, 0) + size_bytes
        self.held, self.taken_bytes = held, size
        del traces
        # What is kept of the look is not the client's.
        self._own_bytes = _tracemalloc.get_traced_memory()[0] - size
        self._busy = False


def _write(file: int, owner: int, start: str, watch: _Watch) -> None:
    if os.getpid() != owner:  # a forked child of the client ends as well, with the same file open
        return
    import json  # noqa: PLC0415 (at the end, so that its memory is not the client's)
    import threading  # noqa: PLC0415 (as above)

    sys.setprofile(None)
    threading.setprofile(None)  # type: ignore[arg-type,unused-ignore]
    peak_bytes = _tracemalloc.get_traced_memory()[1]
    _tracemalloc.stop()
    report = {
        "version": 1,
        "start": start,
        "python": "{}.{}.{}".format(*sys.version_info[:3]),
        "peak_bytes": peak_bytes,
        "seen_bytes": watch.seen_bytes,
        "taken_bytes": watch.taken_bytes,
        **_places(watch),
    }
    data = json.dumps(report, separators=(",", ":")).encode("ascii")
    while data:
        data = data[os.write(file, data) :]


def _places(watch: _Watch) -> dict[str, Any]:
    """Name the lines: `frames` are module, function, file and line; `held` bytes and numbers of frames."""
    ranges: dict[str, list[tuple[int, int, str, str]]] = {}
    for (name, first), (last, module, function) in watch.functions.items():
        ranges.setdefault(name, []).append((last - first, first, module, function))
    frames: dict[tuple[str, int], int] = {}
    named: list[tuple[str, str, str, int]] = []
    held: dict[tuple[int, ...], int] = {}
    for lines, size_bytes in watch.held.items():
        chain = []
        for name, line in lines:
            if name.startswith(_IMPORT_SYSTEM) or name == _OWN_FILE:
                continue
            if (name, line) not in frames:
                frames[name, line] = len(named)
                named.append((*_function(ranges.get(name, ()), line), name, line))
            chain.append(frames[name, line])
        held[tuple(chain)] = held.get(tuple(chain), 0) + size_bytes
    largest = sorted(held.items(), key=lambda item: -item[1])
    return {
        "frames": named,
        "held": [(size_bytes, chain) for chain, size_bytes in largest[:_PLACES_MAX]],
        "other_bytes": sum(size_bytes for _, size_bytes in largest[_PLACES_MAX:]),
    }


def _function(ranges: Sequence[tuple[int, int, str, str]], line: int) -> tuple[str, str]:
    """Module and function of a line: the shortest function around it that ran."""
    around = [(lines, module, function) for lines, first, module, function in ranges if first <= line <= first + lines]
    if around:
        return min(around)[1:]
    return (ranges[0][2] if ranges else "", "")
