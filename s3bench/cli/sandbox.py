"""Whether clients are kept from writing outside of their workspaces, and what is said and refused where they are not.

Owns the option that lets them all the same. The wall itself is `s3bench.run.landlock`'s.
"""

from collections.abc import Callable
from typing import Any

import click

from s3bench.errors import BadInput
from s3bench.run.landlock import abi_version

_REASON = "there is no Landlock here: it needs Linux 5.13 or later, where it is neither switched off nor forbidden"

_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def unsandboxed_option() -> _Decorator:
    """The option that runs against a live endpoint although nothing keeps clients in their workspaces."""
    return click.option(
        "--allow-unsandboxed",
        is_flag=True,
        help="With --endpoint-url: run even where this kernel cannot keep clients from writing outside of their "
        "workspaces.",
    )


def check_wall(*, allow_unsandboxed: bool) -> None:
    """Refuse to run clients with real keys and without a wall around them. Raises `BadInput`."""
    if not abi_version() and not allow_unsandboxed:
        raise BadInput(
            "with real keys, clients run only where they cannot write outside of their workspaces",
            _REASON,
            "run on another kernel, or add --allow-unsandboxed for definitions and clients that you trust",
        )


def wall_warnings() -> tuple[str, ...]:
    """Say that nothing keeps clients in their workspaces, if so."""
    if abi_version():
        return ()
    return (f"clients can write outside of their workspaces: {_REASON}; run only definitions that you trust",)
