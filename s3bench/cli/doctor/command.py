"""The options and the help of `s3bench doctor`."""

import click


@click.command("doctor")
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON: a list of {subject, found, severity, effect, remedy}."
)
def doctor_command(*, as_json: bool) -> None:
    """Show what on this machine disturbs measurements, and how to change it.

    A `warning` disturbs every figure, a `note` some of them; `missing` are tools that some commands need, with what
    they would add. Nothing is changed. The exit code is 0 whatever is found.

    \b
    s3bench doctor
    s3bench doctor --json | jq '.[] | select(.severity == "warning")'
    """
    from s3bench.cli.doctor.action import examine

    examine(as_json=as_json)
