"""A kernel without Landlock, as a process and its children see it: a seccomp filter answers its system calls.

Containers whose seccomp profile does not know Landlock look the same.
"""

import ctypes
import errno

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_LOAD_NUMBER, _JUMP_IF_AT_LEAST, _RETURN = 0x20, 0x35, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


def _instruction(code: int, value: int, *, if_true: int = 0, if_false: int = 0) -> bytes:
    return code.to_bytes(2, "little") + bytes((if_true, if_false)) + value.to_bytes(4, "little")


_FILTER = b"".join((
    _instruction(_LOAD_NUMBER, 0),
    _instruction(_JUMP_IF_AT_LEAST, 444, if_false=2),  # landlock_create_ruleset
    _instruction(_JUMP_IF_AT_LEAST, 447, if_true=1),  # one past landlock_restrict_self
    _instruction(_RETURN, _ERRNO | errno.ENOSYS),
    _instruction(_RETURN, _ALLOW),
))  # fmt: skip


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def forget_landlock() -> None:
    """From now on, the kernel has no Landlock for this process; for use as `preexec_fn`."""
    libc = ctypes.CDLL(None, use_errno=True)
    program = _Program(len(_FILTER) // 8, _FILTER)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0)))
    if libc.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_SECCOMP_MODE_FILTER), ctypes.byref(program)):
        raise OSError(ctypes.get_errno(), "seccomp")
