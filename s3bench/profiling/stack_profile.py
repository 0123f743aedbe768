"""A profile: the stacks of one client, sampled in several runs of one benchmark."""

from enum import StrEnum
from math import inf

import msgspec

OWN_MODULE = "s3bench_probe"
"""The module of all sampled frames of ours inside the client: of the probe and of the driver."""

OWN_MODULES = (OWN_MODULE, "s3bench_driver")
"""What the names of our modules inside the client begin with."""

MAIN_THREAD = "MainThread"
"""The name of a process's first thread; that of another process is behind its command's name: `aws 2/MainThread`."""

UNNAMED = "(no name)"
"""The function of native code whose name is not known."""

NO_FUNCTION = "(no Python function)"
"""What stands for a stack without a frame: the interpreter starts or ends, or runs native code by itself."""

_IMPORT_SYSTEM = frozenset({"importlib", "zipimport"})
_IMPORT_SYSTEM_PREFIXES = ("importlib._bootstrap", "pyimod0", "PyInstaller.loader.pyimod0")


class Sampled(StrEnum):
    """What is sampled."""

    WALL_TIME = "wall time"
    """The main thread, also while it waits."""
    CPU_TIME = "CPU time"
    """All threads, while they run."""


class Frame(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A place in a program: a line of a function.

    `module` is the name that an import statement takes (`botocore.session`), in Go the path of the package
    (`github.com/peak/s5cmd/v2/command`), of other native code the name of its library or program;
    `function` is the qualified name (`Session.create_client`, `<module>` for a module's own code). `file` is below the
    directory that the module was imported from (`botocore/session.py`). `line` is the line that ran, from 1; 0 if it is
    unknown.
    """

    module: str
    function: str
    file: str = ""
    line: int = 0

    @property
    def name(self) -> str:
        """Module and function, by which frames of different versions are the same: `botocore.session:Session.get`."""
        return f"{self.module}:{self.function}"

    @property
    def is_import_system(self) -> bool:
        """Whether it finds or loads modules for an import statement: Python's own, or a frozen program's."""
        return self.module in _IMPORT_SYSTEM or self.module.startswith(_IMPORT_SYSTEM_PREFIXES)


IMPORT_SYSTEM = Frame(module="importlib", function="import system")
"""Stands for all frames of the import system, whose names say nothing."""


def file_of_module(module: str, path: str) -> str:
    """The end of a path that an import of `module` looks for; empty for code that has no file."""
    if path.startswith("<"):
        return ""
    parts = path.split("/")
    depth = module.count(".") + 1 + parts[-1].startswith("__init__.")
    return "/".join(parts[-depth:])


class Stack(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stack: indices into the profile's `frames`, the outermost first, and the thread's name."""

    frames: tuple[int, ...]
    thread: str = MAIN_THREAD


class ProfiledRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run under the profiler: its total time and CPU time in seconds, and the number of samples of each stack.

    `samples` has indices into the profile's `stacks`.
    """

    total_time: float
    cpu_time: float
    samples: dict[int, int]


class StackProfile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The stacks of one client in several runs of one benchmark; one sample stands for `interval_s` seconds."""

    sampled: Sampled
    interval_s: float
    frames: tuple[Frame, ...]
    stacks: tuple[Stack, ...]
    runs: tuple[ProfiledRun, ...]

    def __post_init__(self) -> None:
        """Raises `ValueError`, which decoding tells with its path, where a record was edited by hand."""
        if not 0 < self.interval_s < inf:
            raise ValueError("interval_s is not a time above 0")
        frames, stacks = range(len(self.frames)), range(len(self.stacks))
        if any(frame not in frames for stack in self.stacks for frame in stack.frames):
            raise ValueError("a stack has a frame that is not there")
        if any(stack not in stacks or count < 0 for run in self.runs for stack, count in run.samples.items()):
            raise ValueError("a run has samples of a stack that is not there, or fewer than none")
