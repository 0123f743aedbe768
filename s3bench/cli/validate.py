"""`s3bench validate`: checks definition files, and prints their JSON Schema."""

import json
from collections.abc import Iterator
from pathlib import Path

import click

from s3bench.cli.definition_file import DefinitionFile
from s3bench.cli.definitions import check_identities, read_file
from s3bench.clients.plan import plan_runs
from s3bench.clients.registry import known_clients
from s3bench.errors import BadDefinitions, BadInput, Problem
from s3bench.spec.definition import Definition
from s3bench.spec.schema import json_schema
from s3bench.units import counted


@click.command("validate")
@click.argument("files", nargs=-1, type=DefinitionFile(), metavar="[DEFINITIONS]...")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of definition files and exit.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the problems as JSON: a list of {source, path, what, fix}. `source` names files, separated by commas.",
)
def validate_command(files: tuple[Path, ...], *, schema: bool, as_json: bool) -> None:
    """Check DEFINITIONS without running anything. Exit code 2 if there is any problem.

    \b
    s3bench validate benchmarks.json
    s3bench validate --json mine.json | jq '.[].path'
    s3bench validate --schema > s3bench.schema.json
    """
    if schema:
        if files or as_json:
            raise BadInput(
                "--schema checks no file", fix=f"leave out {'--json' if as_json else '--schema, or the file'}"
            )
        click.echo(json.dumps(json_schema(known_clients()), indent=2))
        return
    if not files:
        raise BadInput("no definition file was given", fix="pass one: s3bench validate benchmarks.json")
    broken = _problems(files)
    if as_json:
        click.echo(json.dumps([row for source, error in broken for row in _rows(source, error)], indent=2))
    if broken:
        raise _joined([error for _, error in broken])


def _problems(files: tuple[Path, ...]) -> list[tuple[str, BadInput]]:
    """What is wrong with each of `files`, then with all of them together, as `s3bench run` checks them.

    A line on stderr names each file that is right.
    """
    broken: list[tuple[str, BadInput]] = []
    read: list[tuple[Path, tuple[Definition, ...]]] = []
    for file in files:
        try:
            read.append((file, read_file(file)))
        except BadInput as error:
            broken.append((str(file), error))
    together = tuple(definition for _, definitions in read for definition in definitions)
    try:
        check_identities(together)
        if not broken:  # or the benchmarks may be in the files that are
            plan_runs(together, clients=())
    except BadInput as error:
        return [*broken, (", ".join(str(file) for file, _ in read), error)]
    for file, definitions in read:
        click.echo(f"{file}: {counted(len(definitions), 'benchmark')}, no problems", err=True)
    return broken


def _rows(source: str, error: BadInput) -> Iterator[dict[str, str]]:
    problems: tuple[Problem, ...]
    if isinstance(error, BadDefinitions):
        problems = error.problems
    else:
        what = "; ".join(part for part in (error.what.removeprefix(f"{source}: "), error.why) if part)
        problems = (Problem(path="$", what=what, fix=error.fix),)
    for problem in problems:
        yield {"source": source, "path": problem.path, "what": problem.what, "fix": problem.fix}


def _joined(errors: list[BadInput]) -> BadInput:
    if len(errors) == 1:
        return errors[0]
    return BadInput("the definition files have problems", "\n".join(map(str, errors)))
