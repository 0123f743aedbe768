"""Counts the bytes of arguments and environment on a new process's stack, and pads them to one size for all launches.

The kernel puts the strings of the command line and of the environment above a program's first stack frame, so their
size moves every frame after it and changes timings (Mytkowicz et al., ASPLOS 2009, as in `staging`). Counts as
Linux does (fs/exec.c, fs/binfmt_script.c, `create_elf_tables` in fs/binfmt_elf.c) and pads with a variable. Pure. What
a program adds when it re-executes itself is not counted here: AWS's frozen aws-cli puts its own path into
LD_LIBRARY_PATH and does so. Paths of equal length, from `staging`, compensate for that.
"""

import os
from collections.abc import Mapping, Sequence

from s3bench.errors import MachineError

PADDING = "S3BENCH_PADDING"
"""The variable that fills up the environment; further ones, `S3BENCH_PADDING_1` and so on, are empty."""

_PAGE_BYTES = 4096
# The longest single string that execve takes, with its zero (MAX_ARG_STRLEN: 32 pages).
_STRING_BYTES_MAX = 32 * _PAGE_BYTES


def stack_bytes(argv: Sequence[str], env: Mapping[str, str], *, script: Sequence[str] = ()) -> int:
    """Count the bytes of all strings that execve puts on the stack, with their zeros.

    A padding variable counts as it is, or as an empty one. `argv[0]` is the path that is executed, and counts once
    more: AT_EXECFN points to it. For a script, `script` has the words of its first line (`interpreter.script_words`).
    """
    variables = {PADDING: "", **env}
    strings = [argv[0], *_loaded(argv, script), *(f"{name}={value}" for name, value in variables.items())]
    return sum(len(os.fsencode(string)) + 1 for string in strings)


def stack_entries(argv: Sequence[str], env: Mapping[str, str], *, script: Sequence[str] = ()) -> int:
    """Count the arguments and variables that execve puts on the stack, a padding variable among them."""
    return len(_loaded(argv, script)) + len({PADDING: "", **env})


def common_size(*sizes_bytes: int) -> int:
    """Choose the size for launches of about `sizes_bytes`: whole pages, at least one to spare for longer ones to come.

    A fixed size for all launches: what differs between iterations, such as a port or a hash seed, is compensated too.
    """
    return (max(sizes_bytes) // _PAGE_BYTES + 2) * _PAGE_BYTES


def pad(
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    size_bytes: int,
    entries: int | None = None,
    script: Sequence[str] = (),
) -> dict[str, str]:
    """Return `env` with padding in place of any that it had, so that `stack_bytes` is `size_bytes`, to the byte.

    With `entries`, `stack_entries` is that as well. Must be the last change to a launch: nothing may be added after it.
    Raises `MachineError` when the launch is larger already, or the padding would be longer than execve takes.
    """
    padded = {name: value for name, value in env.items() if name != PADDING and not name.startswith(f"{PADDING}_")}
    lacking = 0 if entries is None else entries - stack_entries(argv, padded, script=script)
    padded |= {f"{PADDING}_{number}": "" for number in range(1, lacking + 1)}
    missing_bytes = size_bytes - stack_bytes(argv, padded, script=script)
    if lacking < 0 or missing_bytes < 0:
        raise MachineError(
            f"{argv[0]} cannot be started with as large a command line and environment as the other client",
            f"it has {size_bytes - missing_bytes} bytes of {size_bytes}"
            + (f" and {entries - lacking} strings of {entries}" if entries is not None else ""),
            "decide on a size that holds the largest launch",
        )
    if missing_bytes + len(f"{PADDING}=") >= _STRING_BYTES_MAX:
        raise MachineError(
            f"the environment of {argv[0]} cannot be filled up by {missing_bytes} bytes",
            f"one variable holds less than {_STRING_BYTES_MAX}",
            "decide on a size nearer to that of the launches",
        )
    return {**padded, PADDING: "x" * missing_bytes}


def _loaded(argv: Sequence[str], script: Sequence[str]) -> tuple[str, ...]:
    """The command line of the process that really runs: a script's interpreter gets the script's path."""
    return (*script, argv[0], *argv[1:]) if script else tuple(argv)
