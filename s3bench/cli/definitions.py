"""Reads the definitions of a command: from the given files, or those shipped with s3bench."""

from collections.abc import Iterable
from pathlib import Path

import click

from s3bench.cli.definition_file import shipped_definitions
from s3bench.clients.client import ClientSpec
from s3bench.clients.plan import plan_runs
from s3bench.clients.registry import known_clients
from s3bench.errors import BadInput
from s3bench.results.file import read_whole
from s3bench.spec.crt_workload import SUFFIX, read_crt_workload
from s3bench.spec.definition import Definition
from s3bench.spec.parse import read_definitions
from s3bench.spec.suite import Suite


def read_suite(files: tuple[Path, ...]) -> tuple[Definition, ...]:
    """Read the definitions of `files`, or the shipped ones. Raises `BadInput` if two have the same identity."""
    definitions = tuple(definition for file in definition_files(files) for definition in read_file(file))
    check_identities(definitions)
    return definitions


def check_identities(definitions: tuple[Definition, ...]) -> None:
    """Check that no two of the definitions, each file's own being distinct, are equal in name and dimensions.

    Raises `BadInput`.
    """
    seen = set()
    for definition in definitions:
        identity = (definition.name, definition.dimensions)
        if identity in seen:
            raise BadInput(
                f"benchmark {definition.name!r} is in two definition files with equal dimensions",
                "their results could not be distinguished",
                "give one of them another name or dimension, or name a file once",
            )
        seen.add(identity)


def runnable(
    client: ClientSpec, files: tuple[Path, ...], *, select: str | None, suite: str | None
) -> tuple[Definition, ...]:
    """The benchmarks of `files` that are selected and that `client` can run. Raises `BadInput` where there are none."""
    plan = plan_runs(read_suite(files), clients=(client,), suite=Suite(suite or Suite.DEFAULT), select=select)
    return tuple(cell.definition for cell in plan.cells)


def runnable_on_all(
    clients: Iterable[ClientSpec], files: tuple[Path, ...], *, select: str | None, suite: str | None
) -> tuple[Definition, ...]:
    """Those that each of `clients` can run, perhaps none. Raises `BadInput` where one of them can run none."""
    first, *others = (runnable(client, files, select=select, suite=suite) for client in dict.fromkeys(clients))
    return tuple(definition for definition in first if all(definition in other for other in others))


def definition_files(files: tuple[Path, ...]) -> tuple[Path, ...]:
    """The given files, or the shipped one."""
    return files or (shipped_definitions(),)


def sizes_files(file: Path) -> tuple[str, ...]:
    """The files of sizes (`environment.like`) that the definitions in `file` name, relative to its directory."""
    directories = (directory for definition in read_file(file) for directory in definition.environment.file_dirs)
    return tuple(dict.fromkeys(each.sizes_file for each in directories if each.sizes_file is not None))


def read_file(file: Path) -> tuple[Definition, ...]:
    """Read a definition file, or a workload of AWS's CRT S3 benchmarks; notes about the latter go to stderr."""
    if not file.name.endswith(SUFFIX):
        return read_definitions(file, known_clients())
    workload = read_crt_workload(read_whole(file, of="a workload"), source=str(file), clients=known_clients())
    for note in workload.notes:
        click.echo(f"s3bench: {file.name}: {note}", err=True)
    return workload.definitions
