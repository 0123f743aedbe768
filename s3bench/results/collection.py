"""Python's search for garbage, put off while large data without cycles are made."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Keep the garbage collector from searching what is read, again and again: it takes as long as reading it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
