"""Files without a name, whose bytes can be sent by sendfile(2): in memory on Linux, elsewhere temporary files."""

import ctypes
import os
from pathlib import Path

from s3bench.system.portable import IS_PORTABLE

OPEN_PATH = os.O_RDONLY
"""The flag that opens a directory only to open what is in it; on Linux it need not be readable."""

_PUNCH_HOLE_KEEP_SIZE = 0x02 | 0x01  # FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, fallocate(2)

if IS_PORTABLE:
    import tempfile
else:
    OPEN_PATH = os.O_PATH
    _LIBC = ctypes.CDLL(None)
    _LIBC.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    _TRIM = getattr(_LIBC, "malloc_trim", None)  # glibc has it, others need none


def open_anonymous(name: str) -> int:
    """Open a new file that is gone when its descriptor is closed; `name` is what tools show."""
    if IS_PORTABLE:
        descriptor, path = tempfile.mkstemp(prefix=name)
        Path(path).unlink()
        return descriptor
    return os.memfd_create(name, os.MFD_CLOEXEC)


def punch_hole(descriptor: int, offset: int, size_bytes: int) -> None:
    """Give the pages of this range back to the machine; a temporary file keeps them until it is closed."""
    if not IS_PORTABLE:
        _LIBC.fallocate(descriptor, _PUNCH_HOLE_KEEP_SIZE, offset, size_bytes)


def trim_heap() -> None:
    """Give memory that the C library holds free back to the machine."""
    if not IS_PORTABLE and _TRIM is not None:
        _TRIM(0)


def drop_cached_pages(descriptor: int) -> None:
    """Have the page cache forget a file; elsewhere its pages stay."""
    if not IS_PORTABLE:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
