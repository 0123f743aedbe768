"""The plan of `s3bench run`: the benchmarks that its options select, on which clients."""

import click

from s3bench.cli.definitions import read_suite
from s3bench.cli.run.options import RunOptions
from s3bench.clients.plan import Plan, parse_client_spec, plan_runs
from s3bench.spec.label import benchmark_label
from s3bench.spec.suite import Suite


def read_plan(options: RunOptions) -> Plan:
    """Read the definitions and select from them. Raises `BadInput`."""
    definitions = read_suite((*options.files, *options.named_files))
    return plan_runs(
        definitions,
        suite=Suite(options.suite or Suite.DEFAULT),
        clients=tuple(parse_client_spec(text) for text in options.clients),
        select=options.select,
        num_chunks=options.num_chunks,
        chunk_id=options.chunk_id,
        iterations=options.num_iterations,
        warmup=options.warmup,
    )


def print_plan(plan: Plan) -> None:
    """Print a line for each benchmark and client, and to stderr what is skipped."""
    for cell in plan.cells:
        click.echo(f"{benchmark_label(cell.definition.name, cell.definition.dimensions)}\t{cell.client}")
    for line in plan.skipped:
        click.echo(f"skipped: {line}", err=True)
