"""Renders the manual page of s3bench from its commands, in the macros of man(7). `scripts/man` writes it."""

import sys
import textwrap
from collections.abc import Iterator

import click

import s3bench
from s3bench.cli.main import COMMANDS, s3bench_command

_LINE_MAX = 72


def page() -> str:
    """The whole page."""
    context = click.Context(s3bench_command, info_name="s3bench", **s3bench_command.context_settings)
    lines = [
        f'.TH S3BENCH 1 "" "s3bench {s3bench.__version__}" "User Commands"',
        ".SH NAME",
        r"s3bench \- benchmark S3 clients and S3 endpoints",
        ".SH SYNOPSIS",
        r".B s3bench",
        r"\fICOMMAND\fR [\fIOPTIONS\fR] [\fIARGUMENTS\fR]",
        ".SH DESCRIPTION",
        *_prose(s3bench_command.help or ""),
        ".SH COMMANDS",
    ]
    for name, (_, meaning) in COMMANDS.items():
        lines += [".TP", rf"\fB{_escaped(name)}\fR", *_filled(meaning)]
    for name in s3bench_command.list_commands(context):
        lines += _command(s3bench_command, name, context)
    lines += [".SH EXIT STATUS", *_prose(s3bench_command.epilog or "")]
    return "\n".join(lines) + "\n"


def _command(group: click.Group, name: str, parent: click.Context) -> Iterator[str]:
    """The section of a command and, behind it, those of the commands below it."""
    command = group.get_command(parent, name)
    assert command is not None
    context = click.Context(command, info_name=name, parent=parent, **command.context_settings)
    yield f'.SH "{_escaped(context.command_path.upper())}"'
    yield rf"\fB{_escaped(context.command_path)}\fR {_escaped(' '.join(command.collect_usage_pieces(context)))}"
    yield ".PP"
    yield from _prose(command.help or "")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None:
            yield from (".TP", rf"\fB{_escaped(record[0])}\fR", *_filled(record[1]))
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            yield from _command(command, below, context)


def _prose(text: str) -> Iterator[str]:
    """Paragraphs; one behind click's mark is set as it is."""
    for number, paragraph in enumerate(text.strip().split("\n\n")):
        lines = [line.strip() for line in paragraph.splitlines()]
        if number:
            yield ".PP"
        if lines[0] == "\b":
            yield from (".nf", *(_text(line) for line in lines[1:]), ".fi")
        else:
            yield from _filled(" ".join(lines))


def _filled(text: str) -> Iterator[str]:
    """Text as lines short enough for a difference to be read."""
    yield from map(_text, textwrap.wrap(text, _LINE_MAX, break_long_words=False, break_on_hyphens=False))


def _text(line: str) -> str:
    """A line of text that is no request of roff, even if it begins as one."""
    return rf"\&{_escaped(line)}" if line.startswith((".", "'")) else _escaped(line)


def _escaped(text: str) -> str:
    return text.replace("\\", r"\e").replace("-", r"\-").replace("`", r"\`").replace("'", r"\(aq").replace("~", r"\(ti")


if __name__ == "__main__":
    sys.stdout.write(page())
