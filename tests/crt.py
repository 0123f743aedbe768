"""boto3 runs Classic where another process holds the CRT's lock of the whole machine, so tests take it in turn."""

import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATH = Path(tempfile.gettempdir()) / "s3bench-tests-crt.lock"
_held: list[str] = []


@contextmanager
def crt_alone(*clients: str) -> Iterator[None]:
    """Keep other test processes from running boto3-crt, where it is among `clients`; may be nested."""
    if _held or "boto3-crt" not in clients:
        yield
        return
    with _PATH.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _held.append("boto3-crt")
        try:
            yield
        finally:
            _held.clear()
