"""`s3bench describe`: its options."""

import click


@click.command("describe", context_settings={"max_content_width": 120})
@click.argument("path", metavar="DIR|LISTING|-", type=click.Path())
@click.option("-q", "--quiet", is_flag=True, help="No summary on stderr.")
def describe_command(path: str, *, quiet: bool) -> None:
    """Describe the files below DIR, or the objects in a LISTING of a bucket, by number and size, as JSON on stdout.

    \b
    s3bench describe ./data > sizes.json
    aws s3 ls --recursive s3://bucket/prefix/ | s3bench describe - > sizes.json
    aws s3api list-objects-v2 --bucket bucket | s3bench describe - > sizes.json
    s3bench tune upload --like sizes.json --network ec2:c5.large

    The document has no names. A definition makes such files with "environment": {"like": "sizes.json"}. Up to 256
    distinct sizes are exact. More are condensed, so that the number of files, all bytes, the median, the 90th and 99th
    percentile and the largest file stay exact; `size_error_max` is the largest error of any other file. Symbolic links
    are not followed.
    """
    from s3bench.cli.describe.action import describe

    describe(path, quiet=quiet)
