"""Selects between the implementations for Linux and the portable ones.

The spawner imports this, so it imports next to nothing itself.
"""

from __future__ import annotations

import importlib
import os
import sys

TYPE_CHECKING = False  # `typing` is not imported here: see `spawner`
if TYPE_CHECKING:
    from typing import Any

IS_PORTABLE = sys.platform != "linux" or os.environ.get("S3BENCH_PORTABLE") == "1"
"""Whether the portable implementations are used: on other systems, and on Linux where S3BENCH_PORTABLE=1 is set."""


def extension(name: str) -> Any | None:
    """A module in C of ours; `None` where it was not compiled or lacks a library (`hatch_build.py`)."""
    if IS_PORTABLE or "t" in sys.abiflags:  # free-threaded Python would load what was compiled for the GIL
        return None
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
