"""Counts how often each function of the client is called, and from which line of which function.

Loaded only when $S3BENCH_CALL_COUNTS_FILE names a file. Counts Python functions and functions in C, in all threads,
from `install` on, by `sys.monitoring` (Python 3.12 and later) or else `sys.setprofile`. What the import system does by
itself is not counted: a module's own code counts as called by the function that imports it.

The file is text in UTF-8, fields separated by tabs, written when the interpreter ends: `s3bench-call-counts 1`; a line
`observed MECHANISM START VERSION`, the version of Python; `f MODULE FUNCTION FILE` for each function; `e CALLER LINE
CALLEE CALLS` for each place of a call, where CALLER and CALLEE are numbers of functions from 0. CALLER is -1 for a
function that no Python code called.
"""

from __future__ import annotations

import atexit
import os
import sys
from typing import Any

_OWN = __name__.partition(".")[0]
_IMPORT_SYSTEM = frozenset(
    {
        *("_frozen_importlib", "_frozen_importlib_external", "importlib", "importlib._bootstrap"),
        *("importlib._bootstrap_external", "zipimport", "pyimod02_importers", "pyimod01_archive"),
    }
)
_MODULE_CODE = "<module>"
_HEAP_TYPE = 1 << 9  # a class made at run time (Py_TPFLAGS_HEAPTYPE); others are in C
_TOOL_ID = 4  # of sys.monitoring: not reserved for any kind of tool
_GENERATOR = 0x20 | 0x80 | 0x200  # generators and coroutines: they are entered again for each item
_installed: list[Any] = []


def install(start: str) -> None:
    """Count from here on; `start` tells the reader where that is.

    As for `inspection`, nothing is written when the process ends without the interpreter's leave.
    """
    if _installed:  # by somebody who was earlier
        return
    # Opened now, while the client cannot have changed the current directory or its environment yet.
    file = os.open(os.environ["S3BENCH_CALL_COUNTS_FILE"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    counter = _Monitor() if hasattr(sys, "monitoring") else _Profiler()
    _installed.append(counter)
    atexit.register(_write, file, os.getpid(), start, counter)
    counter.start()


class _Counter:
    """Calls by place: `calls` has for each key of a place its calls, `places` what the key stands for.

    The keys have numbers and strings alone, so that adding one is a single step for other threads. `codes` keeps the
    code objects: their addresses are in the keys.
    """

    mechanism = ""

    def __init__(self) -> None:
        self.calls: dict[Any, int] = {}
        self.places: dict[Any, tuple[Any, int, Any]] = {}
        self.codes: dict[int, tuple[Any, str]] = {}

    def add_python(self, frame: Any) -> None:
        """Add the call of the function whose frame this is."""
        caller = frame.f_back
        key = (id(caller.f_code), caller.f_lasti, id(frame.f_code)) if caller else (0, 0, id(frame.f_code))
        try:
            self.calls[key] += 1
        except KeyError:
            if frame.f_code.co_name == _MODULE_CODE:
                while caller is not None and caller.f_globals.get("__name__") in _IMPORT_SYSTEM:
                    caller = caller.f_back
            place = (self._known(caller), caller.f_lineno or 0) if caller else (None, 0)
            self.places[key] = (*place, self._known(frame))
            self.calls.setdefault(key, 0)
            self.calls[key] += 1

    def add_c(self, frame: Any, offset: int, name: str, function: Any) -> None:
        """Add the call of a function in C called `name` by the function whose frame this is."""
        key = (id(frame.f_code), offset, name)
        try:
            self.calls[key] += 1
        except KeyError:
            self.places[key] = (self._known(frame), frame.f_lineno or 0, (_c_module(function), name))
            self.calls.setdefault(key, 0)
            self.calls[key] += 1

    def _known(self, frame: Any) -> int:
        code = frame.f_code
        if id(code) not in self.codes:
            self.codes[id(code)] = (code, str(frame.f_globals.get("__name__", "")))
        return id(code)


class _Monitor(_Counter):
    """Python 3.12 and later (PEP 669)."""

    mechanism = "sys.monitoring"

    def start(self) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        self._tool = _TOOL_ID
        monitoring.use_tool_id(self._tool, _OWN)
        monitoring.register_callback(self._tool, monitoring.events.PY_START, self._on_start)
        monitoring.register_callback(self._tool, monitoring.events.CALL, self._on_call)
        monitoring.set_events(self._tool, monitoring.events.PY_START | monitoring.events.CALL)

    def stop(self) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        monitoring.set_events(self._tool, 0)

    def _on_start(self, _code: Any, _offset: int) -> None:
        self.add_python(sys._getframe(1))  # noqa: SLF001 (the only way to the caller)

    def _on_call(self, _code: Any, offset: int, function: Any, _first: Any) -> None:
        kind = type(function)
        if kind is _BUILTIN or kind is _METHOD or (kind is type and not function.__flags__ & _HEAP_TYPE):
            self.add_c(sys._getframe(1), offset, function.__qualname__, function)  # noqa: SLF001 (as above)


class _Profiler(_Counter):
    """Earlier Pythons: one function for all events, set in each thread. Does not see classes in C being called."""

    mechanism = "sys.setprofile"

    def start(self) -> None:
        import threading  # noqa: PLC0415 (every client of S3 has it)

        self._entries: dict[int, int] = {}
        threading.setprofile(self._on_event)
        sys.setprofile(self._on_event)

    def stop(self) -> None:
        import threading  # noqa: PLC0415 (as above)

        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type,unused-ignore]
        self._on_event = _ignore  # type: ignore[method-assign,assignment]

    def _on_event(self, frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            code = frame.f_code
            # The first time that a generator is seen it starts; what is resumed elsewhere goes on.
            if code.co_flags & _GENERATOR and self._entries.setdefault(id(code), frame.f_lasti) != frame.f_lasti:
                return
            self.add_python(frame)
        elif event == "c_call":
            self.add_c(frame, frame.f_lasti, argument.__qualname__, argument)


_BUILTIN: Any = type(len)
_METHOD: Any = type(str.join)


def _ignore(*_: Any) -> None:
    pass


def _c_module(function: Any) -> str:
    """Module of a function, class or method in C."""
    if type(function) is _METHOD:
        return str(function.__objclass__.__module__)
    owner = getattr(function, "__self__", None)
    if owner is None or type(owner) is type(sys):
        return str(function.__module__)
    return str((owner if isinstance(owner, type) else type(owner)).__module__)


def _write(file: int, owner: int, start: str, counter: Any) -> None:
    if os.getpid() != owner:  # a forked child of the client ends as well, with the same file open
        return
    counter.stop()
    functions: dict[tuple[str, str, str], int] = {}
    edges: dict[tuple[int, int, int], int] = {}
    for key, (caller, line, callee) in list(counter.places.items()):
        called = _function(counter, callee)
        calling = None if caller is None else _function(counter, caller)
        if _is_left_out(calling, called, is_c=type(callee) is tuple):
            continue
        first = -1 if calling is None else functions.setdefault(calling, len(functions))
        edge = (first, line, functions.setdefault(called, len(functions)))
        edges[edge] = edges.get(edge, 0) + counter.calls.get(key, 0)
    lines = ["s3bench-call-counts 1", f"observed\t{counter.mechanism}\t{start}\t{_version()}"]
    lines += ["\t".join(("f", *map(_text, function))) for function in functions]
    lines += [f"e\t{caller}\t{line}\t{callee}\t{calls}" for (caller, line, callee), calls in edges.items()]
    data = "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(file, data) :]


def _function(counter: Any, which: Any) -> tuple[str, str, str]:
    if type(which) is tuple:
        return (*which, "")
    code, module = counter.codes[which]
    name = getattr(code, "co_qualname", code.co_name)
    if name == _MODULE_CODE and code.co_filename == "<string>" and module != "__main__":  # `exec`, not an import
        name = "<exec>"
    return module, name, code.co_filename


def _version() -> str:
    return ".".join(map(str, sys.version_info[:3]))


def _is_left_out(caller: tuple[str, str, str] | None, callee: tuple[str, str, str], *, is_c: bool) -> bool:
    """Whether this call is of the import system, or ours; what these call of the client is the client's."""
    if callee[0] in _IMPORT_SYSTEM or _is_ours(callee[0]):
        return True
    if caller is None:
        return False
    return is_c and (caller[0] in _IMPORT_SYSTEM or _is_ours(caller[0]))


def _is_ours(name: str) -> bool:
    return name == _OWN or name.startswith((f"{_OWN}.", "s3bench_driver"))


def _text(value: str) -> str:
    return value.replace("\t", " ").replace("\n", " ").replace("\r", " ")
