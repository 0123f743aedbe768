"""What the commands that run pairs or profiles have in common: options, and which of them were typed."""

from collections.abc import Iterable
from pathlib import Path

import click
from click.core import ParameterSource

from s3bench.cli.quantity import SECONDS, FiniteRange
from s3bench.spec.suite import Suite

CHANCE = FiniteRange(min=0, max=0.5, min_open=True, max_open=True)
"""The type of an option that is the chance of an error."""

select_option = click.option(
    "-k", "select", metavar="EXPRESSION", help="Only benchmarks that match, as in `s3bench run`."
)
suite_option = click.option(
    "--suite",
    type=click.Choice([suite.value for suite in Suite]),
    help="Benchmarks by tag: `default` leaves out those tagged `full`.  [default: default]",
)
seed_option = click.option(
    "--seed",
    type=int,
    metavar="N",
    help="Repeat the same order of runs and hash seeds.  [default: random, and recorded]",
)
timeout_option = click.option(
    "--timeout", type=SECONDS, default=600, show_default=True, metavar="SECONDS", help="Time limit of a run."
)
tls_option = click.option("--tls", is_flag=True, help="Use HTTPS for the stub.")
output_option = click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write the record to this file, as JSON."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the record to stdout instead of the table.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="No progress.")


def typed_names(context: click.Context, names: Iterable[str]) -> frozenset[str]:
    """The parameters that are on the command line, of those with these names; the others have their defaults."""
    return frozenset(name for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE)
