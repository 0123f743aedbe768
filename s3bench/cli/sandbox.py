"""Checks that clients cannot write outside of their workspaces: the option, the error and the warning."""

import click

from s3bench.errors import BadInput
from s3bench.run.landlock import abi_version

_REASON = "Landlock is not available: it needs Linux 5.13 or later, and must be neither disabled nor forbidden"

unsandboxed_option = click.option(
    "--allow-unsandboxed",
    is_flag=True,
    help="With --endpoint-url: run even where this kernel cannot keep clients from writing outside of their "
    "workspaces.",
)


def check_confinement(*, allow_unsandboxed: bool) -> None:
    """Refuse to run unconfined clients with real keys. Raises `BadInput`."""
    if not abi_version() and not allow_unsandboxed:
        raise BadInput(
            "with real keys, clients run only where they cannot write outside of their workspaces",
            _REASON,
            "run on another kernel, or add --allow-unsandboxed for definitions and clients that you trust",
        )


def confinement_warnings() -> tuple[str, ...]:
    """Warn where clients are not confined to their workspaces."""
    if abi_version():
        return ()
    return (f"clients can write outside of their workspaces: {_REASON}; run only definitions that you trust",)
