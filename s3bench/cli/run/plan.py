"""The plan of `s3bench run`: the benchmarks that its options select, on which clients."""

from dataclasses import replace

import click

from s3bench.cli.definitions import read_suite
from s3bench.cli.run.options import RunOptions
from s3bench.clients.parameter_list import is_varied, vary
from s3bench.clients.plan import Plan, parse_client_spec, plan_runs
from s3bench.spec.definition import Definition
from s3bench.spec.label import benchmark_label
from s3bench.spec.suite import Suite
from s3bench.units import counted


def read_plan(options: RunOptions) -> Plan:
    """Read the definitions and select from them. Raises `BadInput`."""
    definitions = read_suite((*options.files, *options.named_files))
    suite, lists = Suite(options.suite or Suite.DEFAULT), options.parameter_lists
    skipped: tuple[str, ...] = ()
    if lists:
        skipped = _not_varied(suite.of(definitions))
        definitions = vary(definitions, lists)
    plan = plan_runs(
        definitions,
        suite=suite,
        blocks=frozenset(each.block for each in lists),
        clients=tuple(parse_client_spec(text) for text in options.clients),
        select=options.select,
        num_chunks=options.num_chunks,
        chunk_id=options.chunk_id,
        iterations=options.num_iterations,
        warmup=options.warmup,
    )
    return replace(plan, skipped=(*skipped, *plan.skipped))


def _not_varied(definitions: tuple[Definition, ...]) -> tuple[str, ...]:
    count = sum(not is_varied(definition) for definition in definitions)
    reason = "the command is not s3 or s3api, so the settings do not apply"
    return (f"{counted(count, 'benchmark')}: {reason}",) if count else ()


def print_plan(plan: Plan) -> None:
    """Print a line for each benchmark and client, and to stderr what is skipped."""
    for cell in plan.cells:
        click.echo(f"{benchmark_label(cell.definition.name, cell.definition.dimensions)}\t{cell.client}")
    for line in plan.skipped:
        click.echo(f"skipped: {line}", err=True)
