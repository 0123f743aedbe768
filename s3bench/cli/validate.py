"""`s3bench validate`: checks definition files, and prints their JSON Schema."""

import json
from pathlib import Path

import click

from s3bench.cli.definition_file import DefinitionFile
from s3bench.clients.registry import known_clients
from s3bench.errors import BadDefinitions, BadInput
from s3bench.spec.parse import read_definitions
from s3bench.spec.schema import json_schema


@click.command("validate")
@click.argument("files", nargs=-1, type=DefinitionFile(), metavar="[DEFINITIONS]...")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of definition files and exit.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the problems as JSON: a list of {source, path, what, fix}."
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
    broken: list[BadDefinitions] = []
    for file in files:
        try:
            count = len(read_definitions(file, known_clients()))
        except BadDefinitions as error:
            broken.append(error)
        else:
            click.echo(f"{file}: {count} benchmark{'' if count == 1 else 's'}, no problems", err=True)
    if as_json:
        click.echo(
            json.dumps([_row(error, index) for error in broken for index in range(len(error.problems))], indent=2)
        )
    if broken:
        raise _joined(broken)


def _row(error: BadDefinitions, index: int) -> dict[str, str]:
    problem = error.problems[index]
    return {"source": error.source, "path": problem.path, "what": problem.what, "fix": problem.fix}


def _joined(broken: list[BadDefinitions]) -> BadInput:
    if len(broken) == 1:
        return broken[0]
    return BadInput(f"{len(broken)} files have problems", "\n".join(str(error) for error in broken))
