"""`s3bench gate`: its options."""

from pathlib import Path
from typing import Any

import click

from s3bench.cli.completion_items import complete_client
from s3bench.cli.definition_file import DefinitionFile
from s3bench.cli.pair_options import (
    json_option,
    output_option,
    quiet_option,
    seed_option,
    select_option,
    suite_option,
    timeout_option,
    tls_option,
    typed_flags,
)
from s3bench.cli.quantity import CHANCE, DURATION, SECONDS
from s3bench.gate.exact_metric import EXACT_BY_NAME
from s3bench.gate.looks import Looks


@click.command("gate", context_settings={"max_content_width": 120})
@click.argument("files", nargs=-1, type=DefinitionFile(), metavar="[DEFINITIONS... | BASE CANDIDATE]")
@click.option(
    "--baseline",
    metavar="NAME[@VERSION|@PATH]",
    shell_complete=complete_client,
    help="The client to measure against.",
)
@click.option(
    "--candidate", metavar="NAME[@VERSION|@PATH]", shell_complete=complete_client, help="The client to decide about."
)
@select_option
@suite_option
@click.option(
    "--pairs",
    default=",".join(map(str, Looks().pairs)),
    show_default=True,
    metavar="N,N,...",
    help="Numbers of pairs at which the gate may decide.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Let this metric decide; repeat for several. `instructions` counts them; with `none`, counts alone decide.  "
    "[default: total_time, peak_memory]",
)
@click.option(
    "--exact",
    multiple=True,
    metavar="NAME",
    help=f"An exact metric that decides; repeat for several: {', '.join(EXACT_BY_NAME)}.",
)
@click.option("--no-exact", is_flag=True, help="Use no exact metrics, and skip the inspections.")
@click.option("--no-instructions", is_flag=True, help="Do not count instructions where time is undecided.")
@click.option(
    "--explain/--no-explain",
    "explains",
    default=True,
    show_default=True,
    help="Look for the causes of what FAILs, after the verdict.",
)
@click.option(
    "--no-adjust",
    is_flag=True,
    help="Compare times as measured, without taking out the speed of the machine and waits for a core.",
)
@click.option(
    "--zone",
    "zones",
    multiple=True,
    metavar="METRIC=D0,D1[,FLOOR]",
    help="Largest negligible change and smallest change that must not pass, for example total_time=2%,6%,500us.",
)
@click.option(
    "--false-alarm",
    type=CHANCE,
    default="1%",
    metavar="SHARE",
    show_default=True,
    help="Chance of any FAIL without a regression.",
)
@click.option(
    "--miss",
    type=CHANCE,
    default="5%",
    metavar="SHARE",
    show_default=True,
    help="Chance of a PASS for a change that must not pass.",
)
@click.option(
    "--max-time",
    type=DURATION,
    metavar="DURATION",
    help="Decide within 90s, 30m or 2h: pairs go where they decide most.",
)
@seed_option
@timeout_option
@click.option(
    "--data-interval",
    type=SECONDS,
    metavar="DURATION",
    help="Also sample memory and CPU, at this interval.  [default: no samples]",
)
@tls_option
@click.option(
    "--waivers", type=click.Path(path_type=Path), metavar="FILE", help="Known regressions that may pass until a date."
)
@click.option("--strict", is_flag=True, help="Exit code 1 for SMALL too.")
@output_option
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@json_option
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Write JUnit XML.")
@click.option("--markdown", type=click.Path(path_type=Path), metavar="FILE", help="Append a step summary.")
@click.option("--comment", type=click.Path(path_type=Path), metavar="FILE", help="Write a pull-request comment.")
@click.option("--annotations", is_flag=True, help="Print GitHub annotations to stderr.")
@click.option(
    "--replay",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Compute the verdict of a record again; run nothing.",
)
@click.option("--self-test", is_flag=True, help="Plant faults into the baseline and print which are caught.")
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    show_default="5",
    metavar="N",
    help="Number of gates for each fault, with --self-test.",
)
@click.option("--verbose", is_flag=True, help="Print every row.")
@quiet_option
@click.pass_context
def gate_command(context: click.Context, /, **typed: Any) -> None:
    """Decide whether CANDIDATE is slower or needs more memory than BASELINE: PASS, SMALL, FAIL or INCONCLUSIVE.

    Both run in alternation, in pairs, until the verdict is certain or 40 pairs are done.

    \b
    s3bench gate --baseline cli-crt@2.38.5 --candidate cli-crt@./build/aws
    s3bench gate --baseline boto3-classic@1.40.0 --candidate boto3-classic@./venv -k 'cp and 32MB' -o gate.json
    s3bench gate base.json candidate.json                 two results documents (weaker: not interleaved)
    s3bench gate --replay gate.json --verbose             the same verdict again, every row
    s3bench gate --self-test                              what this gate would catch on this machine

    Exit code 0 for PASS and SMALL, 1 for FAIL, 3 for INCONCLUSIVE, 4 when a control or a client failed.
    """
    from s3bench.cli.gate.action import decide
    from s3bench.cli.gate.options import GateOptions

    options = GateOptions.of(typed, typed_flags(context))
    if options.self_test:
        from s3bench.cli.gate.self_test import self_test

        raise click.exceptions.Exit(self_test(options))
    raise click.exceptions.Exit(decide(options))
