"""Runs `s3bench record`: checks the options, records, writes the definition, and tells what it has."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from s3bench.cli.buckets import check_bucket_names
from s3bench.cli.streams import print_whole
from s3bench.clients.registry import known_clients
from s3bench.errors import BadDefinitions, BadInput, S3BenchError
from s3bench.recording.command import parse_command
from s3bench.recording.definition import RecordedDefinition, Recording, make_definition
from s3bench.recording.live import Behind
from s3bench.recording.live import record_command as run_and_record
from s3bench.results.file import check_output, write_whole
from s3bench.spec.parse import parse_definitions
from s3bench.visible import visible

_NAMED_MAX = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions:
    """The options of `s3bench record`, as typed."""

    command: tuple[str, ...]
    output: Path | None
    force: bool
    name: str | None
    stands_for: str | None
    contents: bool
    endpoint_url: str | None
    tls: bool
    buckets: tuple[str, ...]
    data_dir: Path | None


def record(options: RecordOptions) -> None:
    """Record the command and write its definition. Raises `BadInput` before anything runs."""
    folder = Path.cwd()
    _check(options)
    command = parse_command(options.command, stands_for=options.stands_for, folder=folder)
    recording = run_and_record(
        command,
        behind=Behind(url=options.endpoint_url, buckets=options.buckets, data_dir=options.data_dir),
        tls=options.tls,
        with_contents=options.contents,
        folder=folder,
        variables=os.environ,
    )
    made = make_definition(recording, name=options.name)
    _check_definition(made.text)
    if options.output is None:
        print_whole(made.text.encode(), is_measured=True)
    else:
        write_whole(made.text.encode(), options.output, is_measured=True)
    for line in _summary(recording, made, options.output):
        click.echo(f"s3bench: {visible(line)}", err=True)


def _check(options: RecordOptions) -> None:
    if not options.command:
        raise BadInput(
            "no command was given", fix="write it after `--`: s3bench record -- aws s3 sync ./data s3://bucket/x"
        )
    if options.output is not None:
        check_output(options.output, force=options.force)
    elif options.force:
        raise BadInput("--force needs -o", "it lets -o overwrite a file", "add -o FILE, or remove --force")
    if options.endpoint_url is not None and (options.buckets or options.data_dir):
        given = "--data-dir" if options.data_dir else "--bucket"
        raise BadInput(
            f"{given} cannot be combined with --endpoint-url",
            "it fills the emulator, which is not used then",
            f"remove {given} or --endpoint-url",
        )
    if options.endpoint_url is not None and not options.endpoint_url.startswith(("http://", "https://")):
        raise BadInput(
            f"--endpoint-url {options.endpoint_url}: not a URL",
            fix="write it with its scheme, e.g. http://127.0.0.1:9000",
        )
    if options.name is not None:
        _check_name(options.name)
    check_bucket_names(options.buckets)
    if options.data_dir is not None and not options.data_dir.is_dir():
        raise BadInput(f"--data-dir {options.data_dir}: no such directory", fix="pass an existing directory")
    if options.data_dir is not None and not any(path.is_dir() for path in options.data_dir.iterdir()):
        raise BadInput(
            f"--data-dir {options.data_dir} has no subdirectories",
            "its subdirectories are the buckets",
            f"put the files into {options.data_dir / 'BUCKET'}",
        )


def _check_name(name: str) -> None:
    try:
        parse_definitions(json.dumps([{"name": name, "command": ["s3", "ls"]}]), "--name", known_clients())
    except BadDefinitions as bad:
        raise BadInput(
            f"--name {name}: not a name for a benchmark", f"it {bad.problems[0].what}", bad.problems[0].fix
        ) from bad


def _check_definition(text: str) -> None:
    try:
        parse_definitions(text, "the recorded definition", known_clients())
    except BadDefinitions as bad:
        problems = "\n".join(str(problem) for problem in bad.problems[:_NAMED_MAX])
        raise S3BenchError(
            "what was recorded cannot be written as a definition", problems, "nothing was written"
        ) from bad


def _summary(recording: Recording, made: RecordedDefinition, output: Path | None) -> Iterator[str]:
    methods = Counter(each.method for each in recording.exchanges)
    engines = sorted({str(each.engine) for each in recording.exchanges})
    requests = ", ".join(f"{count} {method}" for method, count in sorted(methods.items()))
    count = len(recording.exchanges)
    yield f"recorded {count} request{'' if count == 1 else 's'} ({requests}), sent by the engine {', '.join(engines)}"
    if made.masked:
        yield f"masked: {', '.join(f'{kind} ({count})' for kind, count in made.masked.items())}"
    if recording.skipped_objects:
        yield f"warning: not served, since their names are not UTF-8: {_first(recording.skipped_objects)}"
    if made.left_out_keys:
        yield f"left out of the config: {', '.join(made.left_out_keys)}"
    if made.left_out_files:
        names = _first(made.left_out_files)
        yield f"warning: left out, since a definition cannot have files of such names: {names}"
    usual = [client.name for client in known_clients().values() if client.is_default]
    clients = ", ".join(made.json.get("clients", usual))
    where = str(output) if output is not None else "the definition"
    yield f"{where} runs on {clients}" + (f": s3bench run {output}" if output is not None else "")


def _first(names: Sequence[str]) -> str:
    more = len(names) - _NAMED_MAX
    return ", ".join(names[:_NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
