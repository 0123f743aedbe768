"""What the client's process tells of itself when it is run once more for inspection: the modules it has imported.

Loaded only when $S3BENCH_MODULES_FILE names a file. Imports nothing that an interpreter has not imported at start, so
that nothing of ours gets into the list; what else of s3bench is in the process is left out of it by name.
"""

from __future__ import annotations

import atexit
import os
import sys

_OWN = __name__.partition(".")[0]


def install() -> None:
    """Have the names of the imported modules written when the interpreter ends: sorted, one a line, UTF-8.

    What handlers registered before this one import is missed: they run later. So is everything when the process ends
    without the interpreter's leave (a signal, `os._exit`): then there is no file.
    """
    # Opened now, while the client cannot have changed the current directory or its environment yet.
    file = os.open(os.environ["S3BENCH_MODULES_FILE"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    atexit.register(_write, file, os.getpid())


def _write(file: int, owner: int) -> None:
    if os.getpid() != owner:  # a forked child of the client ends as well, with the same file open
        return
    # A module set to None is one that somebody forbade to import.
    names = sorted(name for name, module in sys.modules.items() if module is not None and not _is_ours(name))
    data = "".join(f"{name}\n" for name in names).encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(file, data) :]


def _is_ours(name: str) -> bool:
    return name == _OWN or name.startswith((f"{_OWN}.", "s3bench_driver"))
