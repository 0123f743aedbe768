"""What the commands that run pairs or profiles have in common: options, and which of them were typed."""

from collections.abc import Iterable
from pathlib import Path
from random import SystemRandom

import click
from click.core import ParameterSource

from s3bench.cli.quantity import SECONDS
from s3bench.spec.suite import Suite

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
    type=click.IntRange(min=0),
    metavar="N",
    help="Repeat the same order of runs and hash seeds.  [default: random, and recorded]",
)


def seed_or_random(seed: int | None) -> int:
    """The seed that was typed, or one at random."""
    return SystemRandom().randrange(2**32) if seed is None else seed


timeout_option = click.option(
    "--timeout", type=SECONDS, default=600, show_default=True, metavar="DURATION", help="Time limit of a run."
)
tls_option = click.option("--tls", is_flag=True, help="Use HTTPS for the stub.")
output_option = click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write the record to this file, as JSON."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the record to stdout instead of the table.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="No progress.")


def typed_flags(context: click.Context) -> dict[str, str]:
    """The parameters that are on the command line, by their names, each as it is typed: `-k`, `--no-explain`."""
    flags = {}
    for parameter in context.command.params:
        if parameter.name and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE:
            is_off = context.params[parameter.name] is False
            flags[parameter.name] = (parameter.secondary_opts if is_off else parameter.opts)[0]
    return flags


def typed_names(context: click.Context, names: Iterable[str]) -> frozenset[str]:
    """The parameters that are on the command line, of those with these names; the others have their defaults."""
    return frozenset(name for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE)
