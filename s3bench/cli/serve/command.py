"""`s3bench serve`: its options."""

from typing import Any

import click

from s3bench.cli.completion_items import complete_directory, complete_file
from s3bench.cli.definition_file import DefinitionFile
from s3bench.cli.quantity import SIZE
from s3bench.cli.serve.request_log import LogFormat
from s3bench.clients.pointing import SECRET_VARIABLE
from s3bench.s3.emulator.settings import DOMAIN, MEMORY_LIMIT_BYTES, REGION
from s3bench.s3.endpoint import LOOPBACK
from s3bench.units import render_bytes


@click.command("serve", context_settings={"max_content_width": 120})
@click.option("--host", default=LOOPBACK, show_default=True, metavar="ADDRESS", help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="Port to listen on; 0: any free one."
)
@click.option("--tls", is_flag=True, help="Use HTTPS, with a generated certificate.")
@click.option("--json", "as_json", is_flag=True, help="Print the URL as a JSON object, with `ca_bundle` and more.")
@click.option(
    "--log",
    type=click.Choice([form.value for form in LogFormat]),
    default=LogFormat.TEXT.value,
    show_default=True,
    help="Request log on stderr, one line per request: text, JSON, or none.",
)
@click.option(
    "--network",
    metavar="MODEL",
    help="Simulate a network: ec2:c5.large, express, a JSON file, or ttfb=20ms,bandwidth=93MB/s.",
)
@click.option(
    "--data-dir",
    metavar="DIR",
    shell_complete=complete_directory,
    help="Serve the files in DIR read-only; its subdirectories are the buckets.",
)
@click.option("--bucket", "buckets", multiple=True, metavar="NAME", help="Create this bucket; repeat for several.")
@click.option(
    "--memory-limit",
    type=SIZE,
    metavar="SIZE",
    help=f"Maximum memory for objects.  [default: {render_bytes(MEMORY_LIMIT_BYTES)}]",
)
@click.option("--discard", is_flag=True, help="Keep only sizes and checksums of objects; reads get generated data.")
@click.option("--access-key", metavar="KEY", help="Accept only requests signed with this key ...")
@click.option(
    "--secret-key",
    metavar="KEY",
    help=f"... and this secret; set {SECRET_VARIABLE} instead to hide it from the process list.",
)
@click.option("--region", metavar="NAME", help=f"The region of the buckets.  [default: {REGION}]")
@click.option(
    "--domain", metavar="NAME", help=f"Domain after the bucket name in virtual-hosted requests.  [default: {DOMAIN}]"
)
@click.option(
    "--etag",
    type=click.Choice(["auto", "md5"]),
    help="md5: the ETag of every object is its MD5, whatever its size.  [default: auto]",
)
@click.option(
    "--stub",
    type=DefinitionFile(),
    metavar="DEFINITIONS",
    shell_complete=complete_file,
    help="Serve the scripted responses of a definition in this file instead of the emulator.",
)
@click.option("-k", "select", metavar="EXPRESSION", help="With --stub: selects the definition, as for `s3bench run`.")
def serve_command(**typed: Any) -> None:
    """Run an S3 server in memory (the emulator), or one with the scripted responses of a definition (the stub).

    \b
    s3bench serve                                        the emulator on a free port of this machine
    s3bench serve --port 9000 --bucket data --tls        with a bucket, over HTTPS
    s3bench serve --network ec2:c5.large --log none      behind a link of 949 MB/s, 93 MB/s per connection
    s3bench serve --stub benchmarks.json -k 'cp and 32MB and upload'
    s3bench serve --json --log json > up.json 2> requests.jsonl &

    Once the server accepts connections, it prints its URL as the first line of stdout; everything else goes to stderr.
    Stop it with Ctrl-C or SIGTERM; the exit code is then 0.
    """
    from s3bench.cli.serve.action import serve
    from s3bench.cli.serve.options import ServeOptions

    serve(ServeOptions(**typed))
