"""The optional dependencies of s3bench, by extra, and the error for a command that lacks one."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import requires

from s3bench.errors import BadInput


@contextmanager
def needs_extra(what: str, extra: str) -> Iterator[None]:
    """Import here what `extra` brings; where a package is missing, the error has the command that installs it."""
    try:
        yield
    except ImportError as error:
        raise BadInput(f"{what} needs packages that are not installed", str(error), install_command(extra)) from error


def install_command(extra: str) -> str:
    """The command that installs the packages of `extra` beside this s3bench, from wherever that was installed."""
    wanted = f'extra == "{extra}"'
    declared = (text.partition(";") for text in requires("s3bench") or ())
    return shlex.join(
        (
            sys.executable,
            "-m",
            "pip",
            "install",
            *(name for name, _, marker in declared if wanted in marker.replace("'", '"')),
        )
    )
