"""`s3bench record`: its options."""

from pathlib import Path
from typing import Any

import click

from s3bench.cli.completion_items import complete_directory, complete_file


@click.command("record", context_settings={"max_content_width": 120, "allow_interspersed_args": False})
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND [ARGUMENTS]...")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    shell_complete=complete_file,
    help="Write the definition here.  [default: stdout]",
)
@click.option("--force", is_flag=True, help="Let -o overwrite a file that exists.")
@click.option("--name", metavar="NAME", help="The name of the benchmark.  [default: made from the command]")
@click.option(
    "--as",
    "stands_for",
    metavar="COMMAND",
    help="The command of aws-cli that does the same, where COMMAND is another program than aws and s5cmd.",
)
@click.option(
    "--contents",
    is_flag=True,
    help="Keep the text of local files and objects, not only their sizes; secrets are masked.",
)
@click.option("--endpoint-url", metavar="URL", help="Pass requests on to this endpoint, signed with your credentials.")
@click.option("--tls", is_flag=True, help="Let the command use HTTPS, with a generated certificate.")
@click.option("--bucket", "buckets", multiple=True, metavar="NAME", help="Create this bucket in the emulator too.")
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    shell_complete=complete_directory,
    help="Fill the emulator with the files in DIR; its subdirectories are the buckets.",
)
def record_command(**typed: Any) -> None:
    """Run a command once and write what it did as a benchmark definition.

    \b
    s3bench record -o upload.json -- aws s3 sync ./data s3://bucket/x
    s3bench record --data-dir objects -o download.json -- aws s3 cp s3://bucket/key file
    s3bench record --endpoint-url https://s3.eu-west-1.amazonaws.com -o mine.json -- aws s3 rm s3://mine/old --recursive
    s3bench record --as 's3 cp data s3://bucket/data --recursive' -o script.json -- python3 upload.py
    s3bench run upload.json

    The command runs as typed, with its endpoint and made-up keys in the environment. Its requests pass through s3bench
    to the emulator, or to --endpoint-url. The definition has files by their sizes and responses in a form that serves
    every client; secrets, ids and dates are masked. It is written if the command succeeds. The output of the command
    goes to stderr.
    """
    from s3bench.cli.record.action import RecordOptions, record

    record(RecordOptions(**typed))
