"""`s3bench profile`: its options."""

from pathlib import Path
from typing import Any

import click

from s3bench.cli.completion_items import complete_client
from s3bench.cli.definition_file import DefinitionFile
from s3bench.cli.pair_options import quiet_option, select_option, suite_option, timeout_option, tls_option, typed_flags
from s3bench.cli.profile.options import FORMATS, MAX_TIME, RUNS_MAX
from s3bench.cli.quantity import DURATION


@click.command("profile", context_settings={"max_content_width": 120})
@click.argument("files", nargs=-1, type=DefinitionFile(), metavar="[DEFINITIONS]...")
@click.option("--client", metavar="NAME[@VERSION|@PATH]", shell_complete=complete_client, help="The client to profile.")
@click.option(
    "--baseline",
    metavar="NAME[@VERSION|@PATH]",
    shell_complete=complete_client,
    help="With --candidate: profile both, and say what differs.",
)
@click.option("--candidate", metavar="NAME[@VERSION|@PATH]", shell_complete=complete_client, help="The other client.")
@select_option
@suite_option
@click.option("--cpu", is_flag=True, help="Sample all threads while they run, not the main thread all the time.")
@click.option("--native", is_flag=True, help="Show functions of libraries in C as well, such as those of the CRT.")
@click.option("--memory", is_flag=True, help="Show what holds the memory at its peak instead.")
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=RUNS_MAX,
    show_default=True,
    metavar="N",
    help="At most N runs of each client; at least 5 to compare two clients.",
)
@click.option(
    "--max-time",
    type=DURATION,
    default=MAX_TIME,
    show_default=True,
    metavar="DURATION",
    help="Sample for at most so long.",
)
@timeout_option
@tls_option
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default=FORMATS[0],
    show_default=True,
    help="What is printed: tables, the record, folded stacks, or a file for speedscope.app.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write the record to this file, as JSON."
)
@click.option(
    "--html", type=click.Path(path_type=Path), metavar="FILE", help="Write a page with a flame graph as well."
)
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@quiet_option
@click.pass_context
def profile_command(context: click.Context, /, **typed: Any) -> None:
    """Show where the time or the memory of a client goes, or what causes the difference between two.

    -k has to select exactly one benchmark. It runs as in `s3bench run`, until the shares of the largest functions are
    known to one percentage point. Stacks are sampled by py-spy, those of programs that are not written in Python by
    perf (CPU time alone). These runs are slower than others, and nothing of them enters a result.

    \b
    s3bench profile --client cli-classic -k 'upload and cp and 4KB'
    s3bench profile --client boto3-classic -k 'upload and cp and 32MB' --cpu --html profile.html
    s3bench profile --baseline cli-classic@2.34.52 --candidate cli-classic@2.38.5 -k 'upload and cp and 4KB'
    s3bench profile --client boto3-classic -k 'upload and cp and 4KB' --memory
    s3bench profile --client s5cmd -k 'upload and cp and 4KB'
    s3bench profile --client cli-classic -k 'upload and cp and 4KB' --format speedscope > cli.speedscope.json

    Exit code 0; 2 for bad input; 4 if the client fails, or nothing can be sampled here.
    """
    from s3bench.cli.profile.action import profile
    from s3bench.cli.profile.options import ProfileOptions

    profile(ProfileOptions.of(typed, typed_flags(context)))
