"""`s3bench serve`: its options."""

from typing import Any

import click

from s3bench.cli.serve.request_log import LogFormat
from s3bench.clients.pointing import SECRET_VARIABLE
from s3bench.s3.emulator.settings import DOMAIN, MEMORY_LIMIT_BYTES, REGION
from s3bench.s3.endpoint import LOOPBACK
from s3bench.units import render_bytes


@click.command("serve", context_settings={"max_content_width": 120})
@click.option("--host", default=LOOPBACK, show_default=True, metavar="ADDRESS", help="Listen here.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="Listen on this port; 0: a free one."
)
@click.option("--tls", is_flag=True, help="HTTPS, with a certificate of our own.")
@click.option("--json", "as_json", is_flag=True, help="Announce the URL as a JSON object, with `ca_bundle` and more.")
@click.option(
    "--log",
    type=click.Choice([form.value for form in LogFormat]),
    default=LogFormat.TEXT.value,
    show_default=True,
    help="A line for each request on stderr: for people, as JSON, or none.",
)
@click.option(
    "--network", metavar="MODEL", help="Impose a network model: ec2:c5.large, a JSON file, ttfb=20ms,bandwidth=93MB/s."
)
@click.option(
    "--data-dir", metavar="DIR", help="Serve the files below DIR read-only; its subdirectories are the buckets."
)
@click.option("--bucket", "buckets", multiple=True, metavar="NAME", help="Have this bucket; repeat for several.")
@click.option(
    "--memory-limit",
    metavar="SIZE",
    help=f"Most memory for objects.  [default: {render_bytes(MEMORY_LIMIT_BYTES)}]",
)
@click.option("--discard", is_flag=True, help="Keep sizes and checksums alone; reads get made-up data of that size.")
@click.option("--access-key", metavar="KEY", help="Take requests signed with this key alone ...")
@click.option(
    "--secret-key",
    metavar="KEY",
    help=f"... and this secret; set {SECRET_VARIABLE} instead to keep it out of the list of processes.",
)
@click.option("--region", metavar="NAME", help=f"The region of the buckets.  [default: {REGION}]")
@click.option(
    "--domain", metavar="NAME", help=f"What follows the bucket in virtual-hosted requests.  [default: {DOMAIN}]"
)
@click.option(
    "--etag",
    type=click.Choice(["auto", "md5"]),
    help="md5: the ETag of every object is its MD5, however large.  [default: auto]",
)
@click.option(
    "--stub", metavar="DEFINITIONS", help="Answer with the responses of a definition in this file, not as an emulator."
)
@click.option("-k", "select", metavar="EXPRESSION", help="With --stub: which definition, as for `s3bench run`.")
def serve_command(**typed: Any) -> None:
    """Serve an S3 in memory (the emulator), or the scripted responses of a definition (the stub), to any client.

    \b
    s3bench serve                                        an emulator on a free port of this machine
    s3bench serve --port 9000 --bucket data --tls        with a bucket, over HTTPS
    s3bench serve --network ec2:c5.large --log none      behind a link of 949 MB/s, 93 MB/s per connection
    s3bench serve --stub benchmarks.json -k 'cp and 32MB and upload'
    s3bench serve --json --log json > up.json 2> requests.jsonl &

    The first line of stdout is the URL, once connections are accepted; everything else goes to stderr. Ctrl-C and
    SIGTERM stop it: that is how it ends, so the exit code is 0.
    """
    from s3bench.cli.serve.action import serve
    from s3bench.cli.serve.options import ServeOptions

    serve(ServeOptions(**typed))
