"""The type of arguments that name a definition file, and where the shipped definitions are."""

from pathlib import Path
from typing import Any

import click

import s3bench

SHIPPED = "benchmarks.json"


class DefinitionFile(click.Path):
    """The path of a definition file. `benchmarks.json` is the shipped file, unless the current directory has one."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; a note on stderr says when it is not the one that was typed."""
        if value != SHIPPED or Path(SHIPPED).exists():
            return super().convert(value, param, ctx)
        click.echo(f"s3bench: no {SHIPPED} in this directory; using the shipped one", err=True)
        return shipped_definitions()


def shipped_definitions() -> Path:
    """The shipped `benchmarks.json`: inside the package in a wheel, next to it in a checkout."""
    package = Path(s3bench.__file__).resolve().parent
    inside = package / SHIPPED
    return inside if inside.is_file() else package.parent / SHIPPED
