"""Tells which lines of the client hold its memory at the peak, by the interpreter's own `tracemalloc`.

Loaded only when $S3BENCH_ALLOCATIONS_FILE names a file. Two runs: the first learns when the process reaches its peak
(resident memory, as the kernel keeps its highest value), without `tracemalloc`, which takes memory itself. The second
one gets that moment in $S3BENCH_ALLOCATIONS_MOMENTS and looks there at what Python holds. A moment is the number of
calls and returns of one function. What is allocated and dropped between two calls or returns counts for the function
that ran then. Where another thread ran meanwhile there are two moments, as its calls do not come at the same time in
each run; the one with more memory is kept. Allocations are seen in all threads, from `install` on; libraries in C that
call malloc by themselves, as the CRT does, are not seen.

The file is JSON, written when the interpreter ends: `profiling.allocations` has its members.
"""

from __future__ import annotations

import _thread
import _tracemalloc
import atexit
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

# Frames of one allocation that are kept: the import of a module takes six.
_DEPTH = 16
_PLACES_MAX = 20_000
# The peak is reached where this share of it is: it grows slowly until the end.
_NEAR_PEAK = 0.98
_STEP = 1.002
_TRANSIENT_MIN_BYTES = 64 << 10
# Calls of functions written in C are as many again, and tell nothing more.
_EVENTS = frozenset({"call", "return"})
# So long a thread waits for another one that looks at what is held, and which a forked child does not have.
_TAKING_S_MAX = 5.0
# Within so many events after the peak, the first one of another thread is a moment as well.
_EVENTS_OF_OTHERS = 100
_IMPORT_SYSTEM = ("<frozen importlib", "<frozen zipimport", "pyimod0")
_installed: list[Any] = []

# Lines of a place, the one that allocated first: file and line.
_Lines = tuple[tuple[str, int], ...]
# File, first line and name.
_FunctionKey = tuple[str, int, str]
# A function, and how often it was called or returned.
_Moment = tuple[_FunctionKey, int]


def install(start: str) -> None:
    """Watch the memory from here on; `start` tells the reader where that is.

    As for `inspection`, nothing is written when the process ends without the interpreter's leave.
    """
    if _installed:  # by somebody who was earlier
        return
    # Opened now, while the client cannot have changed the current directory or its environment yet.
    file = os.open(os.environ["S3BENCH_ALLOCATIONS_FILE"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    moments = os.environ.get("S3BENCH_ALLOCATIONS_MOMENTS")
    watch = _Allocations(json.loads(moments)) if moments else _Peak()
    _installed.append(watch)
    atexit.register(_write, file, os.getpid(), start, watch)
    watch.start()


_OWN_FILE = install.__code__.co_filename


class _Peak:
    """Learns when the process reaches its peak."""

    def __init__(self) -> None:
        # The peak in KiB whenever it has grown, with the thread and the moment; after that, the next of another thread.
        self._rises: list[tuple[int, int, _Moment]] = []

    def start(self) -> None:
        _call_at_each_event(self._make_look())

    def _make_look(self) -> Any:
        read_kib, get_ident, rises = _peak_reader(), _thread.get_ident, self._rises
        counts: dict[_FunctionKey, int] = {}
        # getrusage(2) has the peak from before exec(2) where that was higher.
        next_kib, thread, left = float(read_kib()), 0, 0

        def look(frame: Any, event: str, _argument: Any) -> None:
            nonlocal next_kib, thread, left
            if event not in _EVENTS:
                return
            code = frame.f_code
            key = (code.co_filename, code.co_firstlineno, code.co_name)
            count = counts[key] = counts.get(key, 0) + 1
            kib = read_kib()
            if kib > next_kib:
                next_kib, thread, left = kib * _STEP, get_ident(), _EVENTS_OF_OTHERS
                rises.append((kib, thread, (key, count)))
            elif left:
                left -= 1
                if get_ident() != thread:
                    rises.append((kib, get_ident(), (key, count)))
                    left = 0

        return look

    def report(self) -> dict[str, Any]:
        if not self._rises:
            return {}
        highest, _, _ = self._rises[-1]
        near = [(thread, moment) for kib, thread, moment in self._rises if kib >= highest * _NEAR_PEAK]
        first_thread, first = near[0]
        of_another = [moment for thread, moment in near if thread != first_thread]
        return {"peak_bytes": highest << 10, "moments": [first, *of_another[:1]]}


class _Allocations:
    """Looks at what Python holds at the moments."""

    def __init__(self, moments: Sequence[_Moment]) -> None:
        self._left = {tuple(key): count for key, count in moments}
        self._taken_bytes = 0
        self._held: dict[_Lines, int] = {}
        # The functions that ran, by file and first line: their last line, module and name.
        self._functions: dict[tuple[str, int], tuple[int, str, str]] = {}

    def start(self) -> None:
        frame: Any = sys._getframe(1)  # noqa: SLF001 (the only way to what runs already)
        while frame is not None:
            self._note(frame)
            frame = frame.f_back
        _tracemalloc.start(_DEPTH)
        _call_at_each_event(self._make_look())

    def _make_look(self) -> Any:
        """Make the function that notes new functions, and looks at the memory when a moment is there."""
        left, functions, get_ident = self._left, self._functions, _thread.get_ident
        taking = _thread.allocate_lock()
        traced, reset_peak = _tracemalloc.get_traced_memory, _tracemalloc.reset_peak
        thread = 0

        def look(frame: Any, event: str, _argument: Any) -> None:
            nonlocal thread
            if event not in _EVENTS:
                return
            code = frame.f_code
            if event == "call" and (code.co_filename, code.co_firstlineno) not in functions:
                self._note(frame)
            key, is_moment = (code.co_filename, code.co_firstlineno, code.co_name), False
            if key in left:
                left[key] -= 1
                is_moment = left[key] == 0 and taking.acquire(timeout=_TAKING_S_MAX)
            size, peak = traced()
            if is_moment:
                running = frame.f_back if event == "call" else frame
                if thread != get_ident():  # that one ran until now, and was interrupted between two events
                    running = sys._current_frames().get(thread, running)  # noqa: SLF001 (no other way)
                self._take(peak - size, running)
                reset_peak()  # without what the probe dropped again
                taking.release()
            thread = get_ident()
            reset_peak()

        return look

    def _note(self, frame: Any) -> None:
        code = frame.f_code
        if hasattr(code, "co_lines"):
            last = max((line for _, _, line in code.co_lines() if line), default=code.co_firstlineno)
        else:  # Python 3.9
            import dis  # noqa: PLC0415 (only there)

            last = max((line for _, line in dis.findlinestarts(code) if line), default=code.co_firstlineno)
        name = getattr(code, "co_qualname", code.co_name)
        module = str(frame.f_globals.get("__name__", ""))
        self._functions[code.co_filename, code.co_firstlineno] = (last, module, name)

    def _take(self, dropped: int, running: Any) -> None:
        """Keep what is held, and what `running` dropped again since the call or return before, if it is the most.

        What is hardly more is the same memory, which another thread has dropped since the moment before.
        """
        traces: Any = _tracemalloc._get_traces()  # noqa: SLF001 (what `take_snapshot` calls)
        held: dict[_Lines, int] = {}
        for _domain, size_bytes, lines, *_ in traces:
            if lines[0][0] != _OWN_FILE:
                held[lines] = held.get(lines, 0) + size_bytes
        if dropped >= _TRANSIENT_MIN_BYTES:
            lines = self._lines_of(running)
            held[lines] = held.get(lines, 0) + dropped
        taken_bytes = sum(held.values())
        if not self._held or taken_bytes - self._taken_bytes >= _TRANSIENT_MIN_BYTES:
            self._held, self._taken_bytes = held, taken_bytes

    def _lines_of(self, frame: Any) -> _Lines:
        """Where a frame and its callers are; some may have been called before `start`."""
        lines: list[tuple[str, int]] = []
        while frame is not None and len(lines) < _DEPTH:
            self._note(frame)
            lines.append((frame.f_code.co_filename, frame.f_lineno))
            frame = frame.f_back
        return tuple(lines)

    def report(self) -> dict[str, Any]:
        """Name the lines: `frames` are module, function, file and line; `held` bytes and numbers of frames."""
        ranges: dict[str, list[tuple[int, int, str, str]]] = {}
        for (name, first), (last, module, function) in self._functions.items():
            ranges.setdefault(name, []).append((last - first, first, module, function))
        frames: dict[tuple[str, int], int] = {}
        named: list[tuple[str, str, str, int]] = []
        held: dict[tuple[int, ...], int] = {}
        for lines, size_bytes in self._held.items():
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
            "taken_bytes": self._taken_bytes,
            "frames": named,
            "held": [(size_bytes, chain) for chain, size_bytes in largest[:_PLACES_MAX]],
            "other_bytes": sum(size_bytes for _, size_bytes in largest[_PLACES_MAX:]),
        }


def _call_at_each_event(look: Any) -> None:
    """Have `look` called at each call and return, in this thread and in those that are started later."""
    import threading  # noqa: PLC0415 (every client has it by the time it starts a thread)

    threading.setprofile(look)
    sys.setprofile(look)


def _peak_reader() -> Callable[[], int]:
    """What reads the peak of this process's resident memory, in KiB; getrusage(2), as it is twenty times as fast."""
    try:
        from resource import RUSAGE_SELF, getrusage  # noqa: PLC0415 (not every frozen client has it)
    except ImportError:
        return _peak_of_status
    per_kib = 1 if sys.platform == "linux" else 1024  # in bytes on macOS
    return lambda: getrusage(RUSAGE_SELF).ru_maxrss // per_kib


def _peak_of_status() -> int:
    with open("/proc/self/status", "rb") as status:
        return int(status.read().partition(b"VmHWM:")[2].split(maxsplit=1)[0])


def _write(file: int, owner: int, start: str, watch: _Peak | _Allocations) -> None:
    if os.getpid() != owner:  # a forked child of the client ends as well, with the same file open
        return
    import threading  # noqa: PLC0415 (as above)

    sys.setprofile(None)
    threading.setprofile(None)  # type: ignore[arg-type,unused-ignore]
    # `tracemalloc` stays on: to stop it while threads allocate that run no Python, as the CRT's do, crashes Python
    # (https://github.com/python/cpython/issues/128679).
    report = {"version": 2, "start": start, "python": "{}.{}.{}".format(*sys.version_info[:3]), **watch.report()}
    data = json.dumps(report, separators=(",", ":")).encode("ascii")
    while data:
        data = data[os.write(file, data) :]


def _function(ranges: Sequence[tuple[int, int, str, str]], line: int) -> tuple[str, str]:
    """Module and function of a line: the shortest function around it that ran."""
    around = [(lines, module, function) for lines, first, module, function in ranges if first <= line <= first + lines]
    if around:
        return min(around)[1:]
    return (ranges[0][2] if ranges else "", "")
