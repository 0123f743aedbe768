"""The options shared by the commands of `s3bench history`."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import click

from s3bench.cli.completion_items import complete_client, complete_file

Command = Callable[..., Any]


store_option = click.option(
    "--store",
    metavar="FILE|URL",
    shell_complete=complete_file,
    help="The database: a SQLite file, or postgresql://USER@HOST/DATABASE.  "
    "[default: history.db in ~/.local/share/s3bench]",
)


benchmarks_option = click.option(
    "-k",
    "benchmarks",
    metavar="EXPRESSION",
    default="",
    help="Only benchmarks whose name, dimensions, tags or client match; with and, or, not, parentheses.",
)


client_option = click.option(
    "--client",
    metavar="CLIENT",
    shell_complete=complete_client,
    default="",
    help="Only this client, such as cli-crt, or one version, such as cli-crt@2.38.5.",
)


machine_option = click.option(
    "--machine", metavar="DIGITS", default="", help="Only the machine whose fingerprint starts with this."
)


class TimestampParam(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click alone
    """A date or a time in ISO 8601; without a time zone it is UTC."""

    name = "DATE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Parse what was typed."""
        if isinstance(value, datetime):
            return value
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is not a date; write for example 2026-11-22 or 2026-11-22T08:30Z", param, ctx)
        return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
