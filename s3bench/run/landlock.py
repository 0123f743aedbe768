"""Restricts a client process to writing below given directories.

Uses Landlock, a Linux security module that needs no root (Linux 5.13 or later,
https://docs.kernel.org/userspace-api/landlock.html). The restriction is inherited by every program that the process
starts, and nothing lifts it. Reading, executing and the network stay as they are. Linux before 6.2 (ABI 1 and 2) does
not cover truncate(2) of a file by its path.

The spawner runs this in the child between fork and exec. Standard library only, and no `typing` (see `spawner`).
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys

from s3bench.system.portable import IS_PORTABLE

TYPE_CHECKING = False  # importing `typing` would add a megabyte to every client's high-water mark
if TYPE_CHECKING:
    from collections.abc import Iterable

_LIBC = ctypes.CDLL(None, use_errno=True)
_OPEN = os.O_NOFOLLOW | os.O_CLOEXEC
if not IS_PORTABLE:
    _OPEN |= os.O_PATH

# System call numbers: one for all architectures but Alpha (include/uapi/asm-generic/unistd.h).
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_CREATE_RULESET_VERSION = 1  # flag: return the ABI version instead of a ruleset
_RULE_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

# Access rights (include/uapi/linux/landlock.h), by the ABI version that brought them.
_WRITE_FILE = 1 << 1
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))  # remove and make directories and files of every kind
_REFER = 1 << 13  # ABI 2: rename or link into another directory; ABI 1 always denies it
_TRUNCATE = 1 << 14  # ABI 3

DEVICES = ("/dev/null",)
"""What a client may write to beside its directories: programs open it in place of a stream they do not want."""


def rights(abi: int) -> tuple[int, int]:
    """Return the write access that ABI version `abi` can restrict: of directories, and of single files."""
    files = _WRITE_FILE | (_TRUNCATE if abi >= 3 else 0)  # noqa: PLR2004 (the version that brought it)
    return files | _REMOVE_AND_MAKE | (_REFER if abi >= 2 else 0), files  # noqa: PLR2004 (as above)


def abi_version() -> int:
    """Ask the kernel for its Landlock ABI version; 0 where there is none, it is switched off or forbidden."""
    if IS_PORTABLE:
        return 0
    return max(0, _system_call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_CREATE_RULESET_VERSION)))


def restrict_writes(directories: Iterable[bytes], abi: int) -> None:
    """From now on, let this process and its children write only below `directories`. Raises `OSError`."""
    below, single = rights(abi)
    handled = below.to_bytes(8, sys.byteorder)  # struct landlock_ruleset_attr as of ABI 1: one 64-bit mask
    ruleset = _checked(_system_call(_CREATE_RULESET, handled, ctypes.c_size_t(len(handled)), ctypes.c_uint32(0)))
    try:
        for path in (*directories, *map(os.fsencode, DEVICES)):
            _allow(ruleset, path, below, single)
        _checked(_LIBC.prctl(_PR_SET_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0))))
        _checked(_system_call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: bytes, below: int, single: int) -> None:
    file = os.open(path, _OPEN)
    try:
        access = below if stat.S_ISDIR(os.fstat(file).st_mode) else single
        # struct landlock_path_beneath_attr, packed: a 64-bit mask and a 32-bit descriptor.
        rule = access.to_bytes(8, sys.byteorder) + file.to_bytes(4, sys.byteorder)
        kind = ctypes.c_int(_RULE_PATH_BENEATH)
        _checked(_system_call(_ADD_RULE, ctypes.c_int(ruleset), kind, rule, ctypes.c_uint32(0)))
    finally:
        os.close(file)


def _system_call(number: int, *arguments: object) -> int:
    return int(_LIBC.syscall(ctypes.c_long(number), *arguments))


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return result
